"""A walk over the records of a Codex session: which items its history holds, and which it held before."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

from lithify.transcripts.appended import is_beyond_us
from lithify.transcripts.chat_messages import string, whole
from lithify.transcripts.codex_items import ItemShape, shape_of, steps, summary_item
from lithify.transcripts.folds import titled
from lithify.transcripts.json_lines import json_of
from lithify.transcripts.line_format import LineFold, Part
from lithify.transcripts.model import Problem

_ELSEWHERE = frozenset({"inter_agent_communication", "rollout_reference"})
"""Records by which something enters the conversation that is not in this file as an item."""


class RecordShape(NamedTuple):
    """What the history depends on in a record. A line that is no record has no `kind`, but a `wrong`.

    `items` are those it holds: one of a `response_item`, those of a `replacement_history`, or the summary of an older
    Codex's compaction, which `has_history` tells apart. `turns` is how many turns are taken back, None for any other
    event; `is_output`: a compaction itself produced the item. `is_beyond_us`: only Codex may read the line.
    `version` is the Codex that began the session, where the record says so.
    """

    kind: str | None
    wrong: str | None = None
    ordinal: int | None = None
    items: tuple[ItemShape, ...] = ()
    is_output: bool = False
    has_history: bool = False
    turns: int | None = None
    is_beyond_us: bool = False
    version: str | None = None


def record_of(source: str) -> tuple[RecordShape, list[Any]]:
    """The shape of a line, and the items it holds."""
    value, fault = json_of(source, strict=True)
    record = value if isinstance(value, dict) else {}
    kind, payload, ordinal = record.get("type"), record.get("payload"), record.get("ordinal")
    if not isinstance(kind, str) or not isinstance(payload, dict):
        wrong = fault or "not a record: no object with a type and a payload"
        return RecordShape(None, wrong, is_beyond_us=is_beyond_us(fault)), []
    replacement = payload.get("replacement_history")
    shape = RecordShape(
        kind,
        ordinal=whole(ordinal),
        is_output=_is_output(record, payload),
        has_history=isinstance(replacement, list),
        version=string(payload.get("cli_version")) or None if kind == "session_meta" else None,
        turns=_turns(payload) if kind == "event_msg" and payload.get("type") == "thread_rolled_back" else None,
    )
    items: list[Any] = []
    if kind == "response_item":
        items = [payload]
    elif kind == "compacted" and isinstance(replacement, list):
        items = replacement
    elif kind == "compacted":
        items = [summary_item({"content": str(payload.get("message", ""))})]
    return shape._replace(items=tuple(shape_of(item, source) for item in items)), items


def _is_output(record: dict[str, Any], payload: dict[str, Any]) -> bool:
    metadata = record.get("metadata", payload.get("metadata"))
    return isinstance(metadata, dict) and bool(metadata.get("compaction_output"))


def _turns(payload: dict[str, Any]) -> int:
    return max(whole(payload.get("num_turns")) or 0, 0)


class Placed(NamedTuple):
    """An item of the history: the line of the record that put it there, and the part of a line that says it.
    `is_all_of_line`: nothing else is said there, and the record is the same. `number` is which of all items that were
    ever said it is: one that a compaction kept is spelled anew, and is not said anew."""

    shape: ItemShape
    line: int
    part: Part
    is_all_of_line: bool = False
    number: int = -1


@dataclass(slots=True)
class History:
    """The walk. `placed` is what Codex would take up, `said` all that was ever said. `away` is how much of that was
    there before the last compaction, and the line where it ends; `kept` are the numbers of what this kept. `doubts` are
    why the file is better not written."""

    placed: list[Placed] = field(default_factory=list)
    said: list[Placed] = field(default_factory=list)
    away: tuple[int, int] = (0, 0)
    kept: frozenset[int] = frozenset()
    taken_back: list[list[Placed]] = field(default_factory=list)
    faults: list[Problem] = field(default_factory=list)
    doubts: list[Problem] = field(default_factory=list)
    last_ordinal: int | None = None
    last_line: int = 0
    version: str | None = None

    def take(self, line: int, record: RecordShape) -> None:
        """One record."""
        if record.kind is None:
            self.faults.append(Problem(line, record.wrong or ""))
            if record.is_beyond_us:
                self.doubts.append(Problem(line, f"is {record.wrong}, while Codex may read it"))
            return
        if record.ordinal is not None:
            self.last_ordinal = record.ordinal
        self.version = self.version or record.version
        if record.kind in _ELSEWHERE:
            self.doubts.append(Problem(line, f"is a record of the type `{record.kind}`, which only Codex can place"))
        elif record.kind in _TAKEN:
            _TAKEN[record.kind](self, line, record)

    def take_item(self, line: int, record: RecordShape) -> None:
        """A `response_item`; one that a compaction produced is not taken up."""
        if not record.is_output and self._is_sound(line, record.items[0]):
            self._say(Placed(record.items[0], line, (line, 0), is_all_of_line=True))
            self.last_line = line

    def take_compaction(self, line: int, record: RecordShape) -> None:
        """A `compacted` record; without a history it is one of an older Codex, which keeps the user's messages."""
        before, self.placed, self.taken_back = self.placed, [], []
        self.away, self.last_line = (len(self.said), self.last_line), line
        if record.has_history:
            self.doubts = []
        else:
            users = (placed for placed in before if placed.shape.is_user_turn)
            self.placed = [placed._replace(line=line, is_all_of_line=False) for placed in users]
            self.doubts.append(Problem(line, "is a compaction by an older Codex, without a history"))
        sound = [(index, item) for index, item in enumerate(record.items) if self._is_sound(line, item)]
        numbers = _numbers([item for _, item in sound], before)
        for (index, item), number in zip(sound, numbers, strict=True):
            self._say(Placed(item, line, (line, index)), number)
        self.kept = frozenset(placed.number for placed in self.placed)

    def take_event(self, line: int, record: RecordShape) -> None:
        """An event; turns that the user took back leave the conversation."""
        if record.turns is None:
            return
        self.doubts.append(Problem(line, "takes turns back"))
        last_first = range(len(self.placed) - 1, -1, -1)
        begins = (index for index in last_first if self.placed[index].shape.is_user_turn)
        if taken := list(islice(begins, record.turns)):
            first = taken[-1]
            self.taken_back.append(self.placed[first:])
            del self.placed[first:]

    def folds(self) -> tuple[LineFold, ...]:
        """What was compacted away, and what was taken back since."""
        count, end = self.away
        compacted = _fold("Compacted away", self.said[:count], end, self.kept)
        return tuple(fold for fold in (compacted, *(_fold("Taken back", one) for one in self.taken_back)) if fold)

    def _is_sound(self, line: int, item: ItemShape) -> bool:
        """Whether an item belongs to the history."""
        if item.wrong:
            self.faults.append(Problem(line, item.wrong))
            self.doubts.append(Problem(line, f"holds what Codex may not read ({item.wrong})"))
        return not (item.wrong or item.is_context)

    def _say(self, placed: Placed, number: int | None = None) -> None:
        """Puts an item into the history; without a number it was never said before."""
        numbered = placed._replace(number=len(self.said) if number is None else number)
        self.placed.append(numbered)
        if number is None:
            self.said.append(numbered)


