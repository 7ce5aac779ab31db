"""Lines that no process of ours wrote into this buffer: which are taken over, which are passed over and kept."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lithify.core.entries import Entry, Line, entry_line, read_line, read_lines, summary_entry
from lithify.core.eviction import evict
from lithify.core.records import RecordDraft
from lithify.storage.settling import judge
from lithify.storage.store import Store, open_store
from tests.storage.auditing import audit
from tests.storage.seam import dying_at
from tests.support.clock import Clock, Ids
from tests.support.stores import CEILING_BYTES, buffer_file, buffered_ids, event, rows, states

OURS, THEIRS = "/actor/ann/project/p1/", "/actor/ann/project/p2/"
ULID, ANOTHER = "01KC0000000000000000000ABC", "01KC0000000000000000000ABD"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A store with two events in the buffer of `p1`, and one of `p2`."""
    opened = open_store(tmp_path, Clock())
    opened.events.accept([event("E1"), event("E2"), event("F1", project_id="p2")], CEILING_BYTES)
    yield opened
    opened.close()


def line(event_id: str, *sources: str, namespace: str = OURS, content: str = "copied in", **more: Any) -> Entry:
    body = {"type": "text", "content": content}
    given = {"kind": "note", "timestamp": "2026-01-02T03:04:05Z", "surface": "hand", "body": body, **more}
    return Entry(event_id=event_id, namespace=namespace, source_event_ids=sources, **given)


def write(tmp_path: Path, *entries: Entry) -> bytes:
    """Puts lines at the end of the buffer of `p1`; their bytes."""
    data = b"".join(entry_line(one).encode() + b"\n" for one in entries)
    with buffer_file(tmp_path).open("ab") as file:
        file.write(data)
    return data


def ids(store: Store) -> list[str]:
    return [one.event_id for one in store.staging.entries("p1")]


def extract_all(store: Store) -> int:
    batch = store.staging.claim("p1", "extraction", lambda free: free)
    sources = tuple(one for entry in batch for one in (entry.event_id, *entry.source_event_ids))
    draft = RecordDraft("decision", "A title", "words", source_event_ids=sources)
    return store.staging.extract("p1", batch, [draft], "model", Ids(), "now")


def named(tmp_path: Path) -> list[str]:
    return [row[0] for row in rows(tmp_path, "SELECT event_id FROM record_events ORDER BY event_id")]


def forget(store: Store, tmp_path: Path) -> Store:
    """The store with a database that was made anew, on the buffers that are there."""
    store.close()
    for file in tmp_path.glob("lithify.db*"):
        file.unlink()
    return open_store(tmp_path, Clock())


# --- lines of another project, and ids that are none of this one ---

PASSED_OVER = {
    "another project": line(ULID, namespace=THEIRS),
    "another project, an id of ours": line("E1", namespace=THEIRS),
    "an event of another project": line("F1"),
    "an event of another project under our summary": line("compact_S", "F1"),
    "a summary of another project": line("compact_S", "E1", namespace=THEIRS),
    "no project": line(ULID, namespace="/somewhere/"),
    "an id in small letters": line(ULID.lower()),
    "a summary of ids in small letters": line("compact_S", ULID.lower()),
    "no id": line("not an id: \0"),
    "half a character": line("\ud800"),
    "a long id": line("X" * 65),
}


@pytest.fixture(params=PASSED_OVER)
def foreign(request: pytest.FixtureRequest) -> Entry:
    return PASSED_OVER[request.param]


def test_a_line_that_is_not_the_project_s_is_passed_over(store: Store, tmp_path: Path, foreign: Entry) -> None:
    write(tmp_path, foreign)
    assert ids(store) == ["E1", "E2"]


def test_a_line_that_is_not_the_project_s_is_told_in_a_warning_once(
    store: Store, tmp_path: Path, foreign: Entry, caplog: pytest.LogCaptureFixture
) -> None:
    write(tmp_path, foreign)
    for _ in range(3):
        store.staging.entries("p1")
    assert [one.getMessage() for one in caplog.records] == [
        f"{buffer_file(tmp_path)}: lines that are no entries are passed over, and kept: 1 of 3, the first is number 3"
    ]


