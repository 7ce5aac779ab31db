"""Processes killed at each line of the code that takes lines out of a buffer, or puts summaries in.

    python -m tests.storage.rewrite_crashes OPERATION FOLDER    extract, extract_all, compact, let_go or cut
    python -m tests.storage.rewrite_crashes hold DATA_DIR WORK  takes the right to extract or to compact, claims
                                                                what is free, says so, and waits to be killed

The first prints JSON, one object for each line a process was killed at: what a next process finds there.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from lithify.storage.store import open_store
from tests.storage.auditing import audit
from tests.storage.crashes import STORAGE, _in_a_process
from tests.storage.test_faults import BROKEN, OPERATIONS
from tests.support.clock import Clock
from tests.support.stores import CEILING_BYTES, buffer_file, buffered_ids, event, rows, states

ELSEWHERE = ("memory.py", "locks.py", "paths.py")
REWRITING = ("extract", "replace", "evict")


def crash_at_every_line(operation: str, folder: Path) -> None:
    """Kills a process when it first comes to its first line of such code, one at its second, and so on, until one
    comes through."""
    prepared = folder / "prepared"
    _prepare(prepared)
    at, killed = 1, True
    while killed:
        data_dir = folder / str(at)
        shutil.copytree(prepared, data_dir)
        killed = _crash(operation, data_dir, at)
        shutil.rmtree(data_dir)
        at += 1


def _prepare(data_dir: Path) -> None:
    store = open_store(data_dir, Clock())
    store.events.accept([event("E1"), event("E2")], CEILING_BYTES)
    with buffer_file(data_dir).open("ab") as file:
        file.write(BROKEN)
    store.events.accept([event("E3"), event("E4", "long " * 400)], CEILING_BYTES)
    store.close()


def _killer(at: int) -> Callable[..., Any]:
    """Kills at the so manieth line that was not run before, from the start of a rewriting method of `Staging` on."""
    seen: set[tuple[str, int]] = set()

    def trace(frame: FrameType, what: str, _: Any) -> Any:
        file, name = frame.f_code.co_filename, frame.f_code.co_name
        if (
            not file.startswith(STORAGE)
            or file.endswith(ELSEWHERE)
            or not (seen or (file.endswith("staging.py") and name in REWRITING))
        ):
            return None
        if what == "line":
            seen.add((file, frame.f_lineno))
            if len(seen) == at:
                os.kill(os.getpid(), signal.SIGKILL)
        return trace

    return trace


def _crash(operation: str, data_dir: Path, at: int) -> bool:
    def work() -> str:
        store = open_store(data_dir, Clock())
        sys.settrace(_killer(at))
        OPERATIONS[operation](store)
        sys.settrace(None)
        return "done"

    answer, killed = _in_a_process(work)
    found = {"answer": answer, "at_once": audit(data_dir, healed=False)}
    store = open_store(data_dir, Clock())
    store.events.accept([event("LAST")], CEILING_BYTES)
    entries = [entry.event_id for entry in store.staging.entries("p1")]
    found |= {"healed": audit(data_dir), "entries": entries, "buffer": buffered_ids(data_dir)}
    found |= {"states": states(data_dir), "records": rows(data_dir, "SELECT count(*) FROM memory_records")[0][0]}
    found |= {"broken_kept": BROKEN in buffer_file(data_dir).read_bytes()}
    OPERATIONS["extract_all"](store)
    found |= {"in_the_end": audit(data_dir), "last_states": sorted(set(states(data_dir).values()))}
    store.close()
    sys.stdout.write(json.dumps(found) + "\n")
    return killed


def hold(data_dir: Path, work: str) -> None:
    """Takes a right and claims, and keeps both until it is killed."""
    store = open_store(data_dir, Clock())
    if work == "extraction":
        assert store.staging.begin_extraction("p1")
    else:
        assert store.staging.begin_compaction()
    purpose = "extraction" if work == "extraction" else "compaction"
    claimed = store.staging.claim("p1", purpose, lambda free: free[:2])
    sys.stdout.write(json.dumps([entry.event_id for entry in claimed]) + "\n")
    sys.stdout.flush()
    signal.pause()


def main(command: str, folder: str, *more: str) -> None:
    """Runs one of the commands."""
    if command == "hold":
        hold(Path(folder), *more)
    else:
        crash_at_every_line(command, Path(folder))


if __name__ == "__main__":
    main(*sys.argv[1:])
