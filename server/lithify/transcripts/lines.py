"""The lines of a text as an editor counts them: ended by a newline, a carriage return, or both; found anew only where
the text was changed."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from lithify.transcripts.json_text import LINE_ENDING


class Lines:
    """A text and where its lines begin. It never changes; an edit makes another one."""

    def __init__(self, text: str, starts: list[int] | None = None) -> None:
        self.text = text
        self._starts = starts

    @property
    def starts(self) -> list[int]:
        """The offset at which each line begins."""
        if self._starts is None:
            self._starts = [0, *_starts_behind(self.text, 0, len(self.text))]
        return self._starts

    def line_of(self, offset: int) -> int:
        """The line, counted from 0, that holds the character at an offset."""
        return bisect_right(self.starts, offset) - 1

    def bounds(self, line: int) -> tuple[int, int]:
        """Where a line begins and ends, its line ending left out. A line behind the last one is the text's end."""
        starts = self.starts
        if line >= len(starts):
            return len(self.text), len(self.text)
        begin = starts[line]
        end = starts[line + 1] if line + 1 < len(starts) else len(self.text)
        return begin, begin + len(self.text[begin:end].rstrip("\r\n"))

    def edited(self, start: int, end: int, replacement: str) -> Lines:
        """The text with the characters [start, end) replaced."""
        text = self.text[:start] + replacement + self.text[end:]
        if self._starts is None:
            return Lines(text)
        first = self.line_of(start)
        if first and start == self.starts[first] and self.text[start - 1] == "\r":
            first -= 1  # a newline put in behind a carriage return belongs to the line before
        behind = bisect_right(self.starts, end)
        moved = len(replacement) - (end - start)
        later = [begin + moved for begin in self.starts[behind:]]
        begin, limit = self.starts[first], later[0] if later else len(text)
        found = [one for one in _starts_behind(text, begin, limit) if not later or one < limit]
        return Lines(text, [*self.starts[: first + 1], *found, *later])


def _starts_behind(text: str, begin: int, end: int) -> Iterator[int]:
    """Where lines begin behind the line endings in [begin, end)."""
    if text.count("\r", begin, end) != text.count("\r\n", begin, end):
        yield from (found.end() for found in LINE_ENDING.finditer(text, begin, end))
        return
    found = text.find("\n", begin, end)
    while found >= 0:
        yield found + 1
        found = text.find("\n", found + 1, end)