def test_a_line_that_is_not_the_project_s_is_kept_by_every_rewrite(
    store: Store, tmp_path: Path, foreign: Entry
) -> None:
    data = write(tmp_path, foreign)
    (first, second) = store.staging.entries("p1")
    store.staging.replace("p1", {"E1"}, [summary_entry("S", [first], "dense", ["E1"])])
    store.staging.evict("p1", evict([second]))
    extract_all(store)
    assert (buffer_file(tmp_path).read_bytes(), states(tmp_path)) == (
        data,
        {"E1": "extracted", "E2": "extracted", "F1": "buffered"},
    )


def test_a_line_that_is_not_the_project_s_makes_no_event_and_no_record_of_it(
    store: Store, tmp_path: Path, foreign: Entry
) -> None:
    write(tmp_path, foreign)
    extract_all(store)
    assert (list(states(tmp_path)), named(tmp_path)) == (["E1", "E2", "F1"], ["E1", "E2"])


def test_an_event_of_ours_whose_line_names_another_project_gets_a_line_of_its_own(store: Store, tmp_path: Path) -> None:
    file = buffer_file(tmp_path)
    file.write_bytes(file.read_bytes().replace(b"/project/p1/", b"/project/p9/", 1))
    store.events.feed("p1", CEILING_BYTES)
    assert (ids(store), buffered_ids(tmp_path)) == (["E2", "E1"], ["E1", "E2", "E1"])


def test_a_copy_of_a_line_with_its_id_in_small_letters_is_no_second_event(store: Store, tmp_path: Path) -> None:
    store.events.accept([event(ULID)], CEILING_BYTES)
    write(tmp_path, line(ULID.lower()))
    extract_all(store)
    assert (named(tmp_path), extract_all(store)) == ([ULID, "E1", "E2"], 0)


def test_a_line_whose_id_is_in_small_letters_now_costs_its_event_nothing(store: Store, tmp_path: Path) -> None:
    store.events.accept([event(ULID)], CEILING_BYTES)
    file = buffer_file(tmp_path)
    file.write_bytes(file.read_bytes().replace(ULID.encode(), ULID.lower().encode()))
    store.staging.entries("p1")
    store.events.feed("p1", CEILING_BYTES)
    assert ids(store) == ["E1", "E2", ULID]


# --- lines of this project that the database does not know ---


def test_an_event_that_only_its_line_knows_is_taken_over(store: Store, tmp_path: Path) -> None:
    write(tmp_path, line(ULID))
    assert (ids(store), states(tmp_path)[ULID], audit(tmp_path)) == (["E1", "E2", ULID], "buffered", [])


def test_an_adopted_event_has_all_that_its_line_says(store: Store, tmp_path: Path) -> None:
    write(tmp_path, line(ULID, namespace="/actor/ann / bob/project/p1/", kind="prompt"))
    store.staging.entries("p1")
    columns = "project_id, session_id, actor_id, parent_event_id, kind, body, valid_time, namespace, surface, source"
    assert rows(tmp_path, f"SELECT {columns}, content_hash FROM events WHERE event_id = ?", ULID) == [
        (
            "p1",
            "unknown",
            "ann / bob",
            None,
            "prompt",
            '{"type":"text","content":"copied in"}',
            "2026-01-02T03:04:05Z",
            "/actor/ann / bob/project/p1/",
            "hand",
            "{}",
            None,
        )
    ]


def test_what_is_private_in_an_adopted_line_is_not_stored(store: Store, tmp_path: Path) -> None:
    write(tmp_path, line(ULID, content="a <private>hunter2</private> b"))
    store.staging.entries("p1")
    assert rows(tmp_path, "SELECT body FROM events WHERE event_id = ?", ULID) == [
        ('{"type":"text","content":"a [REDACTED] b"}',)
    ]


