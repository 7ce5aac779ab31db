"""`lithify memory`: searches, lists, shows and forgets, on data that a real store made."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from lithify.assembly import new_id
from lithify.core.records import RecordDraft
from tests.cli.running import COMMAND, CONTROL, SECONDS, Ended, Place
from tests.support.stores import Bench, event, rows

EVENT_IDS = ("e1", "e2")


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture
def data_dir(place: Place) -> Path:
    """A data folder with two records of the working folder's project and one of another project."""
    folder = place.folder / "data"
    bench = bench_of(place)
    remember(
        bench, "Use the write-ahead log", type="decision", summary="Several windows write at once.", facts=("fast",)
    )
    remember(bench, "Pin the linter", type="pattern", summary="It changes its mind every month.")
    bench.store.close()
    other = Bench(folder, root=str(place.home / "other"))
    remember(other, "Retry the upload", type="error", summary="The windows of the uploader close.")
    other.store.close()
    return folder


def bench_of(place: Place) -> Bench:
    """The data folder, with the working folder as the project."""
    return Bench(place.folder / "data", root=os.path.realpath(place.folder))


def remember(bench: Bench, title: str, **given: Any) -> str:
    """Keeps a record that was made from an event of the project; its id."""
    store, project_id = bench.store, bench.project.project_id
    store.events.note_project(bench.project)
    store.events.accept([event(f"{project_id}-{one}", project_id=project_id) for one in EVENT_IDS], 1_000_000)
    draft: dict[str, Any] = {"type": "discovery", "summary": "What was found.", "source_event_ids": EVENT_IDS}
    with store.transaction():
        return store.memory.keep(
            project_id, RecordDraft(title=title, **draft | given), new_id(), bench.now(), "offline"
        )


def memory(place: Place, *arguments: str, **environment: str) -> Ended:
    """Runs `lithify memory` on the data folder."""
    return place.run("memory", *arguments, **{"LITHIFY_DATA_DIR": str(place.folder / "data")} | environment)


def id_of(data_dir: Path, title: str) -> str:
    found: str = rows(data_dir, "SELECT record_id FROM memory_records WHERE title = ?", title)[0][0]
    return found


def titles(data_dir: Path) -> set[str]:
    """The titles of all records there are."""
    return {title for (title,) in rows(data_dir, "SELECT title FROM memory_records")}


def traces(data_dir: Path, text: str) -> list[str]:
    """The files of the data folder that hold a text anywhere."""
    return [file.name for file in data_dir.rglob("*") if file.is_file() and text.encode() in file.read_bytes()]


def answering(place: Place, answer: str, *arguments: str) -> tuple[int, str]:
    """Runs `lithify memory` on a terminal on which an answer was typed ahead; exit code, and what stands there."""
    terminal, ours = pty.openpty()
    os.write(terminal, answer.encode())
    process = subprocess.Popen(
        [*COMMAND, "memory", *arguments],
        stdin=ours,
        stdout=ours,
        stderr=ours,
        cwd=place.folder,
        env=place.environment(LITHIFY_DATA_DIR=str(place.folder / "data"), TERM="xterm-256color"),
        start_new_session=True,
    )
    code = process.wait(SECONDS)
    os.close(ours)
    said = os.read(terminal, 65_536).decode()
    os.close(terminal)
    return code, said


# Search


def test_search_finds_a_record_by_a_word_of_its_summary(place: Place, data_dir: Path) -> None:
    ended = memory(place, "search", "windows")
    assert (ended.code, ended.err, ended.lines[0]) == (0, "", "decision  Use the write-ahead log")


def test_search_shows_the_id_and_the_summary_of_a_record(place: Place, data_dir: Path) -> None:
    ended = memory(place, "search", "windows")
    assert id_of(data_dir, "Use the write-ahead log") in ended.lines[1]
    assert ended.lines[2] == "    Several windows write at once."


def test_search_takes_several_words_without_quotes(place: Place, data_dir: Path) -> None:
    ended = memory(place, "search", "linter", "windows")
    assert {"Pin the linter", "Use the write-ahead log"} <= {line.partition("  ")[2] for line in ended.lines}


def test_search_looks_into_the_project_of_the_working_folder(place: Place, data_dir: Path) -> None:
    assert "Retry the upload" not in memory(place, "search", "windows").out


