"""Compaction of a live session: read, summarise while the session may grow, apply; and its undoing."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import TypeVar

from lithify.core.agents import CompactionCommand, CompactionOptions, resolved_options
from lithify.core.compaction_results import Preview, Stats, Summarised
from lithify.core.conversation import Noop
from lithify.core.messages import Message, estimate_tokens
from lithify.core.model_calls import ModelFailure
from lithify.core.outcomes import LithifyError
from lithify.core.sessions import Changed, NewCompaction, SessionInfo, Undone
from lithify.core.settings import Settings
from lithify.prompt_files.templates import ConversationPrompt
from lithify.workers import conversation
from lithify.workers.model_use import Ledger, RunOnStorage
from lithify.workers.ports import Models, Store
from lithify.workers.sessions import SessionKeeper

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Compacted:
    """A compaction that was applied, and the session after it."""

    compaction_id: str
    summarised: Summarised
    changed: Changed


@dataclass(frozen=True, slots=True)
class _Read:
    info: SessionInfo
    messages: list[Message]


class SessionCompactor:
    """Compacts live sessions, one compaction at a time for each. Raises LithifyError for every failure."""

    def __init__(
        self,
        run: RunOnStorage,
        keeper: SessionKeeper,
        settings: Callable[[], Settings],
        choose_models: Callable[[], Models | ModelFailure],
        find_prompt: Callable[[], ConversationPrompt],
        now: Callable[[], str],
        new_id: Callable[[], str],
    ) -> None:
        self._run = run
        self._keeper = keeper
        self._settings = settings
        self._choose_models = choose_models
        self._find_prompt = find_prompt
        self._now = now
        self._new_id = new_id
        self._ledger = Ledger(run, now)
        self._running: set[str] = set()

    async def preview(self, session_id: str, command: CompactionCommand) -> Preview | Noop:
        """What a compaction would send; no model is called, nothing is changed."""
        read = await self._run(lambda store: self._read(store, session_id))
        return conversation.preview(read.messages, self._options(read, command), self._workshop())

    async def compact(
        self, session_id: str, command: CompactionCommand, progress: conversation.Progress
    ) -> Compacted | Noop:
        """Compacts a session. What is appended meanwhile is kept after the tail; a changed range is `stale`."""
        if session_id in self._running:
            raise LithifyError("busy", f"a compaction of session {session_id} is already running")
        self._running.add(session_id)
        try:
            read = await self._run(lambda store: self._read(store, session_id))
            options = self._options(read, command)
            if isinstance(planned := conversation.plan(read.messages, options), Noop):
                return planned
            summarised = await conversation.summarise(
                read.messages, options, self._workshop(), self._models(), progress
            )
            if isinstance(summarised, Noop):
                return summarised
            return await self._apply(session_id, read, options, summarised)
        finally:
            self._running.discard(session_id)

    async def undo(self, session_id: str, compaction_id: str | None) -> Undone:
        """Takes a compaction back, the newest that still can be by default."""
        if session_id in self._running:
            raise LithifyError("busy", f"a compaction of session {session_id} is running; undo when it has ended")

        def undo(store: Store) -> Undone:
            with store.transaction():
                self._keeper.found(store, session_id)
                return store.compactions.undo(session_id, compaction_id, self._now())

        return await self._change(undo)

    def _read(self, store: Store, session_id: str) -> _Read:
        return _Read(self._keeper.found(store, session_id), store.sessions.messages(session_id))

    def _workshop(self) -> conversation.Workshop:
        return conversation.Workshop(self._find_prompt(), self._settings().conversation, self._ledger.ask)

    def _options(self, read: _Read, command: CompactionCommand) -> CompactionOptions:
        anchor = command.up_to
        if command.up_to_id is not None:
            anchor = _index_of(read.messages, command.up_to_id, read.info.session_id)
        return resolved_options(command, read.info, self._settings().conversation, anchor)

    def _models(self) -> Models:
        models = self._choose_models()
        if isinstance(models, ModelFailure):
            failure_type = "model_error" if models.type == "context_too_long" else models.type
            raise LithifyError(failure_type, models.message, retryable=models.retryable)
        return models

    async def _apply(
        self, session_id: str, read: _Read, options: CompactionOptions, summarised: Summarised
    ) -> Compacted:
        compaction_id = self._new_id()
        new = NewCompaction(
            compaction_id=compaction_id,
            at=self._now(),
            range=summarised.plan.range,
            exact=options.exact,
            before=read.messages,
            summary=summarised.summary,
            stats=asdict(summarised.stats),
            keep_originals=self._settings().conversation.keep_originals,
        )

        def apply(store: Store) -> Changed:
            with store.transaction():
                self._keeper.found(store, session_id)
                return store.compactions.apply(session_id, new)

        changed = await self._change(apply)
        return Compacted(compaction_id, replace(summarised, stats=_with_growth(summarised, changed)), changed)

    async def _change(self, job: Callable[[Store], T]) -> T:
        """Runs a job that changes a session. One that is cancelled before it began changes nothing; one that has
        begun goes to its end, and is answered like any other."""
        cancelled = threading.Event()

        def unless_cancelled(store: Store) -> T:
            if cancelled.is_set():
                raise LithifyError("cancelled", "the request was cancelled; nothing was changed")
            return job(store)

        changing: asyncio.Future[T] = asyncio.ensure_future(self._run(unless_cancelled))
        while True:
            try:
                return await asyncio.shield(changing)
            except asyncio.CancelledError:
                cancelled.set()
                if changing.cancelled():
                    raise


def _with_growth(summarised: Summarised, changed: Changed) -> Stats:
    """The figures with what came into the session while the model worked, on both sides alike."""
    stats = summarised.stats
    messages = len(changed.messages) - stats.messages_after
    tokens = estimate_tokens(changed.messages)
    return replace(
        stats,
        messages_before=stats.messages_before + messages,
        messages_after=len(changed.messages),
        tokens_before=stats.tokens_before + tokens - stats.tokens_after,
        tokens_after=tokens,
    )


def _index_of(messages: list[Message], message_id: str, session_id: str) -> int:
    found = [index for index, message in enumerate(messages) if message.get("id") == message_id]
    if not found:
        raise LithifyError("unknown_message", f"session {session_id} has no message with the id {message_id!r}")
    if len(found) > 1:
        raise LithifyError(
            "unknown_message",
            f"session {session_id} has {len(found)} messages with the id {message_id!r}, at {found}; give the index",
        )
    return found[0]
