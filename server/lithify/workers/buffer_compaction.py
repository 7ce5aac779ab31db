"""Buffer compaction: when extraction falls behind, a model rewrites entries as fewer, denser ones; else the oldest go.

At most one on the machine, across processes. No lock on the buffer is held while a model works.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from lithify.core import breaker, observations
from lithify.core.entries import Entry, entry_line, summary_entry
from lithify.core.eviction import evict
from lithify.core.memory_replies import Unusable, read_compaction
from lithify.core.model_calls import Answerer, ModelFailure, ModelReply, ModelRequest
from lithify.core.outcomes import LithifyError
from lithify.core.pipeline import (
    BufferCompaction,
    Method,
    RunState,
    backoff_seconds,
    counted_from,
    method_of,
    still_too_long,
    told_of_eviction,
    why_untouched,
)
from lithify.core.projects import BufferSize, Project
from lithify.core.settings import Settings
from lithify.prompt_files.templates import Template
from lithify.workers.model_use import ModelUse
from lithify.workers.ports import Store
from lithify.workers.rights import right

logger = logging.getLogger(__name__)

CHUNK_TOKENS = 60_000
"""What one request shows at most."""

LEAST_CHUNK_BYTES = 4096
"""Less than this is left as it is after larger chunks were rewritten: it would hardly become smaller."""


class _Untouched(Exception):
    """A reason to leave what is left as it is, which no breaker counts: consent, quota."""


class _Held(Exception):
    """Why no model is asked now. Nothing is noted of it: what holds the run shows in the status by itself."""


class _Failed(Exception):
    """Why no model rewrote a chunk."""


class _TooLong(Exception):
    """A chunk is too long for the model; a smaller one may not be."""


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What a run did to the buffer (None: nothing), what went wrong, what is told of it where that is more, and whether
    it was a failure of a model."""

    method: Method | None
    problem: str | None = None
    told: str | None = None
    failed: bool = False
    answerer: Answerer | None = None


