"""Runs the real `lithify` command as a child, in a home of its own, and tells whether it left anything behind."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.support import warm

COMMAND = (sys.executable, "-m", "lithify")
SECONDS = 40
CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[()][A-Z0-9]|[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""Escape sequences and control characters: all that plain text has none of but tabs and line ends."""

_MARK = "LITHIFY_TEST_MARK"


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended, and what it said."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        """Standard output, line by line."""
        return self.out.splitlines()


@dataclass(frozen=True, slots=True)
class Place:
    """A home folder, a folder for temporary files, and an environment that knows no others."""

    folder: Path
    mark: str = field(default_factory=lambda: uuid.uuid4().hex)

    def __post_init__(self) -> None:
        for folder in (self.home, self.temporary, self.customisation):
            folder.mkdir(parents=True)

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def temporary(self) -> Path:
        return self.folder / "temporary"

    @property
    def customisation(self) -> Path:
        """A folder whose `sitecustomize.py` every Python of this place runs at its start."""
        return self.folder / "customisation"

    def customise(self, script: str) -> None:
        (self.customisation / "sitecustomize.py").write_text(script)

    def environment(self, **more: str) -> dict[str, str]:
        """What a command sees: nothing of this machine's user, no colour forced or forbidden."""
        return {
            "PATH": os.defpath,
            "HOME": str(self.home),
            "TMPDIR": str(self.temporary),
            "PYTHONPATH": str(self.customisation),
            "LANG": "C.UTF-8",
            _MARK: self.mark,
        } | more

    def run(self, *arguments: str, under: Sequence[str] = (), **environment: str) -> Ended:
        """Runs the command to its end in a pipe, with no input. It starts warm, unless it runs `under` another one or
        Python is told something."""
        environment = self.environment(**environment)
        if not under and not any(self.customisation.iterdir()):
            plain = {name: value for name, value in environment.items() if name != "PYTHONPATH"}
            if warm.may_be_warm(plain):
                return Ended(*warm.run(arguments, plain, self.folder, SECONDS))
        done = subprocess.run(
            [*under, *COMMAND, *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=SECONDS,
            check=False,
            cwd=self.folder,
            env=environment,
        )
        return Ended(done.returncode, done.stdout, done.stderr)

    @contextmanager
    def started(self, *arguments: str, **environment: str) -> Iterator[subprocess.Popen[str]]:
        """Starts the command in a process group of its own; it is gone after the block."""
        with subprocess.Popen(
            [*COMMAND, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            cwd=self.folder,
            env=self.environment(**environment),
            start_new_session=True,
        ) as process:
            try:
                yield process
            finally:
                process.kill()

    def run_on_terminal(self, *arguments: str, columns: int, **environment: str) -> str:
        """Runs the command on a terminal of that width; all that it wrote there. It must succeed."""
        terminal, ours = pty.openpty()
        fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        process = subprocess.Popen(
            [*COMMAND, *arguments],
            stdin=ours,
            stdout=ours,
            stderr=ours,
            cwd=self.folder,
            env=self.environment(**{"TERM": "xterm-256color"} | environment),
            start_new_session=True,
        )
        os.close(ours)
        written = _all_of(terminal)
        assert process.wait(SECONDS) == 0, written
        return written

    def processes(self) -> list[int]:
        """The processes of this place that still run."""
        return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit() and self._owns(entry)]

    def _owns(self, process: Path) -> bool:
        try:
            return f"{_MARK}={self.mark}".encode() in (process / "environ").read_bytes().split(b"\0")
        except OSError:
            return False


def _all_of(terminal: int) -> str:
    pieces = []
    while True:
        try:
            piece = os.read(terminal, 65_536)
        except OSError:  # the other side is closed
            break
        if not piece:
            break
        pieces.append(piece)
    os.close(terminal)
    return b"".join(pieces).decode("utf-8")
