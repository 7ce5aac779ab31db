"""Buffer compaction: when extraction falls behind, a model rewrites entries as fewer, denser ones; else the oldest go.

At most one on the machine, across processes. No lock on the buffer is held while a model works.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from lithify.core import breaker, observations
from lithify.core.entries import Entry, entry_line, summary_entry
from lithify.core.eviction import evict
from lithify.core.memory_replies import Unusable, read_compaction
from lithify.core.model_calls import ModelFailure, ModelReply, ModelRequest
from lithify.core.outcomes import LithifyError
from lithify.core.pipeline import NEW_INPUT_SHARE, BufferCompaction, Method, RunState
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
    """A reason to leave what is left as it is, which no breaker counts: consent, quota, budget."""


class _Failed(Exception):
    """Why no model rewrote a chunk."""


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What a run did to the buffer (None: nothing), what went wrong, and whether that was a failure of a model."""

    method: Method | None
    problem: str | None = None
    failed: bool = False


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
        there: list[Entry] = await run(lambda store: store.staging.entries(project_id))
        outcome = await self._shrink(project, state, {entry.event_id for entry in there}, by_user=by_user)
        after: BufferSize = await run(lambda store: store.events.size(project_id))
        if outcome.method is not None or outcome.problem is not None:
            await self._note(project, state, after, outcome)
        await run(lambda store: store.events.feed(project_id, self._settings().buffer.ceiling_bytes))
        return BufferCompaction(
            before.size_bytes, after.size_bytes, before.entries, after.entries, outcome.method, outcome.problem
        )

    async def _shrink(self, project: Project, state: RunState, wanted: set[str], *, by_user: bool) -> _Outcome:
        """Rewrites chunk after chunk of what is wanted; where a model fails, the older half of what is left goes."""
        cooldown_ms = self._settings().buffer_compaction.cooldown_ms
        if not breaker.allows(state.breaker, self._now_ms(), cooldown_ms, by_user=by_user):
            gone = await self._evict(project, wanted)
            return _Outcome("eviction", state.last_error) if gone else _Outcome(None)
        method: Method | None = None
        try:
            while chunk := await self._claimed(project, wanted, first=method is None):
                method = await self._summarise(project, chunk, by_user=by_user)
        except _Untouched as reason:
            return _Outcome(method, str(reason))
        except _Failed as reason:
            await self._evict(project, wanted)
            return _Outcome("eviction", str(reason), failed=True)
        return _Outcome(method)

    async def _claimed(self, project: Project, wanted: set[str], *, first: bool) -> list[Entry]:
        """The next chunk of what is wanted and nobody else works on, claimed: so the rest is free for extraction."""

        def next_chunk(free: list[Entry]) -> list[Entry]:
            chunks = _chunks([entry for entry in free if entry.event_id in wanted])
            small: list[Entry] = []
            for chunk in chunks:
                if _bytes(chunk) >= LEAST_CHUNK_BYTES:
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

    async def _summarise(self, project: Project, chunk: list[Entry], *, by_user: bool) -> Method:
        """Has a chunk rewritten and puts the summaries in its place. Raises _Failed or _Untouched."""
        problem = ""
        for _ in range(self._settings().buffer_compaction.max_attempts):
            if not by_user and await self._use.over_budget():
                raise _Untouched("the background budget of this hour is used up")
            reply = await self._ask(chunk, by_user=by_user)
            summaries = self._summaries(reply, chunk) if isinstance(reply, ModelReply) else Unusable(reply.message)
            if not isinstance(summaries, Unusable):
                await self._place(project, chunk, summaries)
                return "offline" if isinstance(reply, ModelReply) and reply.provider == "offline" else "model"
            problem = summaries.reason
        raise _Failed(problem)

    async def _ask(self, chunk: list[Entry], *, by_user: bool) -> ModelReply | ModelFailure:
        model = self._use.choose()
        if isinstance(model, ModelFailure):
            reply: ModelReply | ModelFailure = model
        else:
            reply = await self._use.ask(model, self._request(chunk, by_user=by_user))
        if isinstance(reply, ModelFailure) and not reply.counts:
            raise _Untouched(reply.message)
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

    async def _evict(self, project: Project, wanted: set[str]) -> bool:
        """Lets the older half go of what is wanted, not summarised yet, and not in the hands of an extraction."""
        left = await self._claim(project, lambda free: [entry for entry in free if entry.event_id in wanted])
        if left:
            project_id = project.project_id
            await asyncio.shield(self._use.run(lambda store: store.staging.evict(project_id, evict(left))))
            self._on_change(project)
        return bool(left)

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
        noted = RunState(changed, self._use.now(), outcome.problem, method, _counted_from(after, limits))

        def note(store: Store) -> None:
            there = store.pipeline.run_state(project.project_id, "compaction").size_after_bytes
            kept = noted if outcome.method is not None else replace(noted, size_after_bytes=there)
            store.pipeline.note_run(project.project_id, "compaction", kept)

        await self._use.run(note)


def _counted_from(after: BufferSize, settings: Settings) -> int:
    """The size that new input counts from; low enough for a buffer at its ceiling to have had enough of it."""
    enough = settings.buffer.compaction_bytes // NEW_INPUT_SHARE
    return max(min(after.size_bytes, settings.buffer.ceiling_bytes - 2 * enough), 0)


def _busy() -> LithifyError:
    return LithifyError("busy", "a buffer is being compacted on this machine already; try again when it is done")


def _chunks(entries: Sequence[Entry]) -> Iterator[list[Entry]]:
    """Runs of entries under the budget; no run mixes namespaces, the order inside each stays."""
    by_namespace = sorted(entries, key=lambda entry: entry.namespace)
    for _, group in groupby(by_namespace, key=lambda entry: entry.namespace):
        yield from observations.batches(list(group), CHUNK_TOKENS)


def _bytes(entries: Sequence[Entry]) -> int:
    return sum(len(entry_line(entry).encode()) + 1 for entry in entries)
