"""The storage thread: order, batches, and a store that fails."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any, cast

import pytest

from lithify.core.outcomes import LithifyError
from lithify.workers import storage_thread
from lithify.workers.ports import Store
from lithify.workers.storage_thread import MAX_BATCH, MAX_KEPT, ProbedStore, StorageThread, one_at_a_time

NEVER = 3600.0
FULL = OSError(28, "No space left on device")


class Disk:
    """The store of these tests: it notes what is done to it, refuses as long as it is told to, and can be closed."""

    def __init__(self) -> None:
        self.done: list[Any] = []
        self.batches: list[list[Any]] = []
        self.tries = 0
        self.refusal: Exception | None = None
        self.refuses_to_open: Exception | None = None
        self.refused_batch: list[Any] | None = None
        self.refuses_writes: Exception | None = None
        self.probes = 0
        self.closed = False
        self.replaced = False

    def open(self) -> ProbedStore:
        self.tries += 1
        if self.refuses_to_open is not None:
            raise self.refuses_to_open
        return cast(ProbedStore, self)

    def probe(self) -> None:
        self.probes += 1
        if self.refuses_writes is not None:
            raise self.refuses_writes

    def note(self, what: Any) -> Any:
        self.tries += 1
        if self.refusal is not None:
            raise self.refusal
        self.done.append(what)
        return what

    def handle(self, _: Store, items: list[Any]) -> list[str]:
        self.tries += 1
        if self.refusal is not None:
            raise self.refusal
        if items == self.refused_batch:
            raise FULL
        if "poison" in items:
            raise ValueError("poison")
        self.batches.append(items)
        self.done.extend(items)
        return [f"{item} done" for item in items]

    def is_current(self) -> bool:
        return not self.replaced

    def close(self) -> None:
        self.closed = True
        self.replaced = False


@pytest.fixture
def disk() -> Disk:
    return Disk()


@pytest.fixture
def start(disk: Disk) -> Iterator[Callable[..., StorageThread[Any, Any]]]:
    """Starts threads that try again only when more work comes, and ends them."""
    started: list[StorageThread[Any, Any]] = []

    def start(retry_seconds: float = NEVER) -> StorageThread[Any, Any]:
        started.append(StorageThread(disk.open, disk.handle, retry_seconds))
        return started[-1]

    yield start
    assert all(thread.close(10) for thread in started)


@pytest.fixture
def thread(start: Callable[..., StorageThread[Any, Any]]) -> StorageThread[Any, Any]:
    return start()


def job(disk: Disk, what: Any) -> Callable[[Store], Any]:
    return lambda _: disk.note(what)


def held(thread: StorageThread[Any, Any]) -> threading.Event:
    """Keeps the thread busy until the event is set; what is queued meanwhile is handled after that."""
    let, busy = threading.Event(), threading.Event()

    def hold(_: Store) -> None:
        busy.set()
        let.wait()

    thread.submit(hold)
    assert busy.wait(10)
    return let


def failure(future: Future[Any]) -> LithifyError:
    error = future.exception(10)
    assert isinstance(error, LithifyError)
    return error


def settle(thread: StorageThread[Any, Any]) -> None:
    """Waits for all that was queued; the store may refuse."""
    thread.submit(lambda _: None).exception(10)


async def failure_of(waiting: Any) -> LithifyError:
    with pytest.raises(LithifyError) as problem:
        await waiting
    return problem.value


# --- order ----------------------------------------------------------------------------------------------------


def test_jobs_and_items_are_done_in_the_order_in_which_they_came(thread: StorageThread[Any, Any], disk: Disk) -> None:
    let = held(thread)
    thread.put("item 1")
    thread.submit(job(disk, "job 1"))
    thread.put_job(job(disk, "job 2"))
    thread.put("item 2")
    thread.put("item 3")
    thread.submit(job(disk, "job 3"))
    let.set()
    settle(thread)
    assert disk.done == ["item 1", "job 1", "job 2", "item 2", "item 3", "job 3"]


def test_items_that_came_together_are_handled_together(thread: StorageThread[Any, Any], disk: Disk) -> None:
    let = held(thread)
    for item in ("a", "b", "c"):
        thread.put(item)
    let.set()
    settle(thread)
    assert disk.batches == [["a", "b", "c"]]


def test_a_job_parts_two_batches(thread: StorageThread[Any, Any], disk: Disk) -> None:
    let = held(thread)
    thread.put("a")
    thread.submit(lambda _: None)
    thread.put("b")
    let.set()
    settle(thread)
    assert disk.batches == [["a"], ["b"]]


def test_a_batch_has_a_largest_size(thread: StorageThread[Any, Any], disk: Disk) -> None:
    let = held(thread)
    for item in range(MAX_BATCH + 1):
        thread.put(item)
    let.set()
    settle(thread)
    assert [len(batch) for batch in disk.batches] == [MAX_BATCH, 1]


@pytest.mark.asyncio
async def test_each_item_gets_its_own_result(thread: StorageThread[Any, Any]) -> None:
    let = held(thread)
    waiting = [asyncio.ensure_future(thread.handle(item)) for item in ("a", "b")]
    await asyncio.sleep(0)
    thread.put("c")
    let.set()
    assert await asyncio.gather(*waiting) == ["a done", "b done"]


@pytest.mark.asyncio
async def test_a_job_gives_what_it_returns(thread: StorageThread[Any, Any]) -> None:
    assert await thread.run(lambda _: 42) == 42


@pytest.mark.asyncio
async def test_a_job_is_queued_before_it_is_awaited(thread: StorageThread[Any, Any], disk: Disk) -> None:
    first = thread.run(job(disk, "first"))
    await thread.run(job(disk, "second"))
    await first
    assert disk.done == ["first", "second"]


@pytest.mark.asyncio
async def test_an_item_waits_for_one_job_of_long_work_at_most(thread: StorageThread[Any, Any], disk: Disk) -> None:
    run = one_at_a_time(thread.run)
    with_the_first = held(thread)
    works = [asyncio.ensure_future(run(job(disk, name))) for name in ("first", "second", "third")]
    await asyncio.sleep(0)
    thread.put("item")
    with_the_first.set()
    await asyncio.gather(*works)
    assert disk.done == ["first", "item", "second", "third"]


@pytest.mark.asyncio
async def test_long_work_goes_on_after_a_job_that_fails(thread: StorageThread[Any, Any], disk: Disk) -> None:
    run = one_at_a_time(thread.run)
    with pytest.raises(ZeroDivisionError):
        await run(lambda _: 1 // 0)
    assert await run(job(disk, "next")) == "next"


def test_the_backlog_is_what_is_queued(thread: StorageThread[Any, Any]) -> None:
    let = held(thread)
    thread.put("a")
    thread.put("b", weight=40)
    backlog = thread.backlog
    let.set()
    settle(thread)
    assert (backlog, thread.backlog) == (41, 0)


@pytest.mark.asyncio
async def test_work_goes_on_when_the_one_who_waited_gave_up(thread: StorageThread[Any, Any], disk: Disk) -> None:
    let = held(thread)
    waiting = asyncio.ensure_future(thread.handle("a"))
    await asyncio.sleep(0)
    waiting.cancel()
    let.set()
    await thread.run(lambda _: None)
    assert disk.done == ["a"]


def test_a_future_that_was_cancelled_does_not_end_the_thread(thread: StorageThread[Any, Any], disk: Disk) -> None:
    let = held(thread)
    thread.submit(job(disk, "a")).cancel()
    let.set()
    assert thread.submit(job(disk, "b")).result(10) == "b"


# --- a store that fails ---------------------------------------------------------------------------------------


@pytest.mark.asyncio
async def test_a_failure_of_the_store_is_told_to_those_who_wait(thread: StorageThread[Any, Any], disk: Disk) -> None:
    disk.refusal = FULL
    for waiting in (thread.handle("a"), thread.run(job(disk, "b"))):
        problem = await failure_of(waiting)
        assert (problem.type, problem.retryable) == ("storage_failed", True)
        assert problem.message == (
            "the data folder could not be used: [Errno 28] No space left on device; 'lithify doctor' says more"
        )


def test_what_nobody_waits_for_is_kept_and_done_later(thread: StorageThread[Any, Any], disk: Disk) -> None:
    disk.refusal = FULL
    thread.put("a")
    thread.put_job(job(disk, "b"))
    settle(thread)
    disk.refusal = None
    settle(thread)
    assert disk.done == ["a", "b"]


def test_what_was_kept_is_done_before_what_came_later(thread: StorageThread[Any, Any], disk: Disk) -> None:
    disk.refusal = FULL
    thread.put_job(job(disk, "job 1"))
    thread.put("item 1")
    thread.put_job(job(disk, "job 2"))
    settle(thread)
    disk.refusal = None
    let = held(thread)
    thread.put("item 2")
    thread.submit(job(disk, "job 3"))
    let.set()
    settle(thread)
    assert disk.done == ["job 1", "item 1", "job 2", "item 2", "job 3"]


def test_what_was_kept_is_done_once(thread: StorageThread[Any, Any], disk: Disk) -> None:
    disk.refusal = FULL
    for item in ("a", "b"):
        thread.put(item)
    settle(thread)
    settle(thread)
    disk.refusal = None
    settle(thread)
    settle(thread)
    assert disk.done == ["a", "b"]


def test_who_waits_is_told_while_earlier_work_cannot_be_done(thread: StorageThread[Any, Any], disk: Disk) -> None:
    """Its answer would say that all that came before it is durable."""
    disk.refusal = FULL
    thread.put("a")
    assert failure(thread.submit(lambda _: "needs no disk")).type == "storage_failed"


def test_what_waits_is_tried_again_by_itself(start: Callable[..., StorageThread[Any, Any]], disk: Disk) -> None:
    done = threading.Event()

    def stored(_: Store) -> None:
        disk.tries += 1
        if disk.tries < 4:
            raise FULL
        done.set()

    start(0.001).put_job(stored)
    assert done.wait(10)


def test_nothing_is_tried_again_when_nothing_waits(thread: StorageThread[Any, Any], disk: Disk) -> None:
    disk.refusal = FULL
    failure(thread.submit(job(disk, "a")))
    tries = disk.tries
    disk.refusal = None
    settle(thread)
    assert (disk.tries, disk.done) == (tries, [])


def test_opening_is_tried_again(thread: StorageThread[Any, Any], disk: Disk) -> None:
    disk.refuses_to_open = PermissionError(13, "Permission denied")
    thread.put("a")
    assert "Permission denied" in failure(thread.submit(job(disk, "b"))).message
    disk.refuses_to_open = None
    assert thread.submit(job(disk, "c")).result(10) == "c"
    assert disk.done == ["a", "c"]


def test_an_error_of_any_class_while_opening_is_tried_again(thread: StorageThread[Any, Any], disk: Disk) -> None:
    disk.refuses_to_open = ValueError("odd")
    thread.put("a")
    settle(thread)
    disk.refuses_to_open = None
    settle(thread)
    assert disk.done == ["a"]


def test_the_problem_is_what_failed_last(thread: StorageThread[Any, Any], disk: Disk) -> None:
    disk.refusal = FULL
    failure(thread.submit(job(disk, "a")))
    assert thread.problem == "[Errno 28] No space left on device"


def test_there_is_no_problem_once_the_store_works_again(thread: StorageThread[Any, Any], disk: Disk) -> None:
    disk.refusal = FULL
    failure(thread.submit(job(disk, "a")))
    disk.refusal = None
    thread.submit(job(disk, "b")).result(10)
    assert thread.problem is None


def test_a_problem_lasts_while_the_store_can_be_read_and_takes_no_write(
    thread: StorageThread[Any, Any], disk: Disk
) -> None:
    disk.refusal = disk.refuses_writes = FULL
    failure(thread.submit(job(disk, "a")))
    thread.submit(lambda _: "reads").result(10)
    assert thread.problem == "[Errno 28] No space left on device"


def test_a_problem_is_over_once_the_store_takes_a_write(
    thread: StorageThread[Any, Any], disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage_thread, "PROBE_SECONDS", 0.0)
    disk.refusal = disk.refuses_writes = FULL
    failure(thread.submit(job(disk, "a")))
    thread.submit(lambda _: "reads").result(10)
    disk.refuses_writes = None
    thread.submit(lambda _: "reads").result(10)
    settle(thread)
    assert thread.problem is None


def test_whether_a_problem_is_over_is_not_looked_at_with_every_piece_of_work(
    thread: StorageThread[Any, Any], disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage_thread, "PROBE_SECONDS", NEVER)
    disk.refusal = disk.refuses_writes = FULL
    failure(thread.submit(job(disk, "a")))
    for _ in range(20):
        settle(thread)
    assert disk.probes == 1


def test_a_store_that_works_is_not_probed(thread: StorageThread[Any, Any], disk: Disk) -> None:
    settle(thread)
    assert disk.probes == 0


def test_a_failure_that_comes_and_goes_is_logged_once(
    thread: StorageThread[Any, Any], disk: Disk, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage_thread, "PROBE_SECONDS", 0.0)
    for _ in range(5):
        disk.refusal = FULL
        failure(thread.submit(job(disk, "a")))
        disk.refusal = None
        thread.submit(job(disk, "b")).result(10)
        settle(thread)
    assert [record.getMessage() for record in caplog.records] == ["Storage failed: [Errno 28] No space left on device"]


def test_a_failure_is_logged_once(
    thread: StorageThread[Any, Any], disk: Disk, caplog: pytest.LogCaptureFixture
) -> None:
    disk.refusal = FULL
    for _ in range(3):
        failure(thread.submit(job(disk, "a")))
    assert [record.getMessage() for record in caplog.records] == ["Storage failed: [Errno 28] No space left on device"]


def test_what_is_kept_is_bounded(thread: StorageThread[Any, Any], disk: Disk, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)
    disk.refusal = FULL
    for number in range(MAX_KEPT + 500):
        thread.put(number)
    settle(thread)
    disk.refusal = None
    settle(thread)
    assert disk.done == list(range(MAX_KEPT))
    assert "what comes now is lost" in caplog.text


# --- work that fails by itself --------------------------------------------------------------------------------


@pytest.mark.asyncio
async def test_a_failure_that_a_job_names_is_passed_on(thread: StorageThread[Any, Any]) -> None:
    def refuse(_: Store) -> None:
        raise LithifyError("unknown_session", "there is none")

    assert (await failure_of(thread.run(refuse))).type == "unknown_session"
    assert thread.problem is None


def test_a_failure_that_a_job_names_is_logged_where_nobody_waits(
    thread: StorageThread[Any, Any], caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(_: Store) -> None:
        raise LithifyError("unknown_session", "there is none")

    thread.put_job(refuse)
    settle(thread)
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [("WARNING", "there is none")]


def test_a_bad_item_costs_no_neighbour(thread: StorageThread[Any, Any], disk: Disk) -> None:
    let = held(thread)
    for item in ("a", "poison", "b"):
        thread.put(item)
    let.set()
    settle(thread)
    thread.put("c")
    settle(thread)
    assert disk.done == ["a", "b", "c"]


@pytest.mark.asyncio
async def test_who_waits_for_a_bad_item_is_told_and_nobody_else(thread: StorageThread[Any, Any]) -> None:
    let = held(thread)
    waiting = [asyncio.ensure_future(thread.handle(item)) for item in ("a", "poison", "b")]
    await asyncio.sleep(0)
    let.set()
    found = await asyncio.gather(*waiting, return_exceptions=True)
    assert [str(one) for one in found] == ["a done", "poison", "b done"]


def test_a_bad_item_is_logged_without_its_content(
    thread: StorageThread[Any, Any], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    thread.put("poison")
    settle(thread)
    assert [record.getMessage() for record in caplog.records] == [
        "A message of the editor could not be handled: ValueError"
    ]
    assert "poison" not in caplog.text


def test_a_bad_job_is_not_tried_again(thread: StorageThread[Any, Any], disk: Disk) -> None:
    def broken(_: Store) -> None:
        disk.tries += 1
        raise KeyError("x")

    settle(thread)
    before = disk.tries
    thread.put_job(broken)
    settle(thread)
    settle(thread)
    assert disk.tries == before + 1


def test_a_store_that_fails_within_a_bad_batch_keeps_what_was_not_done(
    thread: StorageThread[Any, Any], disk: Disk
) -> None:
    let = held(thread)
    for item in ("a", "poison", "b"):
        thread.put(item)
    disk.refused_batch = ["b"]
    let.set()
    settle(thread)
    disk.refused_batch = None
    settle(thread)
    assert disk.done == ["a", "b"]


# --- the end --------------------------------------------------------------------------------------------------


def test_closing_finishes_what_is_queued(thread: StorageThread[Any, Any], disk: Disk) -> None:
    let = held(thread)
    for item in range(600):
        thread.put(item)
    thread.put_job(job(disk, "last"))
    let.set()
    assert thread.close(10)
    assert disk.done == [*range(600), "last"]


def test_closing_closes_the_store(thread: StorageThread[Any, Any], disk: Disk) -> None:
    settle(thread)
    thread.close(10)
    assert disk.closed


def test_closing_without_work_opens_nothing(thread: StorageThread[Any, Any], disk: Disk) -> None:
    assert thread.close(10)
    assert (disk.tries, disk.closed) == (0, False)


def test_closing_tries_once_more_what_was_kept(thread: StorageThread[Any, Any], disk: Disk) -> None:
    disk.refusal = FULL
    thread.put("a")
    settle(thread)
    disk.refusal = None
    assert thread.close(10)
    assert disk.done == ["a"]


def test_what_cannot_be_stored_at_the_end_is_told(
    thread: StorageThread[Any, Any], disk: Disk, caplog: pytest.LogCaptureFixture
) -> None:
    disk.refusal = FULL
    thread.put("a")
    thread.put("b")
    assert thread.close(10)
    assert "2 messages of the editor could not be stored: [Errno 28] No space left on device" in caplog.text


def test_closing_does_not_wait_for_ever(thread: StorageThread[Any, Any]) -> None:
    let = held(thread)
    assert not thread.close(0.01)
    let.set()


@pytest.mark.asyncio
async def test_after_the_end_nobody_waits_in_vain(thread: StorageThread[Any, Any]) -> None:
    thread.close(10)
    for waiting in (thread.handle("a"), thread.run(lambda _: None)):
        assert (await failure_of(waiting)).type == "storage_failed"


def test_a_store_whose_file_was_deleted_is_opened_anew(
    disk: Disk, start: Callable[..., StorageThread[Any, Any]]
) -> None:
    thread = start()
    thread.submit(lambda store: cast(Any, store).note("one")).result(5)
    disk.replaced = True
    thread.submit(lambda store: cast(Any, store).note("two")).result(5)
    assert (disk.closed, disk.done) == (True, ["one", "two"])
