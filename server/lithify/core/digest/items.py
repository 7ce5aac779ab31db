"""An item: one thing a digest may say, with its section, its rank and its size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from lithify.core.digest.cleaning import clean, file_view
from lithify.core.digest.labels import CODE, FIRST_REQUEST, FOCUS, REQUEST, THEN, UNNAMED, defused
from lithify.core.digest.shortening import excerpt, shortened
from lithify.core.messages import utf8_length

_BODY_CHARS = 200_000
_LEAST_BODY_BYTES = 24


class Item(NamedTuple):
    """One bullet, a line of the focus, or a file block.

    A lower `rank` goes in earlier; `position` orders the items of a section; `share` is the part of the whole
    answer, in thousandths, that the item may take before every other item has had its turn. `lead` is what the text
    is an outcome of: a request, an error, a command. `counted` items are told of by number when they are left out.
    """

    section: str
    rank: float
    position: int
    text: str
    body: str = ""
    share: int = 30
    lead: str = ""
    viewed: bool = False
    counted: bool = True

    def cleaned(self) -> Item:
        """The item without noise, as it is shown; `viewed` bodies also lose their line numbers."""
        body = clean(self.body[:_BODY_CHARS])
        return Item(
            self.section,
            self.rank,
            self.position,
            text=defused(clean(self.text[:_BODY_CHARS])),
            body=defused(file_view(body) if self.viewed else body),
            share=self.share,
            lead=defused(clean(self.lead)),
            counted=self.counted,
        )

    def rendered(self, limit: int) -> str:
        """The item in at most `limit` bytes of UTF-8, cut where it must be; empty when nothing useful fits."""
        if self.section == CODE:
            return self._file(limit)
        if self.section == FOCUS:
            return shortened(self.text, limit)
        lead = self.lead
        if lead and self.text:
            part = 0.9 if lead.startswith((FIRST_REQUEST, REQUEST)) else 0.4
            lead = shortened(lead, max(int(limit * part), limit - utf8_length(self.text) - 8)) + THEN
        text = shortened(lead + self.text, limit - 2, tail=0.0)
        return f"- {text}" if len(text) > 1 else ""

    def _file(self, limit: int) -> str:
        room = limit - len("<file>\n\n</file>") - utf8_length(self.text)
        if room < 0:
            return ""
        body = excerpt(self.body, room - 2) if self.body and room > _LEAST_BODY_BYTES else ""
        if self.body and not body and self.text.startswith(UNNAMED):
            return ""
        after = (":\n" if "\n" in self.text else "\n") + body if body else ""
        return f"<file>\n{self.text}{after}\n</file>"


class Entry(NamedTuple):
    """What an item will say, before it is ranked among its like."""

    position: int
    text: str
    lead: str = ""


def newest_first(
    section: str, rank: float, step: float, entries: Iterable[Entry], share: int = 30, counted: bool = True
) -> Iterator[Item]:
    """Items of entries; the newest has the rank, each older one `step` more."""
    for nth, entry in enumerate(sorted(entries, key=lambda each: -each.position)):
        ranked = rank + step * nth
        yield Item(section, ranked, entry.position, entry.text, share=share, lead=entry.lead, counted=counted)
