"""Resident memory: idle, and whether it grows with what has come."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from tests.benchmarks.cases.ingestion import ONLY_INGESTION
from tests.benchmarks.client import Client, lithify, message, stock
from tests.benchmarks.figures import Case, Measured, Target
from tests.benchmarks.material import events, messages, notifications
from tests.benchmarks.rounds import interleaved

ROUNDS = 3
IDLE_SECONDS = 1.5
"""By then a server has looked at its buffers for the first time."""

EVENTS, SESSIONS = 100_000, 1_000
TENTHS = 10
FLAT = 1.05
"""What memory may grow between the first tenth and the whole and still be called flat: an allocator's air."""

CASES = (
    Case("resident memory, idle", "MiB", Target("difference", at_most=25), "the empty stock server"),
    Case("resident memory after 100,000 events", "MiB", Target("ratio", at_most=FLAT), "after the first 10,000"),
    Case("resident memory after 1,000 sessions", "MiB", Target("ratio", at_most=FLAT), "after the first 100"),
)


def measure(folder: Path) -> Iterator[Measured]:
    """The figures of the cases."""

    def idle() -> float:
        with tempfile.TemporaryDirectory(dir=folder) as name, lithify(Path(name)) as client:
            return _idle_mebibytes(client)

    def stock_idle() -> float:
        with stock(folder) as client:
            return _idle_mebibytes(client)

    yield interleaved(CASES[0], ROUNDS, idle, stock_idle)
    yield _growth(CASES[1], folder, _event_tenths())
    yield _growth(CASES[2], folder, _session_tenths())


def _idle_mebibytes(client: Client) -> float:
    client.initialize()
    time.sleep(IDLE_SECONDS)
    return client.resident_mebibytes()


def _growth(case: Case, folder: Path, tenths: list[bytes]) -> Measured:
    """Memory after the whole beside memory after the first tenth; the last three tenths are three rounds."""
    after: list[float] = []
    with tempfile.TemporaryDirectory(dir=folder) as name, lithify(Path(name)) as client:
        client.initialize(**ONLY_INGESTION)
        for tenth in tenths:
            client.send(tenth)
            client.ask("lithify/recordEvents", {"events": []})
            after.append(median(client.resident_mebibytes() for _ in range(3)))
    return Measured(case, after[-3:], [after[0]] * 3)


def _event_tenths() -> list[bytes]:
    return [notifications(list(events(EVENTS // TENTHS, seed)), 100) for seed in range(TENTHS)]


def _session_tenths() -> list[bytes]:
    said = messages(20, 20_000)
    opened = [
        message("lithify/didOpenSession", {"sessionId": f"s{number}", "agent": None, "messages": said})
        for number in range(SESSIONS)
    ]
    size = SESSIONS // TENTHS
    return [b"".join(opened[start : start + size]) for start in range(0, SESSIONS, size)]
