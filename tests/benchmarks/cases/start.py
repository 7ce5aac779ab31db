"""From the start of the process to the answer of `initialize`."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from tests.benchmarks.client import Client, lithify, seconds_since, stock
from tests.benchmarks.figures import Case, Measured, Target
from tests.benchmarks.rounds import interleaved
from tests.support.raw_client import initialize_params

ROUNDS = 11

CASES = (
    Case(
        "spawn to the answer of `initialize`",
        "ms",
        Target("ratio", at_most=1.4),
        "an empty stock pygls server",
    ),
)


def measure(folder: Path) -> Iterator[Measured]:
    """The figures of the case."""
    for start in (lithify, stock):
        _milliseconds(folder, start)  # whose files are in memory now
    yield interleaved(CASES[0], ROUNDS, partial(_milliseconds, folder, lithify), partial(_milliseconds, folder, stock))


def _milliseconds(folder: Path, start: Callable[[Path], Client]) -> float:
    with tempfile.TemporaryDirectory(dir=folder) as name:
        started = time.perf_counter()
        with start(Path(name)) as client:
            client.ask("initialize", initialize_params())
            return seconds_since(started) * 1000
