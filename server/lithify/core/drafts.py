"""A summary that is not applied yet, with the user's text in the place of the model's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lithify.core import kimi
from lithify.core.compaction_results import Stats, Summarised
from lithify.core.conversation import with_summary
from lithify.core.messages import Message, estimate_tokens
from lithify.core.outcomes import LithifyError
from lithify.core.replies import Notice

ABOUT_THE_ANSWER = frozenset({"missing_sections", "echoed_template", "repetition", "cut_off", "not_smaller"})
"""Warnings that judge the model's text; they say nothing of another one."""


def edited(before: Sequence[Message], drafted: Summarised, text: str, refuse_larger_from: int) -> Summarised:
    """What was drafted of the conversation `before`, with `text` in the place of the model's answer.

    The user's text is not judged by what it says, but by its size, as a model's is: raises LithifyError `not_smaller`
    for a range of at least `refuse_larger_from` tokens (0: never). The model's own text gives back what was drafted.
    """
    summary = kimi.summary_message(before, text)
    if summary == drafted.summary:
        return drafted
    after = with_summary(before, drafted.plan.range, summary)
    stats = replace(drafted.stats, messages_after=len(after), tokens_after=estimate_tokens(after))
    kept = tuple(one for one in drafted.warnings if one.code not in ABOUT_THE_ANSWER)
    compacted = estimate_tokens(before[drafted.plan.range.start : drafted.plan.range.end])
    grown = _grown(stats, refused=0 < refuse_larger_from <= compacted)
    return replace(drafted, summary=summary, messages=after, stats=stats, warnings=(*kept, *grown))


def _grown(stats: Stats, *, refused: bool) -> list[Notice]:
    if stats.tokens_after < stats.tokens_before:
        return []
    sizes = f"({stats.tokens_before} tokens before, {stats.tokens_after} after)"
    if refused:
        told = f"the edited summary is not smaller than what it replaces {sizes}; nothing was changed, shorten it"
        raise LithifyError("not_smaller", told, retryable=False)
    return [Notice("not_smaller", f"The edited summary is not smaller than what it replaces {sizes}.")]