def test_what_is_private_in_a_line_is_shown_to_no_worker_and_leaves_the_file(store: Store, tmp_path: Path) -> None:
    write(tmp_path, line(ULID, content="<private>secret</private> open"))
    store.events.accept([event("E3")], CEILING_BYTES)
    store.events.feed("p1", CEILING_BYTES)  # which adopts it and rewrites nothing
    shown = [one.body for one in store.staging.entries("p1") if one.event_id == ULID]
    assert (shown, buffered_ids(tmp_path), audit(tmp_path, ordered=False)) == (
        [{"type": "text", "content": "[REDACTED] open"}],
        ["E1", "E2", ULID, "E3"],
        [],
    )
    assert b"secret" not in buffer_file(tmp_path).read_bytes()


def test_what_is_private_in_a_summary_is_hidden_and_its_sources_stay(store: Store, tmp_path: Path) -> None:
    write(tmp_path, line("compact_S", ULID, ANOTHER, content="<private>secret</private>"))
    store.staging.entries("p1")
    summary = read_lines(buffer_file(tmp_path).read_bytes())[-1].entry
    assert summary is not None
    assert (summary.body["content"], summary.source_event_ids) == ("[REDACTED]", (ULID, ANOTHER))


def test_what_is_private_in_a_line_of_another_project_stays_as_it_is(store: Store, tmp_path: Path) -> None:
    data = write(tmp_path, line(ULID, namespace=THEIRS, content="<private>theirs</private>"))
    store.staging.entries("p1")
    assert buffer_file(tmp_path).read_bytes().endswith(data)


def test_an_adopted_event_is_extracted_once(store: Store, tmp_path: Path) -> None:
    write(tmp_path, line(ULID), line(ULID))
    assert (extract_all(store), extract_all(store)) == (3, 0)
    assert (named(tmp_path), audit(tmp_path)) == ([ULID, "E1", "E2"], [])


def test_an_adopted_event_is_not_accepted_again(store: Store, tmp_path: Path) -> None:
    write(tmp_path, line(ULID))
    store.staging.entries("p1")
    assert [one.status for one in store.events.accept([event(ULID)], CEILING_BYTES)] == ["duplicate"]


def test_an_adopted_event_whose_line_is_lost_is_fed_in_again(store: Store, tmp_path: Path) -> None:
    write(tmp_path, line(ULID))
    before = store.staging.entries("p1")
    buffer_file(tmp_path).unlink()
    store.events.feed("p1", CEILING_BYTES)
    assert store.staging.entries("p1") == before


