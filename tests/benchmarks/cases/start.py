"""From the start of the process to the answer of `initialize`, and of the request behind it."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from tests.benchmarks.client import Client, lithify, seconds_since, stock
from tests.benchmarks.figures import Case, Measured, Target
from tests.benchmarks.rounds import interleaved
from tests.benchmarks.stock_server import REQUEST
from tests.support.raw_client import initialize_params

ROUNDS = 11

CASES = (
    Case(
        "spawn to the answer of `initialize`",
        "ms",
        Target("ratio", at_most=1.4),
        "an empty stock pygls server",
    ),
    Case(
        "spawn to the answer of the first request behind it, `recordEvents`",
        "ms",
        Target("ratio"),
        "the same, an empty request",
    ),
)


def measure(folder: Path) -> Iterator[Measured]:
    """The figures of the cases."""
    first = partial(_milliseconds, folder, lithify, None), partial(_milliseconds, folder, stock, None)
    for one in first:
        one()  # whose files are in memory now
    yield interleaved(CASES[0], ROUNDS, *first)
    yield interleaved(
        CASES[1],
        ROUNDS,
        partial(_milliseconds, folder, lithify, ("lithify/recordEvents", {"events": []})),
        partial(_milliseconds, folder, stock, (REQUEST, None)),
    )


def _milliseconds(folder: Path, start: Callable[[Path], Client], behind: tuple[str, Any] | None) -> float:
    with tempfile.TemporaryDirectory(dir=folder) as name:
        started = time.perf_counter()
        with start(Path(name)) as client:
            client.ask("initialize", initialize_params())
            if behind is not None:
                client.ask(*behind)
            return seconds_since(started) * 1000
