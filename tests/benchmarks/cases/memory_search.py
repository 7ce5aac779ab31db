"""Search among 1,000,000 memory records, by the questions that people ask."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from statistics import mean

from lithify.core.ranking import WEIGHTS
from lithify.core.records import search_words
from lithify.storage.memory import MemoryStore
from tests.benchmarks.figures import Case, Measured, Target, percentile
from tests.benchmarks.records import PROJECT, QUESTIONS, Records

RECORDS = 1_000_000
ROUNDS = 2
FIRST = 10
_WEIGHTS = ", ".join(map(str, WEIGHTS))

CASES = (
    Case(
        "memory search among 1,000,000 records, p95 over real questions",
        "ms",
        Target("ratio", at_most=0.2),
        "FTS5 with all words of the question OR-ed and ranked, p95",
    ),
    Case("of its first 10 results, those that the yardstick has too, on average", "", Target("value", at_least=9)),
)


def measure(folder: Path) -> Iterator[Measured]:
    """The figures of the cases."""
    records = Records(folder)
    records.grow_to(RECORDS)
    with closing(sqlite3.connect(records.path, isolation_level=None)) as connection:
        yield from compare(connection)


def compare(connection: sqlite3.Connection) -> Iterator[Measured]:
    """The figures of a database that is there. Questions take turns, as the two ways do."""
    store = MemoryStore(connection)

    def ours(question: str) -> list[str]:
        return [one.record_id for one in store.search(PROJECT, question, FIRST)]

    def yardstick(question: str) -> list[str]:
        return plain_search(connection, question)

    ours_ms: list[float] = []
    theirs_ms: list[float] = []
    shared: list[float] = []
    for _ in range(ROUNDS):
        pairs = [(_timed(ours, question), _timed(yardstick, question)) for question in QUESTIONS]
        ours_ms.append(percentile([one[0] for one, _ in pairs], 95))
        theirs_ms.append(percentile([other[0] for _, other in pairs], 95))
        shared.append(mean(_shared(one[1], other[1]) for one, other in pairs))
    yield Measured(CASES[0], ours_ms, theirs_ms)
    yield Measured(CASES[1], shared)


def _shared(ours: list[str], theirs: list[str]) -> float:
    """How many of ten results both have; where the yardstick has fewer, as many of ten as it is of those."""
    return FIRST * len({*ours} & {*theirs}) / len(theirs) if theirs else FIRST


def plain_search(connection: sqlite3.Connection, question: str) -> list[str]:
    """The plainest full-text search: all words of the question OR-ed, everything that is found ranked."""
    match = " OR ".join(f'"{word}"' for word in search_words(question))
    rows = connection.execute(
        f"SELECT r.record_id FROM memory_index JOIN memory_records r ON r.number = memory_index.rowid"
        f" WHERE memory_index MATCH ? AND r.project_id = ?"
        f" ORDER BY bm25(memory_index, {_WEIGHTS}), r.number DESC LIMIT ?",
        (match, PROJECT, FIRST),
    )
    return [row[0] for row in rows]


def _timed(search: Callable[[str], list[str]], question: str) -> tuple[float, list[str]]:
    """Milliseconds, and what was found."""
    started = time.perf_counter()
    found = search(question)
    return (time.perf_counter() - started) * 1000, found
