"""How four operations grow with what is stored: 1, 10 and 100 times as much. No rows of the table: a plot."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import closing
from functools import partial
from pathlib import Path
from statistics import median
from typing import TypeVar

from lithify.core.projects import Project
from lithify.core.sessions import SessionInfo
from lithify.storage.database import open_database, transaction
from lithify.storage.paths import database_file
from lithify.storage.store import Store, open_store
from tests.benchmarks.cases.buffer_replace import replace_milliseconds
from tests.benchmarks.material import messages, stored
from tests.benchmarks.records import PROJECT, QUESTIONS, Records

T = TypeVar("T")

SIZES = (3_000, 30_000, 300_000)
"""Events, records, messages that are stored."""

TITLE = "Time of one operation, with what is stored already"
LABELS = ("1x: 3,000", "10x: 30,000", "100x: 300,000")

BATCH = 200
REPEATS = 7
REPLACED_BYTES = (41_943, 419_430, 4_194_304)
NOW = "2026-01-02T03:04:05.678Z"


def measure(folder: Path) -> dict[str, list[float]]:
    """Milliseconds of each operation at each size; of a replace, at sizes of the buffer, which has a ceiling."""
    return {
        "ingestion of 200 events": _ingestion(folder / "events"),
        "memory search, median question": _search(folder / "records"),
        "append of a message to a session": _session_append(folder / "sessions"),
        "replace in a buffer of 40 KiB, 400 KiB, 4 MiB": _replace(folder / "buffer"),
    }


def _ingestion(folder: Path) -> list[float]:
    found = []
    with closing(open_store(folder, lambda: NOW)) as store:
        store.events.note_project(Project("p", "/p"))
        seed = 0
        for size in SIZES:
            _fill_events(folder, size)
            batches = [stored(BATCH, "p", seed := seed + 1) for _ in range(REPEATS)]
            found.append(_median(batches, lambda batch: store.events.accept(batch, 1 << 40)))
    return found


def _fill_events(folder: Path, size: int) -> None:
    """Extracted events until so many are stored, copies of one another but for their ids."""
    with closing(open_database(database_file(folder))) as database, transaction(database):
        (there, last) = database.execute("SELECT count(*), coalesce(max(sequence), 0) FROM events").fetchone()
        body = stored(1, "p")[0].body_json
        database.executemany(
            "INSERT INTO events (event_id, sequence, project_id, state, session_id, actor_id, kind, body, valid_time,"
            " recorded_at, namespace, surface, source)"
            " VALUES (?, ?, 'p', 'extracted', 's', 'ann', 'tool_use', ?, ?, ?, '/actor/ann/project/p/', 'bench', '{}')",
            ((f"0{last + number:025}", last + number, body, NOW, NOW) for number in range(1, size - there + 1)),
        )


def _search(folder: Path) -> list[float]:
    folder.mkdir()
    records = Records(folder)
    found = []
    for size in SIZES:
        records.grow_to(size)
        with closing(open_store(folder, lambda: NOW)) as store:
            search = partial(store.memory.search, PROJECT, limit=10)
            found.append(_median(QUESTIONS, search))
    return found


def _session_append(folder: Path) -> list[float]:
    found = []
    said = messages(1000, 1_000_000)
    with closing(open_store(folder, lambda: NOW)) as store:
        info = SessionInfo("s", None, "p", "/p", None, None, None, "bench", 0, 0, 0, NOW, NOW, False)
        with store.transaction():
            store.sessions.put(info)
        for size in SIZES:
            there = _length(store)
            with store.transaction():
                while there < size:
                    store.sessions.splice("s", there, 0, [(one, None) for one in said], NOW)
                    there += len(said)
            found.append(_median(said[:REPEATS], lambda one: _append(store, one)))
    return found


def _append(store: Store, message: dict[str, object]) -> None:
    with store.transaction():
        store.sessions.splice("s", _length(store), 0, [(message, None)], NOW)


def _length(store: Store) -> int:
    info = store.sessions.find("s")
    assert info is not None
    return info.message_count


def _replace(folder: Path) -> list[float]:
    found = []
    for size in REPLACED_BYTES:
        figures = []
        for number in range(3):
            (data_dir := folder / f"{size}-{number}").mkdir(parents=True)
            figures.append(replace_milliseconds(data_dir, size))
        found.append(median(figures))
    return found


def _median(inputs: Iterable[T], work: Callable[[T], object]) -> float:
    """Milliseconds of the work, the median over its inputs."""
    figures = []
    for one in inputs:
        started = time.perf_counter()
        work(one)
        figures.append((time.perf_counter() - started) * 1000)
    return median(figures)
