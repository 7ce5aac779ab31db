"""Compaction of a list of messages: plan, ask the model in one request or folded, judge the answer.

The rules are in `core`; here is the order in which things happen. Nothing is written.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from lithify.core import folding, kimi
from lithify.core.agents import CompactionOptions
from lithify.core.brief import brief
from lithify.core.compaction_results import Preview, Stats, Summarised
from lithify.core.conversation import InvalidRange, Noop, Plan, plan_compaction, plan_up_to, with_summary
from lithify.core.messages import Message, has_media, tokens_of_bytes, total_bytes, utf8_length
from lithify.core.model_calls import ModelFailure, ModelReply, ModelRequest, Usage
from lithify.core.outcomes import LithifyError
from lithify.core.range_digests import range_digest
from lithify.core.replies import Notice, answer_warnings
from lithify.core.settings import Conversation
from lithify.core.tool_groups import left_alone, unanswered
from lithify.prompt_files.templates import ConversationPrompt
from lithify.workers.model_use import ask_first
from lithify.workers.ports import Models

TARGET_SHARE = 10
"""The offline model's answer takes at most one such part of the range, but always this many bytes:"""
LEAST_TARGET_BYTES = 1024

HALVINGS = 4
"""How often a request that the model calls too long is folded smaller."""

Progress = Callable[[str], None]
Ask = Callable[[Models, ModelRequest], Awaitable[ModelReply | ModelFailure]]


@dataclass(frozen=True, slots=True)
class Workshop:
    """What a compaction works with: the prompt, the limits, and how models are asked (which keeps the ledger)."""

    prompt: ConversationPrompt
    limits: Conversation
    ask: Ask


async def ask_directly(models: Models, request: ModelRequest) -> ModelReply | ModelFailure:
    """Asks the first model that is there without keeping a ledger."""
    return await ask_first(models, request)


def plan(messages: Sequence[Message], options: CompactionOptions) -> Plan | Noop:
    """The range of a compaction. Raises LithifyError: `invalid_range`; `stale` where the range is not the one that the
    user was shown."""
    if options.up_to is not None:
        planned = plan_up_to(messages, options.up_to, exact=options.exact)
    else:
        planned = plan_compaction(
            messages,
            start=options.start,
            end=options.end,
            max_preserved_messages=options.max_preserved_messages,
            exact=options.exact,
        )
    if isinstance(planned, InvalidRange):
        raise LithifyError("invalid_range", planned.message) if options.digest is None else _not_as_shown()
    if options.digest is not None and isinstance(planned, Plan) and _digest(messages, planned) != options.digest:
        raise _not_as_shown()
    return planned


def preview(
    messages: Sequence[Message], options: CompactionOptions, workshop: Workshop, models: Models | ModelFailure
) -> Preview | Noop:
    """What `summarise` would send, without asking any model. Raises LithifyError `invalid_range`."""
    planned = plan(messages, options)
    if isinstance(planned, Noop):
        return planned
    folder = _Folder(list(messages[planned.range.start : planned.range.end]), options, workshop)
    limit = 0 if not isinstance(models, ModelFailure) and _take_all(models) else workshop.limits.max_request_tokens
    expected = kimi.summary_message(messages, "x" * folder.target_bytes())
    return Preview(
        plan=planned,
        requests=folding.count_requests(folder.measured, limit, folder.fixed_bytes) if limit else 1,
        request=folder.first_request(limit),
        stats=_stats(messages, planned, folder.counted_bytes, with_summary(messages, planned.range, expected), 0),
        prompt_source=prompt_source(workshop.prompt, options),
        digest=_digest(messages, planned),
    )


async def summarise(
    messages: Sequence[Message],
    options: CompactionOptions,
    workshop: Workshop,
    models: Models,
    progress: Progress = lambda _: None,
) -> Summarised | Noop:
    """The summary of a range, and the conversation with it in place; the messages given are not changed.

    Raises LithifyError: `invalid_range`, and all the ways a model fails (wire contract, section 5).
    """
    planned = plan(messages, options)
    if isinstance(planned, Noop):
        return planned
    started = time.monotonic()
    folder = _Folder(list(messages[planned.range.start : planned.range.end]), options, workshop)
    reply = await folder.answer(models, progress)
    summary = kimi.summary_message(messages, reply.text)
    after = with_summary(messages, planned.range, summary)
    stats = _stats(messages, planned, folder.counted_bytes, after, round((time.monotonic() - started) * 1000))
    method: Literal["model", "offline"] = "offline" if reply.provider == "offline" else "model"
    warnings = [
        *_prompt_warnings(workshop.prompt, options),
        *_instruction_warnings(method, options),
        *_model_warnings(reply),
        *answer_warnings(
            reply.text,
            folder.prompt_text,
            sections_asked=options.prompt is None,
            stop_reason=reply.stop_reason,
            literal=method == "offline",
        ),
        *folder.warnings,
        *_size_warnings(folder, stats, workshop.limits),
        *_range_warnings(messages, planned),
    ]
    return Summarised(
        plan=planned,
        summary=summary,
        messages=after,
        stats=stats,
        method=method,
        provider=reply.provider,
        model=reply.model,
        prompt_source=prompt_source(workshop.prompt, options),
        usage=folder.usage,
        warnings=tuple(warnings),
    )


