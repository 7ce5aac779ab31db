"""Emacs with what docs/EDITORS.md has to paste."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.editors.installed import EMACS
from tests.editors.page import snippet
from tests.editors.users import SAMPLES, Session, new_user, run
from tests.support.document_chat import CHAT, TEXT
from tests.support.transcripts import json_lines

HERE = Path(__file__).parent / "emacs"


@pytest.fixture(scope="module", params=["eglot", "lsp-mode"])
def client(request: pytest.FixtureRequest) -> str:
    """Each of the two clients of Emacs."""
    chosen: str = request.param
    return chosen


@pytest.fixture(scope="module")
def done(client: str, tmp_path_factory: pytest.TempPathFactory) -> Session:
    """A session with the chat open, from start to quit."""
    user = new_user(tmp_path_factory.mktemp("user"))
    environment = {
        "CHAT": str(user.chat),
        "DRIVE": str(HERE / "drive.el"),
        "CONFIGURATION": str(user.write("init.el", snippet(client))),
        "SAMPLES": " ".join(user.samples()),
        "SESSION": str(user.write("session.el", snippet(f"{client}-session"))),
    }
    editor = replace(EMACS, environment=EMACS.environment | environment)
    return run(user, editor, "-l", str(HERE / f"{client}.el"))


def test_the_server_is_attached_to_a_transcript(done: Session) -> None:
    assert done["before"] == TEXT
    assert len(done.servers) == 1


def test_each_kind_of_transcript_is_shown(done: Session) -> None:
    assert {Path(file).suffix for file, symbols in done["kinds"].items() if symbols > 0} == set(SAMPLES)


def test_a_chat_that_can_only_be_read_says_why(done: Session) -> None:
    assert "Nothing can be compacted in this chat. Line 1 is broken JSON" in done["read_only"]


def test_the_user_is_warned_that_the_offline_model_heeds_no_instructions(done: Session) -> None:
    assert "The compaction is made, but: The offline model does not heed instructions" in done["messages"]


def test_each_message_is_a_symbol(done: Session) -> None:
    names = [name for name in done["symbols"] if name != "*Rescan*"]
    assert len(names) == len(CHAT)
    assert any(name.startswith("user: Fix the \U0001f600 sum") for name in names)


def test_each_message_has_a_lens_drawn_where_the_client_draws_any(done: Session, client: str) -> None:
    if client == "eglot":
        assert "lenses" not in done.facts  # it has none; the page says so
        return
    drawn = {lens["line"]: lens["text"] for lens in done["lenses"]}
    assert sorted(drawn) == list(range(1, len(CHAT) + 1))
    assert drawn[4] == "Compact up to here: 4 messages, 1.9k tokens"


def test_the_menu_of_code_actions_compacts_up_to_the_cursor(done: Session) -> None:
    assert "Compact up to here (4 messages, 1.9k tokens)" in done["menu"]
    summary, rest = done["after"].split("\n", 1)
    assert "Previous context has been compacted" in summary
    assert rest == json_lines(CHAT[4:]) + "\n"


def test_one_undo_takes_back_the_edit_and_nothing_more(done: Session) -> None:
    assert done["undone"] == done["typed"] == TEXT + "\n"


def test_a_preview_is_shown(done: Session) -> None:
    assert done["preview"].startswith("# Preview: compact up to here")
    assert "Messages: 4 of 6 are summarised" in done["preview"]  # the server has the text that the undo left


def test_the_menu_asks_for_instructions_with_a_second_one(done: Session) -> None:
    assert "Decisions and why" in done["focuses"]


def test_a_long_chat_is_compacted_without_a_search_for_the_least_difference(done: Session) -> None:
    assert done["long"] == 3


def test_progress_is_shown(done: Session) -> None:
    assert any("Summarising 4 messages" in (shown or "") for shown in done["progress"])


def test_a_few_lines_push_a_session_and_compact_it(done: Session) -> None:
    (summary,) = done["session"]["messages"]
    assert "Previous context has been compacted" in str(summary["content"])
    assert done["session"]["title"] == "Rounding"


def test_the_mode_line_tells_how_the_buffer_stands(done: Session) -> None:
    assert "idle, 2 waiting, 0 remembered" in done["status"]
    assert "idle, 0 waiting, 1 remembered" in done["status_after"]


def test_the_memory_is_searched(done: Session) -> None:
    assert "Why is the receipt one cent short?" in done["found"]


def test_the_server_ends_with_the_editor(done: Session) -> None:
    assert (done.exit_code, done.left) == (0, [])


def test_nothing_goes_wrong_meanwhile(done: Session) -> None:
    assert done.facts.get("problem") is None
    assert "rror" not in done.output.replace("(error Can’t find a suitable init function)", "")  # flymake's own
