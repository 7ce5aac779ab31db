"""Fills the six sections with items, to a number of bytes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from lithify.core.digest.items import Item
from lithify.core.digest.labels import CODE, COMPLETED, CONTEXT, CUT, FIRST_REQUEST, FOCUS, NOTHING, SECTIONS
from lithify.core.messages import utf8_length

_ROUNDS = ((1, 9), (2, 3), (1, 16), (1, 24), (2, 24), (1, 60), (2, 60), (1, 1e9), (4, 1e9), (10, 1e9), (1000, 1e9))
"""What each round allows: how many times its share an item may take, and up to which rank items come in."""

_LEAST_SHARE_BYTES = 110
_MOST_SHARE_BYTES = {FOCUS: 2500, CODE: 700}
_LEAST_ROOM_BYTES = 40
_LEAST_NEW_BYTES = 90
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|[\n;。]\s*|Assistant: ")
_WORDS = re.compile(r"\W+")


def fill(items: Iterable[Item], target_bytes: int) -> str:
    """The six sections within `target_bytes`: by rank, briefly first, then at more length while there is room."""
    filling = _Filling(_unique(sorted(items, key=_rank), target_bytes), target_bytes)
    for growth, last_rank in _ROUNDS:
        filling.round(growth, last_rank)
    return filling.text()


def _rank(item: Item) -> tuple[float, int]:
    return item.rank, -item.position


@dataclass(slots=True)
class _Filling:
    """An answer that is being filled: which items are shown so far, and the bytes that are left."""

    ranked: list[Item]
    target_bytes: int
    shown: dict[int, str] = field(default_factory=dict)
    room: int = 0

    def __post_init__(self) -> None:
        self.room = self.target_bytes - len(self.text().encode())

    def round(self, growth: int, last_rank: float) -> None:
        """Gives each item up to that rank at most its share times `growth` of the room that is left."""
        for number, item in enumerate(self.ranked):
            if self.room < _LEAST_ROOM_BYTES or item.rank > last_rank:
                return
            before = self.shown.get(number)
            if before is None:
                self.ranked[number] = item = item.cleaned()
            if before is None or CUT in before:
                self._show(number, item, _share_bytes(item, self.target_bytes) * growth, before or "")

    def _show(self, number: int, item: Item, limit: int, before: str) -> None:
        size = utf8_length(before) + 1 if before else 0
        text = item.rendered(min(limit, self.room + size - 1))
        if not before and self.room < _LEAST_NEW_BYTES and CUT in text:
            return
        cost = utf8_length(text) + 1 - size
        if text and cost <= self.room and (not before or cost > 0):
            self.shown[number] = text
            self.room -= cost

    def text(self) -> str:
        """The answer as it stands: six sections, each with its items in the order of the transcript."""
        lines: dict[str, list[str]] = {section: [] for section in SECTIONS}
        for number in sorted(self.shown, key=lambda each: (self.ranked[each].position, self.ranked[each].rank)):
            lines[self.ranked[number].section].append(self.shown[number])
        bodies = {section: "\n".join(lines[section]) or NOTHING for section in SECTIONS}
        return "\n\n".join(f"<{section}>\n{body}\n</{section}>" for section, body in bodies.items())


def _share_bytes(item: Item, target_bytes: int) -> int:
    """What an item may take at first: its share, but never so much that others wait for long."""
    share = item.share * target_bytes // 1000
    return max(_LEAST_SHARE_BYTES, min(share, _MOST_SHARE_BYTES.get(item.section, 300)))


def _unique(items: Iterable[Item], target_bytes: int) -> list[Item]:
    """The items without those that say what a better one says already, or context that is a sentence of one."""
    seen: set[str] = set()
    sentences: set[str] = set()
    kept = []
    for item in items:
        key = f"{_key(item.text.removeprefix(FIRST_REQUEST))}{_key(item.lead)}"
        if not key or key in seen or (item.section == CONTEXT and _repeats(item, sentences)):
            continue
        seen.add(key)
        kept.append(item)
        if item.section in {FOCUS, COMPLETED}:
            sure = _share_bytes(item, target_bytes)
            sure = sure - 20 if item.text.isascii() else sure // 3
            sentences.update(_key(sentence) for sentence in _SENTENCE_END.split(item.text[:sure]))
    return kept


def _repeats(item: Item, sentences: set[str]) -> bool:
    """Whether each sentence of an item is one of the known sentences."""
    said = _SENTENCE_END.split(item.text[:2000]) if not item.lead else [item.text]
    return all(key in sentences for each in said if (key := _key(each)))


def _key(said: str) -> str:
    return _WORDS.sub(" ", said[:300]).strip().casefold()[:160]