class BufferCompactor:
    """Compacts the buffers of projects, one at a time."""

    def __init__(
        self,
        use: ModelUse,
        settings: Callable[[], Settings],
        template: Callable[[], Template],
        new_id: Callable[[], str],
        now_ms: Callable[[], int],
        sleep: Callable[[float], Awaitable[None]],
        first_claim: Callable[[str], Awaitable[None]],
        on_change: Callable[[Project], None],
    ) -> None:
        """`first_claim` waits until an extraction of that project that has begun has its first batch."""
        self._use = use
        self._settings = settings
        self._template = template
        self._new_id = new_id
        self._now_ms = now_ms
        self._sleep = sleep
        self._first_claim = first_claim
        self._on_change = on_change
        self._running: str | None = None
        self._working = False

    def is_running(self, project_id: str) -> bool:
        """Whether this process compacts the project's buffer now."""
        return self._working and self._running == project_id

    async def run(self, project: Project, *, by_user: bool) -> BufferCompaction:
        """Compacts a buffer. Raises LithifyError `disabled`, or `busy` when one runs anywhere on the machine."""
        if not self._settings().buffer_compaction.enabled:
            raise LithifyError("disabled", "buffer compaction is off; the setting bufferCompaction.enabled turns it on")
        if self._running is not None:
            raise _busy()
        self._running = project.project_id
        try:
            async with right(
                self._use.run,
                lambda store: store.staging.begin_compaction(),
                lambda store: store.staging.end_compaction(),
            ) as taken:
                if not taken:
                    raise _busy()
                return await self._compact(project, by_user=by_user)
        finally:
            self._running = None
            if self._working:
                self._working = False
                self._on_change(project)

    async def _compact(self, project: Project, *, by_user: bool) -> BufferCompaction:
        run, project_id = self._use.run, project.project_id
        before: BufferSize = await run(lambda store: store.events.size(project_id))
        state: RunState = await run(lambda store: store.pipeline.run_state(project_id, "compaction"))
        while not await run(lambda store: store.staging.read_on(project_id)):
            pass
        there: list[Entry] = await run(lambda store: store.staging.entries(project_id))
        await self._first_claim(project_id)
        outcome = await self._shrink(project, state, {entry.event_id for entry in there}, by_user=by_user)
        after: BufferSize = await run(lambda store: store.events.size(project_id))
        if outcome.method is not None or outcome.problem is not None:
            await self._note(project, state, after, outcome)
        await run(lambda store: store.events.feed(project_id, self._settings().buffer.ceiling_bytes))
        problem = outcome.told or outcome.problem
        if by_user and outcome.method is None and problem is None:
            problem = why_untouched(before.entries, len(there))
        return BufferCompaction(
            before.size_bytes,
            after.size_bytes,
            before.entries,
            after.entries,
            outcome.method,
            problem,
            outcome.answerer,
        )

    async def _shrink(self, project: Project, state: RunState, wanted: set[str], *, by_user: bool) -> _Outcome:
        """Rewrites chunk after chunk of what is wanted; where a model fails, the older half of what is left goes."""
        cooldown_ms = self._settings().buffer_compaction.cooldown_ms
        if not breaker.allows(state.breaker, self._now_ms(), cooldown_ms, by_user=by_user):
            told = await self._evict(project, wanted, state.last_error or "the model failed before")
            return _Outcome("eviction", state.last_error, told) if told is not None else _Outcome(None)
        answerer: Answerer | None = None
        budget = observations.Budget(CHUNK_TOKENS)
        try:
            while chunk := await self._claimed(project, wanted, budget.tokens, first=answerer is None):
                try:
                    answerer = await self._summarise(project, chunk, budget.tokens, by_user=by_user)
                    budget = budget.taken()
                except _TooLong as reason:
                    if (halved := budget.halved(chunk)) is None:
                        raise _Failed(still_too_long(str(reason), "bufferCompaction.model")) from None
                    budget = halved
        except _Held as reason:
            return _Outcome(_method(answerer), told=str(reason), answerer=answerer)
        except _Untouched as reason:
            return _Outcome(_method(answerer), str(reason), answerer=answerer)
        except _Failed as reason:
            told = await self._evict(project, wanted, str(reason))
            return _Outcome("eviction", str(reason), told, failed=True, answerer=answerer)
        return _Outcome(_method(answerer), answerer=answerer)

    async def _claimed(self, project: Project, wanted: set[str], budget_tokens: int, *, first: bool) -> list[Entry]:
        """The next chunk of what is wanted and nobody else works on, claimed in place of the one before: so the rest is
        free for extraction."""
        least = min(LEAST_CHUNK_BYTES, observations.max_text(budget_tokens) // 2)

        def next_chunk(free: list[Entry]) -> list[Entry]:
            chunks = _chunks([entry for entry in free if entry.event_id in wanted], budget_tokens)
            small: list[Entry] = []
            for chunk in chunks:
                if _bytes(chunk) >= least:
                    return chunk
                small = small or chunk
            return small if first else []

        return await self._claim(project, next_chunk)

    async def _claim(self, project: Project, choose: Callable[[list[Entry]], list[Entry]]) -> list[Entry]:
        project_id = project.project_id
        claimed: list[Entry] = await self._use.run(lambda store: store.staging.claim(project_id, "compaction", choose))
        if claimed and not self._working:
            self._working = True
            self._on_change(project)
        return claimed

    async def _summarise(self, project: Project, chunk: list[Entry], budget_tokens: int, *, by_user: bool) -> Answerer:
        """Has a chunk rewritten and puts the summaries in its place. Raises _Failed, _TooLong, _Untouched or
        _Held."""
        problem = ""
        for failed_attempts in range(self._settings().buffer_compaction.max_attempts):
            if failed_attempts:
                await self._sleep(backoff_seconds(failed_attempts))
            if not by_user and await self._use.over_budget():
                raise _Held("the background budget of this hour is used up")
            reply = await self._ask(chunk, budget_tokens, by_user=by_user)
            if isinstance(reply, ModelFailure):
                problem = reply.message
                if not reply.retryable:
                    break
                continue
            summaries = self._summaries(reply, chunk)
            if not isinstance(summaries, Unusable):
                await self._place(project, chunk, summaries)
                return reply.answerer
            problem = f"{summaries.reason}; the answer came from {reply.answerer.in_words}"
        raise _Failed(problem)

    async def _ask(self, chunk: list[Entry], budget_tokens: int, *, by_user: bool) -> ModelReply | ModelFailure:
        model = self._use.choose()
        if isinstance(model, ModelFailure):
            reply: ModelReply | ModelFailure = model
        else:
            reply = await self._use.ask(model, self._request(chunk, budget_tokens, by_user=by_user))
        if isinstance(reply, ModelFailure) and not reply.counts:
            raise _Untouched(reply.message)
        if isinstance(reply, ModelFailure) and reply.type == "context_too_long":
            raise _TooLong(reply.message)
        return reply

    async def _place(self, project: Project, chunk: list[Entry], summaries: list[Entry]) -> None:
        covered = {entry.event_id for entry in chunk}
        placed: bool = await asyncio.shield(
            self._use.run(lambda store: store.staging.replace(project.project_id, covered, summaries))
        )
        if not placed:
            raise _Untouched("entries left the buffer while a model rewrote them")
        self._on_change(project)

    def _summaries(self, reply: ModelReply, chunk: list[Entry]) -> list[Entry] | Unusable:
        read = read_compaction(
            reply.text, chunk, self._template().text, reply.stop_reason, literal=reply.provider == "offline"
        )
        if isinstance(read, Unusable):
            return read
        made = [
            summary_entry(
                self._new_id(), one.entries, one.text, [event for entry in one.entries for event in entry.covered_ids]
            )
            for one in read
        ]
        if _bytes(made) >= _bytes(chunk):
            return Unusable("the rewritten entries are not smaller than those they replace")
        return made

    def _request(self, chunk: list[Entry], budget_tokens: int, *, by_user: bool) -> ModelRequest:
        template = self._template()
        settings = self._settings().buffer_compaction
        return ModelRequest(
            purpose="buffer",
            system_prompt=template.system_prompt,
            parts=(template.text, observations.shown(chunk, budget_tokens)),
            timeout_ms=settings.timeout_ms,
            user_initiated=by_user,
            model=settings.model,
            settings={"disable_all_tools": True},
            entries=tuple(chunk),
            target_bytes=_bytes(chunk) // 4,
        )

    async def _evict(self, project: Project, wanted: set[str], reason: str) -> str | None:
        """Lets the older half go of what is wanted, not summarised yet, and not in the hands of an extraction. What is
        told of it; None where nothing was left."""
        left = await self._claim(project, lambda free: [entry for entry in free if entry.event_id in wanted])
        if not left:
            return None
        project_id, evicted = project.project_id, evict(left)
        await asyncio.shield(self._use.run(lambda store: store.staging.evict(project_id, evicted)))
        self._on_change(project)
        return told_of_eviction(reason, evicted, len(left))

    async def _note(self, project: Project, state: RunState, after: BufferSize, outcome: _Outcome) -> None:
        limits = self._settings()
        changed = state.breaker
        if outcome.failed:
            changed = breaker.failed(state.breaker, self._now_ms(), limits.buffer_compaction.max_failures)
        elif outcome.method in ("model", "offline"):
            changed = breaker.Breaker()
        if changed.opened_at_ms is not None and state.breaker.opened_at_ms is None:
            logger.warning("Buffer compaction of %s rests after %d failures", project.root, changed.failures)
        method = outcome.method or state.last_method
        left = counted_from(after.size_bytes, limits.buffer.compaction_bytes, limits.buffer.ceiling_bytes)
        answerer = outcome.answerer or state.last_answerer
        noted = RunState(changed, self._use.now(), outcome.problem, method, left, answerer)

        def note(store: Store) -> None:
            there = store.pipeline.run_state(project.project_id, "compaction").size_after_bytes
            kept = noted if outcome.method is not None else replace(noted, size_after_bytes=there)
            store.pipeline.note_run(project.project_id, "compaction", kept)

        await self._use.run(note)


def _method(answerer: Answerer | None) -> Method | None:
    return None if answerer is None else method_of(answerer)


def _busy() -> LithifyError:
    return LithifyError("busy", "a buffer is being compacted on this machine already; try again when it is done")


def _chunks(entries: Sequence[Entry], budget_tokens: int) -> Iterator[list[Entry]]:
    """Runs of entries under the budget; no run mixes namespaces, the order inside each stays."""
    by_namespace = sorted(entries, key=lambda entry: entry.namespace)
    for _, group in groupby(by_namespace, key=lambda entry: entry.namespace):
        yield from observations.batches(list(group), budget_tokens)


def _bytes(entries: Sequence[Entry]) -> int:
    return sum(len(entry_line(entry).encode()) + 1 for entry in entries)
