"""`lithify compact --settings`: models that are asked, what is told of them, and the ledger of what left."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lithify.cli import main
from tests.support.editor import SUMMARY, conversation, database
from tests.support.model_server import Answer, Text, serve, unauthorized


@pytest.fixture
def chat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LITHIFY_DATA_DIR", str(tmp_path / "data"))
    path = tmp_path / "chat.json"
    path.write_text(json.dumps(conversation(12)))
    return path


def settings(chat: Path, given: Any) -> str:
    path = chat.with_name("settings.json")
    path.write_text(json.dumps(given))
    return str(path)


def asked(chat: Path, answer: Answer, *arguments: str) -> int:
    """Compacts the chat with an endpoint that gives this answer."""
    with serve(answer) as server:
        given = settings(chat, {"model": {"http": {"baseUrl": server.base_url, "model": "tiny"}}})
        return main.main(["compact", str(chat), "--settings", given, *arguments])


def calls(chat: Path) -> list[tuple[Any, ...]]:
    with database(chat.with_name("data")) as connection:
        return connection.execute(
            "SELECT purpose, provider, model, user_initiated, outcome FROM model_calls"
        ).fetchall()


def test_the_model_of_the_settings_answers_and_is_named(chat: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert asked(chat, Text(SUMMARY)) == 0
    told = capsys.readouterr()
    assert SUMMARY in told.out
    assert "(http, model tiny, " in told.err


def test_what_left_is_in_the_ledger(chat: Path) -> None:
    asked(chat, Text(SUMMARY))
    assert calls(chat) == [("conversation", "http", "tiny", 1, "answered")]


def test_a_failure_is_one_line_and_in_the_ledger_and_the_chat_stays(
    chat: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = chat.read_bytes()
    assert asked(chat, unauthorized(), "--in-place") == 1
    assert capsys.readouterr().err.count("\n") == 1
    assert (calls(chat)[0][4], chat.read_bytes()) == ("model_error", before)


def test_another_model_can_be_named(chat: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert asked(chat, Text(SUMMARY), "--model", "other") == 0
    assert "model other" in capsys.readouterr().err


def test_the_offline_model_can_be_asked_for_all_the_same_and_nothing_is_made(chat: Path) -> None:
    assert asked(chat, Text("never"), "--model", "offline") == 0
    assert not chat.with_name("data").exists()


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"model": {"http": {"model": "gpt"}}}, "model.http.baseUrl"),
        ({"model": {"provider": "best"}, "buffer": {"idleMs": 1}}, "buffer.idleMs"),
        ({"modl": {}}, "modl"),
    ],
)
def test_settings_that_name_no_model_are_told_in_one_line(
    chat: Path, given: Any, named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.main(["compact", str(chat), "--settings", settings(chat, given)]) == 2
    told = capsys.readouterr().err
    assert (told.count("\n"), named in told) == (1, True)
