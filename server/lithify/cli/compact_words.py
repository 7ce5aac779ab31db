"""The words in which `lithify compact` tells what became of a conversation, or why nothing did."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lithify.core.compaction_results import Summarised
    from lithify.core.conversation import Noop, Plan
    from lithify.core.messages import Message

_NOOPS = {
    "empty": "there are no messages",
    "preserve_none": "--preserve 0 keeps no tail and compacts nothing; use --up-to to compact everything",
    "too_few_messages": "it holds no more user and assistant messages than are preserved; see --preserve",
    "nothing_before_tail": "nothing comes before the messages that are preserved; see --preserve",
    "system_only": "only system messages come before the messages that are preserved",
}


def answer_of(outcome: Summarised) -> str:
    """The summary as the model wrote it, without the line that marks it in a conversation."""
    from lithify.core.kimi import OUTPUT_PREFIX
    from lithify.core.messages import text_of

    return text_of(outcome.summary).removeprefix(OUTPUT_PREFIX).removeprefix("\n")


def answered_by(outcome: Summarised) -> str:
    """Which model it was, in words."""
    from lithify.core.model_calls import Answerer

    return Answerer(outcome.provider, outcome.model).in_words


def why_nothing(noop: Noop, up_to: int | None) -> str:
    """Why there was nothing to compact; `up_to` is the number of messages that was asked for."""
    if noop.reason == "system_only" and up_to is not None:
        return "message 1 is a system message" if up_to == 1 else f"{_span(1, up_to)} are system messages"
    return _NOOPS[noop.reason]


def compacted(conversation: Sequence[Message], plan: Plan, of: str = "") -> str:
    """Which messages were compacted, and why they are other ones than those that were asked for."""
    from lithify.core.conversation import kept_in_front
    from lithify.core.tool_groups import answers

    asked, end = plan.requested.end, plan.range.end
    kept = kept_in_front(conversation, plan.range)
    notes = ["message 1 is the system message and stays"] if kept else []
    calls = [one.call_index + 1 for one in answers(conversation) if one.result_index == end - 1]
    if end > asked and calls:
        result = f"message {end} is the result of a tool call in message {min(calls)}"
        notes.append(f"{result}, so it goes with it" if end == asked + 1 else f"as {result}, all up to it go with it")
    said = f"{_span(plan.range.start + kept + 1, end)}{of}"
    return f"{said} ({'; '.join(notes)})" if notes else said


def lone_summary(conversation: Sequence[Message], plan: Plan) -> bool:
    """Whether what would be compacted is one summary, which holds nothing that another one would not."""
    from lithify.core.conversation import kept_in_front
    from lithify.core.kimi import is_summary

    first = plan.range.start + kept_in_front(conversation, plan.range)
    return plan.range.end - first == 1 and is_summary(conversation[first])


def _span(first: int, last: int) -> str:
    return f"message {last}" if first == last else f"messages {first} to {last}"


def count(number: int, thing: str) -> str:
    """A number of things, in words."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
