"""The one thread that works on the disk: jobs run in the order in which they came, events in batches."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from lithify.core.outcomes import LithifyError
from lithify.workers.ports import Store

logger = logging.getLogger(__name__)

Item = TypeVar("Item")
Result = TypeVar("Result")
T = TypeVar("T")

Run: TypeAlias = Callable[[Callable[[Store], Any]], Awaitable[Any]]
"""Queues a storage job, and gives what it returns."""

MAX_BATCH = 256
"""Weight from which on no further item is taken into a run."""

RETRY_SECONDS = 1.0

PROBE_SECONDS = 1.0
"""How often at most it is looked whether a problem is over."""

TELL_AGAIN_SECONDS = 60.0
"""A failure that comes and goes is not logged each time it comes."""

MAX_KEPT = 4096
"""Pieces of work kept for a store that cannot be used; further ones are dropped, so that memory stays bounded."""

OWN_FAULTS = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, AssertionError, RecursionError)
"""Errors that a piece of work would run into again, however often it were tried; the store is not at fault."""


class ProbedStore(Store, Protocol):
    """A store that can say whether it works."""

    def probe(self) -> None:
        """Writes a little. Raises what is in the way, without waiting."""


@dataclass(slots=True)
class _Call:
    job: Callable[[Store], Any]
    future: Future[Any] | None
    weight: int = 1
    done: bool = False


@dataclass(slots=True)
class _Queued(Generic[Item]):
    item: Item
    future: Future[Any] | None
    weight: int
    done: bool = False


class StorageThread(Generic[Item, Result]):
    """Runs storage work in arrival order on a thread of its own, so that no disk ever stalls the editor.

    `open_store` is tried again while it fails. `handle_items` takes a run of items at once and answers one result
    each. When the disk or the database fails, work that nobody waits for is kept and tried again, before all that
    came after it; work that someone waits for fails with `storage_failed`.
    """

    def __init__(
        self,
        open_store: Callable[[], ProbedStore],
        handle_items: Callable[[Store, list[Item]], list[Result]],
        retry_seconds: float = RETRY_SECONDS,
        on_trouble: Callable[[], None] = lambda: None,
    ) -> None:
        self._open_store = open_store
        self._handle_items = handle_items
        self._retry_seconds = retry_seconds
        self._on_trouble = on_trouble
        self._queue: deque[_Call | _Queued[Item]] = deque()
        self._kept: deque[_Call | _Queued[Item]] = deque()
        self._dropped = 0
        self._backlog = 0
        self._changed = threading.Condition()
        self._closing = False
        self._store: ProbedStore | None = None
        self.problem: str | None = None
        """Why storage work failed, until work goes well and the store takes a write again; None when nothing is wrong.
        Reading goes well on a full disk too."""
        self._probed_at = float("-inf")
        self._told: tuple[str, float] = ("", float("-inf"))
        self._thread = threading.Thread(target=self._run, name="lithify-storage", daemon=True)
        self._thread.start()

    def put(self, item: Item, weight: int = 1) -> None:
        """Queues an item that nobody waits for; it counts for so many pieces of work."""
        self._append(_Queued(item, None, weight))

    async def handle(self, item: Item, weight: int = 1) -> Result:
        """Queues an item, which counts for so many pieces of work, and waits for its result. Raises LithifyError."""
        future: Future[Result] = Future()
        self._append(_Queued(item, future, weight))
        return await asyncio.shield(asyncio.wrap_future(future))

    def run(self, job: Callable[[Store], T]) -> asyncio.Future[T]:
        """Queues a job at once; await its result. Raises what the job raises, or LithifyError."""
        return asyncio.shield(asyncio.wrap_future(self.submit(job)))

    def submit(self, job: Callable[[Store], T]) -> Future[T]:
        """Queues a job; its future can be waited for or left alone."""
        future: Future[T] = Future()
        self._append(_Call(job, future))
        return future

    def put_job(self, job: Callable[[Store], None]) -> None:
        """Queues a job that nobody waits for; a failure is logged."""
        self._append(_Call(job, None))

    @property
    def backlog(self) -> int:
        """Pieces of work in the queue."""
        return self._backlog

    def close(self, timeout_seconds: float) -> bool:
        """Finishes all that is queued and closes the store; whether that was done in time."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join(timeout_seconds)
        return not self._thread.is_alive()

    def _append(self, work: _Call | _Queued[Item]) -> None:
        with self._changed:
            if not self._closing:
                self._queue.append(work)
                self._backlog += work.weight
                self._changed.notify()
                return
        _fail(work, LithifyError("storage_failed", "the server is ending"))

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._queue and not self._closing:
                    if not self._changed.wait(self._retry_seconds if self._kept else None):
                        break
                batch = _taken(self._queue)
                self._backlog -= sum(work.weight for work in batch)
            failure = self._retry() or self._attempt(batch)
            if failure is not None:
                self._put_off(batch, failure)
            if self._closing and not self._queue:
                break
        if self._kept:
            logger.error("%d messages of the editor could not be stored: %s", len(self._kept), self.problem)
        if self._store is not None:
            self._store.close()

    def _retry(self) -> LithifyError | None:
        """Tries what was kept, in order; why it still fails, if it does."""
        while self._kept:
            batch = _taken(self._kept)
            failure = self._attempt(batch)
            if failure is not None:
                self._kept.extendleft(work for work in reversed(batch) if not work.done)
                return failure
        self._dropped = 0
        return None

    def _put_off(self, batch: Sequence[_Call | _Queued[Item]], failure: LithifyError) -> None:
        for work in batch:
            if work.done:
                continue
            if work.future is not None:
                _fail(work, failure)
            elif len(self._kept) < MAX_KEPT:
                self._kept.append(work)
            else:
                if not self._dropped:
                    logger.error("Too much waits for the data folder; what comes now is lost: %s", self.problem)
                self._dropped += 1

    def _attempt(self, batch: Sequence[_Call | _Queued[Item]]) -> LithifyError | None:
        """Does the work as far as the store lets it; the failure, when it does not."""
        if not batch:
            return None
        try:
            store = self._opened()
        except Exception as error:  # noqa: BLE001 - whatever it is, it is told and tried again
            return self._failed(error)
        try:
            results = self._results(store, batch)
        except LithifyError as error:
            _fail(batch[0], error)
        except OWN_FAULTS as error:
            if len(batch) > 1:
                return next((failure for work in batch if (failure := self._attempt([work])) is not None), None)
            _fail(batch[0], error)
        except Exception as error:  # noqa: BLE001 - what waits must hear of it, what does not is tried again
            return self._failed(error)
        else:
            self._went_well(store)
            for work, result in zip(batch, results, strict=True):
                _finish(work, result)
        return None

    def _results(self, store: Store, batch: Sequence[_Call | _Queued[Item]]) -> list[Any]:
        first = batch[0]
        if isinstance(first, _Call):
            return [first.job(store)]
        return self._handle_items(store, [work.item for work in batch if isinstance(work, _Queued)])

    def _went_well(self, store: ProbedStore) -> None:
        """Forgets the problem once the store takes a write."""
        if self.problem is None or time.monotonic() < self._probed_at + PROBE_SECONDS:
            return
        try:
            store.probe()
        except Exception as error:  # noqa: BLE001 - whatever it is, the problem goes on
            logger.debug("Storage does not work yet: %s", error)
        else:
            self._set_problem(None)
        self._probed_at = time.monotonic()

    def _opened(self) -> ProbedStore:
        """The store, opened anew where its file was deleted under it."""
        if self._store is not None and not self._store.is_current():
            logger.warning("The database was deleted while it was in use; it is made anew")
            self._store.close()
            self._store = None
        if self._store is None:
            self._store = self._open_store()
        return self._store

    def _set_problem(self, problem: str | None) -> None:
        """`on_trouble` hears, on this thread, of every failure that begins or ends."""
        if problem != self.problem:
            self.problem = problem
            self._on_trouble()

    def _failed(self, error: Exception) -> LithifyError:
        text = f"{error}" or type(error).__name__
        told, at = self._told
        if text != self.problem and (text != told or time.monotonic() >= at + TELL_AGAIN_SECONDS):
            logger.error("Storage failed: %s", text, exc_info=_details(error))
            self._told = text, time.monotonic()
        self._set_problem(text)
        return LithifyError("storage_failed", f"the data folder could not be used: {text}; 'lithify doctor' says more")


