"""The append of 1 KiB to a buffer under its lock, in process."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from lithify.storage.buffer import Buffer
from tests.benchmarks.figures import Case, Measured, Target, percentile

ROUNDS = 7
EACH = 1000
CEILING_BYTES = 1 << 40

CASES = (
    Case(
        "append of 1 KiB under the lock, in process, p50",
        "µs",
        Target("ratio", at_most=3),
        "open, write and close of the same bytes",
    ),
    Case("the same, p99", "ms", Target("value", at_most=1)),
)


def measure(folder: Path) -> Iterator[Measured]:
    """The figures of the cases; the two take turns at every append."""
    line = "x" * 1023
    data = f"{line}\n".encode()
    buffer = Buffer(folder / "project")
    plain = folder / "plain"

    def append() -> None:
        with buffer.held():
            buffer.append([line], CEILING_BYTES)

    def write() -> None:
        descriptor = os.open(plain, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(descriptor, data)
        os.close(descriptor)

    ours: list[list[float]] = []
    bare: list[list[float]] = []
    for _ in range(ROUNDS):
        pairs = [(_seconds(append), _seconds(write)) for _ in range(EACH)]
        ours.append([one for one, _ in pairs])
        bare.append([other for _, other in pairs])
    buffer.close()
    yield Measured(CASES[0], [percentile(one, 50) * 1e6 for one in ours], [percentile(one, 50) * 1e6 for one in bare])
    yield Measured(CASES[1], [percentile(one, 99) * 1e3 for one in ours])


def _seconds(work: Callable[[], None]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started
