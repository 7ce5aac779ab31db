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
from lithify.core.model_calls import Answerer, ModelFailure, ModelRequest
from lithify.core.pipeline import (
    BACKOFF_SECONDS,
    Extraction,
    RunState,
    answered,
    method_of,
    still_too_long,
    why_left,
)
from lithify.core.projects import Project
from lithify.core.settings import Settings
from lithify.prompt_files.templates import Template
from lithify.workers.model_use import ModelUse
from lithify.workers.ports import Store
from lithify.workers.rights import right

logger = logging.getLogger(__name__)

BATCH_TOKENS = 40_000
"""What one request shows at most: a full buffer is about a million tokens, never one prompt."""

TARGET_SHARE, LEAST_TARGET_BYTES = 10, 1024
"""The offline model's answer takes at most such a part of what it is shown, but always so much."""

PARALLEL = 2
"""Projects that one process extracts at the same time."""

PATIENCE_SECONDS = (0.5, 1.0, 2.0, *[5.0] * 60)
"""Waits of a user's call between looks whether another one's work that is in its way has ended: 5 minutes in all."""


@dataclass(frozen=True, slots=True)
class _Answer:
    """A usable answer for a batch, or why there is none. `counts`: the breaker counts it; `again`: another try may
    do better; `too_long`: a smaller batch may."""

    extracted: Extracted | None = None
    answerer: Answerer | None = None
    problem: str | None = None
    counts: bool = True
    again: bool = True
    too_long: bool = False


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
        self._claimed_first: dict[str, asyncio.Event] = {}
        self._working: set[str] = set()
        self._places = asyncio.Semaphore(PARALLEL)

    def is_running(self, project_id: str) -> bool:
        """Whether this process extracts the project now."""
        return project_id in self._working

    async def first_claim(self, project_id: str) -> None:
        """Waits until a run of the project that has begun here has claimed its first batch, or has to wait itself: so
        a compaction leaves it the oldest entries. No run waits for a compaction before that."""
        if (claimed := self._claimed_first.get(project_id)) is not None:
            await claimed.wait()

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
        self._claimed_first[project.project_id] = claimed = asyncio.Event()
        task.add_done_callback(lambda _: claimed.set())
        return _together(joined, (await task).report)

    async def _run(self, project: Project, *, by_user: bool) -> _Ended:
        project_id = project.project_id
        for wait in (*(PATIENCE_SECONDS if by_user else ()), None):
            if self._places.locked():
                self._claimed_first[project_id].set()
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
            self._claimed_first[project_id].set()
            if wait is not None:
                await self._sleep(wait)
        problem = "another window is extracting this project" if by_user else None
        return await self._ended(project, Extraction(0, 0, 0, problem=problem))

    async def _extract_all(self, project: Project, *, by_user: bool) -> _Ended:
        run, project_id = self._use.run, project.project_id
        state: RunState = await run(lambda store: store.pipeline.run_state(project_id, "extraction"))
        done, budget = Extraction(0, 0, 0), observations.Budget(BATCH_TOKENS)
        try:
            while not await run(lambda store: store.staging.read_on(project_id)):
                pass
            wanted: set[str] = await run(lambda store: self._fed(store, project_id))
            if wanted:
                await self._hold(state, by_user=by_user)
                self._working.add(project_id)
                self._on_change(project)
            while batch := await self._claimed(project_id, wanted, budget.tokens, by_user=by_user):
                answer = await self._answer(state, batch, budget.tokens, by_user=by_user)
                if answer.too_long:
                    if (halved := budget.halved(batch)) is not None:
                        budget = halved
                        continue
                    answer = replace(answer, problem=still_too_long(answer.problem or "", "extraction.model"))
                if answer.extracted is None or answer.answerer is None:
                    await self._failed(project, state, answer)
                    return await self._ended(project, replace(done, problem=answer.problem), failed=answer.counts)
                budget = budget.taken()
                done = await self._keep(project, batch, answer.extracted, answer.answerer, done)
                state = await self._note(project, answered(self._use.now(), answer.answerer))
        except _Held as reason:
            return await self._ended(project, replace(done, problem=str(reason)))
        return await self._ended(project, done, wanted if by_user else None)

    async def _hold(self, state: RunState, *, by_user: bool) -> None:
        """Raises _Held while the breaker is open or the budget is used up, which hold no user's call."""
        if not breaker.allows(state.breaker, self._now_ms(), self._settings().extraction.cooldown_ms, by_user=by_user):
            raise _Held(f"extraction rests after {state.breaker.failures} failures: {state.last_error}")
        if not by_user and await self._use.over_budget():
            raise _Held("the background budget of this hour is used up")

    async def _claimed(self, project_id: str, wanted: set[str], budget_tokens: int, *, by_user: bool) -> list[Entry]:
        """The oldest of the entries that are wanted, claimed in place of the batch before: what that had more of is
        free. A user's call waits for those that a compaction has."""
        run = self._use.run

        def first_batch(free: list[Entry]) -> list[Entry]:
            ours = [entry for entry in free if not wanted.isdisjoint(entry.covered_ids)]
            return next(observations.batches(ours, budget_tokens), [])

        for wait in (*(PATIENCE_SECONDS if by_user else ()), None):
            batch: list[Entry] = await run(lambda store: store.staging.claim(project_id, "extraction", first_batch))
            self._claimed_first[project_id].set()
            if batch or wait is None or wanted.isdisjoint(await run(lambda store: _in_buffer(store, project_id))):
                return batch
            await self._sleep(wait)
        return []

    async def _answer(self, state: RunState, batch: list[Entry], budget_tokens: int, *, by_user: bool) -> _Answer:
        """Asks up to three times, the last word being the last failure's; once where the breaker is open, as it can be
        for a user's call."""
        cooldown_ms = self._settings().extraction.cooldown_ms
        once = breaker.phase(state.breaker, self._now_ms(), cooldown_ms) == "open"
        answer = await self._attempt(batch, budget_tokens, by_user=by_user)
        for wait in () if once else BACKOFF_SECONDS:
            if answer.extracted is not None or answer.too_long or not answer.again:
                break
            await self._sleep(wait)
            answer = await self._attempt(batch, budget_tokens, by_user=by_user)
        return answer

    async def _attempt(self, batch: list[Entry], budget_tokens: int, *, by_user: bool) -> _Answer:
        if not by_user and await self._use.over_budget():
            raise _Held("the background budget of this hour is used up")
        model = self._use.choose()
        if isinstance(model, ModelFailure):
            return _Answer(problem=model.message, counts=model.counts, again=False)
        template = self._template()
        reply = await self._use.ask(model, self._request(template, batch, budget_tokens, by_user=by_user))
        if isinstance(reply, ModelFailure):
            too_long = reply.type == "context_too_long"
            return _Answer(
                problem=reply.message, counts=reply.counts, again=reply.counts and reply.retryable, too_long=too_long
            )
        read = read_extraction(reply.text, batch, template.text, reply.stop_reason, literal=reply.provider == "offline")
        if isinstance(read, Extracted):
            return _Answer(read, reply.answerer)
        return _Answer(problem=f"{read.reason}; it came from {reply.answerer.in_words}")

    def _request(self, template: Template, batch: list[Entry], budget_tokens: int, *, by_user: bool) -> ModelRequest:
        settings = self._settings().extraction
        shown = observations.shown(batch, budget_tokens)
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
        self, project: Project, batch: list[Entry], extracted: Extracted, answerer: Answerer, done: Extraction
    ) -> Extraction:
        project_id, method = project.project_id, method_of(answerer)

        def keep(store: Store) -> int:
            kept = store.staging.extract(project_id, batch, extracted.records, method, self._new_id, self._use.now())
            store.events.feed(project_id, self._settings().buffer.ceiling_bytes)
            return kept

        events: int = await asyncio.shield(self._use.run(keep))
        self._on_change(project)
        records = len(extracted.records) if events else 0
        events, records = done.extracted + events, done.records + records
        return replace(done, extracted=events, records=records, method=method, answerer=answerer)

    async def _failed(self, project: Project, state: RunState, answer: _Answer) -> None:
        after = state.breaker
        if answer.counts:
            after = breaker.failed(state.breaker, self._now_ms(), self._settings().extraction.max_failures)
        if after.opened_at_ms is not None and state.breaker.opened_at_ms is None:
            logger.warning("Extraction of %s rests after %d failures", project.root, after.failures)
        await self._note(project, replace(state, breaker=after, last_run_at=self._use.now(), last_error=answer.problem))

    async def _note(self, project: Project, state: RunState) -> RunState:
        await self._use.run(lambda store: store.pipeline.note_run(project.project_id, "extraction", state))
        return state

    async def _ended(
        self, project: Project, done: Extraction, explained: set[str] | None = None, *, failed: bool = False
    ) -> _Ended:
        """The end of a run; where `explained` names what it wanted, with a word on what is left all the same."""
        project_id = project.project_id

        def ended(store: Store) -> Extraction:
            in_buffer, waiting = _in_buffer(store, project_id), store.events.waiting_ids(project_id)
            problem = done.problem
            if explained is not None:
                problem = why_left(explained, in_buffer, waiting, store.events.disk_error(project_id))
            return replace(done, remaining=len(in_buffer | waiting), problem=problem)

        return _Ended(await self._use.run(ended), failed)

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
    last = later if later.method is not None else earlier
    return replace(later, extracted=extracted, records=records, method=last.method, answerer=last.answerer)
