"""Every "up to here" of a conversation at once, in time linear in it: for each message what `plan_up_to` says of it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from lithify.core.conversation import Noop, Plan, Range
from lithify.core.messages import Message, role_of
from lithify.core.tool_groups import answers


def plans_up_to(messages: Sequence[Message]) -> list[Plan | Noop]:
    """For each message as the anchor, the plan of `conversation.plan_up_to` that is not exact."""
    plans: list[Plan | Noop] = []
    only_system = True
    for anchor, end in enumerate(_widened_ends(messages)):
        only_system = only_system and role_of(messages[anchor]) == "system"
        asked = Range(0, anchor + 1)
        plans.append(Noop("system_only") if only_system else Plan(Range(0, end), asked))
    return plans


def _widened_ends(messages: Sequence[Message]) -> list[int]:
    """For each message, where the range that begins in front and includes it ends, once it parts no call from its
    results. A range that begins in front is widened at its end alone."""
    reach = list(range(1, len(messages) + 1))
    for answer in answers(messages):
        reach[answer.call_index] = max(reach[answer.call_index], answer.result_index + 1)
    furthest = list(accumulate(reach, max))
    closed = [0] * (len(messages) + 1)
    for end in range(len(messages), 0, -1):
        far = furthest[end - 1]
        closed[end] = end if far == end else closed[far]
    return closed[1:]
