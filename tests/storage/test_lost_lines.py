"""Lines that somebody took out of a buffer by hand: their events wait again, and are fed in again, in order, once."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lithify.core.entries import Entry, summary_entry
from lithify.core.eviction import evict
from lithify.core.projects import Project
from lithify.core.records import RecordDraft
from lithify.storage.store import Store, open_store
from tests.storage.auditing import audit
from tests.storage.seam import at_each_call, calls_noted, dying_at, failing_from
from tests.support.clock import Clock, Ids
from tests.support.stores import CEILING_BYTES, buffer_file, buffered_ids, change, event, rows, states

FOUR = ["E1", "E2", "E3", "E4"]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A store with four events in the buffer of `p1`."""
    opened = open_store(tmp_path, Clock())
    opened.events.note_project(Project("p1", "/p1"))
    opened.events.accept([event(one) for one in FOUR], CEILING_BYTES)
    yield opened
    opened.close()


@pytest.fixture
def other(store: Store, tmp_path: Path) -> Iterator[Store]:
    """Another process on the same data folder, which has looked at the buffer."""
    opened = open_store(tmp_path, Clock())
    opened.staging.entries("p1")
    yield opened
    opened.close()


def look(store: Store) -> None:
    """What the watcher does every second."""
    for project_id in store.events.waiting_projects():
        store.events.feed(project_id, CEILING_BYTES)


def claim(store: Store) -> list[Entry]:
    return store.staging.claim("p1", "extraction", lambda free: free)


def extract(store: Store, batch: list[Entry]) -> int:
    ids = tuple(one for entry in batch for one in entry.covered_ids)
    draft = RecordDraft("decision", "A title", " ".join(ids), source_event_ids=ids)
    return store.staging.extract("p1", batch, [draft], "model", Ids(), "now")


def named(tmp_path: Path) -> list[str]:
    return [row[0] for row in rows(tmp_path, "SELECT event_id FROM record_events ORDER BY event_id")]


# --- ways to lose lines ---


def delete_the_file(file: Path) -> None:
    file.unlink()


def delete_the_folder(file: Path) -> None:
    for one in file.parent.iterdir():
        one.unlink()
    file.parent.rmdir()


def empty_the_file(file: Path) -> None:
    os.truncate(file, 0)


def cut_the_file(file: Path) -> None:
    """The second line is torn, the rest is gone."""
    os.truncate(file, len(file.read_bytes().splitlines(keepends=True)[0]) + 30)


def save_without_a_line(file: Path) -> None:
    """As an editor saves: a new file in the place of the old one."""
    lines = file.read_bytes().splitlines(keepends=True)
    saved = file.with_name("saved")
    saved.write_bytes(b"".join(lines[:1] + lines[2:]))
    saved.replace(file)


def overwrite_a_line(file: Path) -> None:
    """In its place, and as long as it was; the clock of the file system goes on."""
    data, status = bytearray(file.read_bytes()), file.stat()
    data[data.index(b"\n") + 1] = ord("#")
    file.write_bytes(data)
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns + 1))


def overwrite_all(file: Path) -> None:
    """In its place, and longer than it was."""
    file.write_bytes(b"not a line of ours, but a long one\n" * 100)


WAYS = [
    delete_the_file,
    delete_the_folder,
    empty_the_file,
    cut_the_file,
    save_without_a_line,
    overwrite_a_line,
]
LOSSES = pytest.mark.parametrize("lose", WAYS)
ALL_LOSSES = pytest.mark.parametrize("lose", [*WAYS, overwrite_all])
LOST_ALL = pytest.mark.parametrize("lose", [delete_the_file, delete_the_folder, empty_the_file])

Loss = Callable[[Path], None]


# --- they come back ---


@LOSSES
def test_a_look_feeds_events_in_again_whose_lines_were_lost(store: Store, tmp_path: Path, lose: Loss) -> None:
    lose(buffer_file(tmp_path))
    look(store)
    assert (sorted(buffered_ids(tmp_path)), set(states(tmp_path).values())) == (FOUR, {"buffered"})


@LOSSES
def test_the_look_of_another_process_does_so_too(store: Store, other: Store, tmp_path: Path, lose: Loss) -> None:
    lose(buffer_file(tmp_path))
    look(other)
    look(store)
    assert sorted(buffered_ids(tmp_path)) == FOUR


@ALL_LOSSES
def test_a_snapshot_lets_events_wait_again_whose_lines_were_lost(store: Store, tmp_path: Path, lose: Loss) -> None:
    lose(buffer_file(tmp_path))
    there = {one.event_id for one in store.staging.entries("p1")}
    assert {one for one, state in states(tmp_path).items() if state == "waiting"} == set(FOUR) - there != set()


@ALL_LOSSES
def test_the_first_use_by_a_process_heals_what_was_lost_before(store: Store, tmp_path: Path, lose: Loss) -> None:
    store.close()
    lose(buffer_file(tmp_path))
    again = open_store(tmp_path, Clock())
    look(again)
    again.close()
    assert sorted(buffered_ids(tmp_path)) == FOUR


