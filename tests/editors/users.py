"""Somebody with an editor: a home, a project with a chat in it, and one session from start to quit, bounded in time."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.editors.installed import Editor
from tests.support.document_chat import CHAT, TEXT
from tests.support.messages import user as said_by_user
from tests.support.samples import DATA
from tests.support.transcripts import json_lines

LONG_MESSAGES = 400
LONG = json_lines(
    [said_by_user(f"Step {number}: please look at src/part{number}.py. " * 8) for number in range(LONG_MESSAGES)]
)
"""A chat that takes even the offline model so long that an editor can show progress."""

READ_ONLY = json.dumps(CHAT)[:-9]
"""A chat that Lithify does not write into: its JSON is broken off."""

SAMPLES = {path.suffix: path for path in sorted((DATA / "transcripts").glob("*/*.*"))}
"""A transcript of each ending that the samples of all formats have."""

SECONDS = 150.0
SERVER_SECONDS = 10.0
_COMMAND = """#!/bin/sh
if [ "$1" = serve ]; then echo $$ >> "$LITHIFY_TEST_PIDS"; fi
exec "$LITHIFY_TEST_PYTHON" -m lithify "$@"
"""


@dataclass(frozen=True, slots=True)
class User:
    """Somebody's home. `project` is under version control and holds `chat.jsonl` and `long.jsonl`."""

    home: Path

    @property
    def project(self) -> Path:
        """Where the user works."""
        return self.home / "shop"

    @property
    def chat(self) -> Path:
        """The transcript."""
        return self.project / "chat.jsonl"

    def samples(self) -> list[str]:
        """The sample transcripts, by their places in the project."""
        found = self.project.rglob("sample.*")
        return sorted(str(path.relative_to(self.project)) for path in found)

    def write(self, place: str, text: str) -> Path:
        """A file in the home, with its folders."""
        path = self.home / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path


@dataclass(frozen=True, slots=True)
class Session:
    """What a session with an editor has left: the facts that its script noted, what it printed, who was started."""

    facts: dict[str, Any]
    output: str
    exit_code: int
    servers: list[int]
    left: list[int]
    """The servers that were still there a while after the editor had quit."""

    def __getitem__(self, name: str) -> Any:
        problem = self.facts.get("problem")
        assert name in self.facts, f"no fact {name!r}; the script's problem: {problem}\n{self.output}"
        return self.facts[name]


def new_user(home: Path) -> User:
    """A user with a project and a `lithify` on the PATH, as an installation makes it."""
    user = User(home)
    user.write("shop/.git/HEAD", "ref: refs/heads/main\n")
    user.write("shop/chat.jsonl", TEXT)
    user.write("shop/long.jsonl", LONG)
    user.write("shop/read-only.json", READ_ONLY)
    user.write("shop/notes.txt", "The cent is lost in the till.\n")
    user.write("elsewhere/.git/HEAD", "ref: refs/heads/main\n")
    user.write("elsewhere/notes.txt", "Nobody has chatted here.\n")
    for sample in SAMPLES.values():
        folder = "shop/.specstory/history" if sample.suffix == ".md" else "shop"
        user.write(f"{folder}/sample{sample.suffix}", sample.read_text(encoding="utf-8"))
    user.write("bin/lithify", _COMMAND).chmod(0o755)
    return user


def run(user: User, editor: Editor, *arguments: str) -> Session:
    """Starts the editor in the project and waits until it quits. It is ended, by its id, when it takes too long."""
    facts, pids = user.home / "facts.json", user.home / "pids"
    environment = _environment(user) | editor.environment | {"FACTS": str(facts), "LITHIFY_TEST_PIDS": str(pids)}
    process = _start([*editor.command, *arguments], user.project, environment)
    output = b""
    try:
        with contextlib.suppress(subprocess.TimeoutExpired):
            output, _ = process.communicate(timeout=SECONDS)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            rest, _ = process.communicate()
            output += rest
    servers = [int(line) for line in pids.read_text().split()] if pids.exists() else []
    left = [pid for pid in servers if not _ends(pid)]
    for pid in left:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    noted = json.loads(facts.read_text(encoding="utf-8")) if facts.exists() else {}
    return Session(noted, output.decode(errors="replace"), process.returncode, servers, left)


def _start(command: list[str], folder: Path, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    """Starts an editor as the head of a group of its own."""
    return subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


def _environment(user: User) -> dict[str, str]:
    """An environment of the user's own: nothing of this machine's settings is seen."""
    folders = {"CONFIG": ".config", "DATA": ".local/share", "STATE": ".local/state", "CACHE": ".cache"}
    return {
        **{f"XDG_{name}_HOME": str(user.home / place) for name, place in folders.items()},
        "HOME": str(user.home),
        "PATH": f"{user.home / 'bin'}{os.pathsep}/usr/bin{os.pathsep}/bin",
        "LITHIFY_DATA_DIR": str(user.home / "lithify"),
        "LITHIFY_TEST_PYTHON": sys.executable,
        "LANG": "C.UTF-8",
        "TERM": "dumb",
    }


def _ends(pid: int) -> bool:
    """Whether a process is gone within a few seconds; its id is watched, not asked for again."""
    try:
        watched = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([watched], [], [], SERVER_SECONDS)[0])
    finally:
        os.close(watched)
