"""Processes that compact a session file, or undo that, and are killed at each line of the code that writes.

    python -m tests.workers.document_crashes compact|undo AGENT FOLDER

Prints JSON, one object a killed process: what a next process finds, and what becomes of an undo then.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any

from lithify.storage import appending, backups, chat_files, document_compactions, system
from lithify.workers import document_changes, document_places, document_records, document_undo, document_writing
from tests.support import claude_code_loader, codex_loader, gemini_loader, kimi_code_loader
from tests.support.agent_homes import AgentHome
from tests.support.document_bench import DocumentBench
from tests.support.kept_sessions import keep
from tests.support.kills import ALL

WATCHED = frozenset(
    str(module.__file__)
    for module in (
        *(appending, backups, chat_files, document_compactions, system),
        *(document_changes, document_places, document_records, document_undo, document_writing),
    )
)


LOADED: dict[str, Callable[[bytes], int]] = {
    "claude-code": lambda data: len(claude_code_loader.load(data.decode())),
    "codex": lambda data: len(codex_loader.load(data).history),
    "gemini": lambda data: len(gemini_loader.load(data).turns),
    "kimi-code": lambda data: len(kimi_code_loader.load(data).context),
}
"""By agent, how many messages it takes up again of a file."""

STEPS = {"claude-code": 1} if ALL else {"claude-code": 5}
"""Of the agents that are not named here only some of the lines: all are written by the same ones."""

STEP = 5 if ALL else 15


def crash_at_every_line(command: str, agent: str, folder: Path) -> None:
    """Kills a process at each line, or at some of them, until one ends by itself."""
    for at in count(1, STEPS.get(agent, STEP)):
        place = folder / str(at)
        place.mkdir()
        file = keep(AgentHome(place), agent).path
        before = file.read_bytes()
        bench = DocumentBench(place / "data")
        if command == "undo":
            bench.compact(file, 4)
        killed = _killed_at(at, lambda bench=bench, file=file: _work(bench, file, command))  # type: ignore[misc]
        found = file.read_bytes()
        certain = [one.certain for one in bench.kept(file) if not one.undone]
        told = {
            "killed": killed,
            "untouched": found == before,
            "grown": found.startswith(before) and found != before,
            "loaded": LOADED[agent](found),
            "certain": certain,
            "undo": DocumentBench(place / "data", first_id=100).failure(file),
            "restored": file.read_bytes() == before,
        }
        sys.stdout.write(json.dumps(told) + "\n")
        if not killed:
            break


def _work(bench: DocumentBench, file: Path, command: str) -> None:
    if command == "undo":
        bench.undo(file)
    else:
        bench.compact(file, 4)


def _killed_at(at: int, work: Callable[[], None]) -> bool:
    """Does the work in a process of its own, which is killed at a line; whether it came so far."""
    child = os.fork()
    if child == 0:
        trace = _killer(at)
        threading.settrace(trace)
        sys.settrace(trace)
        work()
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def _killer(at: int) -> Any:
    seen = count(1)

    def trace(frame: FrameType, what: str, _: Any) -> Any:
        if frame.f_code.co_filename not in WATCHED:
            return None
        if what == "line" and next(seen) == at:
            os.kill(os.getpid(), signal.SIGKILL)
        return trace

    return trace


if __name__ == "__main__":
    crash_at_every_line(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