def test_search_looks_into_all_projects_when_told(place: Place, data_dir: Path) -> None:
    ended = memory(place, "search", "--all", "windows")
    assert "Retry the upload" in ended.out
    assert str(place.home / "other") in ended.out


def test_search_looks_into_a_project_that_is_named(place: Place, data_dir: Path) -> None:
    ended = memory(place, "search", "--project", str(place.home / "other"), "windows")
    assert [line for line in ended.lines if line and not line.startswith(" ")] == ["error  Retry the upload"]


@pytest.mark.parametrize("query", ['"unbalanced', "NEAR(", "a* OR -b", "title:x'; DROP TABLE memory_records; --", "%"])
def test_no_query_breaks_the_search(place: Place, data_dir: Path, query: str) -> None:
    ended = memory(place, "search", "--", query)
    assert (ended.code in {0, 2}, "Traceback" in ended.err, len(titles(data_dir))) == (True, False, 3)


def test_a_query_without_a_word_is_a_call_that_does_not_fit(place: Place, data_dir: Path) -> None:
    ended = memory(place, "search", "...")
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)


def test_a_search_that_finds_nothing_says_so_and_names_the_project(place: Place, data_dir: Path) -> None:
    ended = memory(place, "search", "zebra")
    none = f"No memory record of {os.path.realpath(place.folder)} holds a word of the query."
    assert (ended.code, ended.lines[0], ended.lines[-1]) == (
        0,
        none,
        "Other projects have records: --all looks there too.",
    )
    assert ended.lines[1] == "2 entries wait to become memory. To make it now:"


def test_search_answers_as_json_with_the_names_of_the_wire(place: Place, data_dir: Path) -> None:
    (record,) = json.loads(memory(place, "search", "--json", "linter").out)["records"]
    assert (record["title"], record["sourceEventIds"], record["score"] > 0) == ("Pin the linter", list(EVENT_IDS), True)


def test_a_search_that_finds_nothing_is_an_empty_list_in_json(place: Place, data_dir: Path) -> None:
    assert json.loads(memory(place, "search", "--json", "zebra").out) == {"records": []}


# List


def test_list_shows_the_newest_first(place: Place, data_dir: Path) -> None:
    ended = memory(place, "list")
    assert [re.split(" {2,}", line)[-1] for line in ended.lines] == [
        "TITLE",
        "Pin the linter",
        "Use the write-ahead log",
    ]


def test_list_is_aligned_in_a_pipe(place: Place, data_dir: Path) -> None:
    header, *others = memory(place, "list").lines
    column = header.index("TITLE")
    assert [line[column:] for line in others] == ["Pin the linter", "Use the write-ahead log"]


def test_list_names_the_project_of_each_record_when_all_are_shown(place: Place, data_dir: Path) -> None:
    ended = memory(place, "list", "--all")
    assert ended.lines[0].split() == ["ID", "CREATED", "TYPE", "PROJECT", "TITLE"]
    assert str(place.home / "other") in ended.lines[1]


def test_list_shows_no_more_than_the_limit_and_says_that_there_are_more(place: Place, data_dir: Path) -> None:
    ended = memory(place, "list", "--limit", "1")
    assert (len(ended.lines), ended.err) == (2, "Shown: 1. There are more; ask with a larger --limit.\n")


def test_list_says_nothing_of_more_when_all_are_shown(place: Place, data_dir: Path) -> None:
    assert memory(place, "list", "--limit", "2").err == ""


def test_list_answers_as_json(place: Place, data_dir: Path) -> None:
    found = json.loads(memory(place, "list", "--json").out)["records"]
    assert [one["title"] for one in found] == ["Pin the linter", "Use the write-ahead log"]


@pytest.mark.parametrize("limit", ["0", "-1", "many", "1.5", "9" * 5000])
def test_a_limit_that_is_none_is_a_call_that_does_not_fit(place: Place, data_dir: Path, limit: str) -> None:
    ended = memory(place, "list", f"--limit={limit}")
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)


def test_a_project_and_all_projects_do_not_go_together(place: Place, data_dir: Path) -> None:
    assert memory(place, "list", "--all", "--project", ".").code == 2