def prompt_source(prompt: ConversationPrompt, options: CompactionOptions) -> str:
    """Which prompt was used: `override`, or the source of the template."""
    return "override" if options.prompt is not None else prompt.source


def _digest(messages: Sequence[Message], planned: Plan) -> str:
    return range_digest(messages[planned.range.start : planned.range.end])


def _not_as_shown() -> LithifyError:
    """Trying again with the same digest cannot help."""
    return LithifyError(
        "stale",
        "the conversation is no longer as it was shown, so the range would hold other messages; nothing was changed, "
        "look at the conversation again",
        retryable=False,
    )


class _Folder:
    """Turns a range into requests, one after the other."""

    def __init__(self, messages: list[Message], options: CompactionOptions, workshop: Workshop) -> None:
        self.messages = messages
        self._options = options
        self._workshop = workshop
        self.prompt_text = options.prompt if options.prompt is not None else workshop.prompt.text
        closing = kimi.closing_part(self.prompt_text, workshop.prompt.instruction_intro, options.instructions)
        self.fixed_bytes = utf8_length(closing) + utf8_length(workshop.prompt.system_prompt)
        self.measured = folding.measured(messages)
        self.counted_bytes = total_bytes(messages)
        self.warnings: list[Notice] = []
        self.usage: Usage | None = None

    def target_bytes(self, room: int | None = None) -> int:
        """What the summary may take: a share of the range, and (folded) no more than is carried into the next part."""
        share = self.counted_bytes // TARGET_SHARE
        return max(share if room is None else min(share, folding.most_carried(room)), LEAST_TARGET_BYTES)

    def first_request(self, limit: int) -> ModelRequest:
        if folding.fits(self.measured, limit, self.fixed_bytes):
            return self._whole()
        room = folding.room_bytes(limit, self.fixed_bytes)
        return self._request(folding.next_chunk(self.measured, room, None).messages, room)

    async def answer(self, models: Models, progress: Progress) -> ModelReply:
        limit = 0 if _take_all(models) else self._workshop.limits.max_request_tokens
        for _ in range(HALVINGS):
            outcome = await self._attempt(models, limit, progress)
            if isinstance(outcome, ModelReply):
                if not outcome.text.strip():
                    raise LithifyError("empty_response", "the model answered without any text; nothing was changed")
                return outcome
            if outcome.type != "context_too_long":
                raise _error(outcome)
            sent = folding.sent_tokens(self.measured, self.fixed_bytes)
            limit = max(min(limit or sent, sent) // 2, 1)
        raise LithifyError("model_error", "the model refuses even small parts of this conversation as too long")

    async def _attempt(self, models: Models, limit: int, progress: Progress) -> ModelReply | ModelFailure:
        self.warnings.clear()
        if folding.fits(self.measured, limit, self.fixed_bytes):
            progress(f"Summarising {len(self.messages)} messages")
            return await self._ask(models, self._whole())
        total = folding.count_requests(self.measured, limit, self.fixed_bytes)
        room = folding.room_bytes(limit, self.fixed_bytes)
        rest = self.measured
        carry: Message | None = None
        number = 0
        while True:
            chunk = folding.next_chunk(rest, room, carry)
            number += 1
            more = bool(chunk.rest.messages)
            beyond = number + more > total
            progress(f"Summarising part {number}" if beyond else f"Summarising part {number} of {total}")
            reply = await self._ask(models, self._request(chunk.messages, room))
            if isinstance(reply, ModelFailure) or not more or not reply.text.strip():
                break
            rest, carry = chunk.rest, folding.carried(reply.text, room)
        self.warnings.append(
            Notice("folded", f"The conversation was too long for one request, so it was summarised in {number} parts.")
        )
        return reply

    def _whole(self) -> ModelRequest:
        """One request with all the messages. Its answer is no longer than where they were folded."""
        limit = self._workshop.limits.max_request_tokens
        fits = folding.fits(self.measured, limit, self.fixed_bytes)
        return self._request(self.messages, None if fits else folding.room_bytes(limit, self.fixed_bytes))

    async def _ask(self, models: Models, request: ModelRequest) -> ModelReply | ModelFailure:
        reply = await self._workshop.ask(models, request)
        if isinstance(reply, ModelReply) and reply.usage is not None:
            self.usage = _added(self.usage, reply.usage)
        return reply

    def _request(self, messages: Sequence[Message], room: int | None = None) -> ModelRequest:
        options, prompt = self._options, self._workshop.prompt
        return ModelRequest(
            purpose="conversation",
            system_prompt=prompt.system_prompt,
            parts=kimi.request_parts(messages, self.prompt_text, prompt.instruction_intro, options.instructions),
            timeout_ms=self._workshop.limits.timeout_ms,
            model=options.model,
            settings=options.settings,
            messages=tuple(messages),
            target_bytes=self.target_bytes(room),
        )


def _take_all(models: Models) -> bool:
    """Whether nothing is too long for these models: the offline one needs no parts, and says more of a whole."""
    return all(model.name == "offline" for model in models)


def _added(usage: Usage | None, more: Usage) -> Usage:
    if usage is None:
        return more
    return Usage(
        input_tokens=(usage.input_tokens or 0) + (more.input_tokens or 0),
        output_tokens=(usage.output_tokens or 0) + (more.output_tokens or 0),
    )


def _error(failure: ModelFailure) -> LithifyError:
    if failure.type == "context_too_long":
        return LithifyError("model_error", failure.message)
    return LithifyError(failure.type, failure.message, retryable=failure.retryable)


def _stats(
    before: Sequence[Message], planned: Plan, range_bytes: int, after: Sequence[Message], duration_ms: int
) -> Stats:
    outside = total_bytes(before[: planned.range.start]) + total_bytes(before[planned.range.end :])
    tokens_before, tokens_after = tokens_of_bytes(range_bytes + outside), tokens_of_bytes(total_bytes(after))
    return Stats(len(before), len(after), tokens_before, tokens_after, duration_ms)


def _prompt_warnings(prompt: ConversationPrompt, options: CompactionOptions) -> list[Notice]:
    if prompt.exact or options.prompt is not None:
        return []
    how = prompt.problem or "'lithify prompts fetch' gets the exact one of kimi-cli."
    return [Notice("prompt_fallback", f"Lithify's own compaction prompt was used. {how}")]


def _instruction_warnings(method: str, options: CompactionOptions) -> list[Notice]:
    if method != "offline" or not options.instructions.strip():
        return []
    told = "The offline model does not heed instructions; the summary was made without them."
    return [Notice("instructions_ignored", told)]


def _model_warnings(reply: ModelReply) -> list[Notice]:
    if reply.missing_model is None:
        return []
    used = f"{reply.model} answered" if reply.model else "its own one answered"
    return [Notice("model_missing", f"The model {reply.missing_model} is not there for this provider; {used}.")]


def _size_warnings(folder: _Folder, stats: Stats, limits: Conversation) -> list[Notice]:
    found = []
    media = sum(map(has_media, folder.messages))
    if media:
        found.append(
            Notice("media_dropped", f"{media} of the summarised messages held images or sound, which were left out.")
        )
    if stats.tokens_after >= stats.tokens_before:
        grown = f"the summary is not smaller than what it replaces ({stats.tokens_before} tokens before, "
        grown += f"{stats.tokens_after} after)"
        if limits.refuse_larger_from and tokens_of_bytes(folder.counted_bytes) >= limits.refuse_larger_from:
            raise LithifyError("not_smaller", f"{grown}; nothing was changed")
        found.append(Notice("not_smaller", f"{grown[0].upper()}{grown[1:]}."))
    return found


def _range_warnings(messages: Sequence[Message], planned: Plan) -> list[Notice]:
    start, end = planned.range.start, planned.range.end
    found = []
    for lone in left_alone(messages, start, end):
        what, partner = ("call", "result") if lone.is_call else ("result", "call")
        found.append(
            Notice(
                f"orphaned_tool_{what}",
                f"The {what} of tool call {brief(lone.call_id) or '(without id)'} in message {lone.index} is left "
                f"without its {partner}.",
            )
        )
    for open_call in unanswered(messages, start, end):
        found.append(
            Notice(
                "open_tool_call",
                f"Tool call {brief(open_call.call_id) or '(without id)'} in message {open_call.index} had no result "
                "yet.",
            )
        )
    return found
