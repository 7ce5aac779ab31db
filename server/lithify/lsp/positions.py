"""Places in a text as an editor says them: a line, and code units of the encoding that was agreed on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from lithify.transcripts.lines import Lines

Encoding: TypeAlias = Literal["utf-8", "utf-16", "utf-32"]


@dataclass(frozen=True, slots=True)
class Place:
    """A position of LSP, both numbers counted from 0."""

    line: int
    character: int

    def on_wire(self) -> dict[str, int]:
        """The position as a message holds it."""
        return {"line": self.line, "character": self.character}


def offset_of(lines: Lines, line: int, character: int, encoding: Encoding) -> int:
    """The offset of a position. One behind the end of its line means that end, one inside a character its begin."""
    begin, end = lines.bounds(line)
    return begin + (_characters(lines.all[line][: end - begin], character, encoding) if begin < end else 0)


def place_of(lines: Lines, offset: int, encoding: Encoding) -> Place:
    """The position of an offset."""
    line = lines.line_of(offset)
    return Place(line, units_of(lines.all[line][: offset - lines.starts[line]], encoding))


def places_of(lines: Lines, offsets: Iterable[int], encoding: Encoding) -> dict[int, Place]:
    """The positions of many offsets, in time linear in the text however long its lines are."""
    found: dict[int, Place] = {}
    before, character, line = 0, 0, -1
    for offset in sorted(set(offsets)):
        at = lines.line_of(offset)
        if at != line:
            line, before, character = at, 0, 0
        reached = offset - lines.starts[at]
        character += units_of(lines.all[at][before:reached], encoding)
        before = reached
        found[offset] = Place(line, character)
    return found


def units_of(text: str, encoding: Encoding) -> int:
    """How many code units a text has."""
    if encoding == "utf-32" or text.isascii():
        return len(text)
    return sum(_units_of_piece(piece, encoding) for piece in _pieces(text))


_PIECE = 1 << 16
"""Characters of a text that are encoded at once: a line may be as long as a document."""


def _pieces(text: str) -> Iterator[str]:
    return (text[start : start + _PIECE] for start in range(0, len(text), _PIECE))


def _units_of_piece(text: str, encoding: Encoding) -> int:
    return len(text) if text.isascii() else len(_encoded(text, encoding)) // _UNIT_BYTES[encoding]


_UNIT_BYTES = {"utf-8": 1, "utf-16": 2}


def _encoded(text: str, encoding: Encoding) -> bytes:
    return text.encode("utf-16-le" if encoding == "utf-16" else "utf-8", "surrogatepass")


def _characters(line: str, units: int, encoding: Encoding) -> int:
    """How many characters of a line so many code units are."""
    if encoding == "utf-32" or line.isascii():
        return min(units, len(line))
    passed = 0
    for piece in _pieces(line):
        held = _units_of_piece(piece, encoding)
        if units < held:
            return passed + _characters_of_piece(piece, units, encoding)
        passed, units = passed + len(piece), units - held
    return passed


def _characters_of_piece(line: str, units: int, encoding: Encoding) -> int:
    encoded = _encoded(line, encoding)
    cut = units * _UNIT_BYTES[encoding]
    if cut >= len(encoded):
        return len(line)
    if encoding == "utf-16":
        if cut > 0 and _is_low_half(encoded, cut) and _is_high_half(encoded, cut - 2):
            cut -= 2
        return len(encoded[:cut].decode("utf-16-le", "surrogatepass"))
    while encoded[cut] & 0xC0 == 0x80:
        cut -= 1
    return len(encoded[:cut].decode("utf-8", "surrogatepass"))


def _is_low_half(encoded: bytes, at: int) -> bool:
    return encoded[at + 1] & 0xFC == 0xDC


def _is_high_half(encoded: bytes, at: int) -> bool:
    return encoded[at + 1] & 0xFC == 0xD8
