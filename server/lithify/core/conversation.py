"""Which part of a conversation is compacted, and what stands in its place.

Source: kimi-cli 1.52.0 SimpleCompaction (the tail rule) and the wire contract, section 5 (ranges, no-ops).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from lithify.core import tool_groups
from lithify.core.messages import Message, role_of

NoopReason: TypeAlias = Literal["empty", "preserve_none", "too_few_messages", "nothing_before_tail", "system_only"]


@dataclass(frozen=True, slots=True)
class Range:
    """Message indices, 0-based, `end` exclusive."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Plan:
    """What will be replaced: `range` widened over whole call groups, `requested` as it was asked for."""

    range: Range
    requested: Range


@dataclass(frozen=True, slots=True)
class Noop:
    """Nothing to compact, and why; the conversation stays as it is."""

    reason: NoopReason


@dataclass(frozen=True, slots=True)
class InvalidRange:
    """A range that does not fit the conversation; `message` names the bound and what would fit."""

    message: str


def tail_start(messages: Sequence[Message], start: int, max_preserved_messages: int) -> int | Noop:
    """Where the preserved tail begins inside [start, length): at the n-th last user or assistant message."""
    if start >= len(messages):
        return Noop("empty")
    if max_preserved_messages <= 0:
        return Noop("preserve_none")
    preserved = 0
    for index in range(len(messages) - 1, start - 1, -1):
        if role_of(messages[index]) in ("user", "assistant"):
            preserved += 1
            if preserved == max_preserved_messages:
                return index if index > start else Noop("nothing_before_tail")
    return Noop("too_few_messages")


def plan_compaction(
    messages: Sequence[Message],
    *,
    start: int | None,
    end: int | None,
    max_preserved_messages: int,
    exact: bool,
) -> Plan | Noop | InvalidRange:
    """The range of a compaction. Without `end` the preserved tail applies; with it, it does not."""
    length = len(messages)
    first = 0 if start is None else start
    if not 0 <= first <= length:
        return InvalidRange(f"start is {first}, but must lie between 0 and {length} (the number of messages)")
    if end is None:
        cut = tail_start(messages, first, max_preserved_messages)
        if isinstance(cut, Noop):
            return cut
        last = cut
    elif not 0 <= end <= length:
        return InvalidRange(f"end is {end}, but must lie between 0 and {length} (the number of messages)")
    elif end < first:
        return InvalidRange(f"end is {end}, before start, which is {first}")
    else:
        last = end
    return _plan(messages, Range(first, last), exact=exact)


def plan_up_to(messages: Sequence[Message], anchor: int, *, exact: bool) -> Plan | Noop | InvalidRange:
    """The prefix up to and including the message at `anchor`; no tail rule."""
    if not messages:
        return Noop("empty")
    if not 0 <= anchor < len(messages):
        return InvalidRange(f"index is {anchor}, but must lie between 0 and {len(messages) - 1}")
    return _plan(messages, Range(0, anchor + 1), exact=exact)


def _plan(messages: Sequence[Message], requested: Range, *, exact: bool) -> Plan | Noop:
    if requested.start == requested.end:
        return Noop("empty")
    if all(role_of(message) == "system" for message in messages[requested.start : requested.end]):
        return Noop("system_only")
    if exact:
        return Plan(requested, requested)
    return Plan(Range(*tool_groups.widen(messages, requested.start, requested.end)), requested)


def kept_in_front(messages: Sequence[Message], compacted: Range) -> int:
    """How many messages at the start of the range stay where they are: 1 for a leading system message, else 0."""
    return 1 if compacted.start == 0 and messages and role_of(messages[0]) == "system" else 0


def with_summary(messages: Sequence[Message], compacted: Range, summary: Message) -> list[Message]:
    """The conversation with its range replaced by the summary; all else is the same object as before."""
    kept = compacted.start + kept_in_front(messages, compacted)
    return [*messages[:kept], summary, *messages[compacted.end :]]
