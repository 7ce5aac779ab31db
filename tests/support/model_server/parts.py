"""A streamed answer in parts, and how a text is cut into pieces."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True, slots=True)
class Stream:
    """What comes before the answer's pieces, the pieces, and what comes after them. None of its parts is empty."""

    opening: bytes
    pieces: tuple[bytes, ...]
    closing: bytes

    @property
    def parts(self) -> tuple[bytes, ...]:
        return tuple(part for part in (self.opening, *self.pieces, self.closing) if part)


def split(text: str, pieces: int) -> list[str]:
    """The text in as many pieces of about the same size, none of them empty; an empty text has none."""
    bounds = [len(text) * number // pieces for number in range(pieces + 1)]
    return [text[start:end] for start, end in pairwise(bounds) if start < end]


def call_id(prefix: str, request_index: int, place: int) -> str:
    """The id of a call: that of the request it answers, and from the second call of an answer on its place there."""
    return f"{prefix}{request_index}" if place == 0 else f"{prefix}{request_index}_{place}"
