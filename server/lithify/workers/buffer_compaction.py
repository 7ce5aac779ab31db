"""Buffer compaction: when extraction falls behind, a model rewrites entries as fewer, denser ones; else the oldest go.

At most one on the machine, across processes. No lock on the buffer is held while a model works.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

from lithify.core import breaker, observations
from lithify.core.entries import Entry, entry_line, summary_entry
from lithify.core.eviction import evict
from lithify.core.memory_replies import Unusable, read_compaction
from lithify.core.model_calls import ModelFailure, ModelReply, ModelRequest
from lithify.core.outcomes import LithifyError
from lithify.core.pipeline import BufferCompaction, Method, RunState
from lithify.core.projects import BufferSize, Project
from lithify.core.settings import Settings
from lithify.prompt_files.templates import Template
from lithify.workers.model_use import ModelUse
from lithify.workers.ports import Model, Store

logger = logging.getLogger(__name__)

CHUNK_TOKENS = 60_000
"""What one request shows at most."""


class _Untouched(Exception):
    """A reason to leave the buffer as it is, which no breaker counts: consent, quota, budget."""


class BufferCompactor:
    """Compacts the buffers of projects, one at a time."""

    def __init__(
        self,
        use: ModelUse,
        settings: Callable[[], Settings],
        template: Callable[[], Template],
        new_id: Callable[[], str],
        now_ms: Callable[[], int],
        on_change: Callable[[Project], None],
    ) -> None:
        self._use = use
        self._settings = settings
        self._template = template
        self._new_id = new_id
        self._now_ms = now_ms
        self._on_change = on_change
        self._running: str | None = None

    def is_running(self, project_id: str) -> bool:
        """Whether this process compacts the project's buffer now."""
        return self._running == project_id

    async def run(self, project: Project, *, by_user: bool) -> BufferCompaction:
        """Compacts a buffer. Raises LithifyError `disabled`, or `busy` when one runs anywhere on the machine."""
        if not self._settings().buffer_compaction.enabled:
            raise LithifyError("disabled", "buffer compaction is off; the setting bufferCompaction.enabled turns it on")
        if not await self._use.run(lambda store: store.staging.begin_compaction()):
            raise LithifyError("busy", "a buffer is being compacted on this machine already; try again when it is done")
        self._running = project.project_id
        try:
            self._on_change(project)
            return await self._compact(project, by_user=by_user)
        finally:
            self._running = None
            await asyncio.shield(self._use.run(lambda store: store.staging.end_compaction()))
            self._on_change(project)

    async def _compact(self, project: Project, *, by_user: bool) -> BufferCompaction:
        project_id = project.project_id
        before: BufferSize = await self._use.run(lambda store: store.events.size(project_id))
        state: RunState = await self._use.run(lambda store: store.pipeline.run_state(project_id, "compaction"))
        claimed: list[Entry] = await self._use.run(
            lambda store: store.staging.claim(project_id, "compaction", lambda free: free)
        )
        method: Method | None = None
        problem: str | None = None
        if claimed:
            try:
                method, problem = await self._shrink(project, state, claimed, by_user=by_user)
            except _Untouched as reason:
                problem = str(reason)
        after = await self._use.run(lambda store: self._settle(store, project_id))
        await self._note(project, state, after, method, problem)
        return BufferCompaction(before.size_bytes, after.size_bytes, before.entries, after.entries, method, problem)

    def _settle(self, store: Store, project_id: str) -> BufferSize:
        store.events.feed(project_id, self._settings().buffer.ceiling_bytes)
        return store.events.size(project_id)

    async def _shrink(
        self, project: Project, state: RunState, claimed: list[Entry], *, by_user: bool
    ) -> tuple[Method, str | None]:
        limits = self._settings().buffer_compaction
        if breaker.allows(state.breaker, self._now_ms(), limits.cooldown_ms, by_user=by_user):
            outcome = await self._summarise_all(project, claimed, by_user=by_user)
            if not isinstance(outcome, str):
                return outcome, None
            problem = outcome
        else:
            problem = state.last_error or "the model failed before"
        await self._evict(project, claimed)
        return "eviction", problem

    async def _summarise_all(self, project: Project, claimed: list[Entry], *, by_user: bool) -> Method | str:
        """Each chunk rewritten and put in place; the first chunk that fails ends it with the reason."""
        if not by_user and await self._use.over_budget():
            raise _Untouched("the background budget of this hour is used up")
        model = self._use.choose()
        if isinstance(model, ModelFailure):
            return model.message
        method: Method = "model"
        for chunk in _chunks(claimed):
            outcome = await self._summarise(project, model, chunk, by_user=by_user)
            if isinstance(outcome, Unusable):
                return outcome.reason
            method = outcome
        return method

    async def _summarise(
        self, project: Project, model: Model, chunk: list[Entry], *, by_user: bool
    ) -> Method | Unusable:
        failure = Unusable("no attempt was made")
        for _ in range(self._settings().buffer_compaction.max_attempts):
            reply = await self._use.ask(model, self._request(chunk, by_user=by_user))
            if isinstance(reply, ModelFailure):
                if not reply.counts:
                    raise _Untouched(reply.message)
                failure = Unusable(reply.message)
                continue
            summaries = self._summaries(reply, chunk)
            if isinstance(summaries, Unusable):
                failure = summaries
            elif await self._place(project, chunk, summaries):
                return "offline" if reply.provider == "offline" else "model"
            else:
                return Unusable("entries it covers left the buffer meanwhile")
        return failure

    async def _place(self, project: Project, chunk: list[Entry], summaries: list[Entry]) -> bool:
        covered = {entry.event_id for entry in chunk}

        def place(store: Store) -> bool:
            return store.staging.replace(project.project_id, covered, summaries)

        placed: bool = await asyncio.shield(self._use.run(place))
        self._on_change(project)
        return placed

    def _summaries(self, reply: ModelReply, chunk: list[Entry]) -> list[Entry] | Unusable:
        read = read_compaction(reply.text, chunk, self._template().text, reply.stop_reason)
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

    def _request(self, chunk: list[Entry], *, by_user: bool) -> ModelRequest:
        template = self._template()
        settings = self._settings().buffer_compaction
        limit = observations.max_text(CHUNK_TOKENS)
        return ModelRequest(
            purpose="buffer",
            system_prompt=template.system_prompt,
            parts=(template.text, "\n".join(observations.observation(entry, limit) for entry in chunk)),
            timeout_ms=settings.timeout_ms,
            user_initiated=by_user,
            model=settings.model,
            settings={"disable_all_tools": True},
            entries=tuple(chunk),
            target_bytes=_bytes(chunk) // 4,
        )

    async def _evict(self, project: Project, claimed: list[Entry]) -> None:
        """Lets the older half go; entries a chunk already turned into summaries are no longer there and not named."""

        def let_go(store: Store) -> None:
            there = {entry.event_id for entry in store.staging.entries(project.project_id)}
            left = [entry for entry in claimed if entry.event_id in there]
            if left:
                store.staging.evict(project.project_id, evict(left))

        await asyncio.shield(self._use.run(let_go))
        self._on_change(project)

    async def _note(
        self, project: Project, state: RunState, after: BufferSize, method: Method | None, problem: str | None
    ) -> None:
        limits = self._settings().buffer_compaction
        now_ms = self._now_ms()
        changed = state.breaker
        if method == "eviction" and breaker.phase(state.breaker, now_ms, limits.cooldown_ms) != "open":
            changed = breaker.failed(state.breaker, now_ms, limits.max_failures)
        elif method in ("model", "offline"):
            changed = breaker.Breaker()
        if changed.opened_at_ms is not None and state.breaker.opened_at_ms is None:
            logger.warning(
                "Buffer compaction of %s rests after %d failures; the last: %s", project.root, changed.failures, problem
            )
        noted = RunState(changed, self._use.now(), problem, method or state.last_method, after.size_bytes)
        await self._use.run(lambda store: store.pipeline.note_run(project.project_id, "compaction", noted))


def _chunks(entries: Sequence[Entry]) -> Iterator[list[Entry]]:
    """Runs of entries under the budget; no run mixes namespaces, the order inside each stays."""
    by_namespace = sorted(entries, key=lambda entry: entry.namespace)
    for _, group in groupby(by_namespace, key=lambda entry: entry.namespace):
        yield from observations.batches(list(group), CHUNK_TOKENS)


def _bytes(entries: Sequence[Entry]) -> int:
    return sum(len(entry_line(entry).encode()) + 1 for entry in entries)
