"""`lithify/recordEvents` one by one: the round trip of a durable event."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.benchmarks.cases.ingestion import ONLY_INGESTION
from tests.benchmarks.client import Client, lithify
from tests.benchmarks.figures import Case, Measured, Target, percentile
from tests.benchmarks.material import events

ROUNDS = 5
EACH = 1000

_NAME = "`recordEvents` one by one, round trip"
_YARDSTICK = "an empty request on the same server"

CASES = (
    Case(f"{_NAME}, p50", "ms", Target("ratio", at_most=4), _YARDSTICK),
    Case(f"{_NAME}, p99", "ms", Target("ratio"), _YARDSTICK),
)


def measure(folder: Path) -> Iterator[Measured]:
    """The figures of the cases; the two kinds of request take turns."""
    ours: list[list[float]] = []
    empty: list[list[float]] = []
    with lithify(folder) as client:
        client.initialize(**ONLY_INGESTION)
        every = events(EACH * ROUNDS)
        for _ in range(ROUNDS):
            ours.append([])
            empty.append([])
            for _ in range(EACH):
                ours[-1].append(_round_trip(client, "lithify/recordEvents", {"events": [next(every)]}))
                empty[-1].append(_round_trip(client, "lithify/sessionActions", {"agent": None}))
    for case, percent in zip(CASES, (50, 99), strict=True):
        yield Measured(case, [percentile(one, percent) for one in ours], [percentile(one, percent) for one in empty])


def _round_trip(client: Client, method: str, params: Any) -> float:
    started = time.perf_counter()
    client.ask(method, params)
    return (time.perf_counter() - started) * 1000
