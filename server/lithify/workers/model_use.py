"""Asking models for the workers: the ledger of calls, the background budget, and who may be asked."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from lithify.core.messages import tokens_of_bytes, utf8_length
from lithify.core.model_calls import PENDING, ModelCall, ModelFailure, ModelReply, ModelRequest
from lithify.core.outcomes import LithifyError
from lithify.core.settings import Settings
from lithify.workers.ports import Model, Models, Store

RunOnStorage = Callable[[Callable[[Store], Any]], Awaitable[Any]]
AskOne = Callable[[Model, ModelRequest], Awaitable[ModelReply | ModelFailure]]


async def ask_first(models: Models, request: ModelRequest, ask_one: AskOne | None = None) -> ModelReply | ModelFailure:
    """What the first of the models says that is there at all; where none is, why the first is not.

    A model that is there and fails has the last word: a failure goes nowhere else by itself.
    """
    said: ModelReply | ModelFailure | None = None
    for model in models:
        answer = await (ask_one(model, request) if ask_one is not None else model.ask(request))
        if isinstance(answer, ModelReply) or not answer.absent:
            return answer
        said = said or answer
    if said is None:
        raise ValueError("no model was named")
    return said


def required(models: Models | ModelFailure) -> Models:
    """The models that a user's compaction asks. Raises LithifyError where there are none."""
    if isinstance(models, ModelFailure):
        failure_type = "model_error" if models.type == "context_too_long" else models.type
        raise LithifyError(failure_type, models.message, retryable=models.retryable)
    return models


@dataclass(frozen=True, slots=True)
class Ledger:
    """One line for every model call, no text."""

    run: RunOnStorage
    now: Callable[[], str]

    async def ask(self, models: Models, request: ModelRequest) -> ModelReply | ModelFailure:
        """The answer of the first model that is there; every call is in the ledger whatever became of it."""
        return await ask_first(models, request, self._ask_one)

    async def _ask_one(self, model: Model, request: ModelRequest) -> ModelReply | ModelFailure:
        """The line is there while the call goes on, so that a process that dies leaves it; a ledger that cannot be
        kept costs no call."""
        at, number = self.now(), asyncio.ensure_future(self._begun(model, request))
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
            unsent = isinstance(reply, ModelFailure) and not reply.sent
            line = None if unsent else _ledger_line(model, request, reply, at, outcome)
            settling = asyncio.ensure_future(self._settle(number, line))
            settling.add_done_callback(lambda done: done.cancelled() or done.exception())

    async def _begun(self, model: Model, request: ModelRequest) -> int:
        line = _ledger_line(model, request, None, self.now(), PENDING)
        number: int = await self.run(lambda store: store.note_model_call(line))
        return number

    async def _settle(self, number: asyncio.Future[int], line: ModelCall | None) -> None:
        begun = await number
        await self.run(lambda store: store.settle_model_call(begun, line))


@dataclass(frozen=True, slots=True)
class ModelUse:
    """Chooses the models, keeps the ledger, and knows the budget."""

    run: RunOnStorage
    settings: Callable[[], Settings]
    choose: Callable[[], Models | ModelFailure]
    now: Callable[[], str]
    hour_ago: Callable[[], str]
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)

    async def ask(self, models: Models, request: ModelRequest) -> ModelReply | ModelFailure:
        """The answer of the first model that is there; every call is in the ledger whatever became of it."""
        return await Ledger(self.run, self.now).ask(models, request)

    async def over_budget(self) -> bool:
        """Whether background work has used up its model calls or tokens of the hour, in all processes together.

        A call counts from its beginning. So as many too many can begin at most as there are other processes that look
        in the same instant; in this one, checks take turns.
        """
        limits = self.settings().background
        async with self._turn:
            await asyncio.sleep(0)  # the call that the check before this one let through goes into the ledger first
            calls, tokens = await self.run(lambda store: store.model_use_since(self.hour_ago()))
        return bool(calls >= limits.max_model_calls_per_hour or tokens >= limits.max_tokens_per_hour)


def _ledger_line(
    model: Model, request: ModelRequest, reply: ModelReply | ModelFailure | None, at: str, outcome: str
) -> ModelCall:
    size = utf8_length(request.system_prompt) + sum(map(utf8_length, request.parts))
    tokens = tokens_of_bytes(size)
    answering = request.model or model.default_model
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
        host=model.host,
        size_bytes=size,
        tokens=tokens,
        user_initiated=request.user_initiated,
        outcome=outcome,
    )
