"""A walk over the records of a Codex session: which items its history holds, and which it held before."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

from lithify.transcripts.appended import is_beyond_us
from lithify.transcripts.codex_items import ItemShape, shape_of, steps, summary_item
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
    """

    kind: str | None
    wrong: str | None = None
    ordinal: int | None = None
    items: tuple[ItemShape, ...] = ()
    is_output: bool = False
    has_history: bool = False
    turns: int | None = None
    is_beyond_us: bool = False


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
        ordinal=ordinal if isinstance(ordinal, int) else None,
        is_output=_is_output(record, payload),
        has_history=isinstance(replacement, list),
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
    turns = payload.get("num_turns")
    return turns if isinstance(turns, int) and turns > 0 else 0


class Placed(NamedTuple):
    """An item of the history: the line of the record that put it there, and the part of a line that says it.
    `is_all_of_line`: nothing else is said there, and the record is the same."""

    shape: ItemShape
    line: int
    part: Part
    is_all_of_line: bool = False


@dataclass(slots=True)
class History:
    """The walk. `placed` is what Codex would take up, `said` all that was ever said, `away` how much of it was
    compacted away and the line where that ends; `doubts` are why the file is better not written."""

    placed: list[Placed] = field(default_factory=list)
    said: list[Placed] = field(default_factory=list)
    away: tuple[int, int] = (0, 0)
    taken_back: list[list[Placed]] = field(default_factory=list)
    faults: list[Problem] = field(default_factory=list)
    doubts: list[Problem] = field(default_factory=list)
    last_ordinal: int | None = None
    last_line: int = 0

    def take(self, line: int, record: RecordShape) -> None:
        """One record."""
        if record.kind is None:
            self.faults.append(Problem(line, record.wrong or ""))
            if record.is_beyond_us:
                self.doubts.append(Problem(line, f"is {record.wrong}, while Codex may read it"))
            return
        if record.ordinal is not None:
            self.last_ordinal = record.ordinal
        if record.kind in _ELSEWHERE:
            self.doubts.append(Problem(line, f"is a record of the type `{record.kind}`, which only Codex can place"))
        elif record.kind in _TAKEN:
            _TAKEN[record.kind](self, line, record)

    def take_item(self, line: int, record: RecordShape) -> None:
        """A `response_item`; one that a compaction produced is not taken up."""
        if not record.is_output and self._add(Placed(record.items[0], line, (line, 0), is_all_of_line=True)):
            self.said.append(self.placed[-1])
            self.last_line = line

    def take_compaction(self, line: int, record: RecordShape) -> None:
        """A `compacted` record; without a history it is one of an older Codex, which keeps the user's messages."""
        users = [placed for placed in self.placed if placed.shape.is_user_turn]
        self.away, self.last_line = (len(self.said), self.last_line), line
        self.placed, self.taken_back = [], []
        if record.has_history:
            self.doubts = []
        else:
            self.placed = [placed._replace(line=line, is_all_of_line=False) for placed in users]
            self.doubts.append(Problem(line, "is a compaction by an older Codex, without a history"))
        for index, item in enumerate(record.items):
            self._add(Placed(item, line, (line, index)))

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
        compacted = _fold("Compacted away", self.said[:count], end)
        return tuple(fold for fold in (compacted, *(_fold("Taken back", one) for one in self.taken_back)) if fold)

    def _add(self, placed: Placed) -> bool:
        """Whether the item went into the history."""
        wrong = placed.shape.wrong
        if wrong:
            self.faults.append(Problem(placed.line, wrong))
            self.doubts.append(Problem(placed.line, f"holds what Codex may not read ({wrong})"))
        elif not placed.shape.is_context:
            self.placed.append(placed)
            return True
        return False


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


def _fold(title: str, placed: list[Placed], end: int = 0) -> LineFold | None:
    """What lies between the first and the last of some items, or on to `end`; None where they say nothing."""
    count = len(steps([one.shape for one in placed]))
    return LineFold(placed[0].line, max(placed[-1].line, end), f"{title}: {count} messages", count) if count else None
