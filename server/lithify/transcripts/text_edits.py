"""One text made of another by a single edit that leaves alone all that both have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class TextEdit:
    """The characters [start, end) of a text, and what comes in their place."""

    start: int
    end: int
    replacement: str


def smallest_edit(before: str, after: str) -> TextEdit:
    """The edit that makes `after` of `before`. It begins and ends at no place between a carriage return and its
    newline, because an editor has no position there."""
    start = in_common(before, after)
    if before[start - 1 : start] == "\r" and "\n" in (before[start : start + 1], after[start : start + 1]):
        start -= 1
    tail = in_common_from_end(before, after, min(len(before), len(after)) - start)
    if tail and before[len(before) - tail] == "\n" and _carriage_return_before(before, after, tail):
        tail -= 1
    return TextEdit(start, len(before) - tail, after[start : len(after) - tail])


def _carriage_return_before(before: str, after: str, tail: int) -> bool:
    return "\r" in (before[-tail - 1 : -tail], after[-tail - 1 : -tail])


def in_common(before: Sequence[Any], after: Sequence[Any]) -> int:
    """How many characters two texts (or elements two lists) begin with in common; by halving, since many are compared
    much faster at once than one by one."""
    same, limit = 0, min(len(before), len(after))
    while same < limit:
        middle = (same + limit + 1) // 2
        if before[same:middle] == after[same:middle]:
            same = middle
        else:
            limit = middle - 1
    return same


def in_common_from_end(before: Sequence[Any], after: Sequence[Any], most: int) -> int:
    """As `in_common` for how they end, `most` at the most."""
    same, limit = 0, most
    while same < limit:
        middle = (same + limit + 1) // 2
        left = before[len(before) - middle : len(before) - same]
        if left == after[len(after) - middle : len(after) - same]:
            same = middle
        else:
            limit = middle - 1
    return same
