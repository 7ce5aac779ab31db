"""All plans of one conversation, each at little cost: what `core.conversation` plans, from one look at the messages."""

from __future__ import annotations

from collections.abc import Sequence

from lithify.core.conversation import InvalidRange, Noop, Plan, Range, kept_in_front, plan_compaction
from lithify.core.messages import Message, role_of
from lithify.core.tool_groups import Groups


class Plans:
    """The plans of a conversation; made in time linear in it. `messages` may be bare ones."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self._messages = messages
        self._groups = Groups(messages)
        self._ends_up_to = _closed(self._groups.reach_end)
        spoken = (index for index, message in enumerate(messages) if role_of(message) != "system")
        self._first_spoken = next(spoken, len(messages))
        self.keeps_first = kept_in_front(messages, Range(0, len(messages))) > 0
        """Whether a range that begins in front leaves its first message where it is."""

    def up_to(self, anchor: int, *, exact: bool = False) -> Plan | Noop | InvalidRange:
        """As `plan_up_to`; in constant time for a message of the conversation."""
        if not self._messages:
            return Noop("empty")
        if not 0 <= anchor < len(self._messages):
            return InvalidRange(f"index is {anchor}, but must lie between 0 and {len(self._messages) - 1}")
        if anchor < self._first_spoken:
            return Noop("system_only")
        asked, end = Range(0, anchor + 1), self._ends_up_to[anchor]
        return Plan(asked if exact or end == asked.end else Range(0, end), asked)

    def compaction(
        self, *, start: int | None, end: int | None, max_preserved_messages: int, exact: bool = False
    ) -> Plan | Noop | InvalidRange:
        """As `plan_compaction`; what lies outside of the range is not looked at."""
        planned = plan_compaction(
            self._messages, start=start, end=end, max_preserved_messages=max_preserved_messages, exact=True
        )
        return planned if exact or not isinstance(planned, Plan) else Plan(self.widened(planned.range), planned.range)

    def widened(self, part: Range) -> Range:
        """The smallest range around this one that parts no call from its results, as `tool_groups.widen` says."""
        return Range(*self._groups.widened(part.start, part.end))


def _closed(reach_end: list[int]) -> list[int]:
    """For each message, where the range that begins in front and includes it ends, once it parts no call from its
    results. A range that begins in front is widened at its end alone."""
    furthest, far = [0], 0
    for reached in reach_end:
        if reached > far:
            far = reached
        furthest.append(far)
    closed = list(range(len(furthest)))
    for end in range(len(reach_end), 0, -1):
        if furthest[end] != end:
            closed[end] = closed[furthest[end]]
    return closed[1:]
