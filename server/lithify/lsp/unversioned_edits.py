"""Edits that name no version of the text they are meant for: an editor makes them in whatever it then has. What came of
one is told by the versions that follow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from lithify.core.typed_edits import lies_apart
from lithify.transcripts.text_edits import TextEdit, smallest_edit

Outcome: TypeAlias = Literal["made", "spoilt"]


@dataclass(frozen=True, slots=True)
class Awaited:
    """An edit that is yet to be made: `removed` makes way for `inserted`, between `front` and `behind`, which are the
    rest of the text. The line endings of all are newlines, for an editor may choose its own."""

    front: str
    removed: str
    inserted: str
    behind: str

    @property
    def before(self) -> str:
        """The text in which the edit is meant to be made."""
        return self.front + self.removed + self.behind

    def meets(self, misplaced: TextEdit | None, text: str) -> Outcome | Awaited:
        """What the next version of the text says of the edit: that it was made, also where the user typed elsewhere;
        that it met other characters than was meant; or that the user typed elsewhere and it is still to be made.

        `misplaced`: the edit as an editor makes it that does not know of what was typed meanwhile, in the characters of
        the version before.
        """
        after = newlines(text)
        meant = self.front + self.inserted + self.behind
        if after == meant:
            return "made"
        if misplaced is not None and after == _edited(self.before, misplaced):
            return "spoilt"
        typed = smallest_edit(self.before, after)
        if (moved := self._moved(typed)) is not None:
            return moved
        start = len(self.front)
        told = smallest_edit(meant, after)
        is_elsewhere = lies_apart(told.start, told.end, (start, start + len(self.inserted)))
        return "made" if is_elsewhere else "spoilt"

    def _moved(self, typed: TextEdit) -> Awaited | None:
        start, end = len(self.front), len(self.front) + len(self.removed)
        if not lies_apart(typed.start, typed.end, (start, end)):
            return None
        if typed.end <= start:
            return Awaited(_edited(self.front, typed), self.removed, self.inserted, self.behind)
        elsewhere = TextEdit(typed.start - end, typed.end - end, typed.replacement)
        return Awaited(self.front, self.removed, self.inserted, _edited(self.behind, elsewhere))


def awaited(text: str, edit: TextEdit) -> Awaited:
    """What is awaited once an edit of a text was asked for."""
    pieces = (text[: edit.start], text[edit.start : edit.end], edit.replacement, text[edit.end :])
    return Awaited(*map(newlines, pieces))


def newlines(text: str) -> str:
    """A text with newlines as its line endings."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _edited(text: str, edit: TextEdit) -> str:
    return text[: edit.start] + edit.replacement + text[edit.end :]
