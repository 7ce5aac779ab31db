"""A streamed answer in parts, and how a text is cut into pieces."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True, slots=True)
class Stream:
    """What comes before the answer's pieces, the pieces, and what comes after them."""

    opening: bytes
    pieces: tuple[bytes, ...]
    closing: bytes

    @property
    def parts(self) -> tuple[bytes, ...]:
        return (self.opening, *self.pieces, self.closing)


def split(text: str, pieces: int) -> list[str]:
    """The text in as many pieces of about the same size, none of them empty; an empty text has none."""
    bounds = [len(text) * number // pieces for number in range(pieces + 1)]
    return [text[start:end] for start, end in pairwise(bounds) if start < end]
