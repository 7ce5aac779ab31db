"""The session file of Codex, `rollout-*.jsonl`: records `{timestamp, ordinal?, type, payload}`, one a line.

The conversation is what Codex takes up again: the last `replacement_history` and the `response_item`s behind it,
without those that a compaction itself produced. What Codex puts in front at each start is no part of it. Source:
Codex 0.171, as measured.

A compaction is one `compacted` record behind the last line; no line changes. Its history holds the summary and every
other item as it stands; items that only Codex can read stay, in front of the summary.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from lithify.core.messages import Message, text_of
from lithify.transcripts.codex_items import (
    Item,
    holds_lone_surrogate,
    is_context,
    is_sealed,
    is_user_turn,
    steps,
    summary_item,
    wrong_with,
)
from lithify.transcripts.json_lines import JsonLine, first_objects, json_lines
from lithify.transcripts.json_text import Fault, line_ending, problems_of, skip_mark
from lithify.transcripts.model import Fold, Stamp, Transcript, TranscriptMessage, replaced_messages
from lithify.transcripts.summary_text import one_line

name = "codex"

RECORD_TYPES = frozenset({"session_meta", "response_item", "compacted", "turn_context", "event_msg"})
_ELSEWHERE = frozenset({"inter_agent_communication", "rollout_reference"})
"""Records by which something enters the conversation that is not in this file as an item."""

_MARK = "a byte order mark, for which Codex cannot read its first record"
_FILE_NAME = re.compile(r"(?:.*[/\\])?rollout-[^/\\]*\.jsonl")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_AGAIN = "compact the session once in Codex itself (/compact), then it can be compacted here."


def recognise(text: str, name: str) -> bool:
    """Whether a record of Codex is among the first lines; without any line, a `rollout-*.jsonl`."""
    values = first_objects(text)
    if any(value.get("type") in RECORD_TYPES and isinstance(value.get("payload"), dict) for value in values):
        return True
    return _FILE_NAME.fullmatch(name) is not None and not text.strip()


def parse(text: str) -> Transcript:
    """The conversation that Codex would take up again; it is read-only where that is not certain, or not safe."""
    reading = _read(text)
    faults = [*reading.faults, *([Fault(0, _MARK)] if skip_mark(text) else [])]
    reason = f"Line 1 has {_MARK}: save the file without it, then compact it." if skip_mark(text) else None
    if reason is None and reading.doubts:
        (doubt, *_) = problems_of(text, reading.doubts)
        reason = f"Line {doubt.line + 1} {doubt.message}: {_AGAIN}"
    return Transcript(
        name,
        _messages(reading.history),
        problems_of(text, faults),
        writable=reason is None,
        read_only_reason=reason,
        folds=reading.folds(),
    )


def write(text: str, transcript: Transcript, start: int, end: int, summary: Message, stamp: Stamp) -> str:
    """The whole text, and behind it the record of a compaction, in any range of the conversation."""
    leaving = len(replaced_messages(transcript, start, end))
    reading = _read(text)
    items = [placed.item for placed in reading.history]
    found = steps(items)
    first, last = found[end - leaving].first, found[end - 1].end
    sealed = [item for item in items[first:last] if is_sealed(item)]
    history = [*items[:first], *sealed, summary_item(summary), *items[last:]]
    ordinal = {} if reading.last_ordinal is None else {"ordinal": reading.last_ordinal + 1}
    payload = {"message": text_of(summary), "replacement_history": history}
    record = {"timestamp": stamp.now, **ordinal, "type": "compacted", "payload": payload}
    ending = _ending(text)
    return text + ("" if text.endswith("\n") else ending) + one_line(record, spaced=False) + ending


@dataclass(frozen=True, slots=True)
class _Placed:
    """An item, and the characters [start, end) of the record that holds it."""

    item: Item
    start: int
    end: int


@dataclass(slots=True)
class _Reading:
    """A walk over the records. `history` is what Codex would take up, `said` all that was ever said, `away` how much of
    it was compacted away and where that ends; `doubts` are why the file is better not written."""

    text: str
    history: list[_Placed] = field(default_factory=list)
    said: list[_Placed] = field(default_factory=list)
    away: tuple[int, int] = (0, 0)
    taken_back: list[list[_Placed]] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    doubts: list[Fault] = field(default_factory=list)
    last_ordinal: int | None = None
    last_end: int = 0

    def take(self, line: JsonLine) -> None:
        """One record."""
        record = line.value if isinstance(line.value, dict) else {}
        kind, payload, ordinal = record.get("type"), record.get("payload"), record.get("ordinal")
        if not isinstance(kind, str) or not isinstance(payload, dict):
            self.faults.append(Fault(line.start, line.fault or "not a record: no object with a type and a payload"))
            return
        if isinstance(ordinal, int):
            self.last_ordinal = ordinal
        if kind in _ELSEWHERE:
            self.doubts.append(Fault(line.start, f"is a record of the type `{kind}`, which only Codex can place"))
        elif kind in _TAKEN:
            _TAKEN[kind](self, line, payload)

    def take_item(self, line: JsonLine, item: Item) -> None:
        """A `response_item`; one that a compaction produced is not taken up."""
        metadata = line.value.get("metadata", item.get("metadata"))
        if isinstance(metadata, dict) and metadata.get("compaction_output"):
            return
        if self._add(line, item):
            self.said.append(self.history[-1])
            self.last_end = line.end

    def take_compaction(self, line: JsonLine, payload: dict[str, Any]) -> None:
        """A `compacted` record; without a history it is one of an older Codex, which keeps the user's messages."""
        replacement = payload.get("replacement_history")
        users = [placed.item for placed in self.history if is_user_turn(placed.item)]
        self.away, self.last_end = (len(self.said), self.last_end), line.end
        self.history, self.taken_back = [], []
        if isinstance(replacement, list):
            self.doubts = []
        else:
            replacement = [*users, summary_item({"content": str(payload.get("message", ""))})]
            self.doubts.append(Fault(line.start, "is a compaction by an older Codex, without a history"))
        for item in replacement:
            self._add(line, item)

    def take_event(self, line: JsonLine, payload: dict[str, Any]) -> None:
        """An event; turns that the user took back leave the conversation."""
        if payload.get("type") != "thread_rolled_back":
            return
        self.doubts.append(Fault(line.start, "takes turns back"))
        turns = payload.get("num_turns")
        last_first = range(len(self.history) - 1, -1, -1)
        begins = (index for index in last_first if is_user_turn(self.history[index].item))
        if isinstance(turns, int) and turns > 0 and (taken := list(islice(begins, turns))):
            first = taken[-1]
            self.taken_back.append(self.history[first:])
            del self.history[first:]

    def folds(self) -> tuple[Fold, ...]:
        """What was compacted away, and what was taken back since."""
        count, end = self.away
        compacted = _fold("Compacted away", self.said[:count], end)
        return tuple(fold for fold in (compacted, *(_fold("Taken back", one) for one in self.taken_back)) if fold)

    def _add(self, line: JsonLine, item: Any) -> bool:
        """Whether the item went into the history."""
        wrong = wrong_with(item)
        if wrong is None and _SURROGATE.search(self.text, line.start, line.end) and holds_lone_surrogate(item):
            wrong = "not an item that Codex reads: half of a character in it"
        if wrong:
            self.faults.append(Fault(line.start, wrong))
            self.doubts.append(Fault(line.start, f"holds what Codex may not read ({wrong})"))
        elif not is_context(item):
            self.history.append(_Placed(item, line.start, line.end))
            return True
        return False


