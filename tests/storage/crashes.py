"""Processes that append events to a real data folder, and are killed while they do.

    python -m tests.storage.crashes write DATA_DIR MAKER COUNT BATCH    appends, and prints each answer
    python -m tests.storage.crashes lines FOLDER                        one process killed at each line of the code
    python -m tests.storage.crashes bytes FOLDER                        one process killed at each few bytes of a write
    python -m tests.storage.crashes lost FOLDER                         one process killed at each line while it heals
    python -m tests.storage.crashes chat FOLDER                         one process killed at each few lines of a chat
    python -m tests.storage.crashes full DATA_DIR                       appends while the disk is full, then is not

All but the first print JSON, one object a line: what was answered, and what a next process finds. Each process that is
killed has a data folder of its own in FOLDER: the first use of a buffer reads all lines of it, so that one that grows
with every death would have no last line to be killed at.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from lithify.core.events import buffer_line
from lithify.storage.store import open_store
from tests.support.clock import Clock, Ids
from tests.support.stores import CEILING_BYTES, Bench, buffer_file, buffered_ids, event, states

STORAGE = str(Path(open_store.__code__.co_filename).parent)
STEP_BYTES = 7
STEP_LINES = 4
CHAT = [{"role": "user", "content": "question"}, {"role": "assistant", "content": "answer"}]


def write(data_dir: Path, maker: int, count: int, batch: int) -> None:
    """Appends events in batches and prints a line for each answer, as soon as it is there."""
    store = open_store(data_dir, Clock())
    new_id = Ids(maker)
    for _ in range(count // batch):
        events = [event(new_id(), "some words " * 20) for _ in range(batch)]
        for result in store.events.accept(events, CEILING_BYTES):
            sys.stdout.write(f"{result.event_id} {result.status}\n")
        sys.stdout.flush()
    store.close()


def crash_at_every_line(folder: Path) -> None:
    """Kills a process at its first line of storage code, one at its second, and so on, until one comes through."""
    at, killed = 1, True
    while killed:
        killed = _crash_of_events(folder, at, lambda at=at: sys.settrace(_killer(at)))  # type: ignore[misc]
        at += 1


def crash_within_a_write(folder: Path) -> None:
    """Kills a process when it has written so many bytes of its lines, the next when it has written a few more."""
    at, killed = 0, True
    while killed:
        killed = _crash_of_events(folder, at, lambda at=at: _tear(at))  # type: ignore[misc]
        at += STEP_BYTES
    for before_the_end in (1, 2):
        _crash_of_events(folder, at + before_the_end, lambda at=-before_the_end: _tear(at))  # type: ignore[misc]


def crash_within_a_chat(folder: Path) -> None:
    """Kills a process while it opens a session, the next a few lines later; what is said after its client came back."""
    at, killed = 1, True
    while killed:
        data_dir = folder / str(at)
        session_id, said = f"chat {at}", [{**one, "content": f"{one['content']} {at}"} for one in CHAT]

        def open_it(
            data_dir: Path = data_dir, session_id: str = session_id, said: list[dict[str, Any]] = said, at: int = at
        ) -> None:
            bench = Bench(data_dir, maker_of_ids=at)
            sys.settrace(_killer(at))
            bench.open(said, session_id)
            sys.settrace(None)

        killed = _in_a_process(open_it)[1]
        bench = Bench(data_dir, maker_of_ids=10_000 + at)
        bench.open(said, session_id)
        kept = bench.messages(session_id) == said
        found = [text for text in bench.said() if text.endswith(f" {at}")]
        bench.store.close()
        _print({"kept": kept, "said": found, "expected": [one["content"] for one in said]})
        at += STEP_LINES


def crash_while_healing(folder: Path) -> None:
    """Kills processes at each line of the code that feeds events in again whose buffer was deleted, and takes over one
    that only its line knows."""
    at, killed = 1, True
    while killed:
        data_dir = folder / str(at)
        store = open_store(data_dir, Clock())
        store.events.accept([event(one) for one in ("E1", "E2")], CEILING_BYTES)
        store.close()
        buffer_file(data_dir).write_text(
            buffer_line("E3", "/actor/ann/project/p1/", "note", "{}", "now", "hand") + "\n"
        )

        def heal(data_dir: Path = data_dir, at: int = at) -> str:
            store = open_store(data_dir, Clock())
            sys.settrace(_killer(at))
            store.events.feed("p1", CEILING_BYTES)
            sys.settrace(None)
            return "done"

        killed = _in_a_process(heal)[1]
        store = open_store(data_dir, Clock())
        store.events.feed("p1", CEILING_BYTES)
        store.close()
        _print({"states": states(data_dir), "buffer": buffered_ids(data_dir)})
        at += 1


def full_disk(data_dir: Path) -> None:
    """Appends two events, the second while the buffer may not grow; then a third when it may again."""
    store = open_store(data_dir, Clock())
    for event_id in ("E1", "E2", "E3"):
        if event_id == "E2":
            _let_the_buffer_stop(data_dir)
        else:
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        result = store.events.accept([event(event_id)], CEILING_BYTES)[0]
        told = {"status": result.status, "error": store.events.disk_error("p1")}
        _print({**told, "states": states(data_dir), "buffer": buffered_ids(data_dir)})


def _let_the_buffer_stop(data_dir: Path) -> None:
    """The database's files are smaller than the limit; the buffer is made to stand just below it."""
    most = 1 << 20
    with buffer_file(data_dir).open("ab") as file:
        file.write(b" " * (most - 20 - file.tell() - 1) + b"\n")
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))


