"""Extraction: batches of a buffer's entries become memory records through a model.

One run at a time for a project, across processes. No lock on the buffer is held while a model works.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from lithify.core import breaker, observations
from lithify.core.entries import Entry
from lithify.core.memory_replies import Extracted, read_extraction
from lithify.core.messages import utf8_length
from lithify.core.model_calls import ModelFailure, ModelRequest
from lithify.core.pipeline import Extraction, Method, RunState
from lithify.core.projects import Project
from lithify.core.settings import Settings
from lithify.prompt_files.templates import Template
from lithify.workers.model_use import ModelUse
from lithify.workers.ports import Store
from lithify.workers.rights import right

logger = logging.getLogger(__name__)

BATCH_TOKENS = 40_000
"""What one request shows at most: a full buffer is about a million tokens, never one prompt."""

BACKOFF_SECONDS = (0.5, 2.0)
"""Waits before the second and the third attempt at a batch."""

TARGET_SHARE, LEAST_TARGET_BYTES = 10, 1024
"""The offline model's answer takes at most such a part of what it is shown, but always so much."""

PARALLEL = 2
"""Projects that one process extracts at the same time."""

PATIENCE_SECONDS = (0.5, 1.0, 2.0, *[5.0] * 60)
"""Waits of a user's call between looks whether another one's work that is in its way has ended: 5 minutes in all."""


@dataclass(frozen=True, slots=True)
class _Answer:
    """A usable answer for a batch, or why there is none. `counts`: the breaker counts it; `again`: another try may
    do better."""

    extracted: Extracted | None = None
    method: Method | None = None
    problem: str | None = None
    counts: bool = True
    again: bool = True


@dataclass(frozen=True, slots=True)
class _Ended:
    """A run that ended, and whether a model failed it."""

    report: Extraction
    failed: bool = False


class _Held(Exception):
    """Why no model is asked now. Nothing is noted of it: what holds the run shows in the status by itself."""


