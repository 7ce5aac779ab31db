"""What a user typed while an edit of the text was on its way, and where the text that it left alone stands then."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

Span: TypeAlias = tuple[int, int]
"""The characters [start, end) of a text."""


@dataclass(frozen=True, slots=True)
class Typed:
    """The characters [start, end) of a text made way for `length` others."""

    start: int
    end: int
    length: int

    @property
    def growth(self) -> int:
        """How many characters longer the text became."""
        return self.length - (self.end - self.start)


def moved(span: Span, typed: Iterable[Typed]) -> Span | None:
    """Where a span stands after all that was typed, in its order; None where some of it was typed in the span."""
    for one in typed:
        if not lies_apart(one.start, one.end, span):
            return None
        if one.end <= span[0]:
            span = span[0] + one.growth, span[1] + one.growth
    return span


def lies_apart(start: int, end: int, span: Span) -> bool:
    """Whether a change of [start, end) changes nothing in a span; beside an empty one it cannot be told from one in
    it."""
    if span[0] == span[1]:
        return end < span[0] or start > span[1]
    return end <= span[0] or start >= span[1]
