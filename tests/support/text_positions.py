"""Lines and positions of a text, the plain way: what the fast one is compared with, and what test editors use."""

from __future__ import annotations

import re
from typing import Any

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+$")


def lines_of(text: str) -> list[str]:
    """The lines of a text with their endings; the last one has no ending."""
    found = _LINE.findall(text)
    return [*found, ""] if not found or found[-1][-1] in "\r\n" else found


def units(text: str, encoding: str) -> int:
    """How many code units a text has."""
    sizes = {"utf-8": len(text.encode()), "utf-16": len(text.encode("utf-16-le")) // 2, "utf-32": len(text)}
    return sizes[encoding]


def position(text: str, offset: int, encoding: str) -> dict[str, int]:
    """The position of an offset."""
    lines = lines_of(text)
    line = 0
    while line + 1 < len(lines) and offset >= len(lines[line]):
        offset -= len(lines[line])
        line += 1
    return {"line": line, "character": units(lines[line][:offset], encoding)}


def span(text: str, start: int, end: int, encoding: str) -> dict[str, Any]:
    """The range of two offsets."""
    return {"start": position(text, start, encoding), "end": position(text, end, encoding)}


def offset(text: str, place: dict[str, int], encoding: str) -> int:
    """The offset of a position, which must be one."""
    lines = lines_of(text)
    before = sum(map(len, lines[: place["line"]]))
    line = lines[place["line"]]
    within = next(count for count in range(len(line) + 1) if units(line[:count], encoding) == place["character"])
    assert within <= len(line.rstrip("\r\n")), "an editor has no position inside a line ending"
    return before + within
