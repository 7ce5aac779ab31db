"""A text of JSON lines: every line with its place, and what lies between the messages."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any

from lithify.transcripts.json_text import Fault, plain_value, skip_mark, skip_space, value_at
from lithify.transcripts.model import TranscriptMessage

LOOKED_AT = 50
"""Lines or elements that a format is told by."""

_LINE = re.compile(r"[^\r\n]+")
_LINE_WITH_ENDING = re.compile(r"(?:\r\n|\n|\r)([^\r\n]*)")
_BLANK = " \t"


@dataclass(frozen=True, slots=True)
class JsonLine:
    """One line that is not blank, without the white space around it: its value, or what is wrong with it."""

    start: int
    end: int
    value: Any
    fault: str | None


def json_lines(text: str, *, strict: bool = True) -> Iterator[JsonLine]:
    """Every line that is not blank. `strict=False` lets control characters stand inside strings."""
    for found in _LINE.finditer(text, skip_mark(text)):
        line = found.group()
        if not line.isspace():
            start = found.end() - len(line.lstrip(_BLANK))
            source = line.strip(_BLANK)
            value, fault = json_of(source, strict=strict)
            yield JsonLine(start, start + len(source), value, fault)


def first_objects(text: str, *, strict: bool = True) -> list[dict[str, Any]]:
    """The objects of the first lines, to tell a format by; none where the text begins as a JSON array. Not to be
    changed: within `looking_once` all who ask get the same ones."""
    seen = _SEEN.get()
    known = seen.get((id(text), strict)) if seen is not None else None
    if known is not None:
        return known[1]
    found = _first_objects(text, strict=strict)
    if seen is not None:
        seen[id(text), strict] = (text, found)
    return found


def _first_objects(text: str, *, strict: bool) -> list[dict[str, Any]]:
    if text.startswith("[", skip_space(text, skip_mark(text))):
        return []
    values = (line.value for line in islice(json_lines(text, strict=strict), LOOKED_AT))
    return [value for value in values if isinstance(value, dict)]


_SEEN: ContextVar[dict[tuple[int, bool], tuple[str, list[dict[str, Any]]]] | None] = ContextVar("seen", default=None)
"""The first objects of texts that are being recognised. Each text is kept with them, so that no other has its id."""


@contextmanager
def looking_once() -> Iterator[None]:
    """Within it the first lines of a text are decoded once, however many formats look at them."""
    token = _SEEN.set({})
    try:
        yield
    finally:
        _SEEN.reset(token)


def json_of(source: str, *, strict: bool) -> tuple[Any, str | None]:
    """The one JSON value that the source is, or None and what is wrong with it."""
    value = plain_value(source)
    if value is not None:
        return value, None
    read = value_at(source, 0, strict=strict)
    if isinstance(read, Fault):
        return None, read.message
    value, end = read
    return (value, None) if end == len(source) else (None, "not JSON: more text behind the value")


def _any_line(_line: str) -> bool:
    return True


def lines_between(text: str, messages: Sequence[TranscriptMessage], keep: Callable[[str], bool] = _any_line) -> str:
    """The lines between messages that are to be kept, each behind its line ending; blank ones are left out."""
    return "".join(
        found.group()
        for before, after in pairwise(messages)
        for found in _LINE_WITH_ENDING.finditer(text, before.end, after.start)
        if found.group(1).strip() and keep(found.group(1))
    )
