"""The sessions of agents on the disk: where they lie, what is told of each, and what costs nothing but itself."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from pathlib import Path

import pytest

from lithify.core.agent_sessions import AgentSession
from lithify.core.outcomes import LithifyError
from lithify.storage.agent_sessions.catalogue import Catalogue, names
from lithify.storage.agent_sessions.versions import Seen
from tests.support.agent_homes import (
    CLAUDE_ID,
    CODEX_ID,
    GEMINI_ID,
    KIMI_CLI_ID,
    KIMI_CODE_ID,
    OPENCODE_ID,
    AgentHome,
    Json,
    another_process,
    claude_code_records,
    codex_record,
    written,
)

RESUME = {
    "claude-code": f"cd /home/ana/shop && claude --resume {CLAUDE_ID}",
    "codex": f"cd /home/ana/shop && codex resume {CODEX_ID}",
    "kimi-code": f"cd /home/ana/shop && kimi --session {KIMI_CODE_ID}",
    "kimi-cli": f"cd /home/ana/shop && kimi --session {KIMI_CLI_ID}",
    "gemini": f"cd /home/ana/shop && gemini --resume {GEMINI_ID}",
    "opencode": f"cd /home/ana/shop && opencode --session {OPENCODE_ID}",
}


@pytest.fixture
def home(tmp_path: Path) -> AgentHome:
    return AgentHome(tmp_path)


def sessions(home: AgentHome, agent: str | None = None, **environment: str) -> list[AgentSession]:
    catalogue = Catalogue(home.environment | environment)
    found = (catalogue.session(file) for file in catalogue.find(agent).files)
    return [one for one in found if one is not None]


def only(home: AgentHome) -> AgentSession:
    (found,) = sessions(home)
    return found


# --- every agent ---


@pytest.mark.parametrize("agent", names())
def test_a_session_is_told_with_all_that_its_agent_wrote_about_it(home: AgentHome, agent: str) -> None:
    home.all()
    (found,) = sessions(home, agent)
    title = "Reading the cart" if agent == "opencode" else "Read the cart"
    assert (found.title, found.project, found.file.agent) == (title, "/home/ana/shop", agent)
    assert found.resume_command == RESUME[agent]
    assert (found.messages, found.tokens > 0) == (1 if agent == "kimi-code" else 2, True)


@pytest.mark.parametrize("agent", [name for name in names() if name != "opencode"])
def test_a_session_of_an_agent_that_keeps_files_can_be_written(home: AgentHome, agent: str) -> None:
    home.all()
    (found,) = sessions(home, agent)
    assert (found.writable, found.reason) == (True, None)
    assert found.file.uri == Path(found.file.path).as_uri()


@pytest.mark.parametrize(
    ("agent", "variable", "moved"),
    [
        ("claude-code", "CLAUDE_CONFIG_DIR", ".claude"),
        ("codex", "CODEX_HOME", ".codex"),
        ("kimi-code", "KIMI_CODE_HOME", ".kimi-code"),
        ("kimi-cli", "KIMI_SHARE_DIR", ".kimi"),
        ("opencode", "XDG_DATA_HOME", ".local/share"),
    ],
)
def test_a_folder_that_an_agents_variable_names_comes_in_place_of_the_usual_one(
    home: AgentHome, agent: str, variable: str, moved: str
) -> None:
    home.all()
    (home.folder / moved).rename(home.folder / "elsewhere")
    assert sessions(home, agent) == []
    assert len(sessions(home, agent, **{variable: str(home.folder / "elsewhere")})) == 1


def test_the_home_of_gemini_cli_can_be_another_one(home: AgentHome, tmp_path: Path) -> None:
    home.gemini()
    (home.folder / ".gemini").rename(tmp_path / "other.gemini")
    (tmp_path / "other").mkdir()
    (tmp_path / "other.gemini").rename(tmp_path / "other" / ".gemini")
    assert len(sessions(home, "gemini", GEMINI_CLI_HOME=str(tmp_path / "other"))) == 1


def test_an_empty_variable_counts_as_none(home: AgentHome) -> None:
    home.codex()
    assert len(sessions(home, CODEX_HOME="")) == 1


def test_the_session_written_last_comes_first(home: AgentHome) -> None:
    home.all()
    os.utime(home.kimi_cli(), (1_999_999_999, 1_999_999_999))
    assert [one.file.agent for one in sessions(home)][:2] == ["kimi-cli", "opencode"]


def test_nothing_is_found_where_there_is_nothing(home: AgentHome) -> None:
    assert sessions(home) == []


def test_an_agent_that_is_not_known_is_refused_with_the_names_of_those_that_are(home: AgentHome) -> None:
    with pytest.raises(LithifyError, match="claude-code, codex, kimi-code, kimi-cli, gemini, opencode") as raised:
        Catalogue(home.environment).find("clade-code")
    assert raised.value.type == "invalid_params"


# --- what is no session ---


def test_a_file_of_a_subagent_of_claude_code_is_no_session(home: AgentHome) -> None:
    path = home.claude_code()
    shutil.copy(path, path.with_name("agent-1a2b3c4d.jsonl"))
    written(path.with_suffix("") / "subagents" / "agent-5.jsonl", claude_code_records())
    home.claude_code("99999999-5a7b-4c1d-9d61-0c1f2e3d4a5b", records=claude_code_records(isSidechain=True))
    assert only(home).session_id == CLAUDE_ID


@pytest.mark.parametrize("source", [{"subagent": "review"}, {"subagent": {"thread_spawn": {}}}, {"internal": "x"}])
def test_a_thread_that_codex_started_itself_is_no_session(home: AgentHome, source: Json) -> None:
    home.codex()
    home.codex("01996135-afde-7911-97f0-d863511eca57", source=source)
    assert only(home).session_id == CODEX_ID


def test_an_archived_session_of_codex_is_left_out(home: AgentHome) -> None:
    home.codex(folder="archived_sessions")
    assert sessions(home) == []


def test_what_other_agents_of_a_kimi_code_session_said_is_no_session(home: AgentHome) -> None:
    path = home.kimi_code()
    shutil.copytree(path.parent, path.parent.with_name("agent-1"))
    assert only(home).session_id == KIMI_CODE_ID


def test_what_kimi_cli_compacted_away_is_no_session(home: AgentHome) -> None:
    path = home.kimi_cli()
    shutil.copy(path, path.with_name("context_1.jsonl"))
    assert only(home).file.path == str(path)


def test_a_subagent_of_gemini_cli_is_no_session(home: AgentHome) -> None:
    home.gemini(kind="subagent")
    assert sessions(home) == []


def test_a_session_of_opencode_with_a_parent_is_none(home: AgentHome) -> None:
    home.opencode()
    home.opencode("ses_child", parent=OPENCODE_ID)
    assert only(home).session_id == OPENCODE_ID


def test_a_file_in_which_nothing_was_said_yet_is_no_session(home: AgentHome) -> None:
    path = home.gemini()
    path.write_text(path.read_text().splitlines(keepends=True)[0])
    home.claude_code(records=[])
    home.claude_code("other", records=[{"type": "file-history-snapshot", "messageId": "x"}])
    assert sessions(home) == []


# --- titles, projects, versions ---


def test_the_name_that_the_user_gave_a_claude_code_session_comes_before_all_others(home: AgentHome) -> None:
    named = [{"type": "custom-title", "customTitle": "Cart"}, {"type": "summary", "summary": "x", "leafUuid": "u2"}]
    named.append({"type": "note", "about": "custom-title", "customTitle": "Not this"})
    home.claude_code(records=[*claude_code_records('say "custom-title"'), *named])
    assert only(home).title == "Cart"


def test_what_claude_code_writes_in_the_name_of_the_user_is_no_title(home: AgentHome) -> None:
    first = claude_code_records("<command-name>/clear</command-name>")[0]
    home.claude_code(records=[{**first, "uuid": "u0"}, *claude_code_records("Read\nthe cart")])
    assert only(home).title == "Read the cart"


def test_the_project_of_a_claude_code_session_is_where_it_was_started_not_where_a_command_went(home: AgentHome) -> None:
    question, answer = claude_code_records()
    home.claude_code(records=[{**question, "cwd": "/home/ana/shop/web"}, {**answer, "cwd": "/home/ana/shop"}])
    assert only(home).project == "/home/ana/shop"


def test_the_version_is_the_one_that_wrote_last(home: AgentHome) -> None:
    question, answer = claude_code_records()
    home.claude_code(records=[{**question, "version": "2.0.1"}, answer])
    assert (only(home).version, only(home).writable) == ("2.1.332", True)


@pytest.mark.parametrize(
    ("agent", "version", "seen"),
    [
        ("claude_code", "2.1.333", "2.1.332"),
        ("claude_code", "2.1.332-beta", "2.1.332"),
        ("claude_code", "2.1.149", "2.1.332"),
        ("claude_code", "1.0.95", "2.1.332"),
        ("codex", "0.149.1", "0.171.x"),
        ("codex", "0.39.0", "0.171.x"),
        ("codex", "0.171.0-alpha.1", "0.171.x"),
    ],
)
def test_a_session_of_a_version_that_was_not_seen_is_read_only(
    home: AgentHome, agent: str, version: str, seen: str
) -> None:
    getattr(home, agent)(version=version)
    found = only(home)
    assert (found.writable, found.messages, found.version) == (False, 2, version)
    assert f" {version} wrote it, and only " in str(found.reason)
    assert f"{seen} was seen with Lithify, so it can only be read: " in str(found.reason)


def test_what_a_tool_was_told_of_some_version_is_not_the_version_of_the_agent(home: AgentHome) -> None:
    question, answer = claude_code_records()
    call = {"type": "tool_use", "id": "t1", "name": "install", "input": {"version": "7.7.7", "notes": "-" * 100_000}}
    said = {**answer["message"], "content": [call]}
    last = {"type": "last-prompt", "leafUuid": "u2", "version": None}
    home.claude_code(records=[{**question, "version": "2.0.1"}, {**answer, "message": said}, last])
    assert (only(home).version, only(home).writable) == ("2.1.332", True)


def test_a_session_that_names_no_version_is_read_only(home: AgentHome) -> None:
    home.codex(version=None)
    assert "does not say which Codex wrote it" in str(only(home).reason)


@pytest.mark.parametrize(
    ("agent", "version"),
    [
        ("claude_code", "2.1.150"),
        ("claude_code", "2.1.331"),
        ("codex", "0.150.0"),
        ("codex", "0.169.2"),
        ("codex", "0.171.12"),
    ],
)
def test_a_session_of_a_version_between_two_that_were_seen_is_written(
    home: AgentHome, agent: str, version: str
) -> None:
    getattr(home, agent)(version=version)
    assert only(home).writable


@pytest.mark.parametrize(
    ("version", "held"),
    [
        ("1.4.9", False),
        ("1.4.10", True),
        ("1.9.0", True),
        ("1.12.0", True),
        ("1.12.99", True),
        ("1.13.0", False),
        ("1.100.0", False),
        ("2.5.0", False),
        ("1.5", False),
        ("1.5.0-rc.1", False),
        ("1.5.0.1", False),
        ("", False),
    ],
)
def test_a_range_of_versions_is_one_of_numbers_with_both_its_ends(version: str, held: bool) -> None:
    assert Seen("1.4.10", "1.12.x", is_told=True).holds(version) is held


def test_a_session_of_a_newer_claude_code_is_read_only_and_says_so(home: AgentHome) -> None:
    home.claude_code(records=claude_code_records(version="9.9.1"))
    found = only(home)
    assert (found.writable, found.messages) == (False, 2)
    assert "9.9.1" in str(found.reason)


def test_the_name_of_a_codex_session_is_the_last_one_in_the_index(home: AgentHome) -> None:
    home.codex()
    names = [{"id": CODEX_ID, "thread_name": "Old"}, {"id": CODEX_ID, "thread_name": "Cart"}]
    written(home.folder / ".codex" / "session_index.jsonl", names)
    assert only(home).title == "Cart"


def test_what_an_editor_put_in_front_of_the_users_words_is_no_title(home: AgentHome) -> None:
    home.codex(asked="# Context from my IDE setup:\n\n## My request for Codex:\nRead the cart\n")
    assert only(home).title == "Read the cart"


def test_the_title_of_a_kimi_cli_session_is_what_was_asked_first_also_after_a_compaction(home: AgentHome) -> None:
    path = home.kimi_cli()
    turn = {"type": "TurnBegin", "payload": {"user_input": [{"type": "text", "text": "The first words"}]}}
    written(path.with_name("wire.jsonl"), [{"timestamp": 1.0, "message": turn}])
    assert only(home).title == "The first words"


def test_the_title_that_the_user_gave_a_kimi_cli_session_is_its_title(home: AgentHome) -> None:
    written(home.kimi_cli().with_name("state.json"), [{"custom_title": "Cart"}])
    assert only(home).title == "Cart"


def test_a_kimi_cli_session_whose_folder_is_not_listed_has_no_project(home: AgentHome) -> None:
    home.kimi_cli()
    (home.folder / ".kimi" / "kimi.json").write_text("{half")
    found = only(home)
    assert (found.project, found.resume_command) == (None, f"kimi --session {KIMI_CLI_ID}")


def test_the_title_of_a_kimi_code_session_is_in_its_state(home: AgentHome) -> None:
    home.kimi_code(title="Cart")
    assert only(home).title == "Cart"


def test_the_project_of_an_older_gemini_session_is_found_by_the_hash_of_its_path(home: AgentHome) -> None:
    path = home.gemini()
    project = path.parent.parent
    (project / ".project_root").unlink()
    project.rename(project.with_name(hashlib.sha256(b"/home/ana/shop").hexdigest()))
    written(home.folder / ".gemini" / "projects.json", [{"projects": {"/home/ana/shop": "shop"}}])
    assert only(home).project == "/home/ana/shop"


def test_the_summary_that_gemini_made_of_a_session_is_its_title(home: AgentHome) -> None:
    path = home.gemini()
    with path.open("a") as file:
        file.write(json.dumps({"$set": {"summary": "Cart"}}) + "\n")
    assert only(home).title == "Cart"


# --- opencode's database ---


def test_a_session_of_opencode_is_named_by_its_id_and_can_only_be_read(home: AgentHome) -> None:
    home.opencode()
    found = only(home)
    assert (found.file.uri, found.writable) == (f"lithify-agent:opencode/{OPENCODE_ID}", False)
    assert "names an agent and a model" in str(found.reason)


WRITING = """
import sqlite3, sys
database = sqlite3.connect(sys.argv[1])
database.execute("PRAGMA journal_mode = WAL")
database.execute("UPDATE session SET title = 'In the log'")
database.commit()
print("ready", flush=True)
sys.stdin.read()
"""


def test_reading_a_database_that_opencode_has_open_changes_no_byte_and_makes_no_file(home: AgentHome) -> None:
    path = home.opencode()
    with another_process(WRITING, str(path)):
        before = {one.name: one.read_bytes() for one in path.parent.iterdir()}
        assert only(home).title == "In the log"
        assert {one.name: one.read_bytes() for one in path.parent.iterdir()} == before


def test_reading_a_database_that_nobody_has_open_changes_no_byte_and_makes_no_file(home: AgentHome) -> None:
    path = home.opencode()
    before = path.read_bytes()
    assert only(home).title == "Reading the cart"
    assert [one.name for one in path.parent.iterdir()] == ["opencode.db"]
    assert path.read_bytes() == before


def test_a_database_that_cannot_be_read_costs_nothing_but_itself(home: AgentHome) -> None:
    home.opencode().write_bytes(b"SQLite format 3\0" + b"\xff" * 4096)
    home.codex()
    found = Catalogue(home.environment).find()
    assert [one.agent for one in found.files] == ["codex"]
    assert [one.agent for one in found.unreadable] == ["opencode"]


def test_a_log_without_its_index_is_left_to_opencode(home: AgentHome) -> None:
    path = home.opencode()
    path.with_name("opencode.db-wal").write_bytes(b"")
    (place,) = Catalogue(home.environment).find().unreadable
    assert "start opencode once" in place.why
    assert not path.with_name("opencode.db-shm").exists()


def test_the_database_that_a_variable_names_is_read(home: AgentHome) -> None:
    path = home.opencode()
    path.rename(path.with_name("mine.db"))
    assert sessions(home) == []
    assert len(sessions(home, OPENCODE_DB="mine.db")) == 1


# --- what lies there ---


def test_a_session_of_codex_that_is_compressed_says_so(home: AgentHome) -> None:
    path = home.codex()
    path.rename(f"{path}.zst")
    found = only(home)
    assert (found.session_id, found.writable) == (CODEX_ID, False)
    assert "compressed" in str(found.reason)


def test_a_compressed_copy_beside_a_session_is_not_listed_too(home: AgentHome) -> None:
    path = home.codex()
    shutil.copy(path, f"{path}.zst")
    assert only(home).writable


def test_a_file_whose_first_line_is_torn_is_listed_with_the_reason(home: AgentHome) -> None:
    home.claude_code().write_text('{"type":"us')
    found = only(home)
    assert (found.messages, found.writable, found.session_id) == (0, False, CLAUDE_ID)
    assert "damaged" in str(found.reason)


def test_a_file_whose_last_line_is_torn_is_read_without_it(home: AgentHome) -> None:
    with home.codex().open("a") as file:
        file.write(json.dumps(codex_record("response_item", {}))[:30])
    assert only(home).messages == 2


def test_a_file_with_a_message_that_is_not_utf_8_names_the_line(home: AgentHome) -> None:
    path = home.codex()
    path.write_bytes(path.read_bytes().replace(b"It is slow", b"It is sl\xf6w"))
    assert only(home).reason == "It is not UTF-8 (line 5)."


def test_a_file_whose_last_line_is_torn_within_a_character_is_read_without_it(home: AgentHome) -> None:
    with home.codex().open("ab") as file:
        file.write(json.dumps(codex_record("response_item", {})).encode()[:30] + "\u4e2d".encode()[:1])
    assert (only(home).messages, only(home).writable) == (2, True)


def test_a_file_of_control_characters_is_no_trouble(home: AgentHome) -> None:
    home.claude_code().write_bytes(bytes(range(32)) * 100)
    home.codex()
    assert {one.file.agent: one.writable for one in sessions(home)} == {"claude-code": False, "codex": True}


def test_a_named_pipe_in_place_of_a_session_is_not_waited_for(home: AgentHome) -> None:
    path = home.codex()
    path.unlink()
    os.mkfifo(path)
    os.mkfifo(path.with_name("rollout-2.jsonl"))
    os.mkfifo(home.folder / ".codex" / "session_index.jsonl")
    assert sessions(home) == []


def test_a_folder_in_place_of_a_session_is_none(home: AgentHome) -> None:
    path = home.codex()
    path.unlink()
    path.mkdir()
    assert sessions(home) == []


def test_a_link_to_nowhere_is_no_session(home: AgentHome) -> None:
    path = home.codex()
    path.unlink()
    path.symlink_to("nowhere")
    assert sessions(home) == []


def test_a_session_that_is_reached_over_a_link_too_is_one(home: AgentHome) -> None:
    path = home.codex()
    path.with_name("rollout-again.jsonl").symlink_to(path)
    (home.folder / ".codex" / "sessions" / "2027").symlink_to(home.folder / ".codex" / "sessions" / "2026")
    assert only(home).session_id == CODEX_ID


def test_a_folder_of_sessions_that_is_a_link_is_followed(home: AgentHome) -> None:
    home.claude_code()
    (home.folder / ".claude" / "projects").rename(home.folder / "on another disk")
    (home.folder / ".claude" / "projects").symlink_to(home.folder / "on another disk")
    assert only(home).session_id == CLAUDE_ID


def test_a_folder_that_cannot_be_looked_into_costs_nothing_but_itself(home: AgentHome) -> None:
    home.codex()
    (home.folder / ".claude").mkdir()
    (home.folder / ".claude" / "projects").symlink_to("projects")
    found = Catalogue(home.environment).find()
    assert [one.agent for one in found.files] == ["codex"]
    assert [(one.agent, "symbolic links" in one.why) for one in found.unreadable] == [("claude-code", True)]


def test_links_that_go_round_in_circles_end(home: AgentHome) -> None:
    home.claude_code()
    (home.folder / ".claude" / "projects" / "round").symlink_to(home.folder / ".claude" / "projects")
    assert only(home).session_id == CLAUDE_ID


@pytest.mark.parametrize("project", ["/home/ana/my shop", "/home/ana/日本語 ✓", "/home/ana/$HOME;ls"])
def test_names_with_spaces_and_other_scripts_are_as_good_as_any(home: AgentHome, project: str) -> None:
    home.claude_code(project=project)
    home.codex(project=project)
    assert {one.project for one in sessions(home)} == {project}
    assert all(f"cd '{project}' && " in str(one.resume_command) for one in sessions(home))


def test_a_name_that_is_not_utf_8_is_no_id_and_has_a_uri(home: AgentHome) -> None:
    path = home.claude_code()
    path.rename(os.fsdecode(os.fsencode(path.parent) + b"/\xff.jsonl"))
    found = only(home)
    assert (found.session_id, found.file.uri[-10:]) == (None, "/%FF.jsonl")


def test_without_a_home_folder_what_the_variables_name_is_found(
    home: AgentHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nobody() -> Path:
        raise RuntimeError("Could not determine home directory.")

    home.codex()
    monkeypatch.setattr(Path, "home", nobody)
    catalogue = Catalogue({"CODEX_HOME": str(home.folder / ".codex")})
    found = catalogue.find()
    assert ([one.agent for one in found.files], len(found.unreadable)) == (["codex"], 5)
    assert (catalogue.live(found.files), len(catalogue.folders())) == ([False], 1)


def test_an_id_that_could_mean_something_to_a_shell_gets_no_command(home: AgentHome) -> None:
    home.claude_code("x; rm -rf ~")
    assert only(home).resume_command is None


def test_a_file_that_is_gone_when_it_is_read_says_so(home: AgentHome) -> None:
    path = home.codex()
    catalogue = Catalogue(home.environment)
    (file,) = catalogue.find().files
    path.unlink()
    found = catalogue.session(file)
    assert found is not None
    assert "No such file" in str(found.reason)


def test_a_session_that_is_too_large_is_listed_by_its_first_records(home: AgentHome) -> None:
    os.truncate(home.codex(), (256 << 20) + 1)
    found = only(home)
    assert (found.title, found.messages, "larger than 256 MiB" in str(found.reason)) == ("Read the cart", 0, True)
