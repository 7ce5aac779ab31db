"""`lithify buffer`: the entries that wait, and how the buffer stands, on buffers that a real store filled."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lithify.assembly import now, now_ms
from lithify.core.breaker import Breaker
from lithify.core.entries import Entry
from lithify.core.events import EventKind, NewEvent, StoredEvent, stored_event
from lithify.core.model_calls import Answerer, ModelCall
from lithify.core.pipeline import Purpose, RunState
from lithify.core.records import RecordDraft
from lithify.storage.locks import FileLock
from tests.cli.running import CONTROL, Ended, Place
from tests.support.stores import Bench, buffer_file

CEILING_BYTES = 4_194_304
HOSTILE = "red \x1b[31m bell \x07 c1 \x9b2J turned \u202e back"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture
def bench(place: Place) -> Iterator[Bench]:
    """A data folder that a server has open, the working folder being the project; a note is in the buffer."""
    bench = Bench(place.folder / "data", root=os.path.realpath(place.folder))
    record(bench, "e1", "note", {"type": "text", "content": "Remember the milk."})
    yield bench
    bench.store.close()


def record(bench: Bench, event_id: str, kind: EventKind, body: dict[str, Any], ceiling: int = CEILING_BYTES) -> None:
    """Records one event of the project."""
    new = NewEvent(event_id, "chat", "ann", kind, body, "2026-01-02T03:04:05Z", "test")
    stored = stored_event(new, bench.project.project_id)
    assert isinstance(stored, StoredEvent)
    bench.store.events.note_project(bench.project)
    bench.store.events.accept([stored], ceiling)


def tool_use(bench: Bench, event_id: str, given: Any, response: Any) -> None:
    data = {"tool_name": "Edit", "tool_input": given, "tool_response": response}
    record(bench, event_id, "tool_use", {"type": "json", "data": data})


def ran(bench: Bench, purpose: Purpose, **state: Any) -> None:
    """Notes how a run ended."""
    with bench.store.transaction():
        bench.store.pipeline.note_run(bench.project.project_id, purpose, RunState(**state))


def file_of(bench: Bench) -> Path:
    return buffer_file(bench.data_dir, bench.project.project_id)


def buffer(place: Place, *arguments: str) -> Ended:
    return place.run("buffer", *arguments, LITHIFY_DATA_DIR=str(place.folder / "data"))


def status(place: Place) -> dict[str, list[str]]:
    """The lines of `buffer status` by their labels."""
    found: dict[str, list[str]] = {}
    label = ""
    lines = buffer(place, "status").lines
    width = next(len("Compaction above  ") for line in lines if line.startswith("Compaction above"))
    for line in lines[: lines.index("")]:
        label = line[:width].strip() or label
        found.setdefault(label, []).append(line[width:])
    return found


# Show


def test_an_entry_is_shown_with_its_kind_its_time_its_id_and_its_text(place: Place, bench: Bench) -> None:
    ended = buffer(place, "show")
    assert (ended.code, ended.err) == (0, "")
    assert ended.lines[:2] == ["note  2026-01-02 03:04:05  e1", "    Remember the milk."]


def test_the_use_of_a_tool_is_shown_with_its_name_input_and_output(place: Place, bench: Bench) -> None:
    tool_use(bench, "e2", {"path": "a.py"}, "done")
    assert buffer(place, "show").lines[3:6] == [
        "tool_use  Edit  2026-01-02 03:04:05  e2",
        '    {"path":"a.py"}',
        "    → done",
    ]


def test_of_a_long_text_the_first_lines_are_shown(place: Place, bench: Bench) -> None:
    record(bench, "e2", "note", {"type": "text", "content": "\n".join(f"line {number}" for number in range(10))})
    assert buffer(place, "show").lines[4:8] == ["    line 0", "    line 1", "    line 2", "    … 7 more lines"]


def test_a_long_line_is_cut(place: Place, bench: Bench) -> None:
    record(bench, "e2", "note", {"type": "text", "content": "x" * 10_000})
    assert buffer(place, "show").lines[4] == "    " + "x" * 199 + "…"


def test_a_summary_says_how_many_events_it_stands_for(place: Place, bench: Bench) -> None:
    project_id = bench.project.project_id
    summary = Entry("compact_1", "/", "session_summary", {"type": "text", "content": "In short."}, "", "test", ("e1",))
    assert bench.store.staging.replace(project_id, {"e1"}, [summary])
    assert buffer(place, "show").lines[0].startswith("session_summary  of 1 event")


def test_the_last_line_counts_the_entries_and_names_the_project(place: Place, bench: Bench) -> None:
    size = file_of(bench).stat().st_size
    assert buffer(place, "show").lines[-1] == f"1 entry, {size} bytes: {os.path.realpath(place.folder)}"


def test_a_line_that_is_no_entry_is_shown_as_such(place: Place, bench: Bench) -> None:
    with file_of(bench).open("ab") as file:
        file.write(b'{"event_id": "torn\xff')
    lines = buffer(place, "show").lines
    assert lines[3] == "a line that is no entry, passed over"
    assert ", 1 line that is no entry, " in lines[-1]


def test_only_the_last_entries_are_shown_when_told(place: Place, bench: Bench) -> None:
    record(bench, "e2", "note", {"type": "text", "content": "Second."})
    assert buffer(place, "show", "--limit", "1").lines[0].endswith("e2")


def test_json_is_the_file_as_it_is(place: Place, bench: Bench) -> None:
    with file_of(bench).open("ab") as file:
        file.write("null\nÜber\n".encode())
    assert buffer(place, "show", "--json").out.encode() == file_of(bench).read_bytes()


def test_json_of_the_last_entries_is_their_lines(place: Place, bench: Bench) -> None:
    record(bench, "e2", "note", {"type": "text", "content": "Second."})
    (line,) = buffer(place, "show", "--json", "--limit", "1").lines
    assert json.loads(line)["event_id"] == "e2"


def test_an_empty_buffer_is_said_to_be_empty(place: Place, bench: Bench) -> None:
    file_of(bench).unlink()
    first, *next_steps = buffer(place, "show").lines
    assert first == f"The buffer of {os.path.realpath(place.folder)} is empty: nothing waits there."
    assert next_steps[-1].endswith("lithify record FILE")


def test_an_empty_buffer_is_nothing_in_json(place: Place, bench: Bench) -> None:
    file_of(bench).unlink()
    assert buffer(place, "show", "--json") == Ended(0, "", "")


def test_the_buffer_is_shown_when_the_database_is_broken(place: Place, bench: Bench) -> None:
    bench.store.close()
    (bench.data_dir / "lithify.db").write_bytes(b"nonsense" * 1000)
    assert buffer(place, "show").lines[1] == "    Remember the milk."


def test_a_project_that_is_named_is_shown(place: Place, bench: Bench) -> None:
    other = Bench(bench.data_dir, root=str(place.home / "other"))
    record(other, "o1", "note", {"type": "text", "content": "Elsewhere."})
    other.store.close()
    assert buffer(place, "show", "--project", str(place.home / "other")).lines[1] == "    Elsewhere."


def test_no_stored_control_character_reaches_the_output(place: Place, bench: Bench) -> None:
    tool_use(bench, "e2", HOSTILE, HOSTILE)
    with file_of(bench).open("ab") as file:
        file.write(HOSTILE.encode())
    ended = buffer(place, "show")
    assert (CONTROL.search(ended.out), "\u202e" in ended.out) == (None, False)


@pytest.mark.parametrize("as_json", [(), ("--json",)], ids=["text", "json"])
def test_no_stored_control_character_reaches_the_terminal(place: Place, bench: Bench, as_json: tuple[str, ...]) -> None:
    tool_use(bench, "e2", HOSTILE, HOSTILE)
    with file_of(bench).open("ab") as file:
        file.write(HOSTILE.encode())
    written = place.run_on_terminal(
        "buffer", "show", *as_json, columns=80, NO_COLOR="1", LITHIFY_DATA_DIR=str(bench.data_dir)
    )
    assert CONTROL.search(written.replace("\r\n", "\n")) is None


# Status


def test_the_size_is_shown_against_each_threshold(place: Place, bench: Bench) -> None:
    record(bench, "e2", "note", {"type": "text", "content": "x" * 131_072})
    found = status(place)
    assert found["Extraction from"] == ["############............  128.4 KiB of 256.0 KiB (50%)"]
    assert found["Compaction above"] == ["###.....................  128.4 KiB of 1.0 MiB (13%)"]
    assert found["Full at"] == ["#.......................  128.4 KiB of 4.0 MiB (3%)"]


def test_the_gauge_is_full_above_its_threshold(place: Place, bench: Bench) -> None:
    record(bench, "e2", "note", {"type": "text", "content": "x" * 300_000})
    assert status(place)["Extraction from"][0].startswith("########################  ")


def test_entries_and_waiting_events_are_counted(place: Place, bench: Bench) -> None:
    record(bench, "e2", "note", {"type": "text", "content": "Waits."}, ceiling=10)
    found = status(place)
    assert found["Entries"] == ["1 in the buffer, 1 waiting outside"]
    assert found["State"] == ["full: events wait in the database until there is room"]


def test_records_are_counted(place: Place, bench: Bench) -> None:
    with bench.store.transaction():
        bench.store.memory.keep(bench.project.project_id, RecordDraft("error", "A", "B"), "r1", bench.now(), "model")
    assert status(place)["Memory"] == ["1 record"]


def test_work_that_never_ran_is_told_as_such(place: Place, bench: Bench) -> None:
    found = status(place)
    assert (found["State"], found["Extraction"]) == (["idle"], ["has not run yet", "breaker closed"])


def test_a_compaction_that_never_ran_is_told_to_be_off_by_default(place: Place, bench: Bench) -> None:
    assert status(place)["Compaction"][0].startswith("off by default; ")


def test_a_run_that_worked_is_told_with_its_time_and_its_method(place: Place, bench: Bench) -> None:
    ran(bench, "compaction", last_run_at="2026-01-02T03:04:05.000+00:00", last_method="eviction")
    assert status(place)["Compaction"][0] == "last run 2026-01-02 03:04:05 let the older entries go"


def test_a_run_that_a_model_answered_names_it(place: Place, bench: Bench) -> None:
    at = "2026-01-02T03:04:05.000+00:00"
    ran(bench, "extraction", last_run_at=at, last_method="model", last_answerer=Answerer("http", "tiny"))
    assert status(place)["Extraction"][0] == "last run 2026-01-02 03:04:05 succeeded by http, model tiny"


def test_a_run_that_failed_is_told_with_its_error(place: Place, bench: Bench) -> None:
    ran(bench, "extraction", breaker=Breaker(1), last_run_at="2026-01-02T03:04:05.000+00:00", last_error="no answer")
    found = status(place)
    assert found["State"] == ["something went wrong, see below"]
    assert found["Extraction"] == [
        "last run 2026-01-02 03:04:05 failed: no answer",
        "breaker closed, 1 run failed in a row",
    ]


def test_an_open_breaker_says_when_it_tries_again(place: Place, bench: Bench) -> None:
    ran(bench, "extraction", breaker=Breaker(3, now_ms()), last_run_at=now(), last_error="no answer")
    expected = "breaker open: 3 runs failed in a row; by default it tries again 5 minutes after that"
    assert status(place)["Extraction"][1] == expected


def test_a_breaker_whose_cooldown_is_over_is_half_open(place: Place, bench: Bench) -> None:
    ran(bench, "extraction", breaker=Breaker(3, 1), last_run_at=now(), last_error="no answer")
    assert status(place)["Extraction"][1].startswith("breaker half-open: ")


def test_an_extraction_that_runs_in_some_window_is_told(place: Place, bench: Bench) -> None:
    assert bench.store.staging.begin_extraction(bench.project.project_id)
    found = status(place)
    bench.store.staging.end_extraction(bench.project.project_id)
    assert (found["Extraction"][0], found["State"]) == (
        "running now, in some window",
        ["memory records are being extracted from it now"],
    )


def test_a_compaction_that_runs_in_some_window_is_told(place: Place, bench: Bench) -> None:
    assert bench.store.staging.begin_compaction()
    bench.store.staging.claim(bench.project.project_id, "compaction", lambda entries: entries)
    found = status(place)
    bench.store.staging.end_compaction()
    assert found["Compaction"][0] == "running now, in some window"


def test_a_look_takes_no_lock_away_from_a_worker(place: Place, bench: Bench) -> None:
    lock = FileLock(file_of(bench).with_name("extraction.lock"))
    assert lock.try_acquire()
    buffer(place, "status")
    lock.release()
    assert bench.store.staging.begin_extraction(bench.project.project_id)
    bench.store.staging.end_extraction(bench.project.project_id)


def test_recording_that_is_off_is_told(place: Place, bench: Bench) -> None:
    bench.store.events.set_recording(bench.project, enabled=False)
    assert status(place)["Recording"] == ["off"]


def test_a_budget_that_is_used_up_is_told(place: Place, bench: Bench) -> None:
    call = ModelCall(now(), "extraction", "editor", None, None, 1, 2_000_000, user_initiated=False, outcome="answered")
    bench.store.note_model_call(call)
    expected = "1 background call of 60, 2,000,000 tokens of 2,000,000: background work waits"
    assert status(place)["Last hour"] == [expected]


def test_the_status_names_the_project_and_says_whose_thresholds_it_shows(place: Place, bench: Bench) -> None:
    ended = buffer(place, "status")
    assert ended.lines[0].split() == ["Project", os.path.realpath(place.folder)]
    assert ended.lines[-1].startswith("Thresholds, cooldown and budget are the defaults")


def test_the_status_answers_as_json_with_the_names_of_the_wire(place: Place, bench: Bench) -> None:
    answer = json.loads(buffer(place, "status", "--json").out)
    assert (answer["projectId"], answer["entries"], answer["sizeBytes"], answer["state"]) == (
        bench.project.project_id,
        1,
        file_of(bench).stat().st_size,
        "idle",
    )


def test_a_project_that_nothing_was_recorded_of_is_told_as_such(place: Place, bench: Bench) -> None:
    nothing = place.home / "nothing"
    (nothing / ".git").mkdir(parents=True)
    ended = buffer(place, "status", "--project", str(nothing))
    assert (ended.code, ended.lines[0]) == (0, f"Nothing was recorded of {nothing} yet.")
    assert ended.lines[-1].endswith(f"lithify record --project {nothing} FILE")


def test_an_error_with_control_characters_is_shown_without(place: Place, bench: Bench) -> None:
    ran(bench, "extraction", breaker=Breaker(1), last_run_at=now(), last_error=HOSTILE)
    assert CONTROL.search(buffer(place, "status").out) is None


def test_the_gauge_is_drawn_in_blocks_on_a_terminal(place: Place, bench: Bench) -> None:
    written = place.run_on_terminal("buffer", "status", columns=100, LITHIFY_DATA_DIR=str(bench.data_dir))
    assert "█" in written
    assert "░" in written


def test_the_status_fits_a_narrow_terminal(place: Place, bench: Bench) -> None:
    written = place.run_on_terminal("buffer", "status", columns=50, NO_COLOR="1", LITHIFY_DATA_DIR=str(bench.data_dir))
    lines = written.splitlines()
    (command,) = [line for line in lines if line.endswith("lithify memory extract")]
    assert max(len(line) for line in lines if line != command) <= 50
