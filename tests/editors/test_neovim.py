"""Neovim with what docs/EDITORS.md has to paste, and no plugin."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.editors.installed import NEOVIM, OLD_NEOVIM, Editor
from tests.editors.page import snippet
from tests.editors.users import LONG_MESSAGES, SAMPLES, Session, new_user, run
from tests.support.document_chat import CHAT, TEXT
from tests.support.transcripts import json_lines

HERE = Path(__file__).parent / "neovim"
PROGRESS = {"PROGRESS_EVENT": "LspProgress", "PROGRESS_PATTERN": "*"}
OLD_PROGRESS = {"PROGRESS_EVENT": "User", "PROGRESS_PATTERN": "LspProgressUpdate"}


@dataclass(frozen=True, slots=True)
class Way:
    """A way to use Neovim: its version, the configuration of the page, and what the configuration leaves out."""

    name: str
    editor: Editor
    configuration: str
    session: str
    progress: dict[str, str]
    has_all: bool = True
    shows_documents: bool = True


WAYS = [
    Way("config", NEOVIM, "neovim", "neovim-session", PROGRESS),
    Way("start", NEOVIM, "neovim-start", "neovim-session", PROGRESS, has_all=False),
    Way("0.7", OLD_NEOVIM, "neovim-0.7", "neovim-0.7-session", OLD_PROGRESS, shows_documents=False),
]


@pytest.fixture(scope="module", params=WAYS, ids=lambda way: way.name)
def way(request: pytest.FixtureRequest) -> Way:
    """Each way in turn."""
    chosen: Way = request.param
    return chosen


@pytest.fixture(scope="module")
def done(way: Way, tmp_path_factory: pytest.TempPathFactory) -> Session:
    """A session with the chat open, from start to quit."""
    user = new_user(tmp_path_factory.mktemp("user"))
    user.write(".config/nvim/init.lua", snippet(way.configuration))
    scripts = {
        "DRIVE": str(HERE / "drive.lua"),
        "SESSION": str(user.write("session.lua", snippet(way.session))),
        "SAMPLES": " ".join(user.samples()),
        "PREVIEW": "shown" if way.shows_documents else "",
        "LENSES": "at once" if way.configuration == "neovim" else "",
    }
    editor = replace(way.editor, environment=way.editor.environment | way.progress | scripts)
    return run(user, editor, str(user.chat), "-S", str(HERE / "page.lua"))


def test_the_server_is_attached_to_a_transcript(done: Session) -> None:
    assert done["before"] == TEXT
    assert len(done.servers) == 1


def test_each_kind_of_transcript_is_shown(done: Session) -> None:
    assert {Path(file).suffix for file, symbols in done["kinds"].items() if symbols > 0} == set(SAMPLES)


def test_a_chat_that_can_only_be_read_says_why(done: Session) -> None:
    assert done["read_only"].startswith("Nothing can be compacted in this chat. Line 1 is broken JSON")


def test_each_message_is_a_symbol(done: Session) -> None:
    assert [symbol["line"] for symbol in done["symbols"]] == list(range(1, len(CHAT) + 1))
    assert "user: Fix the \U0001f600 sum" in done["symbols"][0]["text"]


def test_each_message_has_a_lens_drawn(done: Session) -> None:
    assert [lens["line"] for lens in done["lenses"]] == list(range(len(CHAT)))
    assert done["lenses"][3]["text"] == "Compact up to here: 4 messages, 1.9k tokens"


def test_the_menu_of_code_actions_compacts_up_to_the_cursor(done: Session) -> None:
    assert any("Compact up to here (4 messages, 1.9k tokens)" in entry for entry in done["menu"])
    summary, rest = done["after"].split("\n", 1)
    assert "Previous context has been compacted" in summary
    assert rest == json_lines(CHAT[4:])


def test_the_edit_is_one_step_that_undo_takes_back(done: Session) -> None:
    assert done["steps"] == 1
    assert done["undone"] == TEXT


def test_a_lens_compacts_as_the_menu_does(done: Session) -> None:
    assert done["after_lens"] == done["after"]


def test_a_preview_is_opened_where_the_editor_can(done: Session, way: Way) -> None:
    if way.shows_documents:
        assert done["preview"] == "# Preview: compact up to here"


def test_the_menu_asks_for_instructions_with_a_second_one(done: Session) -> None:
    assert any("with instructions" in entry for entry in done["instructions_menu"])
    assert any("Decisions and why" in entry for entry in done["focuses"])


def test_the_user_is_warned_that_the_offline_model_heeds_no_instructions(done: Session) -> None:
    assert "The compaction is made, but: The offline model does not heed instructions" in done["messages"]


def test_progress_is_drawn_in_the_status_line(done: Session, way: Way) -> None:
    if way.has_all:
        assert any(f"Summarising {LONG_MESSAGES - 2} messages" in line for line in done["progress"])
    assert done["progress"], "the editor was not told of any progress"


def test_a_few_lines_push_a_session_and_compact_it(done: Session) -> None:
    (summary,) = done["session"]["messages"]
    assert "Previous context has been compacted" in str(summary["content"])
    assert done["session"]["title"] == "Rounding"


def test_the_status_line_tells_how_the_buffer_stands(done: Session) -> None:
    assert "idle, 2 waiting, 0 remembered" in done["status"]
    assert "0 waiting" in done["status_after"]
    assert "0 remembered" not in done["status_after"]


def test_the_memory_is_searched(done: Session, way: Way) -> None:
    assert done["extracted"]["result"]["method"] == "offline"
    if way.has_all:
        assert any("receipt" in line for line in done["found"])


def test_the_server_ends_with_the_editor(done: Session) -> None:
    assert (done.exit_code, done.left) == (0, [])


def test_nothing_goes_wrong_meanwhile(done: Session) -> None:
    assert done.facts.get("problem") is None
    assert "rror" not in done["messages"]
