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
from lithify.core.model_calls import ModelFailure, ModelReply, ModelRequest
from lithify.core.pipeline import Extraction, Method, RunState
from lithify.core.projects import Project
from lithify.core.settings import Settings
from lithify.prompt_files.templates import Template
from lithify.workers.model_use import ModelUse
from lithify.workers.ports import Model, Store

logger = logging.getLogger(__name__)

BATCH_TOKENS = 40_000
"""What one request shows at most: a full buffer is about a million tokens, never one prompt."""

BACKOFF_SECONDS = (0.5, 2.0)
"""Waits before the second and the third attempt at a batch."""

TARGET_SHARE, LEAST_TARGET_BYTES = 10, 1024
"""The offline model's answer takes at most such a part of what it is shown, but always so much."""

PARALLEL = 2
"""Projects that one process extracts at the same time."""


@dataclass(frozen=True, slots=True)
class _Answer:
    """A usable answer for a batch, or why there is none. `counts`: the breaker counts it."""

    extracted: Extracted | None = None
    method: Method | None = None
    problem: str | None = None
    counts: bool = True


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
        self._running: dict[str, asyncio.Task[Extraction]] = {}
        self._places = asyncio.Semaphore(PARALLEL)

    def is_running(self, project_id: str) -> bool:
        """Whether this process extracts the project now."""
        return project_id in self._running

    async def run(self, project: Project, *, by_user: bool) -> Extraction:
        """Extracts all that is in the buffer or waits for room now; joins a run that is going on."""
        earlier = self._running.get(project.project_id)
        if earlier is not None:
            joined = await asyncio.shield(earlier)
            if not by_user or joined.problem is not None or joined.remaining == 0:
                return joined
        task = asyncio.ensure_future(self._run(project, by_user=by_user))
        self._running[project.project_id] = task
        task.add_done_callback(lambda _: self._running.pop(project.project_id, None))
        return await task

    async def _run(self, project: Project, *, by_user: bool) -> Extraction:
        run, project_id = self._use.run, project.project_id
        async with self._places:
            if not await run(lambda store: store.staging.begin_extraction(project_id)):
                left = await run(lambda store: store.events.size(project_id).entries)
                return Extraction(0, 0, left, problem="another window is extracting this project")
            try:
                self._on_change(project)
                return await self._extract_all(project, by_user=by_user)
            finally:
                await asyncio.shield(run(lambda store: store.staging.end_extraction(project_id)))
                self._on_change(project)

    async def _extract_all(self, project: Project, *, by_user: bool) -> Extraction:
        run, project_id = self._use.run, project.project_id
        state: RunState = await run(lambda store: store.pipeline.run_state(project_id, "extraction"))
        model = await self._model(state, by_user=by_user)
        if isinstance(model, str):
            return await self._report(project, Extraction(0, 0, 0, problem=model))
        done = Extraction(0, 0, 0)
        wanted = await run(lambda store: _there_now(store, project_id))
        while True:
            batch: list[Entry] = await run(lambda store: store.staging.claim(project_id, "extraction", _first_batch))
            if wanted.isdisjoint(entry.event_id for entry in batch):
                return await self._report(project, done)
            answer = await self._answer(model, batch, by_user=by_user)
            if answer.extracted is None:
                await self._failed(project, state, answer)
                return await self._report(project, replace(done, problem=answer.problem))
            done = await self._keep(project, batch, answer, done)
            state = await self._worked(project, answer)

    async def _model(self, state: RunState, *, by_user: bool) -> Model | str:
        """The model to ask, or why none is asked now."""
        cooldown_ms = self._settings().extraction.cooldown_ms
        if not breaker.allows(state.breaker, self._now_ms(), cooldown_ms, by_user=by_user):
            return f"extraction rests after {state.breaker.failures} failures: {state.last_error}"
        if not by_user and await self._use.over_budget():
            return "the background budget of this hour is used up"
        model = self._use.choose()
        return model.message if isinstance(model, ModelFailure) else model

    async def _answer(self, model: Model, batch: list[Entry], *, by_user: bool) -> _Answer:
        """Asks up to three times, the last word being the last failure's; a user's call through an open breaker and
        failures that another try cannot mend are asked once."""
        answer = _Answer()
        for wait in (*BACKOFF_SECONDS, None):
            answer = await self._attempt(model, batch, by_user=by_user)
            if answer.extracted is not None or not answer.counts or wait is None:
                break
            await self._sleep(wait)
        return answer

    async def _attempt(self, model: Model, batch: list[Entry], *, by_user: bool) -> _Answer:
        template = self._template()
        settings = self._settings().extraction
        limit = observations.max_text(BATCH_TOKENS)
        shown = "\n".join(observations.observation(entry, limit) for entry in batch)
        request = ModelRequest(
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
        reply = await self._use.ask(model, request)
        if isinstance(reply, ModelFailure):
            return _Answer(problem=reply.message, counts=reply.counts)
        read = read_extraction(reply.text, batch, template.text, reply.stop_reason)
        if isinstance(read, Extracted):
            return _Answer(read, method=_method(reply))
        return _Answer(problem=read.reason)

    async def _keep(self, project: Project, batch: list[Entry], answer: _Answer, done: Extraction) -> Extraction:
        extracted = answer.extracted
        assert extracted is not None

        def keep(store: Store) -> int:
            now = self._use.now()
            kept = store.staging.extract(
                project.project_id, batch, extracted.records, answer.method or "model", self._new_id, now
            )
            store.events.feed(project.project_id, self._settings().buffer.ceiling_bytes)
            return kept

        events: int = await asyncio.shield(self._use.run(keep))
        self._on_change(project)
        return replace(
            done,
            extracted=done.extracted + events,
            records=done.records + len(extracted.records),
            method=answer.method,
        )

    async def _worked(self, project: Project, answer: _Answer) -> RunState:
        now = self._use.now()
        return await self._note(project, RunState(breaker.Breaker(), now, None, answer.method))

    async def _failed(self, project: Project, state: RunState, answer: _Answer) -> None:
        limits = self._settings().extraction
        after = state.breaker
        if answer.counts:
            after = breaker.failed(state.breaker, self._now_ms(), limits.max_failures)
        if after.opened_at_ms is not None and state.breaker.opened_at_ms is None:
            logger.warning(
                "Extraction of %s rests after %d failures; the last: %s", project.root, after.failures, answer.problem
            )
        await self._note(project, RunState(after, self._use.now(), answer.problem, state.last_method))

    async def _note(self, project: Project, state: RunState) -> RunState:
        await self._use.run(lambda store: store.pipeline.note_run(project.project_id, "extraction", state))
        return state

    async def _report(self, project: Project, done: Extraction) -> Extraction:
        left = await self._use.run(lambda store: len(_there_now(store, project.project_id)))
        return replace(done, remaining=left)


def _there_now(store: Store, project_id: str) -> set[str]:
    """The entries of the buffer and the events that wait for room."""
    return {entry.event_id for entry in store.staging.entries(project_id)} | store.events.waiting_ids(project_id)


def _first_batch(free: list[Entry]) -> list[Entry]:
    return next(observations.batches(free, BATCH_TOKENS), [])


def _method(reply: ModelReply) -> Method:
    return "offline" if reply.provider == "offline" else "model"
