"""Somebody who works with a real agent in one session, and compacts that session with Lithify."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
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
LITHIFY_SECONDS = 60
LONG_AGO = 1_750_000_000
"""When a session was last written that nobody uses, in seconds of the system's clock."""
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
        path = os.pathsep.join([str(NODE.parent), os.environ["PATH"]])
        here = {"HOME": str(self.home), "TMPDIR": str(self.folder / "tmp"), "PATH": path, "NO_PROXY": "127.0.0.1"}
        return {**away, **here, **self.variables}

    def session(self) -> Path:
        """The file of their session; of several the largest, since Gemini CLI leaves a stub at some starts."""
        if self.agent.takes_out:
            return self._taken_out()
        found = sorted(self.home.glob(self.agent.sessions), key=lambda path: path.stat().st_size)
        assert found, f"{self.agent.name} keeps no session"
        return found[-1]

    def _taken_out(self) -> Path:
        program = [*map(str, self.agent.program)]
        [only] = json.loads(self.run([*program, *self.agent.lists]))
        path = self.folder / "taken-out.json"
        with path.open("w", encoding="utf-8") as file:  # what opencode prints to a pipe ends after 64 KB
            self.run([*program, *self.agent.takes_out, only["id"]], output=file)
        return path

    @property
    def asked(self) -> list[Request]:
        """What the agent asked in the conversation, not what it asks beside it."""
        return [one for one in self.server.questions if offers_tools(one)]

    def says(self, text: str) -> Request:
        """Says it to the agent, in the session if there is one; the agent's last request of the turn."""
        before = len(self.asked)
        self.says_aside(text)
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


def read_session(person: Person) -> Transcript:
    """The session as Lithify reads it."""
    path = person.session()
    reading = read(path.read_bytes().decode(), str(path))
    assert reading is not None, f"Lithify does not know the session of {person.agent.name}"
    return reading.transcript


def conversation_of(person: Person) -> list[Said]:
    """The texts of the session as Lithify reads it."""
    messages = read_session(person).conversation
    return [Said(role_of(message), "text", text) for message in messages for text in text_parts(message)]


def messages_before(person: Person, turn: int) -> int:
    """How many messages stand before a turn's prompt, as Lithify counts them; all of them where the turn is to come."""
    messages = read_session(person).conversation
    places = (place for place, message in enumerate(messages) if prompt(turn) in str(message["content"]))
    return next(places, len(messages))


def compact(person: Person, turn: int) -> str:
    """Compacts the session up to a turn, as its user would some time later, with the offline model; the summary."""
    path = idle_session(person)
    command = compact_command(person, path, turn)
    summary = person.run(command, LITHIFY_SECONDS)
    if person.agent.takes_in:
        written = path.with_name("compacted.json")
        written.unlink(missing_ok=True)
        person.run([*command, "--output", str(written)], LITHIFY_SECONDS)
        person.run([*map(str, person.agent.program), *person.agent.takes_in, str(written)])
    else:
        person.run([*command, "--in-place"], LITHIFY_SECONDS)
    return summary.removesuffix("\n")


def idle_session(person: Person) -> Path:
    """The file of the session, some time after it was last used."""
    path = person.session()
    os.utime(path, (LONG_AGO, LONG_AGO))
    return path


def compact_command(person: Person, path: Path, turn: int) -> list[str]:
    """The command that compacts the session up to a turn, and prints the summary."""
    return [sys.executable, "-m", "lithify", "compact", str(path), "--up-to", str(messages_before(person, turn))]
