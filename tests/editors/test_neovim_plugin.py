"""The plugin for Neovim, installed as a package of Neovim's own, with what docs/EDITORS.md has to paste."""

from __future__ import annotations

import json
import os
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests.editors.installed import NEOVIM, Editor
from tests.editors.page import snippet
from tests.editors.users import Session, User, new_user, run
from tests.support.document_chat import CHAT, TEXT
from tests.support.transcripts import json_lines

HERE = Path(__file__).parent / "neovim"
PLUGIN = Path(__file__).parents[2] / "client-neovim"
CLAUDE_CODE = Path(__file__).parents[1] / "data" / "transcripts" / "claude-code" / "ccl-edge_cases.jsonl"
PACKAGE = ".local/share/nvim/site/pack/lithify/start/lithify"


def with_plugin(home: Path) -> User:
    """A user who has installed the plugin as the page says."""
    user = new_user(home)
    shutil.copytree(PLUGIN, user.home / PACKAGE)
    user.write(".config/nvim/init.lua", snippet("plugin"))
    return user


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Session:
    """A session with the chat open, from start to quit."""
    user = with_plugin(tmp_path_factory.mktemp("user"))
    session = user.write("session.lua", snippet("plugin-session"))
    return run(user, _driven(SESSION=session), str(user.chat), "-S", str(HERE / "plugin.lua"))


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Session:
    """A session with a live chat."""
    user = with_plugin(tmp_path_factory.mktemp("user"))
    session = user.write("session.lua", snippet("plugin-session"))
    return run(user, _driven(SESSION=session), str(user.chat), "-S", str(HERE / "sessions.lua"))


@pytest.fixture(scope="module")
def agents(tmp_path_factory: pytest.TempPathFactory) -> Session:
    """A session of a user of Claude Code, who has one chat of this project."""
    user = with_plugin(tmp_path_factory.mktemp("user"))
    project = f'"cwd": {json.dumps(str(user.project))}'
    here = re.sub(r'"cwd":\s*"[^"]*"', project, CLAUDE_CODE.read_text(encoding="utf-8"))
    version = re.compile(r'"version":\s*"[^"]*"')
    newer = user.write(".claude/projects/-shop/c4b8ce4d.jsonl", version.sub('"version": "99.0.1"', here))
    os.utime(newer, (0, 0))
    user.write(".claude/projects/-shop/b3a7bd3c.jsonl", version.sub('"version": "2.1.332"', here))
    return run(user, _driven(), str(user.chat), "-S", str(HERE / "agent_sessions.lua"))


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Session:
    """A session of a user who has the plugin, but no Lithify."""
    user = with_plugin(tmp_path_factory.mktemp("user"))
    (user.home / "bin" / "lithify").unlink()
    return run(user, _driven(), "-S", str(HERE / "no_server.lua"))


def _driven(**files: Path) -> Editor:
    scripts = {name: str(path) for name, path in {"DRIVE": HERE / "drive.lua", **files}.items()}
    return replace(NEOVIM, environment=NEOVIM.environment | scripts)


def test_nothing_goes_wrong(done: Session) -> None:
    assert done.facts.get("problem") is None
    assert "rror" not in done["messages"]


def test_lenses_are_drawn(done: Session) -> None:
    assert [lens["line"] for lens in done["lenses"]] == list(range(len(CHAT)))


def test_the_messages_are_listed_with_their_sizes(done: Session) -> None:
    assert len(done["messages_list"]) == len(CHAT)
    assert done["messages_list"][0] == "user: Fix the \U0001f600 sum (6 tokens)"


def test_a_command_that_comes_before_the_server_waits_for_it(done: Session) -> None:
    assert done["attached_at_first"] == 0
    assert done["told_at_once"].startswith("6 messages became 3")


def test_a_command_compacts_up_to_the_cursor_in_one_step(done: Session) -> None:
    summary, rest = done["after"].split("\n", 1)
    assert "Previous context has been compacted" in summary
    assert (rest, done["steps"]) == (json_lines(CHAT[4:]), 1)


def test_the_user_is_told_in_a_sentence_what_a_compaction_did(done: Session) -> None:
    assert done["told_up_to"].startswith("6 messages became 3: 1.9k tokens became 138.")
    assert "does not heed instructions" in done["told_up_to"]
    assert "does not heed" not in done["told_conversation"]


def test_a_command_takes_the_compaction_back(done: Session) -> None:
    assert done["undone"] == TEXT
    assert done["told_undo"]


def test_a_command_compacts_the_conversation(done: Session) -> None:
    assert done["after_conversation"].split("\n", 1)[1] == json_lines(CHAT[4:])


def test_the_menu_asks_for_instructions_and_tells_the_same(done: Session) -> None:
    assert any(entry.startswith("Compact up to here with instructions") for entry in done["menu"])
    assert done["asked"] == "Compact up to here with instructions: "
    assert done["told_menu"] == done["told_up_to"]


def test_before_the_question_the_user_is_told_that_the_offline_model_does_not_heed_the_answer(done: Session) -> None:
    assert done["told_before_question"].startswith("Only the offline model is there, which does not heed instructions")


def test_no_instructions_given_is_no_compaction_and_no_message(done: Session) -> None:
    assert done["cancelled"] == {"told": [done["told_before_question"]], "unchanged": True}


