"""Asking models for the workers: the ledger of calls, the background budget, and who may be asked."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from lithify.core.messages import tokens_of_bytes, utf8_length
from lithify.core.model_calls import ModelCall, ModelFailure, ModelReply, ModelRequest
from lithify.core.settings import Settings
from lithify.workers.ports import Model, Store

RunOnStorage = Callable[[Callable[[Store], Any]], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Ledger:
    """One line for every model call, no text."""

    run: RunOnStorage
    now: Callable[[], str]

    async def ask(self, model: Model, request: ModelRequest) -> ModelReply | ModelFailure:
        """The model's answer; the call is in the ledger whatever became of it."""
        outcome = "model_error"
        reply = None
        try:
            reply = await model.ask(request)
        except asyncio.CancelledError:
            outcome = "cancelled"
            raise
        else:
            outcome = "answered" if isinstance(reply, ModelReply) else reply.type
            return reply
        finally:
            self._note(_ledger_line(model, request, reply, self.now(), outcome))

    def _note(self, call: ModelCall) -> None:
        noting = asyncio.ensure_future(self.run(lambda store: store.note_model_call(call)))
        noting.add_done_callback(lambda done: done.cancelled() or done.exception())


@dataclass(frozen=True, slots=True)
class ModelUse:
    """Chooses the model, keeps the ledger, and knows the budget."""

    run: RunOnStorage
    settings: Callable[[], Settings]
    choose: Callable[[], Model | ModelFailure]
    now: Callable[[], str]
    hour_ago: Callable[[], str]

    async def ask(self, model: Model, request: ModelRequest) -> ModelReply | ModelFailure:
        """The model's answer; the call is in the ledger whatever became of it."""
        return await Ledger(self.run, self.now).ask(model, request)

    async def over_budget(self) -> bool:
        """Whether background work has used up its model calls or tokens of the hour, in all processes together."""
        limits = self.settings().background
        calls, tokens = await self.run(lambda store: store.model_use_since(self.hour_ago()))
        return bool(calls >= limits.max_model_calls_per_hour or tokens >= limits.max_tokens_per_hour)


def _ledger_line(
    model: Model, request: ModelRequest, reply: ModelReply | ModelFailure | None, at: str, outcome: str
) -> ModelCall:
    size = utf8_length(request.system_prompt) + sum(map(utf8_length, request.parts))
    tokens = tokens_of_bytes(size)
    answering = request.model
    if isinstance(reply, ModelReply):
        tokens += tokens_of_bytes(utf8_length(reply.text))
        answering = reply.model or answering
        if reply.usage is not None and reply.usage.input_tokens is not None:
            tokens = reply.usage.input_tokens + (reply.usage.output_tokens or 0)
    return ModelCall(
        at=at,
        purpose=request.purpose,
        provider=model.name,
        model=answering,
        host=None,
        size_bytes=size,
        tokens=tokens,
        user_initiated=request.user_initiated,
        outcome=outcome,
    )