def one_at_a_time(run: Run) -> Run:
    """Runs storage jobs of long work, which may be many, in the order in which they came, and queues the next one only
    when the one before is done: so what the editor sends waits for one of them at most."""
    turn = asyncio.Lock()

    async def run_in_turn(job: Callable[[Store], Any]) -> Any:
        async with turn:
            return await run(job)

    return run_in_turn


def _taken(queue: deque[_Call | _Queued[Item]]) -> list[_Call | _Queued[Item]]:
    """Takes the next call, or the next run of items, from the front."""
    batch: list[_Call | _Queued[Item]] = []
    weight = 0
    while queue and weight < MAX_BATCH and not (batch and isinstance(queue[0], _Call)):
        batch.append(queue.popleft())
        weight += batch[-1].weight
        if isinstance(batch[0], _Call):
            break
    return batch


def _finish(work: _Call | _Queued[Any], result: Any) -> None:
    work.done = True
    if work.future is not None:
        with suppress(InvalidStateError):
            work.future.set_result(result)


def _fail(work: _Call | _Queued[Any], error: Exception) -> None:
    work.done = True
    if work.future is not None:
        with suppress(InvalidStateError):
            work.future.set_exception(error)
    elif isinstance(error, LithifyError):
        logger.warning("%s", error.message)
    else:
        logger.error("A message of the editor could not be handled: %s", type(error).__name__, exc_info=_details(error))


def _details(error: Exception) -> Exception | None:
    return error if logger.isEnabledFor(logging.DEBUG) else None
