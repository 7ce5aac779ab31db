"""Server-sent events: bytes in any cuts become events."""

from __future__ import annotations

import re
from dataclasses import dataclass

MOST_EVENT_BYTES = 8 << 20
"""An event, or a line, that is longer than this is no part of an answer."""

_LINE_END = re.compile(rb"\r\n|\r|\n")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Event:
    """One event: its name (empty where it has none) and its data, lines joined by newlines."""

    name: str
    data: str


class EventTooLongError(Exception):
    """An event is longer than MOST_EVENT_BYTES."""


class EventReader:
    """Reads a stream piece by piece. What the format does not know is left out.

    A line `error: ...`, as llama.cpp sends it, counts as an event named `error`.
    """

    def __init__(self) -> None:
        self._line = bytearray()
        self._data: list[str] = []
        self._size = 0
        self._name = ""
        self._after_return = False
        self._at_start = True

    def feed(self, piece: bytes) -> list[Event]:
        """The events that end in this piece. Raises EventTooLongError."""
        if not piece:
            return []
        if self._after_return and piece[:1] == b"\n":
            piece = piece[1:]
        self._after_return = piece.endswith(b"\r")
        first, *others = _LINE_END.split(piece)
        self._line += first
        found = []
        for other in others:
            if (event := self._end_line()) is not None:
                found.append(event)
            self._line = bytearray(other)
        self._check()
        return found

    def finish(self) -> list[Event]:
        """The event that the end of the stream ends, though no empty line follows it. Raises EventTooLongError."""
        last = self._end_line()
        return [event for event in (last, self._end_event()) if event is not None]

    def _check(self) -> None:
        if self._size + len(self._line) > MOST_EVENT_BYTES:
            raise EventTooLongError

    def _end_line(self) -> Event | None:
        self._check()
        line = bytes(self._line)
        self._line.clear()
        if self._at_start:
            line = line.removeprefix(_BYTE_ORDER_MARK)
            self._at_start = False
        if not line:
            return self._end_event()
        self._size += len(line)
        name, _, value = line.decode("utf-8", "replace").partition(":")
        value = value.removeprefix(" ")
        if name == "event":
            self._name = value
        elif name in ("data", "error"):
            self._data.append(value)
            self._name = "error" if name == "error" else self._name
        return None

    def _end_event(self) -> Event | None:
        event = Event(self._name, "\n".join(self._data)) if self._data else None
        self._data, self._name, self._size = [], "", 0
        return event