_TAKEN: dict[str, Callable[[History, int, RecordShape], None]] = {
    "response_item": History.take_item,
    "compacted": History.take_compaction,
    "event_msg": History.take_event,
}


def walk(records: Iterable[RecordShape | None]) -> History:
    """The history that records of these shapes leave behind."""
    history = History()
    for line, record in enumerate(records):
        if record is not None:
            history.take(line, record)
    return history


def _numbers(items: list[ItemShape], before: list[Placed]) -> list[int | None]:
    """For each item of a new history which number it had in the history before; None for one that is new.

    A history keeps the first items, or the last ones, or both, with a summary between; or some of what the user said,
    the newest first, with a summary behind.
    """
    most = min(len(items), len(before))
    first = next((at for at in range(most) if items[at] != before[at].shape), most)
    behind = (at for at in range(most - first) if items[-1 - at] != before[-1 - at].shape)
    last = next(behind, most - first)
    numbers = [one.number for one in before]
    between = _numbers_of_user(items[first : len(items) - last], before[first : len(before) - last])
    return [*numbers[:first], *between, *numbers[len(numbers) - last :]]


def _numbers_of_user(items: list[ItemShape], before: list[Placed]) -> list[int | None]:
    """The same for items between: of what the user said, the newest is looked for first."""
    places: dict[ItemShape, list[int]] = {}
    for place, one in enumerate(before):
        if one.shape.is_user_turn:
            places.setdefault(one.shape, []).append(place)
    numbers: list[int | None] = []
    behind = len(before)
    for item in reversed(items):
        found = places.get(item, [])
        at = bisect_left(found, behind)
        behind = found[at - 1] if at else behind
        numbers.append(before[behind].number if at else None)
    return numbers[::-1]


def _fold(title: str, placed: list[Placed], end: int = 0, kept: frozenset[int] = frozenset()) -> LineFold | None:
    """What lies between the first and the last of some items, or on to `end`, those left out that were kept; None where
    nothing is left that says anything."""
    made = [step for step in steps([one.shape for one in placed]) if placed[step.first].number not in kept]
    if not made:
        return None
    first, last = placed[made[0].first].line, placed[made[-1].end - 1].line
    return LineFold(first, max(last, end), titled(title, len(made)), len(made))
