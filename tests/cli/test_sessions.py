"""`lithify sessions`: lists and shows the sessions of agents in a home folder of the test's own."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from rich.cells import cell_len

from tests.cli.running import CONTROL, Place
from tests.support.agent_homes import (
    CLAUDE_ID,
    CODEX_ID,
    HOLDING,
    AgentHome,
    another_process,
    claude_code_records,
)
from tests.support.claude_code_session import Session


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture
def home(place: Place) -> AgentHome:
    return AgentHome(place.home)


def compacted(home: AgentHome) -> Path:
    """A session of Claude Code that was compacted once, with a call of a tool and control characters in it."""
    session = Session()
    session.user("What was asked first")
    session.assistant("What was answered first")
    session.compact()
    session.user("Read \x1b[31mthe cart\x07")
    session.assistant("I look.", {"type": "tool_use", "id": "c1", "name": "Bash", "input": {"command": "ls \x1b]0;x"}})
    session.result("c1")
    session.assistant("\n".join(f"line {number}" for number in range(30)))
    path = home.claude_code()
    path.write_text(session.text(), encoding="utf-8")
    return path


# --- list ---


def test_the_list_says_of_each_session_what_it_is_about_where_how_large_and_whether_it_is_live(
    place: Place, home: AgentHome
) -> None:
    home.all()
    with another_process(HOLDING, str(home.codex())):
        lines = place.run("sessions", "list").lines
    assert lines[0].split() == ["SESSION", "AGENT", "MESSAGES", "TOKENS", "LAST", "USE", "STATE"]
    (at,) = [index for index, line in enumerate(lines) if line.startswith("01996135")]
    assert lines[at].split() == ["01996135", "codex", "2", "9", "2023-11-14", "live"]
    assert lines[at + 1] == "    Read the cart  /home/ana/shop"


def test_the_list_is_aligned_and_fits_80_columns(place: Place, home: AgentHome) -> None:
    home.all()
    home.claude_code(records=claude_code_records("word " * 100))
    lines = place.run("sessions", "list").lines
    assert max(map(len, lines)) <= 80
    assert len({line.index("2023-11-14") for line in lines if "2023-11-14" in line}) == 1


def test_titles_in_wide_characters_fit_80_columns_too(place: Place, home: AgentHome) -> None:
    home.claude_code(records=claude_code_records("漢字の題名" * 40))
    assert max(map(cell_len, place.run("sessions", "list").lines)) <= 80


def test_ids_that_have_nearly_all_in_common_move_no_other_lines(place: Place, home: AgentHome) -> None:
    home.codex(session_id=CODEX_ID[:-1] + "0")
    home.codex(session_id=CODEX_ID[:-1] + "1")
    home.gemini()
    lines = place.run("sessions", "list").lines
    (gemini,) = [line for line in lines if " gemini " in line]
    assert (len(gemini) <= 80, gemini.index("gemini") == lines[0].index("AGENT")) == (True, True)


def test_sessions_with_one_id_are_listed_by_their_paths_and_named_by_them(place: Place, home: AgentHome) -> None:
    paths = [home.claude_code(project=f"/home/ana/{name}") for name in ("shop", "farm")]
    lines = place.run("sessions", "list").lines
    assert {f"    ~/{path.relative_to(home.folder)}" for path in paths} <= set(lines)
    refused = place.run("sessions", "show", CLAUDE_ID)
    assert refused.code == 1
    assert all(str(path) in refused.err for path in paths)
    assert place.run("sessions", "show", str(paths[0])).code == 0


def test_a_session_whose_id_looks_like_an_option_is_listed_by_its_path(place: Place, home: AgentHome) -> None:
    path = home.claude_code(session_id="--help")
    assert f"    ~/{path.relative_to(home.folder)}" in place.run("sessions", "list").lines
    assert place.run("sessions", "show", "--", "--help").lines[-2:] == ["2. assistant", "    It is slow."]


def test_what_is_to_be_copied_stays_on_one_line_of_a_narrow_terminal(place: Place, home: AgentHome) -> None:
    path = home.codex()
    shown = place.run_on_terminal("sessions", "show", CODEX_ID, columns=40, NO_COLOR="1")
    assert f"cd /home/ana/shop && codex resume {CODEX_ID}" in shown
    assert str(path) in shown


def test_a_session_that_can_only_be_read_is_marked_and_where_it_says_why_is_told(place: Place, home: AgentHome) -> None:
    home.opencode()
    ended = place.run("sessions", "list")
    assert ended.lines[1].endswith("read-only")
    assert "sessions show SESSION' says why" in ended.err


def test_the_list_of_one_agent_or_one_project_holds_no_others(place: Place, home: AgentHome) -> None:
    home.all()
    home.codex(project=str(place.folder / "shop"))
    told = [
        place.run("sessions", "list", "--json", *arguments).out
        for arguments in (("--agent", "kimi-cli"), ("--project", "shop"), ("--project", str(place.folder)))
    ]
    assert [[one["agent"] for one in json.loads(out)["sessions"]] for out in told] == [
        ["kimi-cli"],
        ["codex"],
        ["codex"],
    ]


def test_the_list_as_json_is_what_the_wire_tells(place: Place, home: AgentHome) -> None:
    path = home.codex()
    (told,) = json.loads(place.run("sessions", "list", "--json").out)["sessions"]
    assert (told["uri"], told["messages"], told["writable"], told["live"]) == (path.as_uri(), 2, True, False)
    assert told["resumeCommand"] == f"cd /home/ana/shop && codex resume {CODEX_ID}"


def test_a_list_that_is_cut_says_so(place: Place, home: AgentHome) -> None:
    home.all()
    ended = place.run("sessions", "list", "--limit", "2")
    assert (len(ended.lines), "Shown: 2. There are more" in ended.err) == (5, True)


def test_no_session_is_one_sentence_with_the_places_looked_at(place: Place) -> None:
    ended = place.run("sessions", "list", CODEX_HOME="/somewhere/codex")
    assert (ended.code, len(ended.lines), ended.err) == (0, 1, "")
    assert "~/.claude/projects (Claude Code), /somewhere/codex/sessions (Codex), " in ended.out
    assert json.loads(place.run("sessions", "list", "--json").out) == {"sessions": []}


def test_a_place_that_cannot_be_looked_into_is_told(place: Place, home: AgentHome) -> None:
    home.codex()
    (home.folder / ".claude").mkdir()
    (home.folder / ".claude" / "projects").symlink_to("projects")
    ended = place.run("sessions", "list")
    assert (ended.code, len(ended.lines)) == (0, 3)
    assert ".claude/projects cannot be looked into" in ended.err


def test_an_agent_that_is_not_known_is_a_call_that_does_not_fit(place: Place) -> None:
    ended = place.run("sessions", "list", "--agent", "claude")
    assert (ended.code, ended.out, len(ended.err.splitlines())) == (2, "", 1)
    assert "claude-code, codex, kimi-code, kimi-cli, gemini, opencode" in ended.err


def test_nothing_of_a_session_steers_the_terminal(place: Place, home: AgentHome) -> None:
    compacted(home)
    home.codex(project="/home/\x1b[2J")
    for arguments in (("list",), ("show", CLAUDE_ID), ("show", CODEX_ID), ("show", CLAUDE_ID, "--json")):
        assert CONTROL.search(place.run("sessions", *arguments).out) is None


def test_on_a_terminal_of_80_columns_the_list_is_all_there(place: Place, home: AgentHome) -> None:
    home.all()
    shown = CONTROL.sub("", place.run_on_terminal("sessions", "list", columns=80))
    table = shown.partition("SESSION ")[2].partition("\n'")[0]
    assert max(len(line.rstrip()) for line in table.splitlines()) <= 80
    assert all(agent in table for agent in ("claude-code", "codex", "kimi-code", "kimi-cli", "gemini", "opencode"))


def test_listing_and_showing_write_nothing(place: Place, home: AgentHome) -> None:
    home.all()
    before = {path: path.stat().st_mtime_ns for path in home.folder.rglob("*")}
    place.run("sessions", "list")
    place.run("sessions", "show", CLAUDE_ID)
    assert {path: path.stat().st_mtime_ns for path in home.folder.rglob("*")} == before


# --- show ---


def test_a_session_is_shown_as_its_agent_would_send_it_with_one_line_for_what_was_compacted_away(
    place: Place, home: AgentHome
) -> None:
    compacted(home)
    lines = place.run("sessions", "show", CLAUDE_ID).lines
    begins = lines.index("[Compacted away: 2 messages]")
    assert lines[begins + 1 : begins + 7] == [
        "1. user",
        "    summary s3",
        "2. user",
        "    Read \\u001b[31mthe cart\\u0007",
        "3. assistant",
        "    I look.",
    ]
    assert '    calls Bash {"command":"ls \\u001b]0;x"}' in lines
    assert "    of c1" in lines
    assert "What was asked first" not in "\n".join(lines[begins:])


def test_long_messages_are_cut_unless_all_is_asked_for(place: Place, home: AgentHome) -> None:
    compacted(home)
    assert "    [10 more lines; --full shows all]" in place.run("sessions", "show", CLAUDE_ID).lines
    assert "    line 29" in place.run("sessions", "show", CLAUDE_ID, "--full").lines


def test_what_is_known_of_a_session_stands_above_it(place: Place, home: AgentHome) -> None:
    path = home.codex()
    told = dict(line.split("  ", 1) for line in place.run("sessions", "show", CODEX_ID).lines if "  " in line[:12])
    shown = {label.strip(): value.strip() for label, value in told.items()}
    assert shown["Go on"] == f"cd /home/ana/shop && codex resume {CODEX_ID}"
    assert (shown["Agent"], shown["Size"], shown["State"]) == ("Codex 0.171.0", "2 messages, 9 tokens", "idle")
    assert shown["File"] == str(path)


def test_a_session_that_can_only_be_read_says_why(place: Place, home: AgentHome) -> None:
    home.claude_code().write_text('{"type":"us')
    ended = place.run("sessions", "show", CLAUDE_ID)
    assert (ended.code, "Read-only" in ended.out, "damaged" in ended.out) == (0, True, True)


def test_a_session_is_named_by_the_beginning_of_its_id_its_path_or_its_uri(place: Place, home: AgentHome) -> None:
    path = home.codex()
    (place.folder / "link").symlink_to(path)
    home.claude_code()
    for name in ("0199", CODEX_ID, str(path), path.as_uri(), "link"):
        assert json.loads(place.run("sessions", "show", name, "--json").out)["sessionId"] == CODEX_ID


def test_the_name_in_the_list_is_enough_to_show_a_session(place: Place, home: AgentHome) -> None:
    home.all()
    home.codex(f"{CODEX_ID[:-1]}7")
    names = [line.split()[0] for line in place.run("sessions", "list").lines[1::2]]
    shown = [json.loads(place.run("sessions", "show", name, "--json").out)["sessionId"] for name in names]
    assert len(set(shown)) == 7


def test_a_session_as_json_holds_its_messages_and_counts_what_is_folded(place: Place, home: AgentHome) -> None:
    compacted(home)
    told = json.loads(place.run("sessions", "show", CLAUDE_ID, "--json").out)
    assert told["folded"] == {"Compacted away": 2}
    assert [one["role"] for one in told["conversation"]] == ["user", "user", "assistant", "user", "assistant"]
    assert told["messages"] == 5


@pytest.mark.parametrize(("name", "said"), [("nobody", "no agent has a session"), ("0199", "means 2 sessions")])
def test_a_name_that_means_none_or_several_is_one_line(place: Place, home: AgentHome, name: str, said: str) -> None:
    home.codex()
    home.codex(f"{CODEX_ID[:-1]}7")
    ended = place.run("sessions", "show", name)
    assert (ended.code, ended.out, len(ended.err.splitlines()), said in ended.err) == (1, "", 1, True)


def test_a_file_in_which_nothing_was_said_is_no_session(place: Place, home: AgentHome) -> None:
    home.claude_code(records=[{"type": "file-history-snapshot", "messageId": "x"}])
    ended = place.run("sessions", "show", CLAUDE_ID)
    assert (ended.code, "nothing was said in it" in ended.err) == (1, True)


def test_last_use_is_told_in_words_while_it_is_short(place: Place, home: AgentHome) -> None:
    path = home.codex()
    os.utime(path)
    assert "just now" in place.run("sessions", "list").out