@LOSSES
def test_the_first_event_of_a_process_heals_what_was_lost_before(store: Store, tmp_path: Path, lose: Loss) -> None:
    store.close()
    lose(buffer_file(tmp_path))
    again = open_store(tmp_path, Clock())
    assert [one.status for one in again.events.accept([event("E5")], CEILING_BYTES)] == ["buffered"]
    again.close()
    assert buffered_ids(tmp_path)[-1] == "E5"
    assert sorted(buffered_ids(tmp_path)) == [*FOUR, "E5"]


@LOST_ALL
def test_events_that_are_fed_in_again_keep_their_order_and_come_before_a_new_one(
    store: Store, tmp_path: Path, lose: Loss
) -> None:
    lose(buffer_file(tmp_path))
    store.events.accept([event("E5")], CEILING_BYTES)
    assert (buffered_ids(tmp_path), audit(tmp_path)) == ([*FOUR, "E5"], [])


def test_a_file_that_others_appended_to_and_somebody_cut_is_healed(store: Store, other: Store, tmp_path: Path) -> None:
    before = buffer_file(tmp_path).stat().st_size
    other.events.accept([event("E5"), event("E6")], CEILING_BYTES)
    look(store)
    os.truncate(buffer_file(tmp_path), before + 10)
    look(store)
    assert sorted(buffered_ids(tmp_path)) == [*FOUR, "E5", "E6"]


def test_an_append_to_a_file_that_somebody_edited_does_not_hide_what_was_lost(store: Store, tmp_path: Path) -> None:
    save_without_a_line(buffer_file(tmp_path))
    store.events.accept([event("E5")], CEILING_BYTES)
    look(store)
    assert buffered_ids(tmp_path) == ["E1", "E3", "E4", "E5", "E2"]


def test_a_file_that_others_made_after_it_was_empty_and_somebody_deleted_is_healed(
    store: Store, other: Store, tmp_path: Path
) -> None:
    extract(store, claim(store))
    look(store)
    other.events.accept([event("E5")], CEILING_BYTES)
    buffer_file(tmp_path).unlink()
    look(store)
    assert buffered_ids(tmp_path) == ["E5"]


def test_a_line_in_the_middle_that_was_damaged_is_kept_and_its_event_gets_a_new_one(
    store: Store, tmp_path: Path
) -> None:
    overwrite_a_line(buffer_file(tmp_path))
    broken = buffer_file(tmp_path).read_bytes().splitlines()[1]
    look(store)
    assert [one.event_id for one in store.staging.entries("p1")] == ["E1", "E3", "E4", "E2"]
    assert buffer_file(tmp_path).read_bytes().splitlines()[1] == broken


def test_the_events_of_a_summary_that_was_lost_are_fed_in_by_themselves(store: Store, tmp_path: Path) -> None:
    first, second = store.staging.entries("p1")[:2]
    store.staging.replace("p1", {"E1", "E2"}, [summary_entry("S", [first, second], "dense", ["E1", "E2"])])
    buffer_file(tmp_path).unlink()
    look(store)
    assert buffered_ids(tmp_path) == FOUR


def test_events_under_a_summary_are_not_lost(store: Store, tmp_path: Path) -> None:
    there = store.staging.entries("p1")
    store.staging.replace("p1", set(FOUR), [summary_entry("S", there, "dense", FOUR)])
    before = buffer_file(tmp_path).read_bytes()
    again = open_store(tmp_path, Clock())
    look(again)
    again.close()
    assert (buffer_file(tmp_path).read_bytes(), set(states(tmp_path).values())) == (before, {"buffered"})


def test_at_the_ceiling_lost_events_wait_for_room(store: Store, tmp_path: Path) -> None:
    line = buffer_file(tmp_path).stat().st_size // 4
    buffer_file(tmp_path).unlink()
    store.events.feed("p1", 2 * line)
    assert list(states(tmp_path).values()) == ["buffered", "buffered", "waiting", "waiting"]


