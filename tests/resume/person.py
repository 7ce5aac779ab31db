"""Somebody who works with a real agent in one session, and compacts that session with Lithify."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from lithify.core.messages import role_of, text_parts
from lithify.transcripts.model import Transcript
from lithify.transcripts.reading import read
from tests.resume.agents import INSTALLED, NODE, Agent
from tests.resume.said import Said, offers_tools, said, without_repeats
from tests.resume.story import prompt, script
from tests.support.model_server import Request, ServedModel

AGENT_SECONDS = 90
LITHIFY_SECONDS = 120
IDLE_SECONDS = 3600
"""How long ago a session was last written that nobody uses; Gemini CLI deletes old ones."""
NOWHERE = "http://127.0.0.1:9"
"""A proxy that is not there: what an agent would ask of the network fails at once, and only loopback is left."""


@dataclass(frozen=True, slots=True)
class Person:
    """`folder` holds the home folder, the project and the temporary files; `server` is the agent's model."""

    agent: Agent
    folder: Path
    server: ServedModel
    variables: Mapping[str, str]

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def project(self) -> Path:
        return self.folder / "project"

    @property
    def environment(self) -> dict[str, str]:
        """What a program of theirs is started with, and nothing of the machine beside it but its programs."""
        away = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), NOWHERE)
        path = os.pathsep.join([str(NODE.parent), str(self.agent.program[-1].parent), os.environ["PATH"]])
        here = {"HOME": str(self.home), "TMPDIR": str(self.folder / "tmp"), "PATH": path, "NO_PROXY": "127.0.0.1"}
        return {**away, **here, **self.variables}

    def session(self) -> Path:
        """The file of their session; of several the largest, since Gemini CLI leaves a stub at some starts."""
        if self.agent.takes_out:
            return self._taken_out()
        found = sorted(self.home.glob(self.agent.sessions), key=lambda path: path.stat().st_size)
        assert found, f"{self.agent.name} keeps no session"
        return found[-1]

    def session_name(self) -> str:
        """What Lithify's user calls the session: by its file, or by its id where it has none."""
        if not self.agent.takes_out:
            return str(self.session())
        [only] = json.loads(self.run([*map(str, self.agent.program), *self.agent.lists]))
        return str(only["id"])

    def _taken_out(self) -> Path:
        path = self.folder / "taken-out.json"
        takes_out = [*map(str, self.agent.program), *self.agent.takes_out, self.session_name()]
        with path.open("w", encoding="utf-8") as file:  # what opencode prints to a pipe ends after 64 KB
            self.run(takes_out, output=file)
        return path

    @property
    def asked(self) -> list[Request]:
        """What the agent asked in the conversation, not what it asks beside it."""
        return [one for one in self.server.questions if offers_tools(one)]

    def says(self, text: str, session: str | None = None) -> Request:
        """Says it to the agent, in the session with that id, else in the last one if there is one; the agent's last
        request of the turn."""
        before = len(self.asked)
        if session is None:
            self.says_aside(text)
        else:
            self.run([*map(str, self.agent.program), *self.agent.go_on_in(session, text)])
        asked = self.asked[before:]
        assert asked, f"{self.agent.name} asked its model nothing"
        return asked[-1]

    def says_aside(self, text: str) -> None:
        """Says what the agent need not ask its model about."""
        self.run(self.command_for(text))

    def command_for(self, text: str) -> list[str]:
        """The command that says it, in the session if there is one."""
        is_first = not any(self.home.glob(self.agent.sessions))
        words = self.agent.start(text) if is_first else self.agent.go_on(text)
        return [*map(str, self.agent.program), *words]

    def run(self, command: Sequence[str], seconds: float = AGENT_SECONDS, output: IO[str] | None = None) -> str:
        """Runs a program in the project, with all it started ended afterwards; what it printed, if no file has it."""
        with self.running(command, output) as process:
            printed, errors = process.communicate(timeout=seconds)
        assert process.returncode == 0, f"{command[0]} ended with {process.returncode}: {(errors or printed)[-2000:]}"
        return printed or ""

    @contextlib.contextmanager
    def running(self, command: Sequence[str], output: IO[str] | None = None) -> Iterator[subprocess.Popen[str]]:
        """A program in the project while the block runs; afterwards it and all it started are ended."""
        process = subprocess.Popen(
            command,
            cwd=self.project,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if output is None else output,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        with process:
            try:
                yield process
            finally:
                with contextlib.suppress(ProcessLookupError):  # all of it may have ended
                    os.killpg(process.pid, signal.SIGKILL)

    def conversation(self, request: Request) -> list[Said]:
        """What a request says of the conversation: all but the agent's own blocks."""
        return without_repeats(one for one in said(request) if not self.agent.is_own(one))


def new_person(agent: Agent, folder: Path, server: ServedModel) -> Person:
    """Somebody whose agent asks that model, and finds in it the one of the story."""
    missing = [str(path.relative_to(INSTALLED)) for path in agent.program if not path.exists()]
    assert not missing, f"{agent.name} is not installed ({missing[0]}); `make test-resume` says what it needs."
    for name in ("home", "project", "tmp"):
        (folder / name).mkdir(parents=True)
    server.server.script = script(agent.shell, agent.is_own)
    return Person(agent, folder, server, agent.set_up(folder / "home", server))


def read_session(person: Person, path: Path | None = None) -> Transcript:
    """The session as Lithify reads it; `path` is its file, where that is known."""
    path = path or person.session()
    reading = read(path.read_bytes().decode(), str(path))
    assert reading is not None, f"Lithify does not know the session of {person.agent.name}"
    return reading.transcript


def conversation_of(person: Person) -> list[Said]:
    """The texts of the session as Lithify reads it."""
    messages = read_session(person).conversation
    return [Said(role_of(message), "text", text) for message in messages for text in text_parts(message)]


def messages_before(person: Person, turn: int, path: Path | None = None) -> int:
    """How many messages stand before a turn's prompt, as Lithify counts them; all of them where the turn is to come."""
    messages = read_session(person, path).conversation
    places = (place for place, message in enumerate(messages) if prompt(turn) in str(message["content"]))
    return next(places, len(messages))


def compact(person: Person, turn: int) -> str:
    """Compacts the session up to a turn, as its user would some time later, with the offline model; the summary."""
    path = idle_session(person)
    summary = foretold_summary(person, turn, path)
    person.run(compact_command(person, turn, path), LITHIFY_SECONDS)
    return summary


def undo(person: Person, name: str) -> None:
    """Takes the newest compaction of a session back."""
    person.run(lithify("sessions", "undo", name), LITHIFY_SECONDS)


def session_ids(person: Person) -> set[str]:
    """The ids of the agent's sessions, as Lithify lists them."""
    listed = json.loads(person.run(lithify("sessions", "list", "--agent", person.agent.name, "--json")))
    return {one["sessionId"] for one in listed["sessions"]}


def idle_session(person: Person) -> Path:
    """The file of the session, some time after it was last used."""
    path = person.session()
    before = time.time() - IDLE_SECONDS
    os.utime(path, (before, before))
    return path


def compact_command(person: Person, turn: int, path: Path | None = None) -> list[str]:
    """The command that compacts the session up to a turn."""
    up_to = str(messages_before(person, turn, path))
    return lithify("sessions", "compact", person.session_name(), "--up-to", up_to)


def foretold_summary(person: Person, turn: int, path: Path) -> str:
    """What the summary of a session up to a turn will be, for the offline model says the same each time."""
    command = lithify("compact", str(path), "--up-to", str(messages_before(person, turn, path)))
    summary = person.run(command, LITHIFY_SECONDS).removesuffix("\n")
    assert summary
    return summary


def lithify(*arguments: str) -> list[str]:
    """A command of Lithify's."""
    return [sys.executable, "-m", "lithify", *arguments]
