"""Durable ingestion over stdio, one event a notification and 200."""

from __future__ import annotations

import sqlite3
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

from tests.benchmarks.client import Client, lithify, seconds_since, stock
from tests.benchmarks.figures import Case, Measured, Target
from tests.benchmarks.material import events, notifications
from tests.benchmarks.rounds import in_turn
from tests.benchmarks.stock_server import REQUEST

EVENTS = 20_000
BATCH = 200
ROUNDS = 5
UNBOUNDED = 1 << 40
ONLY_INGESTION = {
    "buffer": {"compactionBytes": UNBOUNDED, "ceilingBytes": UNBOUNDED + 1},
    "extraction": {"enabled": False},
}

CASES = (
    Case(
        "durable ingestion over stdio: 20,000 notifications of one 1 KiB event, until all are in database and buffer",
        "events/s",
        Target("ratio", at_least=3),
        "a stock pygls server with an empty typed handler",
    ),
    Case(
        "the same, 200 events a notification",
        "events/s",
        Target("ratio", at_least=7),
        "the stock server at one event a notification",
    ),
)


def measure(folder: Path) -> Iterator[Measured]:
    """The figures of the cases."""
    all_events = list(events(EVENTS))
    single, batches = notifications(all_events, 1), notifications(all_events, BATCH)
    turns = (partial(_rate, folder, single), partial(_rate, folder, batches), partial(_stock_rate, folder, single))
    ones, many, theirs = in_turn(ROUNDS, *turns)
    yield Measured(CASES[0], ones, theirs)
    yield Measured(CASES[1], many, theirs)


def _rate(folder: Path, data: bytes) -> float:
    with tempfile.TemporaryDirectory(dir=folder) as name, lithify(Path(name)) as client:
        client.initialize(**ONLY_INGESTION)
        started = time.perf_counter()
        client.send(data)
        client.ask("lithify/recordEvents", {"events": []})  # is answered once all before it is durable
        rate = EVENTS / seconds_since(started)
        _check(client, Path(name, "data"))
    return rate


def _check(client: Client, data_dir: Path) -> None:
    """All events are where they should be."""
    client.shut_down()
    with closing(sqlite3.connect(data_dir / "lithify.db")) as database:
        (count,) = database.execute("SELECT count(*) FROM events WHERE state = 'buffered'").fetchone()
    (buffer,) = data_dir.glob("buffers/*/buffer.ndjson")
    lines = buffer.read_bytes().count(b"\n")
    if (count, lines) != (EVENTS, EVENTS):
        raise AssertionError(f"{count} events in the database and {lines} in the buffer, of {EVENTS}")


def _stock_rate(folder: Path, data: bytes) -> float:
    with stock(folder) as client:
        client.initialize()
        started = time.perf_counter()
        client.send(data)
        client.ask(REQUEST, None)
        return EVENTS / seconds_since(started)
