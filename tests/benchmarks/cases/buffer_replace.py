"""A part of a buffer of 4 MiB replaced by summaries: snapshot, and replace with what was appended meanwhile."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from lithify.core.entries import Entry, summary_entry
from lithify.core.projects import Project
from lithify.storage.store import Store, open_store
from tests.benchmarks.figures import Case, Measured, Target
from tests.benchmarks.material import stored
from tests.benchmarks.rounds import interleaved, milliseconds

ROUNDS = 7
BUFFER_BYTES = 4 << 20
LINE_BYTES = 1000
COVERED = 256
"""Entries that the summaries cover; all others, the later ones, are kept as they are."""

CASES = (
    Case(
        "snapshot and replace with catch-up of 4 MiB",
        "ms",
        Target("ratio", at_most=1.5),
        "write, fsync and rename of 4 MiB",
    ),
    Case("the same, where nearly all of it was there at the snapshot", "ms", Target("ratio"), "the same"),
)


def measure(folder: Path) -> Iterator[Measured]:
    """The figures of the case."""
    data = os.urandom(1 << 16) * (BUFFER_BYTES >> 16)

    def replace() -> float:
        with tempfile.TemporaryDirectory(dir=folder) as name:
            return replace_milliseconds(Path(name), BUFFER_BYTES)

    def bare() -> float:
        return milliseconds(lambda: write_whole(folder / "bare", data))

    def replace_there() -> float:
        with tempfile.TemporaryDirectory(dir=folder) as name:
            return replace_milliseconds(Path(name), BUFFER_BYTES, caught_up=False)

    yield interleaved(CASES[0], ROUNDS, replace, bare)
    yield interleaved(CASES[1], ROUNDS, replace_there, bare)


def replace_milliseconds(data_dir: Path, buffer_bytes: int, *, caught_up: bool = True) -> float:
    """What snapshot and replace take in a buffer of so many bytes. `caught_up`: nearly all of them come in between."""
    project = Project("p", str(data_dir))
    entries = stored(buffer_bytes // LINE_BYTES, project.project_id)
    with closing(open_store(data_dir, lambda: "2026-01-02T03:04:05.678Z")) as store:
        store.events.note_project(project)
        first = COVERED * 2 if caught_up else len(entries) - COVERED
        store.events.accept(entries[:first], 1 << 40)
        store.staging.begin_compaction()
        claimed: list[Entry] = []
        taken = milliseconds(lambda: claimed.extend(_claim(store)))
        store.events.accept(entries[first:], 1 << 40)  # the catch-up window
        covered = {one.event_id for one in claimed}
        summary = summary_entry("1", claimed, "What these entries say. " * 100, sorted(covered))
        done: list[bool] = []
        taken += milliseconds(lambda: done.append(store.staging.replace(project.project_id, covered, [summary])))
        store.staging.end_compaction()
        if done != [True] or len(store.staging.entries(project.project_id)) != len(entries) - len(claimed) + 1:
            raise AssertionError("the entries were not replaced")
        return taken


def write_whole(path: Path, data: bytes) -> None:
    """The plainest safe rewrite of a file."""
    temporary = path.with_suffix(".new")
    with temporary.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def _claim(store: Store) -> list[Entry]:
    return store.staging.claim("p", "compaction", lambda entries: entries[:COVERED])
