"""Buffers that stayed when the database was deleted while nobody used it: their projects are known again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from lithify.core.projects import Project
from lithify.storage.store import Store, open_store
from tests.storage.auditing import audit
from tests.support.clock import Clock
from tests.support.stores import CEILING_BYTES, buffer_file, buffered_ids, event, rows, states


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A store that was opened after its database was deleted; two events of `p1` are in a buffer that stayed."""
    with closing(open_store(tmp_path, Clock())) as before:
        before.events.note_project(Project("p1", "/p1"))
        before.events.accept([event("E1"), event("E2")], CEILING_BYTES)
    for file in tmp_path.glob("lithify.db*"):
        file.unlink()
    opened = open_store(tmp_path, Clock())
    yield opened
    opened.close()


def opened_with(data_dir: Path, content: bytes) -> list[str]:
    """The projects that a store knows that is opened where a buffer of `p1` holds this."""
    buffer_file(data_dir).parent.mkdir(parents=True)
    buffer_file(data_dir).write_bytes(content)
    with closing(open_store(data_dir, Clock())) as opened:
        return [look.project.project_id for look in opened.staging.look()]


def test_the_watcher_sees_a_buffer_that_was_left_behind(store: Store, tmp_path: Path) -> None:
    (look,) = store.staging.look()
    assert (look.project.project_id, look.size_bytes) == ("p1", buffer_file(tmp_path).stat().st_size)


def test_what_was_left_behind_is_adopted(store: Store, tmp_path: Path) -> None:
    assert [one.event_id for one in store.staging.entries("p1")] == ["E1", "E2"]
    assert (states(tmp_path), audit(tmp_path)) == ({"E1": "buffered", "E2": "buffered"}, [])


def test_the_root_of_a_project_that_was_left_behind_is_the_folder_of_its_buffer(store: Store, tmp_path: Path) -> None:
    assert store.staging.look()[0].project.root == str(buffer_file(tmp_path).parent)


def test_the_root_is_put_right_when_the_project_is_heard_of(store: Store) -> None:
    store.events.note_project(Project("p1", "/p1"))
    assert store.staging.look()[0].project == Project("p1", "/p1")


def test_the_root_is_put_right_when_recording_is_switched(store: Store) -> None:
    store.events.set_recording(Project("p1", "/p1"), enabled=False)
    assert (store.staging.look()[0].project, store.events.recording("p1")) == (Project("p1", "/p1"), False)


def test_a_project_that_is_known_stays_as_it_is(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with closing(open_store(tmp_path, Clock())) as before:
        before.events.set_recording(Project("p1", "/p1"), enabled=False)
        before.events.accept([event("E1")], CEILING_BYTES)
    open_store(tmp_path, Clock()).close()
    assert (rows(tmp_path, "SELECT root, recording FROM projects"), caplog.messages) == ([("/p1", 0)], [])


def test_what_was_left_behind_is_told_once(store: Store, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    open_store(tmp_path, Clock()).close()
    assert caplog.messages == []
    assert buffered_ids(tmp_path) == ["E1", "E2"]


@pytest.mark.parametrize("content", [b"", b"no entry\n", b'{"event_id":"E1"}\n'])
def test_a_buffer_without_a_line_of_its_project_is_left_alone(tmp_path: Path, content: bytes) -> None:
    assert opened_with(tmp_path, content) == []


def test_a_buffer_of_another_project_s_lines_is_left_alone(store: Store, tmp_path: Path) -> None:
    assert opened_with(tmp_path / "other", buffer_file(tmp_path).read_bytes().replace(b"/p1/", b"/p2/")) == []


def test_what_is_no_folder_costs_nothing(tmp_path: Path) -> None:
    (tmp_path / "buffers").mkdir()
    (tmp_path / "buffers" / "a file").write_text("x")
    open_store(tmp_path, Clock()).close()
    assert rows(tmp_path, "SELECT * FROM projects") == []


def test_a_buffer_that_is_no_file_is_told_and_costs_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    buffer_file(tmp_path).mkdir(parents=True)
    open_store(tmp_path, Clock()).close()
    assert "cannot be read" in caplog.text
    assert rows(tmp_path, "SELECT * FROM projects") == []
