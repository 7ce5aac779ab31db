"""A disk that fails at any one call of any operation: nothing is lost, nothing is left over, and work goes on after."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from lithify.core.entries import summary_entry
from lithify.core.eviction import evict
from lithify.core.records import RecordDraft
from lithify.storage.database import MIGRATIONS
from lithify.storage.store import Store, open_store
from tests.storage.auditing import audit, leftovers
from tests.storage.seam import calls_noted, dying_at, failing_from
from tests.support.clock import Clock
from tests.support.stores import CEILING_BYTES, IN_MEMORY, buffer_file, buffered_ids, change, event, rows, states

ERRORS = {"ENOSPC": errno.ENOSPC, "EIO": errno.EIO, "EACCES": errno.EACCES}
BROKEN = b'{"event_id":"torn\n'


def append(store: Store) -> None:
    store.events.accept([event("E5"), event("E6")], CEILING_BYTES)


def feed(store: Store) -> None:
    store.events.accept([event("E5"), event("E6")], 1)
    store.events.feed("p1", CEILING_BYTES)


def extract(store: Store, count: int = 2) -> None:
    if store.staging.begin_extraction("p1"):
        try:
            batch = store.staging.claim("p1", "extraction", lambda free: free[:count])
            ids = tuple(entry.event_id for entry in batch)
            draft = RecordDraft("decision", f"About {' '.join(ids)}", " ".join(ids), source_event_ids=ids)
            store.staging.extract("p1", batch, [draft], "model", lambda: f"R{ids}", "now")
        finally:
            store.staging.end_extraction("p1")


def extract_all(store: Store) -> None:
    extract(store, 100)


def compact(store: Store) -> None:
    if store.staging.begin_compaction():
        try:
            claimed = store.staging.claim("p1", "compaction", lambda free: free[:3])
            if claimed:
                ids = [event_id for entry in claimed for event_id in entry.covered_ids]
                store.staging.replace("p1", {one.event_id for one in claimed}, [summary_entry("S", claimed, "s", ids)])
        finally:
            store.staging.end_compaction()


def let_go(store: Store) -> None:
    if store.staging.begin_compaction():
        try:
            claimed = store.staging.claim("p1", "compaction", lambda free: free)
            if claimed:
                store.staging.evict("p1", evict(claimed))
        finally:
            store.staging.end_compaction()


def cut(store: Store) -> None:
    if store.staging.begin_compaction():
        try:
            claimed = store.staging.claim("p1", "compaction", lambda free: free[3:4])
            if claimed:
                store.staging.evict("p1", evict(claimed))
        finally:
            store.staging.end_compaction()


OPERATIONS: dict[str, Callable[[Store], None]] = {
    one.__name__: one for one in (append, feed, extract, extract_all, compact, let_go, cut)
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one fault did."""

    call: int
    name: str
    lasting: bool
    error: OSError | None
    told: str | None
    changed: bool
    wrong: tuple[str, ...]
    left_over: tuple[str, ...]
    wrong_after: tuple[str, ...]
    told_after: str | None
    waiting_after: int


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with four events in the buffer, a torn line between them, and what a rewrite left that was cut."""
    data_dir = tmp_path_factory.mktemp("prepared")
    store = open_store(data_dir, Clock())
    store.events.accept([event("E1"), event("E2")], CEILING_BYTES)
    with buffer_file(data_dir).open("ab") as file:
        file.write(BROKEN)
    store.events.accept([event("E3"), event("E4", "long " * 400)], CEILING_BYTES)
    store.close()
    buffer_file(data_dir).with_name("buffer.ndjson.rewrite-abc").write_bytes(b"cut")
    return data_dir


@contextmanager
def store_in(prepared: Path, folder: Path) -> Iterator[Store]:
    shutil.copytree(prepared, folder)
    store = open_store(folder, Clock())
    try:
        yield store
    finally:
        store.close()


def snapshot(data_dir: Path) -> tuple[object, ...]:
    file = buffer_file(data_dir)
    return (
        file.read_bytes() if file.exists() else b"",
        states(data_dir),
        rows(data_dir, "SELECT * FROM memory_records"),
        rows(data_dir, "SELECT * FROM claims"),
    )


def outcomes_of(operation: str, error_number: int, prepared: Path, folder: Path) -> Iterator[Outcome]:
    work = OPERATIONS[operation]
    with store_in(prepared, folder / "noted") as store, calls_noted() as calls:
        work(store)
    for number, lasting in ((number, lasting) for number in range(len(calls)) for lasting in (False, True)):
        data_dir = folder / f"{number}-{lasting}"
        with store_in(prepared, data_dir) as store:
            before, error = snapshot(data_dir), None
            with failing_from(number, error_number, None if lasting else number):
                try:
                    work(store)
                except OSError as raised:
                    error = raised
            told = store.events.disk_error("p1")
            changed = snapshot(data_dir) != before
            wrong = tuple(audit(data_dir, healed=False))
            left_over = tuple(one for one in leftovers(data_dir) if not one.endswith("abc"))
            for again in (append, work, feed, extract):
                again(store)
            yield Outcome(
                call=number,
                name=calls[number][0],
                lasting=lasting,
                error=error,
                told=told,
                changed=changed,
                wrong=wrong,
                left_over=left_over,
                wrong_after=tuple(audit(data_dir)),
                told_after=store.events.disk_error("p1"),
                waiting_after=list(states(data_dir).values()).count("waiting"),
            )


@pytest.fixture(scope="module", params=[(one, name) for one in OPERATIONS for name in ERRORS], ids="-".join)
def outcomes(request: pytest.FixtureRequest, prepared: Path) -> list[Outcome]:
    operation, name = request.param
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder:
        return list(outcomes_of(operation, ERRORS[name], prepared, Path(folder)))


def test_there_are_several_calls_to_fail_at(outcomes: list[Outcome]) -> None:
    assert len(outcomes) >= 4


def test_every_event_is_in_exactly_one_place_after_a_fault(outcomes: list[Outcome]) -> None:
    assert [one for one in outcomes if one.wrong] == []


def test_no_temporary_file_is_left_where_it_can_be_removed(outcomes: list[Outcome]) -> None:
    assert [one for one in outcomes if one.left_over and not one.lasting] == []


def test_a_fault_is_raised_or_told_unless_the_work_was_done_all_the_same(outcomes: list[Outcome]) -> None:
    assert [one for one in outcomes if one.error is None and one.told is None and not one.changed] == []


def test_work_resumes_when_the_disk_is_well_again(outcomes: list[Outcome]) -> None:
    assert [one for one in outcomes if one.wrong_after or one.waiting_after] == []


def test_a_disk_that_is_well_again_is_told_of_no_more(outcomes: list[Outcome]) -> None:
    assert [one for one in outcomes if one.told_after is not None] == []


# --- a database that is full ----------------------------------------------------------------------------------


@pytest.fixture
def full(prepared: Path, tmp_path: Path) -> Iterator[Store]:
    """A store whose database cannot grow by a page, and whose next record needs more than one."""
    with store_in(prepared, tmp_path / "full") as store:
        pages = rows(tmp_path / "full", "PRAGMA page_count")[0][0]
        store._connection.execute(f"PRAGMA max_page_count = {pages}")
        yield store


@pytest.fixture
def folder(full: Store, tmp_path: Path) -> Path:
    return tmp_path / "full"


def extract_much(store: Store) -> None:
    batch = store.staging.claim("p1", "extraction", lambda free: free[:2])
    draft = RecordDraft("decision", "Long", "words " * 20_000, source_event_ids=("E1", "E2"))
    store.staging.extract("p1", batch, [draft], "model", lambda: "R1", "now")


def test_an_extraction_into_a_full_database_changes_nothing(full: Store, folder: Path) -> None:
    with pytest.raises(sqlite3.OperationalError, match="full"):
        extract_much(full)
    assert (set(states(folder).values()), buffered_ids(folder)) == ({"buffered"}, ["E1", "E2", "E3", "E4"])


def test_after_an_extraction_into_a_full_database_every_event_is_in_one_place(full: Store, folder: Path) -> None:
    with pytest.raises(sqlite3.OperationalError, match="full"):
        extract_much(full)
    assert audit(folder) == []


def test_events_for_a_full_database_are_not_accepted(full: Store, folder: Path) -> None:
    with pytest.raises(sqlite3.OperationalError, match="full"):
        full.events.accept([event("E9", "x" * 100_000)], CEILING_BYTES)
    assert ("E9" in states(folder), "E9" in buffered_ids(folder)) == (False, False)


def test_work_resumes_when_the_database_has_room_again(full: Store, folder: Path) -> None:
    with pytest.raises(sqlite3.OperationalError, match="full"):
        extract_much(full)
    full._connection.execute("PRAGMA max_page_count = 100000")
    extract_much(full)
    assert (states(folder)["E1"], buffered_ids(folder)) == ("extracted", ["E3", "E4"])


# --- rights that cannot be given back in the database ---------------------------------------------------------


def refuse_claims(data_dir: Path) -> None:
    """From now on the database refuses to delete a claim."""
    change(data_dir, "CREATE TRIGGER refuse BEFORE DELETE ON claims BEGIN SELECT RAISE(ABORT, 'refused'); END")


def test_the_right_to_extract_is_free_again_when_its_claims_cannot_be_released(prepared: Path, tmp_path: Path) -> None:
    with store_in(prepared, tmp_path / "a") as store:
        store.staging.begin_extraction("p1")
        store.staging.claim("p1", "extraction", lambda free: free)
        refuse_claims(tmp_path / "a")
        with pytest.raises(sqlite3.IntegrityError):
            store.staging.end_extraction("p1")
        assert not store.staging.is_working("p1", "extraction")


def test_a_right_that_could_not_be_begun_is_not_held(prepared: Path, tmp_path: Path) -> None:
    with store_in(prepared, tmp_path / "a") as store:
        store.staging.claim("p1", "compaction", lambda free: free)
        refuse_claims(tmp_path / "a")
        with pytest.raises(sqlite3.IntegrityError):
            store.staging.begin_compaction()
        assert not store.staging.is_working("p1", "compaction")


# --- what is only half a fault --------------------------------------------------------------------------------


def test_a_folder_that_cannot_be_synced_is_told_in_the_log(
    prepared: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with store_in(prepared, tmp_path / "a") as store, calls_noted() as calls:
        extract(store)
    folder_sync = [number for number, (name, _) in enumerate(calls) if name == "fsync"][1]
    with store_in(prepared, tmp_path / "b") as store, failing_from(folder_sync, errno.EIO, folder_sync):
        extract(store)
    assert "could not be synced" in caplog.text
    assert states(tmp_path / "b")["E1"] == "extracted"


@pytest.fixture
def refused(prepared: Path, tmp_path: Path) -> Iterator[Store]:
    """A store whose last extraction could not rename its new file into place."""
    with store_in(prepared, tmp_path / "noted") as store, calls_noted() as calls:
        extract(store)
    rename = next(number for number, (name, _) in enumerate(calls) if name == "rename")
    with store_in(prepared, tmp_path / "refused") as store:
        with failing_from(rename, errno.ENOSPC), pytest.raises(OSError, match="No space"):
            extract(store)
        yield store


def test_a_rewrite_that_the_disk_refused_is_the_disk_error_of_the_project(refused: Store) -> None:
    assert (refused.events.disk_error("p1") or "").endswith("buffer.ndjson: No space left on device")


def test_an_append_that_the_disk_takes_does_not_hide_a_rewrite_that_it_refused(refused: Store) -> None:
    append(refused)
    assert refused.events.disk_error("p1") is not None


def test_a_rewrite_that_the_disk_takes_ends_the_disk_error(refused: Store) -> None:
    extract(refused)
    assert refused.events.disk_error("p1") is None


def test_the_next_look_forgets_a_disk_error_that_is_over(refused: Store) -> None:
    """Work of the same kind may not come for long, or another window may have done it."""
    refused.events.waiting_projects()
    assert refused.events.disk_error("p1") is None


def test_a_look_leaves_a_disk_error_that_goes_on(refused: Store) -> None:
    told = refused.events.disk_error("p1")
    with failing_from(0, errno.ENOSPC):
        refused.events.waiting_projects()
    assert refused.events.disk_error("p1") == told


def test_a_look_at_trouble_leaves_no_file(refused: Store, tmp_path: Path) -> None:
    refused.events.waiting_projects()
    assert "buffer.ndjson.rewrite-probe" not in leftovers(tmp_path / "refused")


def test_a_look_at_trouble_that_dies_leaves_nothing_for_long(refused: Store, tmp_path: Path) -> None:
    with dying_at(2):  # the open of the new file has come, and its first write
        refused.events.waiting_projects()
    assert "buffer.ndjson.rewrite-probe" in leftovers(tmp_path / "refused")
    with store_in(tmp_path / "refused", tmp_path / "again") as store:
        extract(store)
    assert leftovers(tmp_path / "again") == []


def test_a_file_that_may_not_be_changed_is_told_until_it_may_be(prepared: Path, tmp_path: Path) -> None:
    with store_in(prepared, tmp_path / "a") as store:
        with failing_from(0, errno.EACCES):
            append(store)
            store.events.waiting_projects()
            assert (store.events.disk_error("p1") or "").endswith("Permission denied")
        store.events.waiting_projects()
        assert store.events.disk_error("p1") is None


# --- whether the store takes a write -------------------------------------------------------------------------


def test_a_store_that_takes_a_write_is_changed_by_no_look_at_it(prepared: Path, tmp_path: Path) -> None:
    with store_in(prepared, tmp_path / "a") as store:
        before = snapshot(tmp_path / "a")
        store.probe()
        assert (snapshot(tmp_path / "a"), rows(tmp_path / "a", "PRAGMA user_version")) == (
            before,
            [(len(MIGRATIONS),)],
        )
    assert [one.name for one in (tmp_path / "a").iterdir() if "probe" in one.name] == []


def test_a_store_on_a_full_disk_takes_no_write(prepared: Path, tmp_path: Path) -> None:
    with store_in(prepared, tmp_path / "a") as store, failing_from(1, errno.ENOSPC, 1):
        with pytest.raises(OSError, match="No space"):
            store.probe()
        assert [one.name for one in (tmp_path / "a").iterdir() if "probe" in one.name] == []


def test_a_store_whose_database_another_process_holds_takes_no_write_and_does_not_wait(
    prepared: Path, tmp_path: Path
) -> None:
    with store_in(prepared, tmp_path / "a") as store:
        other = sqlite3.connect(tmp_path / "a" / "lithify.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        store._connection.execute("PRAGMA busy_timeout = 3600000")
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            store.probe()
        other.close()
        store.probe()
        assert store._connection.execute("PRAGMA busy_timeout").fetchone() == (3600000,)


# --- one project's fault, and another project -----------------------------------------------------------------


def test_a_project_whose_buffer_cannot_be_looked_at_costs_another_nothing(tmp_path: Path) -> None:
    store = open_store(tmp_path, Clock())
    for project_id in ("p1", "p2"):
        change(tmp_path, "INSERT INTO projects (project_id, root) VALUES (?, ?)", project_id, f"/{project_id}")
        store.events.accept([event(f"of {project_id}", project_id=project_id)], CEILING_BYTES)
    shutil.rmtree(tmp_path / "buffers" / "p1")
    (tmp_path / "buffers" / "p1").write_text("a file in the place of the folder")
    assert [look.project.project_id for look in store.staging.look()] == ["p2"]
    store.close()


def test_a_buffer_that_cannot_be_read_is_not_taken_for_an_empty_one(prepared: Path, tmp_path: Path) -> None:
    with store_in(prepared, tmp_path / "a") as store:
        with calls_noted() as calls:
            store.staging.entries("p1")
        read = next(number for number, (name, _) in enumerate(calls) if name == "read")
    refused = pytest.raises(OSError, match=os.strerror(errno.EIO))
    with store_in(prepared, tmp_path / "b") as store, failing_from(read, errno.EIO), refused:
        store.staging.entries("p1")
    assert buffered_ids(tmp_path / "b") == ["E1", "E2", "E3", "E4"]
