"""The event log: every accepted event once in the database, and once, in order, in the buffer."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lithify.core.events import buffer_line
from lithify.core.projects import Project
from lithify.storage.database import open_database
from lithify.storage.event_log import EventLog
from lithify.storage.locks import FileLock
from lithify.storage.paths import database_file
from lithify.storage.store import Store, open_store
from tests.support.clock import Clock
from tests.support.stores import CEILING_BYTES, buffer_entries, buffer_file, buffered_ids, change, event, rows, states

KEYS = ["event_id", "namespace", "kind", "body", "timestamp", "surface"]
ONE_LINE = len(
    buffer_line(
        "E1",
        "/actor/ann/project/p1/",
        "note",
        '{"type":"text","content":"hello"}',
        "2026-01-02T03:04:05Z",
        "test",
    )
)
ROOM_FOR_TWO = 2 * (ONE_LINE + 1)


@pytest.fixture
def connection(tmp_path: Path) -> sqlite3.Connection:
    return open_database(database_file(tmp_path))


@pytest.fixture
def store(connection: sqlite3.Connection, tmp_path: Path) -> Iterator[Store]:
    opened = Store(connection, tmp_path, Clock())
    yield opened
    opened.close()


@pytest.fixture
def log(store: Store) -> EventLog:
    return store.events


def accept(log: EventLog, *ids: str, ceiling: int = CEILING_BYTES, project_id: str = "p1") -> list[str]:
    """The statuses of events."""
    return [one.status for one in log.accept([event(each, project_id=project_id) for each in ids], ceiling)]


def another(tmp_path: Path) -> Store:
    """As another process would see the folder."""
    return open_store(tmp_path, Clock())


# --- what is stored -------------------------------------------------------------------------------------------


def test_an_event_is_in_the_database_and_in_the_buffer(log: EventLog, tmp_path: Path) -> None:
    assert accept(log, "E1") == ["buffered"]
    assert (states(tmp_path), buffered_ids(tmp_path)) == ({"E1": "buffered"}, ["E1"])


def test_an_entry_has_exactly_the_keys_of_the_contract(log: EventLog, tmp_path: Path) -> None:
    accept(log, "E1")
    assert list(buffer_entries(tmp_path)[0]) == KEYS


def test_an_entry_says_what_the_event_said(log: EventLog, tmp_path: Path) -> None:
    accept(log, "E1")
    assert buffer_entries(tmp_path) == [
        {
            "event_id": "E1",
            "namespace": "/actor/ann/project/p1/",
            "kind": "note",
            "body": {"type": "text", "content": "hello"},
            "timestamp": "2026-01-02T03:04:05Z",
            "surface": "test",
        }
    ]


def test_an_event_is_scrubbed_before_it_is_stored(log: EventLog, tmp_path: Path) -> None:
    log.accept([event("E1", "a <private>hunter2</private> b")], CEILING_BYTES)
    kept = b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
    assert b"hunter2" not in kept
    assert buffer_entries(tmp_path)[0]["body"]["content"] == "a [REDACTED] b"


def test_the_order_of_the_buffer_is_the_order_of_acceptance(log: EventLog, tmp_path: Path) -> None:
    accept(log, "E3", "E1")
    accept(log, "E2")
    assert buffered_ids(tmp_path) == list(states(tmp_path)) == ["E3", "E1", "E2"]


def test_each_project_has_a_buffer_of_its_own(log: EventLog, tmp_path: Path) -> None:
    events = [event("E1", project_id="p1"), event("E2", project_id="p2"), event("E3", project_id="p1")]
    assert [one.event_id for one in log.accept(events, CEILING_BYTES)] == ["E1", "E2", "E3"]
    assert (buffered_ids(tmp_path, "p1"), buffered_ids(tmp_path, "p2")) == (["E1", "E3"], ["E2"])


def test_nothing_to_accept_changes_nothing(log: EventLog, tmp_path: Path) -> None:
    assert log.accept([], CEILING_BYTES) == []
    assert not (tmp_path / "buffers").exists()


def test_lone_surrogates_cost_no_event(log: EventLog, tmp_path: Path) -> None:
    assert [one.status for one in log.accept([event("E1", "a\ud800b")], CEILING_BYTES)] == ["buffered"]
    assert buffer_entries(tmp_path)[0]["body"]["content"] == "a\ud800b"


# --- duplicates -----------------------------------------------------------------------------------------------


def test_an_id_is_taken_once_within_a_batch(log: EventLog, tmp_path: Path) -> None:
    assert accept(log, "E1", "E1", "E2") == ["buffered", "duplicate", "buffered"]
    assert buffered_ids(tmp_path) == ["E1", "E2"]


def test_an_id_is_taken_once_across_batches(log: EventLog, tmp_path: Path) -> None:
    accept(log, "E1")
    assert accept(log, "E2", "E1") == ["buffered", "duplicate"]
    assert buffered_ids(tmp_path) == ["E1", "E2"]


def test_an_id_is_taken_once_across_projects(log: EventLog, tmp_path: Path) -> None:
    accept(log, "E1")
    assert accept(log, "E1", project_id="p2") == ["duplicate"]
    assert buffered_ids(tmp_path, "p2") == []


def test_an_id_is_taken_once_across_restarts(tmp_path: Path) -> None:
    for status in ("buffered", "duplicate"):
        store = another(tmp_path)
        assert accept(store.events, "E1") == [status]
        store.close()
    assert buffered_ids(tmp_path) == ["E1"]


def test_an_id_is_taken_once_across_processes(log: EventLog, tmp_path: Path) -> None:
    other = another(tmp_path)
    accept(other.events, "E1")
    assert accept(log, "E1") == ["duplicate"]
    other.close()
    assert buffered_ids(tmp_path) == ["E1"]


def test_a_duplicate_leaves_the_first_event_as_it_is(log: EventLog, tmp_path: Path) -> None:
    log.accept([event("E1", "first")], CEILING_BYTES)
    log.accept([event("E1", "second")], CEILING_BYTES)
    assert [one["body"]["content"] for one in buffer_entries(tmp_path)] == ["first"]


# --- the ceiling ----------------------------------------------------------------------------------------------


def test_at_the_ceiling_events_are_stored_and_wait(log: EventLog, tmp_path: Path) -> None:
    assert accept(log, "E1", "E2", "E3", ceiling=ROOM_FOR_TWO) == ["buffered", "buffered", "stored"]
    assert states(tmp_path) == {"E1": "buffered", "E2": "buffered", "E3": "waiting"}


def test_an_event_that_would_fit_waits_behind_one_that_does_not(log: EventLog, tmp_path: Path) -> None:
    long = event("E1", "x" * 2000)
    assert [one.status for one in log.accept([long, event("E2")], 1024)] == ["stored", "stored"]
    assert buffered_ids(tmp_path) == []


def test_events_that_waited_are_fed_in_order_once_there_is_room(log: EventLog, tmp_path: Path) -> None:
    accept(log, "E3", "E1", "E2", ceiling=10)
    log.feed("p1", ROOM_FOR_TWO)
    assert buffered_ids(tmp_path) == ["E3", "E1"]
    log.feed("p1", CEILING_BYTES)
    assert buffered_ids(tmp_path) == ["E3", "E1", "E2"]


def test_the_next_event_feeds_those_that_waited_before_itself(log: EventLog, tmp_path: Path) -> None:
    accept(log, "E2", ceiling=10)
    assert accept(log, "E1") == ["buffered"]
    assert buffered_ids(tmp_path) == ["E2", "E1"]


def test_a_duplicate_of_an_event_that_waits_is_a_duplicate(log: EventLog) -> None:
    accept(log, "E1", ceiling=10)
    assert accept(log, "E1", ceiling=10) == ["duplicate"]


def test_events_that_wait_are_fed_after_a_restart(tmp_path: Path) -> None:
    store = another(tmp_path)
    accept(store.events, "E1", "E2", ceiling=10)
    store.close()
    store = another(tmp_path)
    assert store.events.waiting_projects() == ["p1"]
    store.events.feed("p1", CEILING_BYTES)
    assert (buffered_ids(tmp_path), store.events.waiting_projects()) == (["E1", "E2"], [])
    store.close()


def test_an_event_larger_than_the_ceiling_waits_when_it_is_accepted(log: EventLog, tmp_path: Path) -> None:
    assert [one.status for one in log.accept([event("E1", "x" * 2000)], 1024)] == ["stored"]
    assert buffered_ids(tmp_path) == []


def test_an_event_larger_than_the_ceiling_is_fed_alone_into_a_buffer_without_entries(
    log: EventLog, tmp_path: Path
) -> None:
    log.accept([event("E1", "x" * 2000), event("E2")], 1024)
    log.feed("p1", 1024)
    assert states(tmp_path) == {"E1": "buffered", "E2": "waiting"}
    assert accept(log, "E3", ceiling=1024) == ["stored"]


def test_an_event_larger_than_the_ceiling_waits_until_the_buffer_holds_no_entry(
    store: Store, log: EventLog, tmp_path: Path
) -> None:
    accept(log, "E1", ceiling=1024)
    log.accept([event("E2", "x" * 2000), event("E3")], 1024)
    log.feed("p1", 1024)
    assert buffered_ids(tmp_path) == ["E1"]
    extract_all(store)
    log.feed("p1", 1024)
    assert buffered_ids(tmp_path) == ["E2"]
    extract_all(store)
    log.feed("p1", 1024)
    assert buffered_ids(tmp_path) == ["E3"]


JUNK = b"no line of ours " * 100 + b"\n"


def test_lines_that_are_no_entries_count_while_entries_are_there(log: EventLog, tmp_path: Path) -> None:
    accept(log, "E1")
    with buffer_file(tmp_path).open("ab") as file:
        file.write(JUNK)
    assert accept(log, "E2", ceiling=1024) == ["stored"]
    log.feed("p1", 1024)
    assert buffered_ids(tmp_path) == ["E1"]


def test_lines_that_are_no_entries_do_not_keep_a_batch_up_to_the_ceiling_out(
    store: Store, log: EventLog, tmp_path: Path
) -> None:
    accept(log, "E1")
    with buffer_file(tmp_path).open("ab") as file:
        file.write(JUNK)
    extract_all(store)
    assert accept(log, "E2", "E3", "E4", ceiling=ROOM_FOR_TWO) == ["stored"] * 3
    log.feed("p1", ROOM_FOR_TWO)
    assert (buffered_ids(tmp_path), buffer_file(tmp_path).stat().st_size) == (["E2", "E3"], len(JUNK) + ROOM_FOR_TWO)
    log.feed("p1", ROOM_FOR_TWO)
    assert buffered_ids(tmp_path) == ["E2", "E3"]
    extract_all(store)
    log.feed("p1", ROOM_FOR_TWO)
    assert (buffered_ids(tmp_path), buffer_file(tmp_path).read_bytes().startswith(JUNK)) == (["E4"], True)


def extract_all(store: Store) -> None:
    batch = store.staging.claim("p1", "extraction", lambda free: free)
    store.staging.extract("p1", batch, [], "model", lambda: "R", "now")


def test_what_waits_is_counted(log: EventLog) -> None:
    accept(log, "E1", "E2", "E3", ceiling=ROOM_FOR_TWO)
    assert log.counts("p1").waiting == 1


def test_at_the_ceiling_an_event_costs_the_same_however_many_wait(
    log: EventLog, connection: sqlite3.Connection
) -> None:
    accept(log, "A1", "A2", "A3", ceiling=10)
    few = steps(connection, lambda: accept(log, "A4", ceiling=10))
    accept(log, *(f"B{number}" for number in range(3000)), ceiling=10)
    assert steps(connection, lambda: accept(log, "C1", ceiling=10)) < few + 100


def steps(connection: sqlite3.Connection, work: Callable[[], object]) -> int:
    """How many steps SQLite takes for some work, to the nearest 10."""
    taken = [0]

    def step() -> int:
        taken[0] += 10
        return 0

    connection.set_progress_handler(step, 10)
    work()
    connection.set_progress_handler(None, 0)
    return taken[0]


# --- dying between the steps ----------------------------------------------------------------------------------


def as_if_killed_before_the_mark(data_dir: Path) -> None:
    """What lies on disk when a process dies after the write of the lines and before the mark in the database."""
    change(data_dir, "UPDATE events SET state = 'waiting'")


def test_events_that_were_appended_but_not_marked_are_not_appended_again(log: EventLog, tmp_path: Path) -> None:
    accept(log, "E1", "E2")
    as_if_killed_before_the_mark(tmp_path)
    other = another(tmp_path)
    accept(other.events, "E3")
    other.close()
    assert buffered_ids(tmp_path) == ["E1", "E2", "E3"]
    assert set(states(tmp_path).values()) == {"buffered"}


def test_an_event_that_another_process_fed_and_did_not_mark_is_not_fed_again(tmp_path: Path, store: Store) -> None:
    accept(store.events, "E1", ceiling=10)
    accept(store.events, "E2", ceiling=10)  # this process knows now that E1 is the first that waits
    other = another(tmp_path)
    other.events.feed("p1", CEILING_BYTES)
    other.close()
    as_if_killed_before_the_mark(tmp_path)
    store.events.feed("p1", CEILING_BYTES)
    assert buffered_ids(tmp_path) == ["E1", "E2"]


def test_an_event_whose_line_is_torn_is_appended_again(log: EventLog, tmp_path: Path) -> None:
    accept(log, "E1", "E2")
    as_if_killed_before_the_mark(tmp_path)
    file = buffer_file(tmp_path)
    file.write_bytes(file.read_bytes()[:-10])
    log.feed("p1", CEILING_BYTES)
    assert buffered_ids(tmp_path) == ["E1", "E2"]


def test_an_event_whose_torn_line_was_ended_is_appended_again(log: EventLog, tmp_path: Path) -> None:
    accept(log, "E1")
    as_if_killed_before_the_mark(tmp_path)
    file = buffer_file(tmp_path)
    file.write_bytes(file.read_bytes()[:-10] + b"\n")
    log.feed("p1", CEILING_BYTES)
    assert buffered_ids(tmp_path) == ["E1"]


# --- a disk that refuses --------------------------------------------------------------------------------------


def refuse_the_file(data_dir: Path) -> Path:
    """A folder in the place of the buffer; what to take away again."""
    file = buffer_file(data_dir)
    file.mkdir(parents=True)
    return file


def refuse_the_folder(data_dir: Path) -> Path:
    """A file in the place of the folder of buffers; what to take away again."""
    (data_dir / "buffers").touch()
    return data_dir / "buffers"


REFUSALS = pytest.mark.parametrize("refuse", [refuse_the_file, refuse_the_folder])


def allow(in_the_way: Path) -> None:
    if in_the_way.is_dir():
        in_the_way.rmdir()
    else:
        in_the_way.unlink()


@REFUSALS
def test_events_wait_while_the_disk_refuses_the_buffer(log: EventLog, tmp_path: Path, refuse: type) -> None:
    refuse(tmp_path)
    assert accept(log, "E1", "E2") == ["stored", "stored"]
    assert states(tmp_path) == {"E1": "waiting", "E2": "waiting"}


@REFUSALS
def test_what_the_disk_said_is_told(log: EventLog, tmp_path: Path, refuse: type) -> None:
    refuse(tmp_path)
    accept(log, "E1")
    error = log.disk_error("p1")
    assert error is not None
    assert error.startswith(str(buffer_file(tmp_path)))
    assert error.endswith(("it is a folder, where a file belongs; move it away, and Lithify goes on", "File exists"))


@REFUSALS
def test_events_are_fed_in_order_once_the_disk_takes_them_again(log: EventLog, tmp_path: Path, refuse: type) -> None:
    in_the_way = refuse(tmp_path)
    accept(log, "E3")
    accept(log, "E1")
    allow(in_the_way)
    assert accept(log, "E2") == ["buffered"]
    assert buffered_ids(tmp_path) == ["E3", "E1", "E2"]


@REFUSALS
def test_a_disk_that_takes_the_buffer_again_is_no_error_any_more(log: EventLog, tmp_path: Path, refuse: type) -> None:
    in_the_way = refuse(tmp_path)
    accept(log, "E1")
    allow(in_the_way)
    log.feed("p1", CEILING_BYTES)
    assert log.disk_error("p1") is None


def test_one_projects_disk_error_costs_another_project_nothing(log: EventLog, tmp_path: Path) -> None:
    refuse_the_file(tmp_path)
    events = [event("E1", project_id="p1"), event("E2", project_id="p2")]
    assert [one.status for one in log.accept(events, CEILING_BYTES)] == ["stored", "buffered"]
    assert log.disk_error("p2") is None


def test_events_wait_while_another_process_sits_on_the_lock(log: EventLog, tmp_path: Path) -> None:
    folder = buffer_file(tmp_path).parent
    folder.mkdir(parents=True)
    other = FileLock(folder / "buffer.lock")
    log.buffer("p1").lock.wait_seconds = 0.01
    with other.held():
        assert accept(log, "E1") == ["stored"]
    assert accept(log, "E2") == ["buffered"]
    assert buffered_ids(tmp_path) == ["E1", "E2"]
    other.close()


def test_a_database_that_refuses_accepts_no_event(
    tmp_path: Path, log: EventLog, connection: sqlite3.Connection
) -> None:
    connection.execute("PRAGMA busy_timeout = 0")
    other = sqlite3.connect(tmp_path / "lithify.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        accept(log, "E1")
    other.execute("ROLLBACK")
    other.close()
    assert (states(tmp_path), buffered_ids(tmp_path)) == ({}, [])


def test_a_mark_that_fails_after_the_commit_costs_nothing(
    log: EventLog, connection: sqlite3.Connection, tmp_path: Path
) -> None:
    """Whoever were told of it would try again, and a session would hear the same message twice."""

    def deny(action: int, table: str | None, *_: str | None) -> int:
        return sqlite3.SQLITE_DENY if action == sqlite3.SQLITE_UPDATE and table == "events" else sqlite3.SQLITE_OK

    connection.set_authorizer(deny)
    assert accept(log, "E1") == ["stored"]
    connection.set_authorizer(None)
    assert str(log.disk_error("p1")).endswith("not authorized") or "prohibited" in str(log.disk_error("p1"))
    assert accept(log, "E2") == ["buffered"]
    assert (buffered_ids(tmp_path), set(states(tmp_path).values())) == (["E1", "E2"], {"buffered"})


# --- projects -------------------------------------------------------------------------------------------------


def test_a_project_is_recorded_by_default(log: EventLog) -> None:
    assert log.recording("p1")
    assert log.counts("p1").recording


def test_recording_is_switched_for_every_process(log: EventLog, tmp_path: Path) -> None:
    other = another(tmp_path)
    other.events.set_recording(Project("p1", "/p"), False)
    assert not log.recording("p1")
    assert not log.counts("p1").recording
    other.close()


def test_recording_can_be_switched_on_again(log: EventLog) -> None:
    log.set_recording(Project("p1", "/p"), False)
    log.set_recording(Project("p1", "/p"), True)
    assert log.recording("p1")


def test_to_note_a_project_again_leaves_its_switch(log: EventLog) -> None:
    log.set_recording(Project("p1", "/p"), False)
    log.note_project(Project("p1", "/p"))
    assert not log.recording("p1")


def test_a_root_that_is_no_utf8_is_noted(log: EventLog, tmp_path: Path) -> None:
    log.note_project(Project("p1", "/caf\udce9"))
    assert rows(tmp_path, "SELECT root FROM projects") == [("/caf?",)]


def test_the_size_is_that_of_the_file(log: EventLog) -> None:
    accept(log, "E1", "E2")
    assert (log.size("p1").entries, log.size("p1").size_bytes) == (2, ROOM_FOR_TWO)


def test_records_are_counted_for_each_project(log: EventLog, tmp_path: Path) -> None:
    for number, project_id in enumerate(("p1", "p1", "p2")):
        change(
            tmp_path,
            "INSERT INTO memory_records (record_id, number, project_id, type, exact_key, title, summary, facts,"
            " concepts, files, method, created_at, updated_at)"
            " VALUES (?, ?, ?, 'decision', 'k', 't', 's', '[]', '[]', '[]', 'offline', 'now', 'now')",
            f"R{number}",
            number,
            project_id,
        )
    assert log.counts("p1").records == 2
