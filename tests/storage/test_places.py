"""What is no regular file, in the place of one of ours: nothing hangs, nothing is lost, and work goes on after."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lithify.core.projects import Project
from lithify.core.records import RecordDraft
from lithify.storage.buffer import Buffer
from lithify.storage.database import open_database
from lithify.storage.locks import FileLock
from lithify.storage.paths import NotAFile, open_private
from lithify.storage.reading import Unusable, buffer_size, is_working, read_buffer, read_store
from lithify.storage.store import Store, open_store
from tests.storage.auditing import audit
from tests.support.clock import Clock, Ids
from tests.support.stores import CEILING_BYTES, buffer_file, buffered_ids, event, states

pytestmark = pytest.mark.timeout(20)

Put = Callable[[Path], None]


def put_folder(path: Path) -> None:
    path.mkdir()


def put_pipe(path: Path) -> None:
    os.mkfifo(path)


def put_socket(path: Path) -> None:
    before = Path.cwd()
    os.chdir(path.parent)  # the path of a socket may not be long
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(before)


def put_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


KINDS = {"a folder": put_folder, "a named pipe": put_pipe, "a socket": put_socket, "a device": put_device}


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    """What lies there."""
    name: str = request.param
    return name


@pytest.fixture
def put(kind: str) -> Put:
    """Puts it there."""
    return KINDS[kind]


def take_away(path: Path) -> None:
    if stat.S_ISDIR(path.lstat().st_mode):
        path.rmdir()
    else:
        path.unlink()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A store with two events in the buffer of `p1`."""
    opened = open_store(tmp_path, Clock())
    opened.events.note_project(Project("p1", "/p1"))
    opened.events.accept([event("E1"), event("E2")], CEILING_BYTES)
    yield opened
    opened.close()


def told(path: Path, kind: str) -> str:
    return f"{path}: it is {kind}, where a file belongs; move it away, and Lithify goes on"


def blocked(store: Store, tmp_path: Path, put: Put) -> Path:
    """The buffer's file, in whose place something else lies now."""
    file = buffer_file(tmp_path)
    file.unlink()
    put(file)
    return file


# --- the buffer itself ---

DO: dict[str, Callable[[Buffer], object]] = {
    "append": lambda buffer: buffer.append(["{}"], CEILING_BYTES),
    "read": lambda buffer: buffer.read(),
    "size": lambda buffer: buffer.size(),
    "stamp": lambda buffer: buffer.stamp(),
    "lines": lambda buffer: buffer.lines(),
}


@pytest.mark.parametrize("work", DO)
def test_no_work_on_a_buffer_that_is_no_file_hangs(tmp_path: Path, put: Put, kind: str, work: str) -> None:
    buffer = Buffer(tmp_path)
    put(buffer.path)
    with pytest.raises(NotAFile) as refusal:
        DO[work](buffer)
    assert str(refusal.value) == told(buffer.path, kind)


def test_a_link_to_a_file_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").touch()
    (tmp_path / "buffer.ndjson").symlink_to(tmp_path / "elsewhere")
    assert Buffer(tmp_path).append(["{}"], CEILING_BYTES) == 1


def test_nothing_is_left_open(tmp_path: Path, put: Put) -> None:
    put(tmp_path / "x")
    before = os.listdir("/dev/fd")
    for _ in range(3):
        with pytest.raises(NotAFile):
            open_private(tmp_path / "x", os.O_RDONLY)
    assert len(os.listdir("/dev/fd")) == len(before)


# --- a project whose buffer is no file ---


def test_events_wait_while_something_else_is_there(store: Store, tmp_path: Path, put: Put) -> None:
    blocked(store, tmp_path, put)
    assert [one.status for one in store.events.accept([event("E3")], CEILING_BYTES)] == ["stored"]
    assert states(tmp_path)["E3"] == "waiting"


def test_the_status_has_its_counts_and_says_what_is_in_the_way(
    store: Store, tmp_path: Path, put: Put, kind: str
) -> None:
    file = blocked(store, tmp_path, put)
    store.events.accept([event("E3")], CEILING_BYTES)
    assert (store.events.size("p1").size_bytes, store.events.counts("p1").waiting) == (0, 1)
    assert store.events.disk_error("p1") == told(file, kind)


def test_it_is_told_before_anything_was_tried(store: Store, tmp_path: Path, put: Put, kind: str) -> None:
    file = blocked(store, tmp_path, put)
    assert store.events.disk_error("p1") == told(file, kind)


def test_a_snapshot_is_refused_and_loses_nothing(store: Store, tmp_path: Path, put: Put) -> None:
    blocked(store, tmp_path, put)
    with pytest.raises(NotAFile):
        store.staging.entries("p1")
    assert set(states(tmp_path).values()) == {"buffered"}


def test_a_look_leaves_it_out(store: Store, tmp_path: Path, put: Put) -> None:
    blocked(store, tmp_path, put)
    assert (store.staging.look(), store.events.waiting_projects()) == ([], [])


def test_work_resumes_when_it_is_taken_away(store: Store, tmp_path: Path, put: Put) -> None:
    file = blocked(store, tmp_path, put)
    store.events.accept([event("E3")], CEILING_BYTES)
    with pytest.raises(NotAFile):
        store.staging.entries("p1")
    take_away(file)
    for project_id in store.events.waiting_projects():
        store.events.feed(project_id, CEILING_BYTES)
    assert (buffered_ids(tmp_path), audit(tmp_path)) == (["E1", "E2", "E3"], [])
    assert store.events.disk_error("p1") is None