_TAKEN: dict[str, Callable[[_Reading, JsonLine, dict[str, Any]], None]] = {
    "response_item": _Reading.take_item,
    "compacted": _Reading.take_compaction,
    "event_msg": _Reading.take_event,
}


def _read(text: str) -> _Reading:
    reading = _Reading(text)
    for line in json_lines(text):
        reading.take(line)
    return reading


def _messages(history: list[_Placed]) -> tuple[TranscriptMessage, ...]:
    """The messages of a history, each in the places of its records; one record that holds several is one place."""
    messages = []
    for step in steps([placed.item for placed in history]):
        places = dict.fromkeys((placed.start, placed.end) for placed in history[step.first : step.end])
        (start, end), *more = places
        messages.append(TranscriptMessage(step.message, start, end, tuple(more)))
    return tuple(messages)


def _fold(title: str, placed: list[_Placed], end: int = 0) -> Fold | None:
    """What lies between the first and the last of some items, or on to `end`; None where they say nothing."""
    count = len(steps([one.item for one in placed]))
    if not count:
        return None
    return Fold(placed[0].start, max(placed[-1].end, end), f"{title}: {count} messages", count)


def _ending(text: str) -> str:
    """The line ending of the file; a carriage return alone ends no line for Codex."""
    ending = line_ending(text, 0)
    return ending if ending.endswith("\n") else "\n"
