"""Rounds in which ours and the yardstick take turns, so that a busy machine harms both."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

from tests.benchmarks.figures import Case, Measured


def in_turn(rounds: int, *measures: Callable[[], float]) -> list[list[float]]:
    """What each measured, one figure a round; who comes first changes from round to round."""
    figures: list[list[float]] = [[] for _ in measures]
    for number in range(rounds):
        for place in range(len(measures)):
            turn = (number + place) % len(measures)
            figures[turn].append(measures[turn]())
    return figures


def interleaved(case: Case, rounds: int, ours: Callable[[], float], yardstick: Callable[[], float]) -> Measured:
    """Ours and the yardstick in turn."""
    return Measured(case, *in_turn(rounds, ours, yardstick))


def milliseconds(work: Callable[[], object]) -> float:
    """How long the work takes. What earlier work left behind is collected before, and nothing while it runs."""
    gc.collect()
    gc.disable()
    try:
        started = time.perf_counter()
        work()
        return (time.perf_counter() - started) * 1000
    finally:
        gc.enable()
