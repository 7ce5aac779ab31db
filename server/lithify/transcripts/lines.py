"""A text as the lines that an editor counts: ended by a newline, a carriage return, or both; an edit makes anew only
the lines it touches, and shares the others."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate, pairwise

from lithify.transcripts.json_text import LINE_ENDING


class Lines:
    """A text by its lines. It never changes; an edit makes another one.

    The text is kept once: whole until somebody asks for all its lines as a list, as an edit does, then only as these.
    Threads may share it: what is found late is found the same by each.
    """

    def __init__(self, text: str, *, lines: list[str] | None = None, lone_returns: bool | None = None) -> None:
        self._whole: str | None = text if lines is None else None
        self._all = lines
        self._starts: list[int] | None = None
        self._lone_returns = lone_returns

    @property
    def text(self) -> str:
        """All of it; put together anew at each call once it was parted into lines."""
        whole = self._whole
        return "".join(self.all) if whole is None else whole

    @property
    def all(self) -> list[str]:
        """Every line with its ending; the last one has none, and is empty behind a final line ending."""
        if self._all is None:
            self._all = list(self.each())
            self._whole = None
        return self._all

    def each(self) -> Iterator[str]:
        """All lines, one after the other, as `all` has them; the text stays as it is kept."""
        whole = self._whole
        if whole is None:
            return iter(self.all)
        return (whole[begin:end] for begin, end in pairwise([*self.starts, len(whole)]))

    def line(self, number: int) -> str:
        """One of the lines that `all` has, counted from 0."""
        whole = self._whole
        if whole is None:
            return self.all[number]
        end = self.starts[number + 1] if number + 1 < len(self.starts) else len(whole)
        return whole[self.starts[number] : end]

    @property
    def count(self) -> int:
        """How many lines there are."""
        return len(self.starts)

    @property
    def starts(self) -> list[int]:
        """The offset at which each line begins."""
        if self._starts is None:
            whole = self._whole
            if whole is None:
                starts = list(accumulate(map(len, self.all), initial=0))
                self._starts = starts[:-1]
            else:
                self._starts = line_starts(whole)
        return self._starts

    @property
    def length(self) -> int:
        """How many characters the text has."""
        whole = self._whole
        return self.starts[-1] + len(self.all[-1]) if whole is None else len(whole)

    @property
    def has_lone_returns(self) -> bool:
        """Whether a line ends in a carriage return alone."""
        if self._lone_returns is None:
            whole = self._whole
            returned = any(line.endswith("\r") for line in self.all) if whole is None else _has_lone_returns(whole)
            self._lone_returns = returned
        return self._lone_returns

    def line_of(self, offset: int) -> int:
        """The line, counted from 0, that holds the character at an offset."""
        return bisect_right(self.starts, offset) - 1

    def bounds(self, line: int) -> tuple[int, int]:
        """Where a line begins and ends, its line ending left out. A line behind the last one is the text's end."""
        if line >= self.count:
            return self.length, self.length
        begin = self.starts[line]
        return begin, begin + len(self.line(line).rstrip("\r\n"))

    def edited(self, start: int, end: int, replacement: str) -> Lines:
        """The text with the characters [start, end) replaced."""
        lines, first, last = self.all, self.line_of(start), self.line_of(end)
        before = lines[first][: start - self.starts[first]]
        if first and not before and lines[first - 1].endswith("\r"):
            first -= 1  # a newline put in behind a carriage return belongs to the line before
            before = lines[first]
        made = split_lines(before + replacement + lines[last][end - self.starts[last] :])
        if last + 1 < len(lines):
            made.pop()  # the text goes on behind the last line ending
        lone_returns = any(line.endswith("\r") for line in made) if self._lone_returns is False else None
        return Lines("", lines=[*lines[:first], *made, *lines[last + 1 :]], lone_returns=lone_returns)


def split_lines(text: str) -> list[str]:
    """The lines of a text with their endings, and behind the last ending what is left, empty or not."""
    return list(Lines(text).each())


def line_starts(text: str) -> list[int]:
    """The offset at which each line of a text begins; the last line is what stands behind the last line ending."""
    if _has_lone_returns(text):
        return [0, *(found.end() for found in LINE_ENDING.finditer(text))]
    starts, find, end = [0], text.find, 0
    while end := find("\n", end) + 1:
        starts.append(end)
    return starts


def _has_lone_returns(text: str) -> bool:
    """Whether a line of a text ends in a carriage return alone."""
    return "\r" in text and text.count("\r") != text.count("\r\n")
