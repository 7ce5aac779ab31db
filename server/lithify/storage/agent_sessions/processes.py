"""What other processes of this user do, as far as that can be seen: which run, and which files they have open.

On Linux all of it is in `/proc`. Elsewhere it is only known whether a process of some id runs.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from lithify.storage.running import is_running

VISIBLE = sys.platform == "linux"
"""Whether processes can be looked at."""

LOOK_SECONDS = 0.8
"""How long a look at all open files may take."""

_PROC = Path("/proc")
_INTERPRETERS = ("node", "bun", "deno", "python")


@dataclass(frozen=True, slots=True)
class Program:
    """How an agent is called: its names, and an interpreter that runs another program of such a name."""

    names: tuple[str, ...]
    never_in: str = "-"


_TICKS_AFTER_NAME = 19
"""Where the start time stands in `/proc/<id>/stat`, counted behind the name, which may hold blanks."""


_PLAIN_NAME = re.compile(r"[\w.+@-]{1,64}")
"""What the name of a program looks like: no code, and no title that a process gave itself."""


@dataclass(frozen=True, slots=True)
class Process:
    """A process of this user: its id, how it was called, and the folder it works in."""

    process_id: int
    arguments: tuple[str, ...]
    folder: str | None

    @property
    def name(self) -> str:
        """What runs, for people: the program, or the script that an interpreter was told to run. Nothing else of how it
        was called is told, since that may hold secrets: no code, no option, and no value of one."""
        begins_with_option = self.arguments[1:2] and self.arguments[1].startswith("-")
        called = _programs(self.arguments[:1] if begins_with_option else self.arguments[:2])
        named = [one for one in called if _PLAIN_NAME.fullmatch(one)]
        return named[-1] if named else "a program"


def others() -> list[Process]:
    """The processes of this user but this one; none where they cannot be seen."""
    return [found for number in _ids() if number != os.getpid() and (found := _process(number)) is not None]


def running(program: Program, processes: Collection[Process]) -> list[Process]:
    """Those that run a program, themselves or in an interpreter."""
    return [one for one in processes if _is(program, _programs(one.arguments))]


@dataclass(frozen=True, slots=True)
class OpenFiles:
    """By real path, a process that has that file open. `all_seen` is false where the time did not suffice to look at
    all processes."""

    holders: Mapping[str, Process]
    all_seen: bool


def open_in(
    paths: Collection[str], processes: Collection[Process], seconds: float, *, to_write: bool = False
) -> OpenFiles:
    """Who has these files open, with `to_write` only who may write into them, as far as that can be seen in so many
    seconds."""
    deadline = time.monotonic() + seconds
    wanted = {os.fsencode(path) for path in paths}
    found: dict[str, Process] = {}
    for process in processes:
        if time.monotonic() > deadline:
            return OpenFiles(found, all_seen=False)
        for target, name in _open_files(process.process_id):
            if target in wanted and not (to_write and _only_reads(process.process_id, name)):
                found.setdefault(os.fsdecode(target), process)
    return OpenFiles(found, all_seen=True)


def is_alive(process_id: int, before: float, program: Program) -> bool:
    """Whether the process of that id runs, and is the one that was meant, as far as that can be seen.

    One that began after `before` (seconds since the epoch) has the id of one that is gone, unless it runs that program:
    a clock that was set makes it look so too.
    """
    if not is_running(process_id):
        return False
    began = _began(process_id)
    if began is None or began <= before:
        return True
    found = _process(process_id)
    return found is not None and bool(running(program, [found]))


def environment_of(process_id: int) -> dict[str, str] | None:
    """The variables that a process was started with; None where they cannot be seen."""
    try:
        told = (_PROC / str(process_id) / "environ").read_bytes()
    except OSError:
        return None
    pairs = (os.fsdecode(one).partition("=") for one in told.split(b"\0") if one)
    return {name: value for name, _, value in pairs}


def _ids() -> Iterator[int]:
    if not VISIBLE:
        return
    user = os.getuid()
    with os.scandir(_PROC) as entries:
        for entry in entries:
            if entry.name.isdecimal() and _belongs_to(entry, user):
                yield int(entry.name)


def _belongs_to(entry: os.DirEntry[str], user: int) -> bool:
    try:
        return entry.stat().st_uid == user
    except OSError:
        return False


def _process(number: int) -> Process | None:
    """The process, None where it has just ended."""
    try:
        line = (_PROC / str(number) / "cmdline").read_bytes()
    except OSError:
        return None
    arguments = tuple(part.decode(errors="replace") for part in line.rstrip(b"\0").split(b"\0"))
    try:
        folder = os.readlink(_PROC / str(number) / "cwd")
    except OSError:
        folder = None
    return Process(number, arguments, folder)


def _open_files(number: int) -> Iterator[tuple[bytes, bytes]]:
    """What a process has open, and under which number."""
    folder = os.fsencode(_PROC / str(number) / "fd")
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for name in names:
        try:
            yield os.readlink(os.path.join(folder, name)), name
        except OSError:  # closed by now
            continue


def _only_reads(number: int, name: bytes) -> bool:
    """Whether a process has a file open only to read it, or has closed it by now."""
    try:
        told = (_PROC / str(number) / "fdinfo" / os.fsdecode(name)).read_text(encoding="ascii")
        flags = next(line.split()[1] for line in told.splitlines() if line.startswith("flags:"))
    except (OSError, ValueError, StopIteration, IndexError):
        return True
    return int(flags, 8) & os.O_ACCMODE == os.O_RDONLY


def _programs(arguments: tuple[str, ...]) -> list[str]:
    """The names that what runs goes by: of the program, and of the script where the program is an interpreter."""
    if not arguments or not arguments[0]:
        return []
    program = _bare_name(arguments[0])
    if not program.startswith(_INTERPRETERS):
        return [program]
    script = next((one for one in arguments[1:] if not one.startswith("-")), None)
    return [program] if script is None else [program, _bare_name(script)]


def _is(program: Program, names: list[str]) -> bool:
    return any(name in program.names for name in names) and not names[0].startswith(program.never_in)


def _bare_name(path: str) -> str:
    """The last part of a path, without an ending of scripts."""
    name = path.replace("\\", "/").rstrip("/").rpartition("/")[2]
    for ending in (".exe", ".js", ".mjs", ".cjs", ".py"):
        name = name.removesuffix(ending)
    return name


def _began(process_id: int) -> float | None:
    """When a process began, in seconds since the epoch; None where that cannot be seen."""
    started_up = _started_up()
    try:
        told = (_PROC / str(process_id) / "stat").read_text(encoding="utf-8", errors="replace")
        ticks = int(told.rpartition(")")[2].split()[_TICKS_AFTER_NAME])
        return None if started_up is None else started_up + ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):
        return None


@cache
def _started_up() -> float | None:
    """When the machine was started, in seconds since the epoch."""
    try:
        lines = (_PROC / "stat").read_text(encoding="utf-8").splitlines()
        return next(float(line.split()[1]) for line in lines if line.startswith("btime "))
    except (OSError, ValueError, StopIteration):
        return None