def test_a_project_without_records_is_said_to_have_none(place: Place, data_dir: Path) -> None:
    nothing = place.home / "nothing"
    nothing.mkdir()
    (nothing / ".git").mkdir()
    ended = memory(place, "list", "--project", str(nothing))
    assert (ended.code, ended.err) == (0, "")
    assert ended.lines[0] == f"There is no memory record of {nothing} yet."
    assert ended.lines[2].endswith(f"lithify record --project {nothing} FILE")
    assert ended.lines[4].endswith(f"lithify memory extract --project {nothing}")
    assert ended.lines[5] == "Other projects have records: --all looks there too."


def test_a_folder_within_a_project_means_that_project(place: Place, data_dir: Path) -> None:
    (place.home / "other" / "deep" / "down").mkdir(parents=True)
    assert "Retry the upload" in memory(place, "list", "--project", str(place.home / "other" / "deep" / "down")).out


def test_the_part_of_a_repository_that_an_editor_had_open_comes_before_the_repository(
    place: Place, data_dir: Path
) -> None:
    (place.home / "other").mkdir()
    (place.home / "other" / ".git").mkdir()
    part = place.home / "other" / "part"
    part.mkdir()
    bench = Bench(data_dir, root=str(part))
    remember(bench, "Only of the part")
    bench.store.close()
    assert memory(place, "list", "--project", str(part)).lines[1].endswith("Only of the part")


# Show


def test_show_tells_all_there_is_of_a_record(place: Place, data_dir: Path) -> None:
    record_id = id_of(data_dir, "Use the write-ahead log")
    shown = dict(re.split(" {2,}", line) for line in memory(place, "show", record_id).lines)
    assert shown["Title"] == "Use the write-ahead log"
    assert shown["Facts"] == "fast"
    assert shown["Project"] == os.path.realpath(place.folder)
    assert shown["Created"].endswith(", by the offline model")
    assert shown["ID"] == record_id


def test_show_answers_as_json(place: Place, data_dir: Path) -> None:
    record_id = id_of(data_dir, "Pin the linter")
    assert json.loads(memory(place, "show", "--json", record_id).out)["recordId"] == record_id


@pytest.mark.parametrize("action", ["show", "forget"])
@pytest.mark.parametrize("record_id", ["nothing", "'; --", "%", "\udcff", "x" * 10_000])
def test_a_record_that_is_not_there_is_one_line_and_exit_code_1(
    place: Place, data_dir: Path, action: str, record_id: str
) -> None:
    ended = memory(place, action, record_id)
    assert (ended.code, ended.out, ended.err.count("\n")) == (1, "", 1)
    assert ended.err.startswith("lithify: there is no memory record '")


# Forget


def test_forget_deletes_the_record_and_says_so(place: Place, data_dir: Path) -> None:
    ended = memory(place, "forget", id_of(data_dir, "Pin the linter"))
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("Forgot ")
    assert titles(data_dir) == {"Use the write-ahead log", "Retry the upload"}


def test_what_was_forgotten_is_found_no_more(place: Place, data_dir: Path) -> None:
    memory(place, "forget", id_of(data_dir, "Pin the linter"))
    assert json.loads(memory(place, "search", "--json", "linter").out) == {"records": []}


def test_what_was_forgotten_stands_in_no_file(place: Place, data_dir: Path) -> None:
    assert traces(data_dir, "changes its mind")
    memory(place, "forget", id_of(data_dir, "Pin the linter"))
    assert traces(data_dir, "changes its mind") == []


def test_forget_works_while_a_server_uses_the_folder(place: Place, data_dir: Path) -> None:
    bench = bench_of(place)
    ended = memory(place, "forget", id_of(data_dir, "Pin the linter"))
    found = bench.store.memory.search(bench.project.project_id, "linter", 10)
    bench.store.close()
    assert (ended.code, found) == (0, [])


def test_forget_answers_as_json(place: Place, data_dir: Path) -> None:
    record_id = id_of(data_dir, "Pin the linter")
    assert json.loads(memory(place, "forget", "--json", record_id).out) == {"recordId": record_id, "forgotten": True}


def test_forget_asks_on_a_terminal_and_yes_deletes(place: Place, data_dir: Path) -> None:
    code, said = answering(place, "y\n", "forget", id_of(data_dir, "Pin the linter"))
    assert (code, "Forget 'Pin the linter' for good? [y/N]" in said) == (0, True)
    assert "Pin the linter" not in titles(data_dir)


