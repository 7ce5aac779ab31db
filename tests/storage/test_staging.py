"""What the two workers do to a buffer: claims, extraction, summaries, eviction; and what stands in it that is odd."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from lithify.core.entries import Entry, entry_line, read_lines, summary_entry
from lithify.core.eviction import evict
from lithify.core.pipeline import Purpose, RunState
from lithify.core.projects import Project
from lithify.core.records import RecordDraft
from lithify.storage.locks import LockUnavailable
from lithify.storage.store import Store, open_store
from tests.storage.auditing import audit
from tests.support.clock import Clock, Ids
from tests.support.stores import CEILING_BYTES, buffer_file, buffered_ids, change, event, rows, states

ROOT = Path(__file__).resolve().parents[2]
NEW_ID = Ids()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A store with four events in the buffer of `p1`."""
    opened = open_store(tmp_path, Clock())
    opened.events.accept([event(f"E{number}") for number in range(1, 5)], CEILING_BYTES)
    yield opened
    opened.close()


@pytest.fixture
def other(store: Store, tmp_path: Path) -> Iterator[Store]:
    """Another process on the same data folder."""
    opened = open_store(tmp_path, Clock())
    yield opened
    opened.close()


def ids(entries: Sequence[Entry]) -> list[str]:
    return [entry.event_id for entry in entries]


def entries(store: Store) -> list[Entry]:
    return store.staging.entries("p1")


def claim(store: Store, purpose: Purpose, *wanted: str) -> list[Entry]:
    return store.staging.claim("p1", purpose, lambda free: [one for one in free if one.event_id in wanted])


def extract(store: Store, batch: Sequence[Entry], *drafts: RecordDraft) -> int:
    return store.staging.extract("p1", batch, drafts, "model", NEW_ID, "2026-01-02T03:04:05Z")


def draft(*event_ids: str, title: str = "Tokens expire") -> RecordDraft:
    return RecordDraft("decision", title, "because of the clock", source_event_ids=event_ids)


def summary(name: str, *covered: Entry) -> Entry:
    return summary_entry(name, covered, "dense", [one for entry in covered for one in entry.covered_ids])


def compact(store: Store, name: str, *covered: Entry) -> bool:
    return store.staging.replace("p1", ids(covered), [summary(name, *covered)])


def write(store: Store, tmp_path: Path, data: bytes) -> None:
    """Bytes at the end of the buffer that nobody of ours wrote."""
    with buffer_file(tmp_path).open("ab") as file:
        file.write(data)


def records(tmp_path: Path) -> list[str]:
    return [row[0] for row in rows(tmp_path, "SELECT title FROM memory_records ORDER BY number")]


def named(tmp_path: Path) -> list[str]:
    return [row[0] for row in rows(tmp_path, "SELECT event_id FROM record_events ORDER BY event_id")]


# --- lines that are no entries --------------------------------------------------------------------------------

ODD = {
    "torn": b'{"event_id":"E9","namespa',
    "null": b"null",
    "invalid UTF-8": b'{"event_id":"E9","namespace":"\xff","kind":"note","body":{},"timestamp":"t","surface":"s"}',
    "unknown": b'{"schema":2,"of":"the future"}',
    "NULs": b"\0" * 64,
    "number": b"12",
}


@pytest.fixture(params=ODD)
def odd(request: pytest.FixtureRequest, store: Store, tmp_path: Path) -> bytes:
    """A line in the middle of the buffer that is no entry."""
    line: bytes = ODD[request.param]
    write(store, tmp_path, line + b"\n")
    store.events.accept([event("E5")], CEILING_BYTES)
    return line


def test_a_line_that_is_no_entry_is_passed_over(store: Store, odd: bytes) -> None:
    assert ids(entries(store)) == ["E1", "E2", "E3", "E4", "E5"]


