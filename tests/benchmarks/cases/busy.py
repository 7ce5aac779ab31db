"""Ingestion while the buffer of another project, 4 MiB long, is compacted and extracted."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from tests.benchmarks.client import Client, lithify
from tests.benchmarks.figures import Case, Measured, Target, percentile
from tests.benchmarks.material import events, notifications

ROUNDS = 5
EACH = 300
PAUSE_SECONDS = 0.002
BUFFER_EVENTS = 3600
"""Together somewhat less than 4 MiB of lines."""

CASES = (
    Case(
        "ingestion while a 4 MiB replace and an extraction run, round trip, p99",
        "ms",
        Target("ratio", at_most=3),
        "the same while nothing else runs, p99",
    ),
)


def measure(folder: Path) -> Iterator[Measured]:
    """The figures of the case."""
    busy: list[float] = []
    idle: list[float] = []
    every = events(EACH * ROUNDS * 2 + 100_000, seed=5)
    work = folder / "work"
    work.mkdir()
    for number in range(ROUNDS):
        with lithify(folder) as client:
            client.initialize(
                extraction={"enabled": False},
                buffer={"extractionBytes": 1 << 20, "compactionBytes": 1 << 22, "ceilingBytes": 1 << 23},
                bufferCompaction={"enabled": True},
                model={"provider": "offline"},
            )
            own = list(events(BUFFER_EVENTS, seed=100 + number))
            for one in own:
                one["source"]["projectPath"] = str(work)
            client.send(notifications(own, 200))
            client.ask("lithify/recordEvents", {"events": []})
            idle.append(percentile([_round_trip(client, next(every)) for _ in range(EACH)], 99))
            busy.append(percentile(_while_working(client, work.as_uri(), every), 99))
    yield Measured(CASES[0], busy, idle)


def _while_working(client: Client, project: str, every: Iterator[dict[str, object]]) -> list[float]:
    """Round trips from the begin of the compaction and the extraction until both have ended."""
    waiting = {
        client.begin("workspace/executeCommand", {"command": f"lithify.{name}", "arguments": [{"projectUri": project}]})
        for name in ("compact_buffer", "extract_now")
    }
    found: list[float] = []
    while waiting:
        found.append(_round_trip(client, next(every), waiting))
    return found


def _round_trip(client: Client, event: dict[str, object], waiting: set[int] | None = None) -> float:
    """Milliseconds of one; answers to what is waited for are noted on the way."""
    time.sleep(PAUSE_SECONDS)
    started = time.perf_counter()
    request_id = client.begin("lithify/recordEvents", {"events": [event]})
    client.answer(request_id, waiting)
    return (time.perf_counter() - started) * 1000
