"""Processes that compact a session file, or undo that, and are killed at each line of the code that writes.

    python -m tests.workers.document_crashes compact|undo FOLDER

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
from tests.support import claude_code_loader
from tests.support.claude_code_session import Session
from tests.support.document_bench import DocumentBench

WATCHED = frozenset(
    str(module.__file__)
    for module in (
        *(appending, backups, chat_files, document_compactions, system),
        *(document_changes, document_places, document_records, document_undo, document_writing),
    )
)


def crash_at_every_line(command: str, folder: Path) -> None:
    """Kills a process at each line until one ends by itself."""
    for at in count(1):
        place = folder / str(at)
        place.mkdir()
        file = _session(place / "s1.jsonl")
        before = file.read_bytes()
        bench = DocumentBench(place / "data")
        if command == "undo":
            bench.compact(file, 4)
        killed = _killed_at(at, lambda bench=bench, file=file: _work(bench, file, command))  # type: ignore[misc]
        found = file.read_bytes()
        loaded = claude_code_loader.load(found.decode())
        certain = [one.certain for one in bench.kept(file) if not one.undone]
        told = {
            "killed": killed,
            "untouched": found == before,
            "grown": found.startswith(before) and found != before,
            "loaded": len(loaded),
            "certain": certain,
            "undo": DocumentBench(place / "data", first_id=100).failure(file),
            "restored": file.read_bytes() == before,
        }
        sys.stdout.write(json.dumps(told) + "\n")
        if not killed:
            break


def _session(file: Path) -> Path:
    talk = Session()
    for number in range(3):
        talk.user(f"question {number}")
        talk.assistant(f"answer {number}")
    file.write_text(talk.text(), encoding="utf-8")
    return file


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
    crash_at_every_line(sys.argv[1], Path(sys.argv[2]))
