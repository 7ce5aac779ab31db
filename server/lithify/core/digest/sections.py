"""Fills the six sections with items, to a number of bytes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from lithify.core.digest.items import Item
from lithify.core.digest.labels import (
    CODE,
    COMPLETED,
    CONTEXT,
    CUT,
    FIRST_REQUEST,
    FOCUS,
    MORE_LEFT_OUT,
    NOTHING,
    OLDER_LEFT_OUT,
    REFUSED,
    SECTIONS,
    USER,
)
from lithify.core.digest.words import words
from lithify.core.messages import utf8_length

_LAST_ROUNDS = ((1, 1e9), (4, 1e9), (10, 1e9), (1000, 1e9))
_ROUNDS = ((1, 9), (1, 13.5), (2, 3), (1, 16), (1, 24), (2, 24), (1, 60), (2, 60), *_LAST_ROUNDS)
"""What each round allows: how many times its share an item may take, and up to which rank items come in."""

_LEAST_SHARE_BYTES = 110
_MOST_SHARE_BYTES = {FOCUS: 2500, CODE: 700}
_LEAST_ROOM_BYTES = 40
_LEAST_NEW_BYTES = 90
_NOTICE_BYTES = 25
_TELLING_CHARS = 1500
_SENTENCE_END = re.compile(r"[.!?\n;。AU](?:(?<=[.!?])\s+|(?<=[\n;。])\s*|(?<=A)ssistant: |(?<=U)ser: )")
"""What parts sentences, and the labels before them. It begins with the characters that it can begin with, so that a
search passes over all others quickly."""

_WORD = re.compile(r"\w+")


def fill(items: Iterable[Item], target_bytes: int, left_out: Mapping[str, int]) -> str:
    """The six sections within `target_bytes`: by rank, briefly first, then at more length while there is room.

    A section says how many items were left out of it, those included that `left_out` counts already.
    """
    filling = _Filling(_unique(sorted(items, key=_rank), target_bytes), target_bytes, left_out)
    filling.reserve()
    for growth, last_rank in _ROUNDS:
        filling.round(growth, last_rank)
    filling.release()
    return filling.text()


def _rank(item: Item) -> tuple[float, int]:
    return item.rank, -item.position


@dataclass(slots=True)
class _Filling:
    """An answer that is being filled: which items are shown so far, with their bytes, and the bytes that are left."""

    ranked: list[Item]
    target_bytes: int
    left_out: Mapping[str, int]
    shown: dict[int, str] = field(default_factory=dict)
    sizes: dict[int, int] = field(default_factory=dict)
    room: int = 0
    first_room: int = field(init=False)
    shares: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.shares = [_share_bytes(item, self.target_bytes) for item in self.ranked]
        self.room = self.first_room = self.target_bytes - utf8_length(self._joined({}))

    def reserve(self) -> None:
        """Sets room aside for telling what is left out, where that will hardly be nothing."""
        wanted = sum(min(len(item.text) + len(item.lead) + len(item.body), _TELLING_CHARS) for item in self.ranked)
        if wanted > self.room or any(self.left_out.values()):
            counted = {item.section for item in self.ranked if item.counted} - {FOCUS}
            self.room -= _NOTICE_BYTES * len(counted | {name for name, number in self.left_out.items() if number})

    def release(self) -> None:
        """Gives back the room the notices do not need; what is worth least makes room where they need more."""
        self.room = self._left()
        for growth, last_rank in (_LAST_ROUNDS[0], _LAST_ROUNDS[-1]):
            self.round(growth, last_rank)
        self.room = self._left()
        self._last_ones()
        for number in sorted(self.shown, reverse=True):
            if self._left() >= 0 or self.ranked[number].section == FOCUS:
                return
            del self.shown[number]

    def _left(self) -> int:
        """The bytes that are left beside the answer as it stands."""
        sizes = {section: utf8_length(notice) for section, notice in self._notices().items()}
        for number in self.shown:
            section = self.ranked[number].section
            sizes[section] = sizes[section] + 1 + self.sizes[number] if section in sizes else self.sizes[number]
        return self.first_room - sum(size - len(NOTHING) for size in sizes.values())

    def round(self, growth: int, last_rank: float) -> None:
        """Gives each item up to that rank at most its share times `growth` of the room that is left."""
        for number, item in enumerate(self.ranked):
            if self.room < _LEAST_ROOM_BYTES or item.rank > last_rank:
                return
            before = self.shown.get(number)
            if before is None:
                self.ranked[number] = item = item.cleaned()
            if before is None or CUT in before:
                self._show(number, item, self.shares[number] * growth, before or "")

    def _show(self, number: int, item: Item, limit: int, before: str) -> None:
        size = self.sizes[number] + 1 if before else 0
        text = item.rendered(min(limit, self.room + size - 1))
        if not before and self.room < _LEAST_NEW_BYTES and CUT in text:
            return
        new_size = utf8_length(text)
        cost = new_size + 1 - size
        if text and cost <= self.room and (not before or cost > 0):
            self.shown[number], self.sizes[number] = text, new_size
            self.room -= cost

    def _last_ones(self) -> None:
        """Shows what is left out where that takes hardly more than to say that it is left out."""
        notices = self._notices()
        for section, notice in notices.items():
            missing = [
                number
                for number, item in enumerate(self.ranked)
                if number not in self.shown and item.counted and item.section == section
            ]
            if len(missing) == 1 and not self.left_out.get(section):
                item = self.ranked[missing[0]] = self.ranked[missing[0]].cleaned()
                text = item.rendered(self.room + len(notice))
                if text and CUT not in text:
                    self.shown[missing[0]], self.sizes[missing[0]] = text, utf8_length(text)
                    self.room += len(notice) - utf8_length(text)

    def text(self) -> str:
        """The answer as it stands: six sections, each with its items in the order of the transcript."""
        return self._joined(self._notices())

    def _joined(self, notices: Mapping[str, str]) -> str:
        lines: dict[str, list[str]] = {name: [notices[name]] if name in notices else [] for name in SECTIONS}
        for number in sorted(self.shown, key=lambda each: (self.ranked[each].position, self.ranked[each].rank)):
            lines[self.ranked[number].section].append(self.shown[number])
        bodies = {section: "\n".join(lines[section]) or NOTHING for section in SECTIONS}
        return "\n\n".join(f"<{section}>\n{body}\n</{section}>" for section, body in bodies.items())

    def _notices(self) -> dict[str, str]:
        """For each section that leaves something out a line that says how much, and whether all of it is older."""
        numbers = {name: number for name, number in self.left_out.items() if number}
        newest: dict[str, int] = {}
        oldest: dict[str, int] = {}
        for number, item in enumerate(self.ranked):
            if number in self.shown:
                if item.position < oldest.setdefault(item.section, item.position):
                    oldest[item.section] = item.position
            elif item.counted and item.section != FOCUS:
                numbers[item.section] = numbers.get(item.section, 0) + 1
                if item.position > newest.setdefault(item.section, item.position):
                    newest[item.section] = item.position
        return {
            name: f"- ({number}{OLDER_LEFT_OUT if _older(newest.get(name), oldest.get(name)) else MORE_LEFT_OUT}"
            for name, number in numbers.items()
        }


def _older(newest: int | None, oldest: int | None) -> bool:
    """Whether all that is left out is older than all that is shown."""
    return newest is None or (oldest is not None and newest < oldest)


def _share_bytes(item: Item, target_bytes: int) -> int:
    """What an item may take at first: its share, but never so much that others wait for long."""
    share = item.share * target_bytes // 1000
    return max(_LEAST_SHARE_BYTES, min(share, _MOST_SHARE_BYTES.get(item.section, 300)))


def _unique(items: Iterable[Item], target_bytes: int) -> list[Item]:
    """The items without those that say what a better one says already, or context that is a sentence of one."""
    seen: set[str] = set()
    focus: set[str] = set()
    sentences: set[str] = set()
    kept = []
    for item in items:
        key = f"{_key(item.text.removeprefix(FIRST_REQUEST))}{_key(item.lead)}"
        # A rule of the person's must outlive the line of a task that names it.
        known = focus if item.text.startswith(USER) else sentences
        if not key or key in seen or (item.section == CONTEXT and _repeats(item, known)):
            continue
        seen.add(key)
        kept.append(item)
        if item.section in {FOCUS, COMPLETED}:
            sure = _share_bytes(item, target_bytes)
            sure = sure - 20 if item.text.isascii() else sure // 3
            said = [_key(sentence) for sentence in _SENTENCE_END.split(item.text[:sure])]
            sentences.update(said)
            focus.update(said if item.section == FOCUS else ())
    return kept


def _repeats(item: Item, sentences: set[str]) -> bool:
    """Whether each sentence of an item is one of the known sentences; what a refusal was is said nowhere else."""
    if item.lead.startswith(REFUSED):
        return False
    said = _SENTENCE_END.split(item.text[:2000]) if not item.lead else [item.text]
    return all(key in sentences for each in said if (key := _key(each)))


def _key(said: str) -> str:
    """The words of a text, at most so many: by them it is known again."""
    said = said[:300]
    joined = b" ".join(words(said)).decode() if said.isascii() else " ".join(_WORD.findall(said))
    return joined.casefold()[:160]