class Extractor:
    """Extracts projects into memory records."""

    def __init__(
        self,
        use: ModelUse,
        settings: Callable[[], Settings],
        template: Callable[[], Template],
        new_id: Callable[[], str],
        now_ms: Callable[[], int],
        sleep: Callable[[float], Awaitable[None]],
        on_change: Callable[[Project], None],
    ) -> None:
        self._use = use
        self._settings = settings
        self._template = template
        self._new_id = new_id
        self._now_ms = now_ms
        self._sleep = sleep
        self._on_change = on_change
        self._runs: dict[str, asyncio.Task[_Ended]] = {}
        self._working: set[str] = set()
        self._places = asyncio.Semaphore(PARALLEL)

    def is_running(self, project_id: str) -> bool:
        """Whether this process extracts the project now."""
        return project_id in self._working

    async def run(self, project: Project, *, by_user: bool) -> Extraction:
        """Extracts all that is in the buffer or waits for room now; joins a run that is going on.

        A user's call goes on by itself where the run it joined left something, unless a model failed that run.
        """
        joined = Extraction(0, 0, 0)
        while (earlier := self._runs.get(project.project_id)) is not None and not earlier.done():
            await asyncio.wait([earlier])
            if earlier.cancelled() or earlier.exception() is not None:
                continue
            ended = earlier.result()
            joined = _together(joined, ended.report)
            if not by_user or ended.failed or ended.report.remaining == 0:
                return joined
        task = asyncio.ensure_future(self._run(project, by_user=by_user))
        self._runs[project.project_id] = task
        return _together(joined, (await task).report)

    async def _run(self, project: Project, *, by_user: bool) -> _Ended:
        project_id = project.project_id
        for wait in (*(PATIENCE_SECONDS if by_user else ()), None):
            try:
                async with (
                    self._places,
                    right(
                        self._use.run,
                        lambda store: store.staging.begin_extraction(project_id),
                        lambda store: store.staging.end_extraction(project_id),
                    ) as taken,
                ):
                    if taken:
                        return await self._extract_all(project, by_user=by_user)
            finally:
                if project_id in self._working:
                    self._working.discard(project_id)
                    self._on_change(project)
            if wait is not None:
                await self._sleep(wait)
        problem = "another window is extracting this project" if by_user else None
        return await self._ended(project, Extraction(0, 0, 0, problem=problem))

    async def _extract_all(self, project: Project, *, by_user: bool) -> _Ended:
        run, project_id = self._use.run, project.project_id
        state: RunState = await run(lambda store: store.pipeline.run_state(project_id, "extraction"))
        done = Extraction(0, 0, 0)
        try:
            wanted: set[str] = await run(lambda store: self._fed(store, project_id))
            if wanted:
                await self._hold(state, by_user=by_user)
                self._working.add(project_id)
                self._on_change(project)
            while batch := await self._claimed(project_id, wanted, by_user=by_user):
                answer = await self._answer(state, batch, by_user=by_user)
                if answer.extracted is None:
                    await self._failed(project, state, answer)
                    return await self._ended(project, replace(done, problem=answer.problem), failed=answer.counts)
                done = await self._keep(project, batch, answer.extracted, answer.method or "model", done)
                state = await self._note(project, RunState(breaker.Breaker(), self._use.now(), None, answer.method))
        except _Held as reason:
            return await self._ended(project, replace(done, problem=str(reason)))
        return await self._ended(project, done)

    async def _hold(self, state: RunState, *, by_user: bool) -> None:
        """Raises _Held while the breaker is open or the budget is used up, which hold no user's call."""
        if not breaker.allows(state.breaker, self._now_ms(), self._settings().extraction.cooldown_ms, by_user=by_user):
            raise _Held(f"extraction rests after {state.breaker.failures} failures: {state.last_error}")
        if not by_user and await self._use.over_budget():
            raise _Held("the background budget of this hour is used up")

    async def _claimed(self, project_id: str, wanted: set[str], *, by_user: bool) -> list[Entry]:
        """The oldest of the entries that are wanted, claimed. A user's call waits for those that a compaction has."""
        run = self._use.run

        def first_batch(free: list[Entry]) -> list[Entry]:
            ours = [entry for entry in free if not wanted.isdisjoint(entry.covered_ids)]
            return next(observations.batches(ours, BATCH_TOKENS), [])

        for wait in (*(PATIENCE_SECONDS if by_user else ()), None):
            batch: list[Entry] = await run(lambda store: store.staging.claim(project_id, "extraction", first_batch))
            if batch or wait is None or wanted.isdisjoint(await run(lambda store: _in_buffer(store, project_id))):
                return batch
            await self._sleep(wait)
        return []

    async def _answer(self, state: RunState, batch: list[Entry], *, by_user: bool) -> _Answer:
        """Asks up to three times, the last word being the last failure's; once where the breaker is open, as it can be
        for a user's call."""
        cooldown_ms = self._settings().extraction.cooldown_ms
        once = breaker.phase(state.breaker, self._now_ms(), cooldown_ms) == "open"
        answer = await self._attempt(batch, by_user=by_user)
        for wait in () if once else BACKOFF_SECONDS:
            if answer.extracted is not None or not answer.again:
                break
            await self._sleep(wait)
            answer = await self._attempt(batch, by_user=by_user)
        return answer

    async def _attempt(self, batch: list[Entry], *, by_user: bool) -> _Answer:
        if not by_user and await self._use.over_budget():
            raise _Held("the background budget of this hour is used up")
        model = self._use.choose()
        if isinstance(model, ModelFailure):
            return _Answer(problem=model.message, counts=model.counts, again=False)
        template = self._template()
        reply = await self._use.ask(model, self._request(template, batch, by_user=by_user))
        if isinstance(reply, ModelFailure):
            return _Answer(problem=reply.message, counts=reply.counts, again=reply.counts)
        read = read_extraction(reply.text, batch, template.text, reply.stop_reason, literal=reply.provider == "offline")
        if isinstance(read, Extracted):
            return _Answer(read, method="offline" if reply.provider == "offline" else "model")
        return _Answer(problem=read.reason)

    def _request(self, template: Template, batch: list[Entry], *, by_user: bool) -> ModelRequest:
        settings = self._settings().extraction
        limit = observations.max_text(BATCH_TOKENS)
        shown = "\n".join(observations.observation(entry, limit) for entry in batch)
        return ModelRequest(
            purpose="extraction",
            system_prompt=template.system_prompt,
            parts=(template.text, shown),
            timeout_ms=settings.timeout_ms,
            user_initiated=by_user,
            model=settings.model,
            settings={"disable_all_tools": True},
            entries=tuple(batch),
            target_bytes=max(utf8_length(shown) // TARGET_SHARE, LEAST_TARGET_BYTES),
        )

    async def _keep(
        self, project: Project, batch: list[Entry], extracted: Extracted, method: Method, done: Extraction
    ) -> Extraction:
        project_id = project.project_id

        def keep(store: Store) -> int:
            kept = store.staging.extract(project_id, batch, extracted.records, method, self._new_id, self._use.now())
            store.events.feed(project_id, self._settings().buffer.ceiling_bytes)
            return kept

        events: int = await asyncio.shield(self._use.run(keep))
        self._on_change(project)
        records = len(extracted.records) if events else 0
        return replace(done, extracted=done.extracted + events, records=done.records + records, method=method)

    async def _failed(self, project: Project, state: RunState, answer: _Answer) -> None:
        after = state.breaker
        if answer.counts:
            after = breaker.failed(state.breaker, self._now_ms(), self._settings().extraction.max_failures)
        if after.opened_at_ms is not None and state.breaker.opened_at_ms is None:
            logger.warning("Extraction of %s rests after %d failures", project.root, after.failures)
        await self._note(project, RunState(after, self._use.now(), answer.problem, state.last_method))

    async def _note(self, project: Project, state: RunState) -> RunState:
        await self._use.run(lambda store: store.pipeline.note_run(project.project_id, "extraction", state))
        return state

    async def _ended(self, project: Project, done: Extraction, *, failed: bool = False) -> _Ended:
        left = await self._use.run(lambda store: len(_there_now(store, project.project_id)))
        return _Ended(replace(done, remaining=left), failed)

    def _fed(self, store: Store, project_id: str) -> set[str]:
        store.events.feed(project_id, self._settings().buffer.ceiling_bytes)
        return _there_now(store, project_id)


def _in_buffer(store: Store, project_id: str) -> set[str]:
    return {event_id for entry in store.staging.entries(project_id) for event_id in entry.covered_ids}


def _there_now(store: Store, project_id: str) -> set[str]:
    """The events that the buffer's entries stand for, and those that wait for room."""
    return _in_buffer(store, project_id) | store.events.waiting_ids(project_id)


def _together(earlier: Extraction, later: Extraction) -> Extraction:
    extracted, records = earlier.extracted + later.extracted, earlier.records + later.records
    return replace(later, extracted=extracted, records=records, method=later.method or earlier.method)
