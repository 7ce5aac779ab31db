"""Cases, what was measured of them, and what is made of it: medians, ratios, verdicts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal, TypeAlias

Measure: TypeAlias = Literal["ratio", "difference", "value"]


@dataclass(frozen=True, slots=True)
class Target:
    """What is to be reached: a bound on ours divided by the yardstick, ours less the yardstick, or ours alone. A figure
    without a bound is told, and not judged."""

    measure: Measure
    at_most: float | None = None
    at_least: float | None = None

    @property
    def is_bound(self) -> bool:
        """Whether there is a bound."""
        return self.at_most is not None or self.at_least is not None

    def reached_by(self, value: float) -> bool:
        """Whether a value keeps the bounds."""
        return (self.at_most is None or value <= self.at_most) and (self.at_least is None or value >= self.at_least)


@dataclass(frozen=True, slots=True)
class Case:
    """One row of the table. `unit` is the unit of ours and of the yardstick."""

    name: str
    unit: str
    target: Target
    yardstick: str | None = None
    """What is measured beside it, in words; None where the target is a value of its own."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The figures of a case: one of ours for each round, and one of the yardstick where there is one."""

    case: Case
    ours: Sequence[float]
    yardstick: Sequence[float] = ()

    def __post_init__(self) -> None:
        expected = 0 if self.case.target.measure == "value" else len(self.ours)
        if not self.ours or len(self.yardstick) != expected:
            raise ValueError(f"{self.case.name}: {len(self.ours)} rounds, {len(self.yardstick)} of the yardstick")

    @property
    def compared(self) -> float:
        """What the target is about: the median over the rounds. Both halves of a round saw the same machine, so each is
        compared within its round."""
        match self.case.target.measure:
            case "ratio":
                return median(one / other for one, other in zip(self.ours, self.yardstick, strict=True))
            case "difference":
                return median(one - other for one, other in zip(self.ours, self.yardstick, strict=True))
            case "value":
                return median(self.ours)

    @property
    def reached(self) -> bool | None:
        """Whether the target is reached; None where there is no bound to reach."""
        target = self.case.target
        return target.reached_by(self.compared) if target.is_bound else None


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest value that so many percent of the values do not exceed (nearest rank)."""
    if not values or not 0 < percent <= 100:
        raise ValueError("a percentile needs values, and a percentage above 0 and up to 100")
    return sorted(values)[math.ceil(len(values) * percent / 100) - 1]