def test_a_compaction_is_cancelled_and_changes_nothing(done: Session) -> None:
    assert done["told_cancel"] == "Cancelled."
    assert done["cancelled_long"]
    assert done["told_cancel_again"] == "Nothing runs that could be cancelled."


def test_a_preview_opens_read_only(done: Session) -> None:
    assert done["preview"]["text"].startswith("# Preview: compact up to here")
    assert (done["preview"]["readonly"], done["preview"]["filetype"]) == (True, "markdown")


def test_previews_stand_beside_their_chat_in_one_window(done: Session) -> None:
    assert done["preview"]["windows"] == [2, 2]
    assert done["preview"]["beside_chat"]
    assert done["preview"]["closed"]


def test_the_status_line_tells_how_the_buffer_stands(done: Session) -> None:
    assert "lithify: 2 waiting, 0 remembered" in done["status"]
    assert "lithify" not in done["idle"]


def test_a_command_tells_the_status_in_full(done: Session) -> None:
    told = "\n".join(done["status_lines"])
    assert "Buffer     2 entries" in told
    assert "Recording  on" in told


def test_the_memory_is_searched_read_and_forgotten(done: Session) -> None:
    assert done["told_nothing"] == "Nothing found."
    title, record = done["memory"]
    assert title.startswith("1 record, best first, for 'receipt'.")
    assert record.endswith("Why is the receipt one cent short?")
    assert done["record"][0] == "# Why is the receipt one cent short?"
    assert done["confirm"] == "Forget 'Why is the receipt one cent short?'?"
    assert done["told_forgotten"] == "Nothing found."


def test_a_buffer_that_is_no_chat_is_told_with_the_way_out(done: Session) -> None:
    assert done["told_no_chat"] == "This buffer is no chat: open a transcript, or one of `:LithifySessions`."


def test_a_file_that_is_no_transcript_is_told_of_as_one(done: Session) -> None:
    assert "notes.txt" in done["told_no_transcript"]


def test_a_chat_that_can_only_be_read_says_why(done: Session) -> None:
    assert done["told_read_only"].startswith("Nothing can be compacted in this chat. Line 1 is broken JSON")


def test_the_health_check_finds_command_and_server(done: Session) -> None:
    report = "\n".join(done["health"])
    assert "bin/lithify" in report
    assert "server 0.1.0 runs in" in report
    assert "Offline model" in report
    assert "ERROR" not in report


def test_one_server_serves_the_window_and_ends_with_it(done: Session) -> None:
    assert len(done.servers) == 1
    assert (done.exit_code, done.left) == (0, [])


def test_live_sessions_are_listed_and_opened_as_documents(live: Session) -> None:
    title, line = live["sessions"]
    assert title.startswith("1 chat of this project")
    assert "Rounding" in line
    assert "2 messages     32 tokens" in line
    assert "It rounds each line; the law wants the sum rounded." in live["session_lines"]
    assert len(live["session_lenses"]) == 2


def test_a_project_without_chats_lists_those_of_others_with_their_projects(live: Session) -> None:
    title, line = live["of_others"]
    assert title.startswith("None of this project; 1 chat of others")
    assert re.match(r"live +shop +Rounding ", line)
    title, line = live["of_all"]
    assert title.startswith("1 chat of all projects")
    assert re.match(r"live +shop +Rounding ", line)


def test_an_open_session_follows_its_compaction_and_its_undo(live: Session) -> None:
    assert "has been compacted" in live["session_after"]
    assert live["told_session"].startswith("2 messages became 1")
    assert live["told_session_undo"] == "The messages are back."


def test_chats_of_coding_agents_are_listed_and_opened_as_files(agents: Session) -> None:
    title, line, read_only = agents["listed"]
    assert title.startswith("2 chats of this project")
    assert read_only.endswith("read-only")
    assert line.startswith("claude-code  ")
    assert "12 messages" in line
    assert agents["windows"] == 1


def test_a_chat_of_an_agent_that_can_only_be_read_says_why_when_it_is_opened(agents: Session) -> None:
    told = agents["told_read_only"]
    assert told.startswith("Nothing can be compacted in this chat. ")
    assert "Claude Code 99.0.1" in told


def test_a_chat_of_an_agent_is_compacted_in_its_own_way_and_put_back(agents: Session) -> None:
    assert agents["told"].startswith("12 messages became 3")
    assert agents["appended"]
    assert agents["told_undo"] == "The messages are back."
    assert agents["undone"]


def test_a_server_that_is_not_installed_is_named_with_the_way_out(alone: Session) -> None:
    assert alone["told"] == ["`lithify` is not there: install Lithify, or name it in setup({ cmd = ... })"]
    assert alone["told_chat"] == alone["told"][0]
    report = "\n".join(alone["health"])
    assert "ERROR `lithify` is not there" in report
    assert "install Lithify so that `lithify` is on the PATH" in report


def test_the_help_has_a_tag_for_each_command(alone: Session) -> None:
    assert alone["commands"]
    assert alone["without_help"] == []


def test_setup_loads_what_starting_needs_and_no_more(alone: Session) -> None:
    assert alone["loaded"] == [
        "lithify",
        "lithify.compaction",
        "lithify.config",
        "lithify.server",
        "lithify.words",
    ]
