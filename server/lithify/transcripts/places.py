"""Where the messages of a transcript lie: found by characters, also where that is known by lines alone."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Protocol

from lithify.transcripts.columns import MessageColumns
from lithify.transcripts.line_reading import ArrangedMessages, LineReading
from lithify.transcripts.model import TranscriptMessage


class Places(Protocol):
    """All places of messages, in the order of the text."""

    def ended(self, offset: int) -> int:
        """How many places end at or in front of an offset."""

    def begun(self, offset: int) -> int:
        """How many places begin in front of an offset."""

    def messages(self, first: int, behind: int) -> Sequence[int]:
        """The messages at the places [first, behind), as indices."""


def places_of(messages: Sequence[TranscriptMessage]) -> Places:
    """The places of messages."""
    if isinstance(messages, ArrangedMessages):
        return PlacesByLine(messages.reading)
    return PlacesInColumns(messages) if isinstance(messages, MessageColumns) else PlacesInText(messages)


class PlacesInText:
    """Places of which each was found by itself."""

    def __init__(self, messages: Sequence[TranscriptMessage]) -> None:
        self._places = sorted(_all_places(messages))
        self._starts = [start for start, _, _ in self._places]
        self._ends = list(accumulate((end for _, end, _ in self._places), max))  # also where one lies within another

    def ended(self, offset: int) -> int:
        """As in `Places`."""
        return bisect_right(self._ends, offset)

    def begun(self, offset: int) -> int:
        """As in `Places`."""
        return bisect_left(self._starts, offset)

    def messages(self, first: int, behind: int) -> Sequence[int]:
        """As in `Places`."""
        return [index for _, _, index in self._places[first:behind]]


def _all_places(messages: Sequence[TranscriptMessage]) -> Iterator[tuple[int, int, int]]:
    for index, placed in enumerate(messages):
        yield placed.start, placed.end, index
        yield from ((start, end, index) for start, end in placed.more)


class PlacesInColumns:
    """Places of messages that stand one behind the other."""

    def __init__(self, messages: MessageColumns) -> None:
        self._messages = messages

    def ended(self, offset: int) -> int:
        """As in `Places`."""
        return bisect_right(self._messages.ends, offset)

    def begun(self, offset: int) -> int:
        """As in `Places`."""
        return bisect_left(self._messages.starts, offset)

    def messages(self, first: int, behind: int) -> Sequence[int]:
        """As in `Places`."""
        return range(max(first, 0), behind)


class PlacesByLine:
    """Places that are whole lines."""

    def __init__(self, reading: LineReading) -> None:
        self._reading = reading
        self._lines, self._messages = reading.arrangement.places

    def ended(self, offset: int) -> int:
        """As in `Places`."""
        line = self._reading.lines.line_of(offset)
        is_behind = self._is_said(line) and self._reading.span(line)[1] <= offset
        return (bisect_right if is_behind else bisect_left)(self._lines, line)

    def begun(self, offset: int) -> int:
        """As in `Places`."""
        line = self._reading.lines.line_of(offset)
        has_begun = self._is_said(line) and self._reading.span(line)[0] < offset
        return (bisect_right if has_begun else bisect_left)(self._lines, line)

    def messages(self, first: int, behind: int) -> Sequence[int]:
        """As in `Places`."""
        return self._messages[first:behind]

    def last_in(self, line: int) -> int | None:
        """The last message that stands on a line."""
        behind = bisect_right(self._lines, line)
        return self._messages[behind - 1] if behind and self._lines[behind - 1] == line else None

    def _is_said(self, line: int) -> bool:
        at = bisect_left(self._lines, line)
        return at < len(self._lines) and self._lines[at] == line