def test_to_adopt_is_told_once(store: Store, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write(tmp_path, line(ULID), line(ANOTHER))
    for _ in range(3):
        store.staging.entries("p1")
    assert [one.getMessage() for one in caplog.records] == [
        f"{buffer_file(tmp_path)}: events that the database did not know, and now does: 2"
    ]


def test_a_line_that_is_too_deep_to_be_stored_is_passed_over() -> None:
    deep: dict[str, Any] = {}
    for _ in range(100_000):
        deep = {"in": deep}
    found = judge("p1", [Line(b"{}", line(ULID, body=deep))], {}, ["E1"])
    assert ([one.entry for one in found.lines], found.adopted, found.lost) == ([None], (), ("E1",))


@pytest.mark.parametrize("at", range(6))
def test_a_process_that_dies_while_it_adopts_costs_nothing(store: Store, tmp_path: Path, at: int) -> None:
    write(tmp_path, line(ULID))
    with dying_at(at):
        extract_all(store)
    store.close()
    again = open_store(tmp_path, Clock())
    extract_all(again)
    again.close()
    assert (named(tmp_path), audit(tmp_path)) == ([ULID, "E1", "E2"], [])


# --- a database that was deleted ---


def test_what_is_in_the_buffer_of_a_deleted_database_is_taken_over_in_order(store: Store, tmp_path: Path) -> None:
    fresh = forget(store, tmp_path)
    assert [one.status for one in fresh.events.accept([event("E3")], CEILING_BYTES)] == ["buffered"]
    fresh.close()
    assert (states(tmp_path), audit(tmp_path)) == (dict.fromkeys(("E1", "E2", "E3"), "buffered"), [])


def test_an_event_in_the_buffer_of_a_deleted_database_is_a_duplicate(store: Store, tmp_path: Path) -> None:
    fresh = forget(store, tmp_path)
    assert [one.status for one in fresh.events.accept([event("E1")], CEILING_BYTES)] == ["duplicate"]
    fresh.close()


def test_a_batch_of_a_deleted_database_makes_no_record_and_is_extracted_later(store: Store, tmp_path: Path) -> None:
    batch = store.staging.claim("p1", "extraction", lambda free: free)
    fresh = forget(store, tmp_path)
    draft = RecordDraft("decision", "A title", "words", source_event_ids=("E1", "E2"))
    assert fresh.staging.extract("p1", batch, [draft], "model", Ids(), "now") == 0
    assert (named(tmp_path), buffered_ids(tmp_path)) == ([], ["E1", "E2"])
    assert (extract_all(fresh), named(tmp_path)) == (2, ["E1", "E2"])
    fresh.close()


def test_the_events_under_a_summary_of_a_deleted_database_are_taken_over(store: Store, tmp_path: Path) -> None:
    there = store.staging.entries("p1")
    store.staging.replace("p1", {"E1", "E2"}, [summary_entry("S", there, "dense", ["E1", "E2"])])
    fresh = forget(store, tmp_path)
    assert ids(fresh) == ["compact_S"]
    bodies = [row[0] for row in rows(tmp_path, "SELECT body FROM events ORDER BY sequence")]
    assert (audit(tmp_path), bodies) == (
        [],
        [
            '{"type":"text","content":"dense"}',
            '{"type":"text","content":"This event is known only from a summary that stood for it."}',
        ],
    )
    assert (extract_all(fresh), named(tmp_path)) == (2, ["E1", "E2"])
    fresh.close()


# --- summaries that name more than they may ---


def test_a_summary_stands_only_for_events_of_its_project(store: Store, tmp_path: Path) -> None:
    file = buffer_file(tmp_path)
    file.write_bytes(file.read_bytes().split(b"\n", 1)[1])  # E1 is under the summary
    write(tmp_path, line("compact_S", "E1", "F1", ULID, "E1", kind="session_summary"))
    (_, summary) = store.staging.entries("p1")
    assert summary.source_event_ids == ("E1",)


def test_ids_that_are_no_events_of_the_project_are_no_record_s_sources(store: Store, tmp_path: Path) -> None:
    file = buffer_file(tmp_path)
    file.write_bytes(file.read_bytes().split(b"\n", 1)[1])
    write(tmp_path, line("compact_S", "E1", "F1", ULID, kind="session_summary"))
    assert extract_all(store) == 2
    assert (named(tmp_path), states(tmp_path), buffered_ids(tmp_path)) == (
        ["E1", "E2"],
        {"E1": "extracted", "E2": "extracted", "F1": "buffered"},
        [],
    )


def test_a_batch_extracts_no_event_of_another_project(store: Store, tmp_path: Path) -> None:
    draft = RecordDraft("decision", "A title", "words", source_event_ids=("E1", "F1"))
    batch = [line("compact_S", "E1", "F1")]
    assert store.staging.extract("p1", batch, [draft], "model", Ids(), "now") == 1
    assert (named(tmp_path), states(tmp_path)["F1"]) == (["E1"], "buffered")


def test_an_eviction_lets_no_event_of_another_project_go(store: Store, tmp_path: Path) -> None:
    store.staging.evict("p1", evict([line("E1"), line("F1"), line("E2"), line("E3")]))
    assert states(tmp_path) == {"E1": "evicted", "E2": "buffered", "F1": "buffered"}


def test_a_summary_that_bears_the_id_of_an_event_stands_for_its_sources_alone() -> None:
    known = dict.fromkeys(("E1", "E2"), ("p1", "buffered"))
    bearing = read_line(entry_line(line("E1", "E2")).encode())
    assert judge("p1", [bearing], known, ["E1", "E2"]).lost == ("E1",)
