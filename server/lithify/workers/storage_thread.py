"""The one thread that works on the disk: jobs run in the order in which they came, events in batches."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from lithify.core.outcomes import LithifyError
from lithify.workers.ports import Store

logger = logging.getLogger(__name__)

Item = TypeVar("Item")
Result = TypeVar("Result")
T = TypeVar("T")

MAX_BATCH = 256
RETRY_SECONDS = 1.0


@dataclass(slots=True)
class _Call:
    job: Callable[[Store], Any]
    future: Future[Any]


@dataclass(slots=True)
class _Queued(Generic[Item]):
    item: Item
    future: Future[Any] | None


class StorageThread(Generic[Item, Result]):
    """Runs storage work in arrival order on a thread of its own, so that no disk ever stalls the editor.

    `open_store` is tried again while it fails. `handle_items` takes a run of items at once and answers one result
    each. Items put without a future are kept and tried again when the disk or the database fails; work that someone
    waits for fails with `storage_failed` instead.
    """

    def __init__(
        self,
        open_store: Callable[[], Store],
        handle_items: Callable[[Store, list[Item]], list[Result]],
    ) -> None:
        self._open_store = open_store
        self._handle_items = handle_items
        self._queue: deque[_Call | _Queued[Item]] = deque()
        self._kept: list[Item] = []
        self._changed = threading.Condition()
        self._closing = False
        self._store: Store | None = None
        self.problem: str | None = None
        """Why the last piece of storage work failed; None when it did not."""
        self._thread = threading.Thread(target=self._run, name="lithify-storage", daemon=True)
        self._thread.start()

    def put(self, item: Item) -> None:
        """Queues an item that nobody waits for."""
        self._append(_Queued(item, None))

    async def handle(self, item: Item) -> Result:
        """Queues an item and waits for its result. Raises LithifyError."""
        future: Future[Result] = Future()
        self._append(_Queued(item, future))
        return await asyncio.shield(asyncio.wrap_future(future))

    async def run(self, job: Callable[[Store], T]) -> T:
        """Runs a job after all that was queued before it. Raises what the job raises, or LithifyError."""
        return await asyncio.shield(asyncio.wrap_future(self.submit(job)))

    def submit(self, job: Callable[[Store], T]) -> Future[T]:
        """Queues a job; its future can be waited for or left alone."""
        future: Future[T] = Future()
        self._append(_Call(job, future))
        return future

    def put_job(self, job: Callable[[Store], None]) -> None:
        """Queues a job that nobody waits for; a failure is logged."""
        self.submit(job).add_done_callback(_tell_failure)

    @property
    def backlog(self) -> int:
        """Pieces of work in the queue."""
        return len(self._queue)

    def close(self, timeout_seconds: float) -> bool:
        """Finishes all that is queued and closes the store; whether that was done in time."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join(timeout_seconds)
        return not self._thread.is_alive()

    def _append(self, work: _Call | _Queued[Item]) -> None:
        with self._changed:
            self._queue.append(work)
            self._changed.notify()

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._queue and not self._closing:
                    if not self._changed.wait(RETRY_SECONDS if self._kept else None):
                        break
                work = self._next()
            if isinstance(work, _Call):
                self._call(work)
            else:
                self._batch(work)
            if self._closing and not self._queue:
                break
        if self._kept:
            logger.error("%d batches of events could not be stored: %s", len(self._kept), self.problem)
        if self._store is not None:
            self._store.close()

    def _next(self) -> _Call | list[_Queued[Item]]:
        batch: list[_Queued[Item]] = []
        while self._queue and len(batch) < MAX_BATCH:
            work = self._queue[0]
            if isinstance(work, _Call):
                if batch:
                    break
                self._queue.popleft()
                return work
            self._queue.popleft()
            batch.append(work)
        return batch

    def _call(self, work: _Call) -> None:
        try:
            result = work.job(self._opened())
        except LithifyError as error:
            work.future.set_exception(error)
        except Exception as error:  # noqa: BLE001 - whatever it is, the one who waits must hear of it
            work.future.set_exception(self._failed(error))
        else:
            self.problem = None
            work.future.set_result(result)

    def _batch(self, queued: list[_Queued[Item]]) -> None:
        kept, self._kept = self._kept, []
        items = [*kept, *(one.item for one in queued)]
        if not items:
            return
        try:
            results = self._handle_items(self._opened(), items)
        except Exception as error:  # noqa: BLE001 - events are kept and tried again, requests are answered
            failure = self._failed(error)
            self._kept = kept + [one.item for one in queued if one.future is None]
            for one in queued:
                if one.future is not None:
                    one.future.set_exception(failure)
        else:
            self.problem = None
            for one, result in zip(queued, results[len(kept) :], strict=True):
                if one.future is not None:
                    one.future.set_result(result)

    def _opened(self) -> Store:
        if self._store is None:
            self._store = self._open_store()
        return self._store

    def _failed(self, error: Exception) -> LithifyError:
        text = f"{error}" or type(error).__name__
        if text != self.problem:
            logger.error("Storage failed: %s", text, exc_info=error if logger.isEnabledFor(logging.DEBUG) else None)
        self.problem = text
        return LithifyError("storage_failed", f"the data folder could not be used: {text}; 'lithify doctor' says more")


def _tell_failure(future: Future[None]) -> None:
    error = future.exception()
    if isinstance(error, LithifyError) and error.type != "storage_failed":
        logger.warning("%s", error.message)
