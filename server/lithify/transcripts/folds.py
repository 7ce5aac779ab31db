"""Folds made of what was said and is not sent any more: one over each run of neighbours that left for one reason."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

from lithify.transcripts.model import Fold


@dataclass(frozen=True, slots=True)
class Said:
    """The characters [start, end) that say so many messages, and why these are not sent; None where they are."""

    start: int
    end: int
    messages: int
    left: str | None


def folds_over(said: Iterable[Said]) -> tuple[Fold, ...]:
    """The folds in the order of the text; a message that is sent parts what stands around it."""
    ordered = sorted((one for one in said if one.messages), key=lambda one: one.start)
    groups = ((title, list(run)) for title, run in groupby(ordered, key=lambda one: one.left))
    return tuple(_fold(title, run) for title, run in groups if title is not None)


def titled(left: str, count: int) -> str:
    """What a fold over so many messages is called."""
    return f"{left}: {'1 message' if count == 1 else f'{count} messages'}"


def _fold(left: str, run: list[Said]) -> Fold:
    count = sum(one.messages for one in run)
    return Fold(run[0].start, max(one.end for one in run), titled(left, count), count)