def test_a_line_that_is_no_entry_is_told_in_a_warning_without_its_content(
    store: Store, odd: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    entries(store)
    assert [one.getMessage() for one in caplog.records] == [
        f"{store.events.buffer('p1').path}: lines that are no entries are passed over, and kept: 1 of 6,"
        " the first is number 5"
    ]


def test_a_line_that_is_no_entry_is_told_once(store: Store, odd: bytes, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(3):
        entries(store)
    extract(store, claim(store, "extraction", "E1"))
    assert len(caplog.records) == 1


def test_another_line_that_is_no_entry_is_told_too(
    store: Store, tmp_path: Path, odd: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    entries(store)
    write(store, tmp_path, b"[]\n")
    entries(store)
    assert len(caplog.records) == 2


def test_an_extraction_keeps_a_line_that_is_no_entry_as_it_is(store: Store, tmp_path: Path, odd: bytes) -> None:
    extract(store, claim(store, "extraction", "E1", "E2", "E3", "E4", "E5"))
    assert buffer_file(tmp_path).read_bytes() == odd + b"\n"


def test_a_compaction_keeps_a_line_that_is_no_entry_as_it_is(store: Store, tmp_path: Path, odd: bytes) -> None:
    first, second = entries(store)[:2]
    rest = buffer_file(tmp_path).read_bytes().split(b"\n", 2)[2]
    compact(store, "S", first, second)
    assert buffer_file(tmp_path).read_bytes() == entry_line(summary("S", first, second)).encode() + b"\n" + rest


def test_an_eviction_keeps_a_line_that_is_no_entry_as_it_is(store: Store, tmp_path: Path, odd: bytes) -> None:
    store.staging.evict("p1", evict(entries(store)))
    assert odd in buffer_file(tmp_path).read_bytes().split(b"\n")


def test_a_line_torn_at_any_byte_is_kept_and_costs_no_other_line(store: Store, tmp_path: Path) -> None:
    whole = entry_line(entries(store)[0]).encode().replace(b"E1", b"E9")
    before = buffer_file(tmp_path).read_bytes()
    found = {}
    for length in range(1, len(whole)):
        buffer_file(tmp_path).write_bytes(before + whole[:length])
        there = entries(store)
        store.staging.replace("p1", ids(there[:1]), there[:1])
        lines = buffer_file(tmp_path).read_bytes().split(b"\n")
        found[length] = (ids(there), lines[-2] == whole[:length])
    assert set(map(str, found.values())) == {str((["E1", "E2", "E3", "E4"], True))}


def test_an_entry_of_three_mebibytes_is_claimed_extracted_and_gone(store: Store, tmp_path: Path) -> None:
    body = {"type": "text", "content": "x" * (3 << 20)}
    big = Entry("E9", "/actor/ann/project/p1/", "note", body, "2026-01-02T03:04:05Z", "test")
    write(store, tmp_path, entry_line(big).encode() + b"\n")
    extract(store, claim(store, "extraction", "E9"), draft("E9"))
    assert (buffered_ids(tmp_path), records(tmp_path)) == (["E1", "E2", "E3", "E4"], ["Tokens expire"])


def test_a_line_that_somebody_copied_is_one_entry(store: Store, tmp_path: Path) -> None:
    write(store, tmp_path, buffer_file(tmp_path).read_bytes())
    assert ids(store.staging.claim("p1", "extraction", lambda free: free)) == ["E1", "E2", "E3", "E4"]


def test_both_copies_of_a_line_leave_with_it(store: Store, tmp_path: Path) -> None:
    write(store, tmp_path, buffer_file(tmp_path).read_bytes())
    extract(store, claim(store, "extraction", "E1", "E2", "E3"))
    assert buffered_ids(tmp_path) == ["E4", "E4"]


def test_a_line_with_other_white_space_is_not_fed_again(store: Store, tmp_path: Path) -> None:
    spaced = b"\n".join(
        json.dumps(json.loads(line)).encode() for line in buffer_file(tmp_path).read_bytes().splitlines()
    )
    buffer_file(tmp_path).write_bytes(spaced + b"\n")
    change(tmp_path, "UPDATE events SET state = 'waiting' WHERE event_id = 'E4'")  # as if killed before the mark
    store.events.accept([event("E5")], CEILING_BYTES)
    assert buffered_ids(tmp_path) == ["E1", "E2", "E3", "E4", "E5"]


# --- claims ---------------------------------------------------------------------------------------------------


def test_what_one_kind_of_work_claimed_the_other_does_not_get(store: Store, other: Store) -> None:
    assert store.staging.begin_extraction("p1")
    claim(store, "extraction", "E1", "E3")
    assert ids(other.staging.claim("p1", "compaction", lambda free: free)) == ["E2", "E4"]


def test_a_new_claim_takes_the_place_of_the_one_before(store: Store, other: Store) -> None:
    assert store.staging.begin_extraction("p1")
    claim(store, "extraction", "E1")
    claim(store, "extraction", "E2")
    assert ids(other.staging.claim("p1", "compaction", lambda free: free)) == ["E1", "E3", "E4"]


def test_what_was_given_back_is_free(store: Store, other: Store) -> None:
    assert store.staging.begin_extraction("p1")
    claim(store, "extraction", "E1")
    store.staging.end_extraction("p1")
    assert len(other.staging.claim("p1", "compaction", lambda free: free)) == 4


def test_one_process_extracts_a_project_at_a_time(store: Store, other: Store) -> None:
    assert (store.staging.begin_extraction("p1"), other.staging.begin_extraction("p1")) == (True, False)


def test_two_projects_are_extracted_at_the_same_time(store: Store, other: Store) -> None:
    assert (store.staging.begin_extraction("p1"), other.staging.begin_extraction("p2")) == (True, True)


def test_one_buffer_is_compacted_at_a_time_on_the_machine(store: Store, other: Store) -> None:
    assert (store.staging.begin_compaction(), other.staging.begin_compaction()) == (True, False)


def test_a_process_that_compacts_does_not_begin_another_compaction(store: Store) -> None:
    assert (store.staging.begin_compaction(), store.staging.begin_compaction()) == (True, False)


def test_a_right_that_was_given_back_can_be_had(store: Store, other: Store) -> None:
    assert store.staging.begin_compaction()
    store.staging.end_compaction()
    assert other.staging.begin_compaction()


def test_an_extraction_and_a_compaction_of_one_project_run_at_the_same_time(store: Store, other: Store) -> None:
    assert (store.staging.begin_extraction("p1"), other.staging.begin_compaction()) == (True, True)


def test_work_is_seen_by_every_process(store: Store, other: Store) -> None:
    assert store.staging.begin_extraction("p1")
    assert (store.staging.is_working("p1", "extraction"), other.staging.is_working("p1", "extraction")) == (True, True)


def test_work_on_another_project_is_no_work_on_this_one(store: Store, other: Store) -> None:
    assert store.staging.begin_compaction()
    claim(store, "compaction", "E1")
    assert (other.staging.is_working("p1", "compaction"), other.staging.is_working("p2", "compaction")) == (True, False)


def test_to_ask_whether_somebody_works_makes_no_file(store: Store, tmp_path: Path) -> None:
    assert not store.staging.is_working("p9", "extraction")
    assert not (tmp_path / "buffers" / "p9").exists()


@pytest.fixture(params=["extraction", "compaction"])
def dead(request: pytest.FixtureRequest, store: Store, tmp_path: Path) -> Purpose:
    """Work of a process that claimed E1 and E2 and was killed."""
    command = [sys.executable, "-m", "tests.storage.rewrite_crashes", "hold", str(tmp_path), request.param]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline()) == ["E1", "E2"]
        alive: Purpose = "compaction" if request.param == "extraction" else "extraction"
        assert ids(store.staging.claim("p1", alive, lambda free: free)) == ["E3", "E4"]
        process.kill()
    purpose: Purpose = request.param
    return purpose


def test_the_claims_of_a_dead_process_are_void_for_the_other_work(store: Store, dead: Purpose) -> None:
    alive: Purpose = "compaction" if dead == "extraction" else "extraction"
    assert len(store.staging.claim("p1", alive, lambda free: free)) == 4


def test_the_right_of_a_dead_process_is_free(store: Store, dead: Purpose) -> None:
    staging = store.staging
    assert staging.begin_extraction("p1") if dead == "extraction" else staging.begin_compaction()


def test_the_claims_of_a_dead_process_are_cleared_by_the_next_work_of_its_kind(
    store: Store, tmp_path: Path, dead: Purpose
) -> None:
    _ = store.staging.begin_extraction("p1") if dead == "extraction" else store.staging.begin_compaction()
    assert rows(tmp_path, "SELECT * FROM claims WHERE purpose = ?", dead) == []


# --- extraction -----------------------------------------------------------------------------------------------


def test_just_what_was_extracted_leaves_the_buffer(store: Store, tmp_path: Path) -> None:
    batch = claim(store, "extraction", "E1", "E3")
    store.events.accept([event("E5")], CEILING_BYTES)
    extract(store, batch, draft("E1", "E3"))
    assert buffered_ids(tmp_path) == ["E2", "E4", "E5"]


def test_the_events_of_a_batch_are_extracted_and_named(store: Store, tmp_path: Path) -> None:
    extract(store, claim(store, "extraction", "E1", "E3"), draft("E1", "E3"))
    assert ([one for one, state in states(tmp_path).items() if state == "extracted"], named(tmp_path)) == (
        ["E1", "E3"],
        ["E1", "E3"],
    )


def test_a_batch_with_nothing_worth_keeping_is_extracted_all_the_same(store: Store, tmp_path: Path) -> None:
    assert extract(store, claim(store, "extraction", "E1")) == 1
    assert (states(tmp_path)["E1"], records(tmp_path)) == ("extracted", [])


def test_a_batch_that_is_extracted_a_second_time_makes_no_record(store: Store, tmp_path: Path) -> None:
    batch = claim(store, "extraction", "E1")
    extract(store, batch, draft("E1"))
    assert extract(store, batch, draft("E1", title="Another title")) == 0
    assert records(tmp_path) == ["Tokens expire"]


def test_of_a_batch_that_is_gone_in_part_only_the_rest_is_extracted(store: Store, tmp_path: Path) -> None:
    batch = claim(store, "extraction", "E1", "E2")
    extract(store, batch[:1], draft("E1"))
    assert extract(store, batch, draft("E1", title="Of the first"), draft("E1", "E2", title="Of both")) == 1
    assert (records(tmp_path), named(tmp_path)) == (["Tokens expire", "Of both"], ["E1", "E2"])


def test_when_all_is_extracted_the_file_is_gone(store: Store, tmp_path: Path) -> None:
    extract(store, claim(store, "extraction", "E1", "E2", "E3", "E4"))
    assert not buffer_file(tmp_path).exists()


def test_an_event_that_comes_after_the_file_is_gone_makes_a_new_one(store: Store, tmp_path: Path) -> None:
    extract(store, claim(store, "extraction", "E1", "E2", "E3", "E4"))
    store.events.accept([event("E5")], CEILING_BYTES)
    assert buffered_ids(tmp_path) == ["E5"]


def test_a_summary_is_extracted_like_anything_else(store: Store, tmp_path: Path) -> None:
    compact(store, "S", *entries(store)[:3])
    assert extract(store, claim(store, "extraction", "compact_S"), draft("E1", "E2", "E3")) == 3
    assert (buffered_ids(tmp_path), named(tmp_path)) == (["E4"], ["E1", "E2", "E3"])


def test_a_summary_stays_until_all_its_events_are_gone(store: Store, tmp_path: Path) -> None:
    compact(store, "S", *entries(store)[:3])
    change(tmp_path, "UPDATE events SET state = 'extracted' WHERE event_id IN ('E1', 'E2')")
    assert ids(entries(store)) == ["compact_S", "E4"]
    change(tmp_path, "UPDATE events SET state = 'extracted' WHERE event_id = 'E3'")
    assert (ids(entries(store)), buffered_ids(tmp_path)) == (["E4"], ["E4"])


def test_events_that_waited_for_room_are_fed_after_an_extraction(store: Store, tmp_path: Path) -> None:
    store.events.accept([event("E5")], buffer_file(tmp_path).stat().st_size)
    extract(store, claim(store, "extraction", "E1"))
    store.events.feed("p1", CEILING_BYTES)
    assert buffered_ids(tmp_path) == ["E2", "E3", "E4", "E5"]


# --- compaction -----------------------------------------------------------------------------------------------


def test_summaries_come_first_and_the_rest_byte_for_byte(store: Store, tmp_path: Path) -> None:
    there = entries(store)
    write(store, tmp_path, b'  {"of": "somebody else"}  \n')
    lines = buffer_file(tmp_path).read_bytes().splitlines(keepends=True)
    new = [summary("S", there[0]), summary("T", there[2])]
    store.staging.replace("p1", {"E1", "E3"}, new)
    expected = [*(entry_line(one).encode() + b"\n" for one in new), lines[1], lines[3], lines[4]]
    assert buffer_file(tmp_path).read_bytes() == b"".join(expected)


def test_what_came_while_a_compaction_worked_is_kept(store: Store, other: Store, tmp_path: Path) -> None:
    claimed = store.staging.claim("p1", "compaction", lambda free: free)
    other.events.accept([event("E5"), event("E6")], CEILING_BYTES)
    assert compact(store, "S", *claimed)
    assert buffered_ids(tmp_path) == ["compact_S", "E5", "E6"]


def test_a_compaction_lands_however_often_others_extract_meanwhile(store: Store, other: Store, tmp_path: Path) -> None:
    assert store.staging.begin_compaction()
    claimed = store.staging.claim("p1", "compaction", lambda free: free)
    for number in range(5, 125):  # two minutes of an extraction a second
        other.events.accept([event(f"E{number}")], CEILING_BYTES)
        assert other.staging.begin_extraction("p1")
        extract(
            other, other.staging.claim("p1", "extraction", lambda free: free), draft(f"E{number}", title=f"N{number}")
        )
        other.staging.end_extraction("p1")
    assert compact(store, "S", *claimed)
    assert (buffered_ids(tmp_path), audit(tmp_path)) == (["compact_S"], [])


def test_a_compaction_is_refused_when_a_line_it_covers_is_gone(store: Store, tmp_path: Path) -> None:
    claimed = entries(store)
    extract(store, claimed[:1])
    before = buffer_file(tmp_path).read_bytes()
    assert not compact(store, "S", *claimed)
    assert buffer_file(tmp_path).read_bytes() == before


def test_a_compaction_is_not_refused_when_another_line_is_gone(store: Store, tmp_path: Path) -> None:
    there = entries(store)
    extract(store, there[:1])
    assert compact(store, "S", there[1], there[2])
    assert buffered_ids(tmp_path) == ["compact_S", "E4"]


def test_a_summary_can_be_compacted_again(store: Store, tmp_path: Path) -> None:
    compact(store, "S", *entries(store)[:2])
    compact(store, "T", *entries(store)[:2])
    (first, _) = entries(store)
    assert (first.event_id, first.source_event_ids, audit(tmp_path)) == ("compact_T", ("E1", "E2", "E3"), [])


def test_events_under_a_summary_are_still_buffered(store: Store, tmp_path: Path) -> None:
    compact(store, "S", *entries(store))
    assert set(states(tmp_path).values()) == {"buffered"}


# --- eviction -------------------------------------------------------------------------------------------------


def test_what_was_let_go_is_listed_as_evicted(store: Store, tmp_path: Path) -> None:
    store.staging.evict("p1", evict(entries(store)))
    assert states(tmp_path) == {"E1": "evicted", "E2": "evicted", "E3": "buffered", "E4": "buffered"}


def test_what_was_let_go_is_out_of_the_file_and_the_rest_as_it_was(store: Store, tmp_path: Path) -> None:
    lines = buffer_file(tmp_path).read_bytes().splitlines(keepends=True)
    store.staging.evict("p1", evict(entries(store)))
    assert buffer_file(tmp_path).read_bytes() == b"".join(lines[2:])


def test_a_summary_that_is_let_go_lets_all_its_events_go(store: Store, tmp_path: Path) -> None:
    compact(store, "S", *entries(store)[:3])
    store.staging.evict("p1", evict(entries(store)))
    assert (states(tmp_path)["E3"], buffered_ids(tmp_path), audit(tmp_path)) == ("evicted", ["E4"], [])


def test_a_lone_entry_is_cut_in_its_place_and_stays(store: Store, tmp_path: Path) -> None:
    store.events.accept([event("E5", "long " * 1000)], CEILING_BYTES)
    before = buffer_file(tmp_path).stat().st_size
    store.staging.evict("p1", evict(claim(store, "compaction", "E5")))
    assert (buffered_ids(tmp_path)[-1], states(tmp_path)["E5"]) == ("E5", "buffered")
    assert buffer_file(tmp_path).stat().st_size < before - 2000


def test_by_timestamp_the_oldest_go_though_a_clock_went_backwards(store: Store, tmp_path: Path) -> None:
    lines = buffer_file(tmp_path).read_bytes()
    buffer_file(tmp_path).write_bytes(lines.replace(b"2026-01-02T03:04:05Z", b"2027-01-02T03:04:05Z", 2))
    store.staging.evict("p1", evict(entries(store)))
    assert buffered_ids(tmp_path) == ["E1", "E2"]


def test_events_whose_times_go_backwards_keep_the_order_in_which_they_came(store: Store, tmp_path: Path) -> None:
    lines = buffer_file(tmp_path).read_bytes()
    buffer_file(tmp_path).write_bytes(lines.replace(b"2026-01-02T03:04:05Z", b"2027-01-02T03:04:05Z", 2))
    compact(store, "S", *entries(store)[:1])
    assert buffered_ids(tmp_path) == ["compact_S", "E2", "E3", "E4"]


# --- looks ----------------------------------------------------------------------------------------------------


def test_a_look_says_how_large_every_project_s_buffer_is(store: Store, tmp_path: Path) -> None:
    store.events.note_project(Project("p1", "/one"))
    (look,) = store.staging.look()
    assert (look.project, look.size_bytes) == (Project("p1", "/one"), buffer_file(tmp_path).stat().st_size)


def test_a_buffer_that_is_gone_is_empty(store: Store) -> None:
    store.events.note_project(Project("p1", "/one"))
    extract(store, entries(store))
    assert [look.size_bytes for look in store.staging.look()] == [0]


def noted_size(store: Store) -> int | None:
    return store.pipeline.run_state("p1", "compaction").size_after_bytes


@pytest.mark.parametrize("healing", [False, True])
def test_a_buffer_that_shrinks_counts_new_input_from_there(store: Store, tmp_path: Path, healing: bool) -> None:
    store.pipeline.note_run("p1", "compaction", RunState(size_after_bytes=buffer_file(tmp_path).stat().st_size))
    if healing:
        change(tmp_path, "UPDATE events SET state = 'extracted' WHERE event_id = 'E1'")
        entries(store)
    else:
        extract(store, claim(store, "extraction", "E1"))
    assert noted_size(store) == buffer_file(tmp_path).stat().st_size


# --- a lock that cannot be had --------------------------------------------------------------------------------


def test_a_lock_that_is_not_had_in_time_is_an_error_that_names_the_file(store: Store, other: Store) -> None:
    store.events.buffer("p1").lock.wait_seconds = 0
    with other.events.buffer("p1").held(), pytest.raises(LockUnavailable, match=r"buffer\.lock is held"):
        entries(store)


def test_a_lock_that_is_not_had_is_the_disk_error_of_the_project(store: Store, other: Store) -> None:
    store.events.buffer("p1").lock.wait_seconds = 0
    with other.events.buffer("p1").held(), pytest.raises(LockUnavailable):
        entries(store)
    assert "is held by another process" in (store.events.disk_error("p1") or "")


def test_a_lock_that_is_had_again_is_no_error_any_more(store: Store, other: Store) -> None:
    store.events.buffer("p1").lock.wait_seconds = 0
    with other.events.buffer("p1").held(), pytest.raises(LockUnavailable):
        entries(store)
    store.events.feed("p1", CEILING_BYTES)
    assert store.events.disk_error("p1") is None


def test_without_the_lock_an_extraction_is_kept_and_its_lines_leave_later(
    store: Store, other: Store, tmp_path: Path
) -> None:
    batch = claim(store, "extraction", "E1")
    store.events.buffer("p1").lock.wait_seconds = 0
    with other.events.buffer("p1").held(), pytest.raises(LockUnavailable):
        extract(store, batch, draft("E1"))
    assert (states(tmp_path)["E1"], ids(entries(other)), audit(tmp_path)) == ("extracted", ["E2", "E3", "E4"], [])


def test_the_lines_of_a_summary_are_read_as_they_were_written(store: Store, tmp_path: Path) -> None:
    (first, *_) = there = entries(store)
    compact(store, "S", *there)
    (line,) = read_lines(buffer_file(tmp_path).read_bytes())
    assert (line.entry, first.timestamp) == (summary("S", *there), "2026-01-02T03:04:05Z")


# --- lines that are kept while work goes on -------------------------------------------------------------------


@pytest.fixture
def working(store: Store) -> Store:
    """A store that extracts `p1`, and has read its buffer."""
    assert store.staging.begin_extraction("p1")
    entries(store)
    return store


def test_a_line_taken_away_by_hand_during_work_is_found_lost(working: Store, tmp_path: Path) -> None:
    lines = buffer_file(tmp_path).read_bytes().splitlines(keepends=True)
    buffer_file(tmp_path).write_bytes(b"".join(lines[1:]))
    assert ids(entries(working)) == ["E2", "E3", "E4"]
    assert states(tmp_path)["E1"] == "waiting"


def test_what_another_process_extracts_during_work_is_claimed_no_more(working: Store, other: Store) -> None:
    extract(other, [one for one in entries(other) if one.event_id == "E1"])
    assert ids(claim(working, "extraction", "E1", "E2")) == ["E2"]


def test_an_event_that_others_marked_gone_during_work_leaves_the_buffer(working: Store, tmp_path: Path) -> None:
    change(tmp_path, "UPDATE events SET state = 'evicted' WHERE event_id = 'E2'")
    assert (ids(entries(working)), buffered_ids(tmp_path)) == (["E1", "E3", "E4"], ["E1", "E3", "E4"])


def test_a_secret_written_into_the_buffer_during_work_is_scrubbed(working: Store, tmp_path: Path) -> None:
    secret = {"type": "text", "content": "<private>hunter2</private>"}
    (first, *_) = read_lines(buffer_file(tmp_path).read_bytes())
    assert first.entry is not None
    write(working, tmp_path, entry_line(replace(first.entry, event_id="E7", body=secret)).encode() + b"\n")
    assert entries(working)[-1].body["content"] == "[REDACTED]"
    assert b"hunter2" not in buffer_file(tmp_path).read_bytes()


def test_a_secret_written_into_a_line_of_ours_is_scrubbed(store: Store, tmp_path: Path) -> None:
    (first, *others) = read_lines(buffer_file(tmp_path).read_bytes())
    assert first.entry is not None
    secret = replace(first.entry, body={"type": "text", "content": "<private>hunter2</private>"})
    lines = [entry_line(secret).encode(), *(one.data for one in others), b""]
    buffer_file(tmp_path).write_bytes(b"\n".join(lines))
    assert entries(store)[0].body["content"] == "[REDACTED]"


def test_without_work_nothing_is_kept(store: Store) -> None:
    buffer = store.events.buffer("p1")
    entries(store)
    assert buffer.lines()[0] is not buffer.lines()[0]


def test_all_is_let_go_when_no_work_is_left(working: Store) -> None:
    buffer = working.events.buffer("p1")
    kept = buffer.lines()[0]
    working.staging.begin_compaction()
    working.staging.end_extraction("p1")
    assert buffer.lines()[0] is kept
    working.staging.end_compaction()
    assert buffer.lines()[0] is not kept
