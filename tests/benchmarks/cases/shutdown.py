"""A shutdown while events are queued: how long it takes, and that none is lost."""

from __future__ import annotations

import sqlite3
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from tests.benchmarks.client import lithify, seconds_since
from tests.benchmarks.figures import Case, Measured, Target
from tests.benchmarks.material import events, notifications

ROUNDS = 7
EVENTS = 1_000

CASES = (
    Case("shutdown with 1,000 queued events, to the end of the process", "s", Target("value", at_most=1)),
    Case("events lost by it", "", Target("value", at_most=0)),
)


def measure(folder: Path) -> Iterator[Measured]:
    """The figures of the cases."""
    data = notifications(list(events(EVENTS)), 1)
    seconds: list[float] = []
    lost: list[float] = []
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory(dir=folder) as name, lithify(Path(name)) as client:
            client.initialize()
            started = time.perf_counter()
            client.send(data)
            client.shut_down()
            seconds.append(seconds_since(started))
            with closing(sqlite3.connect(Path(name, "data", "lithify.db"))) as database:
                lost.append(EVENTS - database.execute("SELECT count(*) FROM events").fetchone()[0])
    yield Measured(CASES[0], seconds)
    yield Measured(CASES[1], lost)
