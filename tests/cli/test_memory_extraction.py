"""`lithify memory extract`, and what the commands say as long as there is no memory."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from lithify.cli import main
from tests.support.editor import conversation, project_folder, stored_states


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LITHIFY_DATA_DIR", str(tmp_path / "data"))
    return tmp_path / "data"


@pytest.fixture
def project(tmp_path: Path, data: Path) -> Path:
    folder = project_folder(tmp_path)
    (folder / "chat.json").write_text(json.dumps(conversation(3)))
    return folder


def lithify(*words: str) -> int:
    return main.main(list(words))


def recorded(project: Path) -> None:
    assert lithify("record", str(project / "chat.json"), "--project", str(project), "--yes") == 0


def next_command(told: str, words: str) -> list[str]:
    """The arguments of the one command that was told and has these words in it."""
    (line,) = [line for line in told.splitlines() if words in line]
    found = shlex.split(line)
    return found[found.index(words.split()[0]) :]


def test_memory_is_made_once_and_found(project: Path, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recorded(project)
    assert lithify("memory", "extract", "--project", str(project), "--json") == 0
    made = json.loads(capsys.readouterr().out)
    assert (made["extracted"], made["remaining"], made["method"], made["records"] > 0) == (6, 0, "offline", True)
    assert set(stored_states(data).values()) == {"extracted"}
    assert lithify("memory", "list", "--project", str(project), "--json") == 0
    assert len(json.loads(capsys.readouterr().out)["records"]) == made["records"]
    assert lithify("memory", "extract", "--project", str(project)) == 0
    assert "waits to become memory.\n" in capsys.readouterr().err


def test_a_search_of_no_memory_says_so_and_leads_to_some(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert lithify("memory", "search", "question", "--project", str(project)) == 0
    told = capsys.readouterr().out
    assert told.startswith("Nothing was recorded in ")
    record = next_command(told, "record --project")
    assert lithify(*record[:-1], str(project / "chat.json"), "--yes") == 0
    capsys.readouterr()
    assert lithify("memory", "search", "question", "--project", str(project)) == 0
    told = capsys.readouterr().out
    assert told.startswith(f"There is no memory record of {project} yet.\n6 entries wait to become memory.")
    assert lithify(*next_command(told, "memory extract")) == 0
    capsys.readouterr()
    assert lithify("memory", "list", "--project", str(project)) == 0
    assert "TITLE" in capsys.readouterr().out


def test_where_nothing_was_recorded_no_data_folder_is_made(
    project: Path, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert lithify("memory", "extract", "--project", str(project)) == 0
    assert next_command(capsys.readouterr().err, "record --project")[-1] == "FILE"
    assert not data.exists()


def test_a_model_that_is_not_there_leaves_the_events_and_says_why(
    project: Path, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded(project)
    monkeypatch.setattr("lithify.workers.extraction.BACKOFF_SECONDS", ())
    settings = tmp_path / "settings.json"
    settings.write_text(json.dumps({"model": {"provider": "http", "http": {"baseUrl": "http://127.0.0.1:9"}}}))
    capsys.readouterr()
    assert lithify("memory", "extract", "--project", str(project), "--settings", str(settings)) == 1
    told = capsys.readouterr().err
    assert told.startswith("lithify: 6 events still wait to become memory: ")
    assert set(stored_states(data).values()) == {"buffered"}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [(("--model", "large"), "only 'offline' answers by itself"), (("--settings", "missing.json"), "cannot be read")],
)
def test_a_model_that_cannot_be_told_is_a_call_that_does_not_fit(
    project: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], told: str
) -> None:
    assert lithify("memory", "extract", "--project", str(project), *arguments) == 2
    assert told in capsys.readouterr().err
