"""Compaction of a live session: read, summarise while the session may grow, apply, at once or as a draft later; and its
undoing."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import TypeVar

from lithify.core.agents import CompactionCommand, CompactionOptions, compaction_of, resolved_options
from lithify.core.compaction_results import Preview, Stats, Summarised
from lithify.core.conversation import Noop, kept_in_front
from lithify.core.drafts import edited
from lithify.core.messages import Message, counted_bytes, tokens_of_bytes
from lithify.core.model_calls import ModelFailure
from lithify.core.outcomes import LithifyError
from lithify.core.sessions import Changed, NewCompaction, SessionInfo, Undone
from lithify.core.settings import Settings
from lithify.prompt_files.templates import ConversationPrompt
from lithify.workers import conversation
from lithify.workers.drafts import Draft, Drafts
from lithify.workers.model_use import Ledger, RunOnStorage, required
from lithify.workers.ports import Models, Store
from lithify.workers.sessions import SessionKeeper

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Compacted:
    """A compaction that was applied, and the session after it."""

    compaction_id: str
    session_id: str
    summarised: Summarised
    changed: Changed


@dataclass(frozen=True, slots=True)
class _Read:
    info: SessionInfo
    messages: list[Message]
    characters: int


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
        self.drafts = Drafts()
        self._running: dict[str, str | None] = {}
        """The sessions that are compacted now, each with the draft that is applied to it, if it is one."""

    async def preview(self, session_id: str, command: CompactionCommand) -> Preview | Noop:
        """What a compaction would send; no model is called, nothing is changed."""
        read = await self._run(lambda store: self._read(store, session_id))
        options = self._options(read, command)
        return conversation.preview(read.messages, options, self._workshop(), self._choose_models())

    async def compact(
        self, session_id: str, command: CompactionCommand, progress: conversation.Progress
    ) -> Compacted | Noop:
        """Compacts a session. What is appended meanwhile is kept after the tail; a changed range is `stale`."""
        with self._alone(session_id):
            drafted = await self._draft(session_id, command, progress)
            return drafted if isinstance(drafted, Noop) else await self._apply(drafted)

    async def draft(self, session_id: str, command: CompactionCommand, progress: conversation.Progress) -> Draft | Noop:
        """The summary of a compaction, kept until it is applied or discarded; the session stays as it is."""
        with self._alone(session_id):
            drafted = await self._draft(session_id, command, progress)
        if isinstance(drafted, Draft):
            self.drafts.keep(drafted)
        return drafted

    async def apply_draft(self, draft_id: str, text: str | None) -> Compacted:
        """Applies a draft, with a text in the place of the model's where one is given; then the draft is used up.

        The session may have changed since, but not in the range. After a failure the draft is still there.
        """
        draft = self.drafts.found(draft_id)
        with self._alone(draft.target, draft_id):
            await self._run(lambda store: self._check_enabled(store, draft.target))
            if text is not None:
                limit = self._settings().conversation.refuse_larger_from
                draft = replace(draft, summarised=edited(draft.before, draft.summarised, text, limit))
            try:
                compacted = await self._apply(draft)
            except LithifyError as error:
                raise _of_draft(error, draft) from None
            self.drafts.forget(draft_id)
            return compacted

    def discard_draft(self, draft_id: str) -> None:
        """Lets a draft go. Raises LithifyError: `unknown_draft`, or `busy` while it is being applied."""
        draft = self.drafts.found(draft_id)
        if self._running.get(draft.target) == draft_id:
            raise LithifyError("busy", "This draft is being applied; undo the compaction when that has ended")
        self.drafts.forget(draft_id)

    async def undo(self, session_id: str, compaction_id: str | None) -> Undone:
        """Takes a compaction back, the newest that still can be by default."""
        if session_id in self._running:
            raise LithifyError("busy", "A compaction of this chat is running; undo when it has ended")

        def undo(store: Store) -> Undone:
            with store.transaction():
                self._keeper.found(store, session_id)
                return store.compactions.undo(session_id, compaction_id, self._now())

        return await self._change(undo)

    @contextmanager
    def _alone(self, session_id: str, draft_id: str | None = None) -> Iterator[None]:
        if session_id in self._running:
            raise LithifyError("busy", "A compaction of this chat is already running; try again when it has ended")
        self._running[session_id] = draft_id
        try:
            yield
        finally:
            del self._running[session_id]

    async def _draft(
        self, session_id: str, command: CompactionCommand, progress: conversation.Progress
    ) -> Draft | Noop:
        read = await self._run(lambda store: self._read(store, session_id))
        options = self._options(read, command)
        if isinstance(planned := conversation.plan(read.messages, options), Noop):
            return planned
        models = required(self._choose_models())
        summarised = await conversation.summarise(read.messages, options, self._workshop(), models, progress)
        if isinstance(summarised, Noop):
            return summarised
        return Draft(self._new_id(), session_id, read.messages, options.exact, summarised, read.characters)

    def _read(self, store: Store, session_id: str) -> _Read:
        info = self._keeper.found(store, session_id)
        texts = store.sessions.message_texts(session_id)
        return _Read(info, [json.loads(text) for text in texts], sum(map(len, texts)))

    def _check_enabled(self, store: Store, session_id: str) -> None:
        compaction_of(self._keeper.found(store, session_id), self._settings().conversation)

    def _workshop(self) -> conversation.Workshop:
        return conversation.Workshop(self._find_prompt(), self._settings().conversation, self._ledger.ask)

    def _options(self, read: _Read, command: CompactionCommand) -> CompactionOptions:
        anchor = command.up_to
        if command.up_to_id is not None:
            anchor = _index_of(read.messages, command.up_to_id)
        return resolved_options(command, read.info, self._settings().conversation, anchor)

    async def _apply(self, draft: Draft) -> Compacted:
        compaction_id = self._new_id()

        def apply(store: Store) -> Compacted:
            with store.transaction():
                info = self._keeper.found(store, draft.target)
                summarised = replace(draft.summarised, stats=_stats_now(info, draft))
                new = NewCompaction(
                    compaction_id=compaction_id,
                    at=self._now(),
                    range=summarised.plan.range,
                    exact=draft.exact,
                    before=draft.before,
                    summary=summarised.summary,
                    stats=asdict(summarised.stats),
                    keep_originals=self._settings().conversation.keep_originals,
                )
                changed = store.compactions.apply(draft.target, new)
            return Compacted(compaction_id, draft.target, summarised, changed)

        return await self._change(apply)

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


def _stats_now(info: SessionInfo, draft: Draft) -> Stats:
    """The figures with what changed outside the range since the draft was made, on both sides alike."""
    done = draft.summarised
    first = done.plan.range.start + kept_in_front(draft.before, done.plan.range)
    gone = draft.before[first : done.plan.range.end]
    size_after = info.counted_bytes - sum(map(counted_bytes, gone)) + counted_bytes(done.summary)
    return Stats(
        messages_before=info.message_count,
        messages_after=info.message_count - len(gone) + 1,
        tokens_before=info.tokens,
        tokens_after=tokens_of_bytes(size_after),
        duration_ms=done.stats.duration_ms,
    )


def _of_draft(error: LithifyError, draft: Draft) -> LithifyError:
    """The failure of applying a draft: one that is stale does not become fresh by a second try."""
    if error.type != "stale":
        return error
    replaced = draft.summarised.plan.range
    return LithifyError(
        "stale",
        f"This draft no longer fits the chat: its messages {replaced.start} to {replaced.end - 1} are not as they were "
        "when it was made, or a result of a tool call among them came in later; nothing was written, make a new draft",
        retryable=False,
    )


def _index_of(messages: list[Message], message_id: str) -> int:
    found = [index for index, message in enumerate(messages) if message.get("id") == message_id]
    if not found:
        raise LithifyError("unknown_message", f"This chat has no message with the id {message_id!r}")
    if len(found) > 1:
        raise LithifyError(
            "unknown_message",
            f"This chat has {len(found)} messages with the id {message_id!r}, at {found}; give the index",
        )
    return found[0]
