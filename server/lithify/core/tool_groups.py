"""Which messages belong together because one answers a tool call of the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lithify.core.messages import Message, answered_calls, tool_calls


@dataclass(frozen=True, slots=True)
class Answer:
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
    latest: dict[str, int] = {}
    adjacent: int | None = None
    found = []
    for index, message in enumerate(messages):
        ids = answered_calls(message)
        for call_id in ids:
            call_index = latest.get(call_id, adjacent) if call_id else adjacent
            if call_index is not None:
                found.append(Answer(call_id, call_index, index))
        calls = tool_calls(message)
        for call in calls:
            if call.call_id:
                latest[call.call_id] = index
        if calls or message.get("tool_calls"):
            adjacent = index
        elif not ids:
            adjacent = None
    return found


def widen(messages: Sequence[Message], start: int, end: int) -> tuple[int, int]:
    """The smallest range around [start, end) that parts no call from its results; linear in the messages."""
    if start >= end:
        return start, end
    reach_end = list(range(len(messages)))
    reach_start = list(range(len(messages)))
    for answer in answers(messages):
        reach_end[answer.call_index] = max(reach_end[answer.call_index], answer.result_index)
        reach_start[answer.result_index] = min(reach_start[answer.result_index], answer.call_index)
    low, high = start, end
    forward = start
    while True:
        while forward < high:
            high = max(high, reach_end[forward] + 1)
            low = min(low, reach_start[forward])
            forward += 1
        if low >= start:
            return low, high
        backward, start = start, low
        for index in range(low, backward):
            high = max(high, reach_end[index] + 1)
            low = min(low, reach_start[index])


def left_alone(messages: Sequence[Message], start: int, end: int) -> list[LoneCall]:
    """The calls and results outside [start, end) whose partner is inside it."""
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
    answered: dict[int, set[str]] = {}
    for answer in answers(messages):
        answered.setdefault(answer.call_index, set()).add(answer.call_id)
    lone: list[LoneCall] = []
    for index in range(start, end):
        calls = tool_calls(messages[index])
        named = {call.call_id for call in calls if call.call_id}
        by_id = answered.get(index, set())
        if by_id <= named:
            lone.extend(LoneCall(call.call_id, index, is_call=True) for call in calls if call.call_id not in by_id)
    return lone
