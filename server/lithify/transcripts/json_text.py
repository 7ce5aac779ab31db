"""JSON read at a place of a text, faults returned instead of raised."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pydantic_core import from_json

from lithify.core.nesting import is_nested_deeper
from lithify.transcripts.model import Problem

MAX_DEPTH = 201
"""Levels of nesting that are read, as many as `pydantic_core.from_json` takes: what is decoded here has to be encoded
elsewhere, deeper in the call stack."""

LINE_ENDING = re.compile(r"\r\n|\n|\r")
BYTE_ORDER_MARK = "\ufeff"
_SPACE = re.compile(r"[ \t\r\n]*")
_TOO_DEEP = "nested too deeply to be read"


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong at an offset of the text."""

    offset: int
    message: str


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


_STRICT = json.JSONDecoder(parse_constant=_refuse)
_LENIENT = json.JSONDecoder(parse_constant=_refuse, strict=False)


def value_at(text: str, offset: int, *, strict: bool = True) -> tuple[Any, int] | Fault:
    """The JSON value that begins at the offset, and where it ends; NaN and Infinity are not JSON.

    `strict=False` lets control characters stand inside strings.
    """
    try:
        value, end = (_STRICT if strict else _LENIENT).raw_decode(text, offset)
    except json.JSONDecodeError as error:
        ran_out = error.msg.startswith("Unterminated") or skip_space(text, error.pos) >= len(text)
        return Fault(error.pos, "cut off in the middle" if ran_out else f"not JSON: {error.msg}")
    except RecursionError:
        return Fault(offset, _TOO_DEEP)
    except ValueError as error:
        return Fault(offset, f"not readable: {error}")
    if end - offset > len("[]") * MAX_DEPTH and is_nested_deeper(MAX_DEPTH, value):
        return Fault(offset, _TOO_DEEP)
    return value, end


def plain_value(source: str) -> Any:
    """The one JSON value that a source is, read in a fraction of the time that `value_at` takes; None for a null, and
    for whatever that has to be asked about: what is no JSON, is nested too deeply, or holds a lone surrogate."""
    try:
        return from_json(source, allow_inf_nan=False, cache_strings="keys")
    except (TypeError, ValueError):
        return None


def skip_mark(text: str) -> int:
    """Where the text begins behind a byte order mark."""
    return 1 if text.startswith(BYTE_ORDER_MARK) else 0


def skip_space(text: str, offset: int) -> int:
    """The first offset at or after this one that holds no JSON white space."""
    found = _SPACE.match(text, offset)
    return found.end() if found else offset


def problems_of(text: str, faults: Iterable[Fault]) -> tuple[Problem, ...]:
    """The faults as problems, their offsets turned into lines, in the order of the text."""
    ordered = sorted(faults, key=lambda fault: fault.offset)
    if not ordered:
        return ()
    line_starts = [0, *(found.end() for found in LINE_ENDING.finditer(text))]
    return tuple(Problem(bisect_right(line_starts, fault.offset) - 1, fault.message) for fault in ordered)


def line_ending(text: str, offset: int) -> str:
    """The line ending used at a place of the text: the next one, else the first of the text, else a newline."""
    found = LINE_ENDING.search(text, offset) or LINE_ENDING.search(text)
    return found.group() if found else "\n"