def _crash_of_events(folder: Path, number: int, arm: Callable[[], None]) -> bool:
    """Appends two events in a process that is armed; prints what is found after it. Whether it was killed."""
    data_dir = folder / str(number)
    ids = [f"01{number:08d}{each:016d}" for each in range(2)]

    def append() -> str:
        store = open_store(data_dir, Clock())
        arm()
        results = store.events.accept([event(one) for one in ids], CEILING_BYTES)
        sys.settrace(None)
        return " ".join(f"{one.event_id}" for one in results)

    answered, killed = _in_a_process(append)
    store = open_store(data_dir, Clock())
    for project_id in store.events.waiting_projects():
        store.events.feed(project_id, CEILING_BYTES)
    store.close()
    found = {one: state for one, state in states(data_dir).items() if one in ids}
    buffer = [one for one in buffered_ids(data_dir) if one in ids]
    _print({"answered": answered.split(), "ids": ids, "states": found, "buffer": buffer})
    return killed


def _in_a_process(work: Callable[[], str | None]) -> tuple[str, bool]:
    """Does the work in a process of its own; what it answers, and whether it was killed."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        answer = work()
        os.write(writing, (answer or "").encode())
        os._exit(0)
    os.close(writing)
    with open(reading, encoding="ascii") as answers:
        answer = answers.read()
    _, status = os.waitpid(child, 0)
    return answer, os.WIFSIGNALED(status)


def _killer(at: int) -> Any:
    seen = 0

    def trace(frame: FrameType, what: str, _: Any) -> Any:
        nonlocal seen
        if not frame.f_code.co_filename.startswith(STORAGE):
            return None
        if what == "line":
            seen += 1
            if seen == at:
                os.kill(os.getpid(), signal.SIGKILL)
        return trace

    return trace


def _tear(at: int) -> None:
    """The next write to a file writes that many bytes (below 0: so many from its end) and is the process's last act."""
    whole = os.write

    def torn(descriptor: int, data: bytes) -> int:
        os.write = whole
        if at >= len(data):
            return whole(descriptor, data)
        whole(descriptor, data[:at])
        os.kill(os.getpid(), signal.SIGKILL)
        return 0

    os.write = torn  # type: ignore[assignment]


def _print(found: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(found) + "\n")


def main(command: str, folder: str, *numbers: str) -> None:
    """Runs one of the commands."""
    place = Path(folder)
    if command == "write":
        write(place, *map(int, numbers))
    else:
        commands = {
            "lines": crash_at_every_line,
            "bytes": crash_within_a_write,
            "lost": crash_while_healing,
            "chat": crash_within_a_chat,
            "full": full_disk,
        }
        commands[command](place)


if __name__ == "__main__":
    main(*sys.argv[1:])
