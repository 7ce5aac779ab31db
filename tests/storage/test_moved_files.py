"""Locks whose file somebody moves away or deletes, alone or with its folder: they exclude others all the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lithify.core.projects import Project
from lithify.storage.locks import FileLock, LockTaken
from lithify.storage.store import Store, open_store
from tests.storage.auditing import audit
from tests.support.clock import Clock
from tests.support.stores import CEILING_BYTES, buffer_file, buffered_ids, event

Lose = Callable[[Path], None]


def move_the_folder(lock: Path) -> None:
    lock.parent.rename(lock.parent.with_name("moved away"))


def move_the_file(lock: Path) -> None:
    lock.rename(lock.with_name("moved away"))


def delete_the_file(lock: Path) -> None:
    lock.unlink()


LOSSES = pytest.mark.parametrize("lose", [move_the_folder, move_the_file, delete_the_file])


@pytest.fixture
def lock(tmp_path: Path) -> Iterator[FileLock]:
    """A lock that was had before: its file is open."""
    made = FileLock(tmp_path / "folder" / "a.lock", wait_seconds=0)
    with made.held():
        pass
    yield made
    made.close()


@pytest.fixture
def other(tmp_path: Path) -> Iterator[FileLock]:
    """The lock of another process, which never had it yet."""
    made = FileLock(tmp_path / "folder" / "a.lock", wait_seconds=0)
    yield made
    made.close()


@pytest.fixture
def windows(tmp_path: Path) -> Iterator[tuple[Store, Store]]:
    """Two processes on one data folder, with two events in the buffer of `p1`; both had its locks."""
    first, second = open_store(tmp_path, Clock()), open_store(tmp_path, Clock())
    first.events.note_project(Project("p1", "/p1"))
    first.events.accept([event("E1"), event("E2")], CEILING_BYTES)
    for store in (first, second):
        store.staging.entries("p1")
        store.staging.begin_extraction("p1")
        store.staging.end_extraction("p1")
        store.staging.begin_compaction()
        store.staging.end_compaction()
    yield first, second
    first.close()
    second.close()


@LOSSES
def test_a_lock_whose_file_is_gone_is_taken_on_the_new_one(lock: FileLock, other: FileLock, lose: Lose) -> None:
    lose(lock.path)
    with other.held():
        assert not lock.try_acquire()
        with pytest.raises(LockTaken), lock.held():
            pass


@LOSSES
def test_a_lock_whose_file_is_gone_is_made_anew(lock: FileLock, other: FileLock, lose: Lose) -> None:
    lose(lock.path)
    with lock.held():
        assert lock.path.exists()
        assert not other.try_acquire()


@LOSSES
def test_a_lock_is_seen_to_be_held_on_the_new_file(lock: FileLock, other: FileLock, lose: Lose) -> None:
    lose(lock.path)
    with other.held():
        assert lock.is_held()


def test_a_lock_whose_file_was_moved_while_it_was_held_is_given_back(lock: FileLock, other: FileLock) -> None:
    with lock.held():
        move_the_folder(lock.path)
    assert other.try_acquire()


def test_after_a_wait_in_vain_the_next_one_is_short(lock: FileLock, other: FileLock) -> None:
    with other.held():
        with pytest.raises(LockTaken), lock.held():
            pass
        lock.wait_seconds = 3600
        with pytest.raises(LockTaken), lock.held():
            pass


def test_events_go_on_into_a_new_folder_when_the_buffer_s_was_moved_away(
    windows: tuple[Store, Store], tmp_path: Path
) -> None:
    move_the_folder(buffer_file(tmp_path))
    results = [
        store.events.accept([event(one)], CEILING_BYTES) for store, one in zip(windows, ("E3", "E4"), strict=True)
    ]
    assert [one.status for (one,) in results] == ["buffered", "buffered"]
    assert (buffered_ids(tmp_path), windows[0].events.disk_error("p1")) == (["E1", "E2", "E3", "E4"], None)


def test_a_buffer_whose_folder_was_moved_away_is_one_buffer_for_both_windows(
    windows: tuple[Store, Store], tmp_path: Path
) -> None:
    first, second = windows
    move_the_folder(buffer_file(tmp_path))
    first.events.buffer("p1").lock.wait_seconds = 0
    with second.events.buffer("p1").held():
        assert [one.status for one in first.events.accept([event("E3")], CEILING_BYTES)] == ["stored"]
    for project_id in first.events.waiting_projects():
        first.events.feed(project_id, CEILING_BYTES)
    assert (buffered_ids(tmp_path), audit(tmp_path)) == (["E1", "E2", "E3"], [])


def test_two_windows_do_not_extract_at_once_when_the_folder_was_moved_away(
    windows: tuple[Store, Store], tmp_path: Path
) -> None:
    first, second = windows
    move_the_folder(buffer_file(tmp_path))
    assert (second.staging.begin_extraction("p1"), first.staging.begin_extraction("p1")) == (True, False)
    assert first.staging.is_working("p1", "extraction")


def test_two_windows_do_not_compact_at_once_when_the_lock_was_moved_away(
    windows: tuple[Store, Store], tmp_path: Path
) -> None:
    first, second = windows
    move_the_file(tmp_path / "compaction.lock")
    assert (second.staging.begin_compaction(), first.staging.begin_compaction()) == (True, False)
