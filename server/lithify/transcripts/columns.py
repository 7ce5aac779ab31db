"""Messages that stand one behind the other in a text, and what an edit leaves of them: those in front of it as they
were, those behind it moved."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lithify.core.messages import Message
from lithify.transcripts.lines import Lines
from lithify.transcripts.model import PlacedMessages, TranscriptMessage
from lithify.transcripts.text_edits import in_common, in_common_from_end, smallest_edit


class MessageColumns(PlacedMessages):
    """Messages of which each has one place, behind that of the one before; as columns, which cost little to move. They
    never change. `notes` is what their format keeps of each, or empty."""

    def __init__(self, starts: list[int], ends: list[int], said: list[Message], notes: Sequence[Any] = ()) -> None:
        self.starts = starts
        self.ends = ends
        self.said = said
        self.notes = notes

    def __len__(self) -> int:
        return len(self.said)

    def placed(self, index: int) -> TranscriptMessage:
        """One of them."""
        return TranscriptMessage(self.said[index], self.starts[index], self.ends[index])

    def touched(self, change: Change) -> range:
        """The messages of which a change of the text changes some characters, or the white space between them."""
        return range(bisect_right(self.ends, change.start), bisect_left(self.starts, change.old_end))


@dataclass(frozen=True, slots=True)
class Change:
    """The characters [start, old_end) of one text, which are [start, new_end) in another; all else is the same."""

    start: int
    old_end: int
    new_end: int

    @property
    def shift(self) -> int:
        """How far what stands behind it has moved."""
        return self.new_end - self.old_end


def change_between(before: Lines, after: Lines) -> Change:
    """Where two texts differ; found by their lines, of which those that are shared cost little."""
    old, new = before.all, after.all
    first = in_common(old, new)
    same_behind = in_common_from_end(old, new, min(len(old), len(new)) - first)
    old_lines, new_lines = old[first : len(old) - same_behind], new[first : len(new) - same_behind]
    edit = smallest_edit("".join(old_lines), "".join(new_lines))
    begin = before.starts[first] if first < len(old) else before.length
    start = begin + edit.start
    return Change(start, begin + edit.end, start + len(edit.replacement))


def piece(lines: Lines, start: int, end: int) -> str:
    """The characters [start, end) of a text; the rest of it is not put together."""
    first, last = lines.line_of(start), lines.line_of(end)
    offset = lines.starts[first]
    return "".join(lines.all[first : last + 1])[start - offset : end - offset]


@dataclass(frozen=True, slots=True)
class Renewed:
    """The messages after a change: those `made` are in the place of those `replaced`, the others are the same."""

    messages: MessageColumns
    replaced: range
    made: range


def renewed(before: MessageColumns, replaced: range, made: MessageColumns, shift: int) -> Renewed:
    """The messages with others in the place of some; what stands behind them is moved."""
    first, behind = replaced.start, replaced.stop
    messages = MessageColumns(
        [*before.starts[:first], *made.starts, *(start + shift for start in before.starts[behind:])],
        [*before.ends[:first], *made.ends, *(end + shift for end in before.ends[behind:])],
        [*before.said[:first], *made.said, *before.said[behind:]],
        [*before.notes[:first], *made.notes, *before.notes[behind:]],
    )
    return Renewed(messages, replaced, range(first, first + len(made)))
