"""Which messages belong together because one answers a tool call of the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lithify.core.messages import Message, answered_calls, call_ids


class Answer(NamedTuple):
    """One tool call and the message that answers it, as message indices; `call_index < result_index`."""

    call_id: str
    call_index: int
    result_index: int


@dataclass(frozen=True, slots=True)
class LoneCall:
    """A call whose result is gone, or a result whose call is gone, after a range was taken out."""

    call_id: str
    index: int
    is_call: bool


def answers(messages: Sequence[Message]) -> list[Answer]:
    """Every pair of call and result, in order of the results.

    Ids repeat in real transcripts, so a result belongs to the nearest call before it. A tool message that names no
    id, or an unknown one, belongs to the message with calls that it follows, when only tool messages lie between.
    """
    return list(map(Answer._make, _answered(messages)))


def _answered(messages: Sequence[Message], made: dict[int, list[str]] | None = None) -> Iterator[tuple[str, int, int]]:
    """As `answers`, one by one. Into `made` go the ids of the calls that each message makes."""
    latest: dict[str, int] = {}
    adjacent: int | None = None
    for index, message in enumerate(messages):
        if len(message) == 1 and message.get("role") != "tool":  # a bare message that has nothing to do with calls
            adjacent = None
            continue
        calls, has_parts = message.get("tool_calls"), isinstance(message.get("content"), list)
        answering = has_parts or message.get("role") == "tool"
        if not answering and not calls:
            adjacent = None
            continue
        ids = answered_calls(message) if answering else ()
        for call_id in ids:
            call_index = latest.get(call_id, adjacent) if call_id else adjacent
            if call_index is not None:
                yield call_id, call_index, index
        called = call_ids(message) if has_parts or calls else []
        for call_id in called:
            if call_id:
                latest[call_id] = index
        if called or calls:
            adjacent = index
            if made is not None:
                made[index] = called
        elif not ids:
            adjacent = None


class Groups:
    """How far the calls and results of a conversation reach; made in time linear in it."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self.reach_end = list(range(1, len(messages) + 1))
        self._reach_start = list(range(len(messages)))
        for _, call_index, result_index in _answered(messages):
            self.reach_end[call_index] = result_index + 1  # the results come in order: the last one is the furthest
            if call_index < self._reach_start[result_index]:
                self._reach_start[result_index] = call_index

    def widened(self, start: int, end: int) -> tuple[int, int]:
        """The smallest range around [start, end) that parts no call from its results; what lies outside of it is not
        looked at."""
        low, high = start, end
        seen_low = seen_high = start
        while low < seen_low or seen_high < high:
            fresh = (slice(low, seen_low), slice(seen_high, high))
            seen_low, seen_high = low, high
            for some in fresh:
                low = min(low, min(self._reach_start[some], default=low))
                high = max(high, max(self.reach_end[some], default=high))
        return low, high


def widen(messages: Sequence[Message], start: int, end: int) -> tuple[int, int]:
    """The smallest range around [start, end) that parts no call from its results; linear in the messages."""
    return (start, end) if _parts_nothing(messages, start, end) else Groups(messages).widened(start, end)


def _parts_nothing(messages: Sequence[Message], start: int, end: int) -> bool:
    """Whether a range that begins in front plainly parts no call from its result: each result behind it has a call of
    its id behind it too. A look at what is behind tells, which is little where all but a tail is compacted."""
    if start > 0:
        return False
    called: set[str] = set()
    for message in messages[end:]:
        if not called.issuperset(answered_calls(message)):
            return False
        called.update(filter(None, call_ids(message)))
    return True


def left_alone(messages: Sequence[Message], start: int, end: int) -> list[LoneCall]:
    """The calls and results outside [start, end) whose partner is inside it."""
    if _parts_nothing(messages, start, end):
        return []
    lone = []
    for answer in answers(messages):
        call_inside = start <= answer.call_index < end
        result_inside = start <= answer.result_index < end
        if call_inside and not result_inside:
            lone.append(LoneCall(answer.call_id, answer.result_index, is_call=False))
        elif result_inside and not call_inside:
            lone.append(LoneCall(answer.call_id, answer.call_index, is_call=True))
    return lone


def unanswered(messages: Sequence[Message], start: int, end: int) -> list[LoneCall]:
    """The calls inside [start, end) that nothing has answered yet; a result that names no call answers them all."""
    made: dict[int, list[str]] = {}
    answered: dict[int, set[str]] = {}
    for call_id, call_index, _ in _answered(messages, made):
        answered.setdefault(call_index, set()).add(call_id)
    lone: list[LoneCall] = []
    for index, calls in made.items():
        by_id = answered.get(index, set())
        if start <= index < end and not by_id.issuperset(calls) and by_id.issubset(filter(None, calls)):
            missing = (call_id for call_id in calls if call_id not in by_id)
            lone.extend(LoneCall(call_id, index, is_call=True) for call_id in missing)
    return lone