@pytest.mark.parametrize("answer", ["n\n", "\n", "\x04", "nonsense\n"])
def test_any_other_answer_than_yes_keeps_the_record(place: Place, data_dir: Path, answer: str) -> None:
    code, said = answering(place, answer, "forget", id_of(data_dir, "Pin the linter"))
    assert (code, "nothing was forgotten" in said) == (1, True)
    assert "Pin the linter" in titles(data_dir)


def test_forget_does_not_ask_when_told_so(place: Place, data_dir: Path) -> None:
    code, said = answering(place, "", "forget", "--yes", id_of(data_dir, "Pin the linter"))
    assert (code, "[y/N]" in said) == (0, False)


# Hostile text


HOSTILE = "red \x1b[31m bell \x07 title \x1b]0;x\x07 c1 \x9b2J turned \u202e back\r\n\ttab \x00"


@pytest.fixture
def hostile(place: Place, data_dir: Path) -> str:
    """The id of a record whose every text tries to steer the terminal."""
    bench = bench_of(place)
    record_id = remember(
        bench, f"Title {HOSTILE}", summary=HOSTILE, facts=(HOSTILE,), concepts=(HOSTILE,), files=(HOSTILE,)
    )
    bench.store.close()
    return record_id


@pytest.mark.parametrize("as_json", [(), ("--json",)], ids=["text", "json"])
@pytest.mark.parametrize("action", ["search", "list", "show", "forget"])
def test_no_stored_control_character_reaches_the_output(
    place: Place, hostile: str, action: str, as_json: tuple[str, ...]
) -> None:
    what = {"search": ("bell",), "list": (), "show": (hostile,), "forget": (hostile,)}[action]
    ended = memory(place, action, *as_json, *what)
    assert (ended.code, CONTROL.search(ended.out), "\u202e" in ended.out) == (0, None, False)


@pytest.mark.parametrize("action", ["search", "list", "show"])
def test_no_stored_control_character_reaches_the_terminal(place: Place, hostile: str, action: str) -> None:
    what = {"search": ("bell",), "list": (), "show": (hostile,)}[action]
    written = place.run_on_terminal(
        "memory", action, *what, columns=80, NO_COLOR="1", LITHIFY_DATA_DIR=str(place.folder / "data")
    )
    assert CONTROL.search(written.replace("\r\n", "\n")) is None


def test_the_question_before_forgetting_shows_no_stored_control_character(place: Place, hostile: str) -> None:
    _, said = answering(place, "n\n", "forget", hostile)
    assert CONTROL.search(said.replace("\r\n", "\n")) is None


def test_half_a_character_in_a_fact_is_shown_as_an_escape(place: Place, data_dir: Path) -> None:
    bench = bench_of(place)
    record_id = remember(bench, "Half", facts=("\ud83d",))
    bench.store.close()
    assert ["Facts", "\\ud83d"] in [line.split() for line in memory(place, "show", record_id).lines]


def test_text_that_the_output_cannot_show_is_escaped(place: Place, data_dir: Path) -> None:
    bench = bench_of(place)
    remember(bench, "Über 日本")
    bench.store.close()
    ended = memory(place, "list", PYTHONIOENCODING="ascii")
    assert (ended.code, "\\xdcber \\u65e5\\u672c" in ended.out) == (0, True)


# On a terminal


def test_a_terminal_is_shown_colour(place: Place, data_dir: Path) -> None:
    written = place.run_on_terminal("memory", "list", columns=80, LITHIFY_DATA_DIR=str(data_dir))
    assert "\x1b[36mdecision\x1b[0m" in written


def test_a_terminal_is_shown_no_colour_when_it_wants_none(place: Place, data_dir: Path) -> None:
    written = place.run_on_terminal("memory", "list", columns=80, NO_COLOR="1", LITHIFY_DATA_DIR=str(data_dir))
    assert "\x1b" not in written


def test_an_id_stays_whole_on_a_narrow_terminal(place: Place, data_dir: Path) -> None:
    written = place.run_on_terminal("memory", "list", columns=40, LITHIFY_DATA_DIR=str(data_dir))
    assert id_of(data_dir, "Pin the linter") in written
