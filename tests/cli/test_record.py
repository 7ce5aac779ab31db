"""`lithify record`: what it says first, what it records, and that it records nothing twice."""

from __future__ import annotations

import io
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from lithify.cli import main
from tests.support.editor import conversation, database, project_folder, stored_states


@pytest.fixture
def chat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LITHIFY_DATA_DIR", str(tmp_path / "data"))
    path = project_folder(tmp_path) / "chat.json"
    path.write_text(json.dumps(conversation(3)))
    return path


def record(chat: Path, *arguments: str) -> int:
    return main.main(["record", str(chat), "--project", str(chat.parent), *arguments])


def bodies(chat: Path) -> list[Any]:
    with database(chat.parents[1] / "data") as connection:
        rows = connection.execute("SELECT body FROM events ORDER BY sequence").fetchall()
    return [json.loads(row[0]) for row in rows]


def test_what_was_said_becomes_events_in_the_buffer(chat: Path) -> None:
    assert record(chat, "--yes") == 0
    said = [(turn["role"], turn["content"]) for body in bodies(chat) for turn in body["turns"]]
    assert said == [(one["role"], one["content"]) for one in conversation(3)]
    assert set(stored_states(chat.parents[1] / "data").values()) == {"buffered"}


def test_nothing_is_recorded_twice_also_from_a_file_that_was_moved_and_has_grown(
    chat: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record(chat, "--yes")
    moved = chat.with_name("moved.json")
    moved.write_text(json.dumps(conversation(4)))
    capsys.readouterr()
    assert record(moved, "--yes") == 0
    assert "Recorded 2 events; 6 were known already." in capsys.readouterr().err
    assert len(bodies(chat)) == 8


def test_the_cost_is_told_first_and_without_a_yes_nothing_is_recorded(
    chat: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())
    assert record(chat) == 2
    told = capsys.readouterr().err
    assert ("6 events" in told, "about 1 model call (" in told, "--yes" in told) == (True, True, True)
    assert not (chat.parents[1] / "data").exists()


def cost(told: str) -> tuple[str, ...]:
    """The events and tokens of each file, as the estimate has them, and the tokens of all."""
    files = re.findall(r"^.*: (\d+ events?, [\d,]+ tokens.*)$", told, re.MULTILINE)
    return (*files, *re.findall(r"model calls? \(([\d,]+ tokens)\)", told))


def test_the_cost_counts_nothing_that_is_known_already(
    chat: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())
    grown = chat.with_name("grown.json")
    grown.write_text(json.dumps(conversation(4)))
    new = chat.with_name("new.json")
    new.write_text(json.dumps(conversation(4)[6:]))
    record(new)
    (alone, total) = cost(capsys.readouterr().err)
    record(chat, "--yes")
    capsys.readouterr()
    assert record(grown) == 2
    assert cost(capsys.readouterr().err) == (f"{alone}; 6 more are known already", total)


def test_the_cost_counts_a_file_that_is_named_twice_once(
    chat: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())
    record(chat)
    once = cost(capsys.readouterr().err)
    main.main(["record", str(chat), str(chat), "--project", str(chat.parent)])
    assert cost(capsys.readouterr().err) == (once[0], "0 events, 0 tokens; 6 more are known already", once[1])


def test_where_all_is_known_nobody_is_asked(chat: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record(chat, "--yes")
    capsys.readouterr()
    assert record(chat) == 0
    assert "Nothing is new in these files: 6 events were known already." in capsys.readouterr().err


def test_private_spans_never_get_in(chat: Path) -> None:
    chat.write_text(json.dumps([{"role": "user", "content": "a <private>secret-7</private> b"}]))
    record(chat, "--yes")
    assert "secret-7" not in json.dumps(bodies(chat))


@pytest.mark.parametrize(("arguments", "kinds"), [((), ["message"]), (("--tools",), ["message", "json"])])
def test_tool_calls_are_recorded_when_they_are_asked_for(
    chat: Path, arguments: tuple[str, ...], kinds: list[str]
) -> None:
    call = {"id": "c", "function": {"name": "read", "arguments": "{}"}}
    said = [
        {"role": "user", "content": "Read it."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "text"},
    ]
    chat.write_text(json.dumps(said))
    record(chat, "--yes", *arguments)
    assert [body["type"] for body in bodies(chat)] == kinds


def test_a_file_that_is_no_chat_keeps_all_from_being_recorded(
    chat: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "notes.txt").write_text("notes")
    assert main.main(["record", str(chat), str(tmp_path / "notes.txt"), "--yes"]) == 1
    assert "nothing was recorded" in capsys.readouterr().err
    assert not (tmp_path / "data").exists()


def test_what_comes_next_is_told_and_the_command_that_is_told_makes_memory(
    chat: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert record(chat, "--yes") == 0
    told = capsys.readouterr().err
    (line,) = [line for line in told.splitlines() if line.startswith("To make memory of it now: ")]
    words = shlex.split(line.partition(": ")[2])
    assert main.main(words[words.index("memory") :]) == 0
    made = capsys.readouterr().err
    assert "of 6 events of " in made
    assert "(the offline model)" in made
    assert set(stored_states(chat.parents[1] / "data").values()) == {"extracted"}


def test_tool_calls_that_are_left_out_are_told_with_the_option_that_takes_them_in(
    chat: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call = {"id": "c", "function": {"name": "read", "arguments": "{}"}}
    answers = [{"role": "tool", "tool_call_id": "c", "content": "text"}]
    chat.write_text(
        json.dumps([*conversation(1), {"role": "assistant", "content": None, "tool_calls": [call]}, *answers])
    )
    record(chat, "--yes")
    assert "1 tool call with their results are left out; --tools" in capsys.readouterr().err
    record(chat, "--yes", "--tools")
    assert "--tools" not in capsys.readouterr().err


@pytest.mark.parametrize("broken", ["a file", "a damaged database", "below a file"])
def test_a_data_folder_that_cannot_be_used_is_told_in_one_line(
    chat: Path, broken: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = unusable(chat, broken)
    monkeypatch.setenv("LITHIFY_DATA_DIR", str(folder))
    assert record(chat, "--yes") == 1
    assert "lithify doctor" in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize("broken", ["a file", "a damaged database", "below a file"])
def test_a_data_folder_that_cannot_be_used_makes_no_memory_and_says_so(
    chat: Path, broken: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LITHIFY_DATA_DIR", str(unusable(chat, broken)))
    assert main.main(["memory", "extract", "--project", str(chat.parent)]) == 1
    assert "lithify doctor" in capsys.readouterr().err.splitlines()[-1]


def unusable(chat: Path, broken: str) -> Path:
    """A data folder in which nothing can be kept."""
    if broken == "a file":
        return chat
    if broken == "below a file":
        return chat / "data"
    (folder := chat.parent / "data").mkdir()
    (folder / "lithify.db").write_text("garbage")
    return folder
