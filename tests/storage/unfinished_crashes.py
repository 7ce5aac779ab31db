"""Processes that write beside files of others, and are killed at each line of the code that does.

    python -m tests.storage.unfinished_crashes FOLDER

Prints JSON, one object a killed process: what lay there at its death, what the next write has left, and what is noted
then.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any

from lithify.storage import atomic, chat_files, system, unfinished
from lithify.storage.agent_sessions import restoring
from lithify.storage.session_files import SessionFiles
from lithify.transcripts.model import Stamp
from tests.support.agent_homes import AgentHome

WATCHED = frozenset(str(one.__file__) for one in (atomic, chat_files, restoring, system, unfinished))
STAMP = Stamp("2026-01-02T03:04:05.000Z", lambda: "00000000-0000-4000-8000-000000000001")
STEP = 3
"""Each third line: a file or folder is there for more lines than that."""

AGENTS = ("kimi-cli", "kimi-code", "gemini")


def crash_at_many_lines(agent: str, folder: Path) -> None:
    """Kills a process at many lines, until one ends by itself."""
    for at in count(1, STEP):
        home = folder / agent / str(at)
        path: Path = getattr(AgentHome(home), agent.replace("-", "_"))()
        killed = _killed_at(at, lambda home=home, path=path: _write(agent, home, path))  # type: ignore[misc]
        left = _names(home)
        _write(agent, home, path)
        notes = [one.name for one in (home / "data" / "unfinished").iterdir()]
        told = {"agent": agent, "killed": killed, "left": left, "then": _names(home), "notes": notes}
        sys.stdout.write(json.dumps(told) + "\n")
        if not killed:
            break


def _write(agent: str, home: Path, path: Path) -> None:
    """A session of kimi-cli is rewritten, one of another agent is restored beside itself."""
    files, before = SessionFiles(home / "data", {"HOME": str(home)}), path.read_bytes()
    if agent == "kimi-cli":
        files.rewrite(str(path), before, before + b"\n", format_name="kimi-context", rotates=True, ours=True)
    else:
        files.restore(str(path), before, agent, STAMP)


def _names(home: Path) -> list[str]:
    """All that lies in the folders of agents."""
    return sorted(one.name for one in home.rglob("*") if "data" not in one.parts)


def _killed_at(at: int, work: Callable[[], None]) -> bool:
    """Does the work in a process of its own, which is killed at a line; whether it came so far."""
    child = os.fork()
    if child == 0:
        seen = count(1)

        def trace(frame: FrameType, what: str, _: Any) -> Any:
            if frame.f_code.co_filename not in WATCHED:
                return None
            if what == "line" and next(seen) == at:
                os.kill(os.getpid(), signal.SIGKILL)
            return trace

        sys.settrace(trace)
        work()
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


if __name__ == "__main__":
    for one in AGENTS:
        crash_at_many_lines(one, Path(sys.argv[1]))