def test_what_was_lost_is_told_once_with_how_many_there_were(
    store: Store, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    buffer_file(tmp_path).unlink()
    for _ in range(3):
        look(store)
    assert [one.getMessage() for one in caplog.records] == [
        f"{buffer_file(tmp_path)}: events whose lines are gone or cannot be read, and are fed in again: 4"
    ]


# --- what is gone stays gone ---


@LOST_ALL
def test_what_was_extracted_or_let_go_does_not_come_back(store: Store, tmp_path: Path, lose: Loss) -> None:
    extract(store, store.staging.claim("p1", "extraction", lambda free: free[:1]))
    store.staging.evict("p1", evict(store.staging.entries("p1")[:2]))
    left = buffered_ids(tmp_path)
    lose(buffer_file(tmp_path))
    look(store)
    assert (buffered_ids(tmp_path), sorted(states(tmp_path).values())) == (
        left,
        ["buffered"] * len(left) + ["evicted"] * (3 - len(left)) + ["extracted"],
    )


def test_a_batch_whose_lines_were_lost_while_a_model_worked_is_extracted_once(
    store: Store, other: Store, tmp_path: Path
) -> None:
    batch = claim(store)
    buffer_file(tmp_path).unlink()
    look(other)
    assert extract(store, batch) == 4
    look(other)
    assert (buffered_ids(tmp_path), set(states(tmp_path).values()), audit(tmp_path)) == ([], {"extracted"}, [])


def test_a_batch_that_waits_again_when_its_model_answers_is_extracted_once(
    store: Store, other: Store, tmp_path: Path
) -> None:
    batch = claim(store)
    buffer_file(tmp_path).unlink()
    other.events.feed("p1", 1)  # room for the first event alone
    assert list(states(tmp_path).values()) == ["buffered", "waiting", "waiting", "waiting"]
    extract(store, batch)
    look(other)
    assert (buffered_ids(tmp_path), set(states(tmp_path).values()), named(tmp_path)) == ([], {"extracted"}, FOUR)


def test_an_event_extracted_between_its_append_and_its_mark_stays_extracted(store: Store, tmp_path: Path) -> None:
    """A worker needs no lock to say that a batch is extracted."""
    buffer_file(tmp_path).unlink()

    def extracted_meanwhile(_number: int, name: str, _arguments: tuple[Any, ...]) -> None:
        if name == "write":
            change(tmp_path, "UPDATE events SET state = 'extracted' WHERE event_id = 'E1'")

    with at_each_call(extracted_meanwhile):
        store.events.feed("p1", CEILING_BYTES)
    assert (states(tmp_path)["E1"], [one.event_id for one in store.staging.entries("p1")]) == ("extracted", FOUR[1:])


def test_lines_that_come_back_too_are_dropped_where_their_events_are_gone(store: Store, tmp_path: Path) -> None:
    saved = buffer_file(tmp_path).read_bytes()
    extract(store, store.staging.claim("p1", "extraction", lambda free: free[:2]))
    buffer_file(tmp_path).write_bytes(saved)
    assert [one.event_id for one in store.staging.entries("p1")] == ["E3", "E4"]


def test_lines_that_come_back_before_their_events_were_fed_in_again_are_there_once(
    store: Store, tmp_path: Path
) -> None:
    saved = buffer_file(tmp_path).read_bytes()
    buffer_file(tmp_path).unlink()
    store.staging.entries("p1")
    buffer_file(tmp_path).write_bytes(saved.split(b"\n", 1)[1])  # all but the first
    look(store)
    assert (buffered_ids(tmp_path), audit(tmp_path)[1:]) == (["E2", "E3", "E4", "E1"], [])


# --- it costs little ---


def reads_of(work: Callable[[], object]) -> int:
    with calls_noted() as calls:
        work()
    return [name for name, _ in calls].count("read")


def test_an_append_reads_no_file(store: Store) -> None:
    assert reads_of(lambda: store.events.accept([event("E5")], CEILING_BYTES)) == 0


def test_an_append_after_one_of_another_process_reads_no_file(store: Store, other: Store) -> None:
    other.events.accept([event("E5")], CEILING_BYTES)
    assert reads_of(lambda: store.events.accept([event("E6")], CEILING_BYTES)) == 0


def test_an_append_after_an_extraction_of_another_process_reads_no_file(store: Store, other: Store) -> None:
    extract(other, other.staging.claim("p1", "extraction", lambda free: free[:1]))
    assert reads_of(lambda: store.events.accept([event("E6")], CEILING_BYTES)) == 0


def test_a_look_at_a_buffer_that_only_grew_reads_no_file(store: Store, other: Store) -> None:
    other.events.accept([event("E5")], CEILING_BYTES)
    assert reads_of(lambda: look(store)) == 0


def test_a_look_after_a_rewrite_of_its_own_reads_no_file(store: Store) -> None:
    extract(store, store.staging.claim("p1", "extraction", lambda free: free[:1]))
    assert reads_of(lambda: look(store)) == 0


def test_the_events_that_should_be_in_a_buffer_are_found_through_an_index(store: Store, tmp_path: Path) -> None:
    plan = rows(
        tmp_path, "EXPLAIN QUERY PLAN SELECT event_id FROM events WHERE project_id = 'p1' AND state = 'buffered'"
    )
    assert [row[3] for row in plan] == ["SEARCH events USING INDEX events_buffered (project_id=?)"]


# --- healing that is cut short ---


def test_healing_can_fail_or_die_at_any_call_and_is_made_up_for(tmp_path: Path) -> None:
    found = {}
    for number in range(20):
        for kind in ("fails", "dies"):
            data_dir = tmp_path / f"{number}-{kind}"
            store = open_store(data_dir, Clock())
            store.events.accept([event(one) for one in FOUR], CEILING_BYTES)
            buffer_file(data_dir).unlink()
            with failing_from(number, errno.EIO, number) if kind == "fails" else dying_at(number):
                store.events.feed("p1", CEILING_BYTES)
            store.close()
            again = open_store(data_dir, Clock())
            again.events.feed("p1", CEILING_BYTES)
            again.close()
            found[number, kind] = (json.dumps(buffered_ids(data_dir)), audit(data_dir))
    assert {str(one) for one in found.values()} == {str((json.dumps(FOUR), []))}