def test_without_events_that_wait_work_resumes_too(store: Store, tmp_path: Path, put: Put) -> None:
    take_away(blocked(store, tmp_path, put))
    for project_id in store.events.waiting_projects():
        store.events.feed(project_id, CEILING_BYTES)
    assert (buffered_ids(tmp_path), store.events.disk_error("p1")) == (["E1", "E2"], None)


def test_an_extraction_whose_buffer_is_no_file_any_more_is_kept(store: Store, tmp_path: Path, put: Put) -> None:
    batch = store.staging.claim("p1", "extraction", lambda free: free)
    file = blocked(store, tmp_path, put)
    draft = RecordDraft("decision", "A title", "words", source_event_ids=("E1", "E2"))
    with pytest.raises(NotAFile):
        store.staging.extract("p1", batch, [draft], "model", Ids(), "now")
    take_away(file)
    assert (store.staging.entries("p1"), set(states(tmp_path).values())) == ([], {"extracted"})


# --- locks ---


def test_a_lock_that_is_no_file_is_refused(tmp_path: Path, put: Put, kind: str) -> None:
    put(tmp_path / "a.lock")
    lock = FileLock(tmp_path / "a.lock")
    for work in (lock.try_acquire, lock.is_held, lock.held().__enter__):
        with pytest.raises(NotAFile, match=f"a.lock: it is {kind}"):
            work()


def test_events_wait_while_the_buffer_s_lock_is_no_file(store: Store, tmp_path: Path, put: Put, kind: str) -> None:
    store.events.close()
    lock = buffer_file(tmp_path).with_name("buffer.lock")
    lock.unlink()
    put(lock)
    assert [one.status for one in store.events.accept([event("E3")], CEILING_BYTES)] == ["stored"]
    assert store.events.disk_error("p1") == told(lock, kind)
    take_away(lock)
    store.events.feed("p1", CEILING_BYTES)
    assert (buffered_ids(tmp_path), store.events.disk_error("p1")) == (["E1", "E2", "E3"], None)


def test_a_work_lock_that_is_no_file_is_a_disk_error_and_nobody_works(
    store: Store, tmp_path: Path, put: Put, kind: str
) -> None:
    lock = buffer_file(tmp_path).with_name("extraction.lock")
    put(lock)
    assert not store.staging.is_working("p1", "extraction")
    assert store.events.disk_error("p1") == told(lock, kind)
    take_away(lock)
    assert not store.staging.is_working("p1", "extraction")
    assert store.events.disk_error("p1") is None


def test_a_lock_of_compactions_that_is_no_file_is_a_disk_error(
    store: Store, tmp_path: Path, put: Put, kind: str
) -> None:
    lock = tmp_path / "compaction.lock"
    put(lock)
    assert not store.staging.is_working("p1", "compaction")
    assert store.events.disk_error("p1") == told(lock, kind)
    take_away(lock)
    assert not store.staging.is_working("p1", "compaction")
    assert store.events.disk_error("p1") is None


# --- the database ---


def test_a_database_that_is_no_file_is_refused(tmp_path: Path, put: Put, kind: str) -> None:
    path = tmp_path / "lithify.db"
    put(path)
    with pytest.raises(NotAFile) as refusal:
        open_database(path)
    assert str(refusal.value) == told(path, kind)


def test_to_open_a_database_gives_up_no_lock_that_this_process_has_on_it(tmp_path: Path) -> None:
    """A file that is closed takes all locks of its process on it along. Whoever closes the database next would take
    themselves for the last one, and delete the write-ahead log under a connection that is open."""
    first = open_database(tmp_path / "lithify.db")
    open_database(tmp_path / "lithify.db").close()
    script = "import sqlite3, sys; other = sqlite3.connect(sys.argv[1])\n"
    script += "other.execute('SELECT count(*) FROM events').fetchone(); other.close()"
    subprocess.run([sys.executable, "-c", script, str(tmp_path / "lithify.db")], check=True)
    still_there = (tmp_path / "lithify.db-wal").exists()
    first.close()
    assert still_there


# --- reading only ---


def test_who_only_reads_is_told_what_is_in_the_way(store: Store, tmp_path: Path, put: Put, kind: str) -> None:
    blocked(store, tmp_path, put)
    for read in (read_buffer, buffer_size):
        with pytest.raises(Unusable, match=f"buffer.ndjson cannot be read or written .it is {kind}"):
            read(tmp_path, "p1")


def test_who_only_reads_takes_a_lock_that_is_no_file_for_a_free_one(store: Store, tmp_path: Path, put: Put) -> None:
    put(buffer_file(tmp_path).with_name("extraction.lock"))
    assert not is_working(store, tmp_path, "p1", "extraction")


def test_who_only_reads_is_told_of_a_database_that_is_no_file(tmp_path: Path, put: Put, kind: str) -> None:
    put(tmp_path / "lithify.db")
    with pytest.raises(Unusable, match=f"lithify.db cannot be read or written .it is {kind}"):
        read_store(tmp_path, lambda _: None)
