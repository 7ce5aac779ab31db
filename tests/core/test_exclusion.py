"""Excluded paths: a tool event that names one is found, a file that only speaks of one is not."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.core.exclusion import Exclusion

DEFAULT = Exclusion()


def _named(tool_input: Any, exclusion: Exclusion = DEFAULT) -> str | None:
    body = {"type": "json", "data": {"tool_name": "Tool", "tool_input": tool_input}}
    return exclusion.excluded_path("tool_use", body)


# --- paths ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        ".env",
        "./.env",
        ".env.local",
        "a/b/.env",
        "/home/u/project/.env",
        "~/.env",
        "../.env",
        "a\\b\\.env",
        "C:\\project\\.env",
        "\\\\host\\share\\.env",
        "file:///home/u/.env",
        "file:///c%3A/project/%2Eenv",
        "file:///home/u/.env#L3",
        "vscode-remote://host/project/.env",
        "server.pem",
        "a/server.key",
        "a/SERVER.PEM",
        "a/server.key:12",
        "a/server.key:12:3",
        "a/server.key#L3-L9",
        ".env/",
        " .env ",
    ],
)
def test_a_path_the_defaults_name_is_excluded_however_it_is_written(path: str) -> None:
    assert _named({"file_path": path}) == path


@pytest.mark.parametrize(
    "path",
    [
        "",
        "env",
        "a/env.py",
        "a.env",
        "key",
        "monkey",
        "a.keys",
        "pem/a.py",
        "https://host/.env",
        "a\n/.env",
        "a" * 1100 + ".key",
    ],
)
def test_a_path_the_defaults_do_not_name_is_not_excluded(path: str) -> None:
    assert _named({"file_path": path}) is None


@pytest.mark.parametrize("path", ["config/x", "./config/x", "a/../config/x", "/home/u/p/config/x", "../p/config/x"])
def test_an_anchored_pattern_counts_from_the_root_or_where_the_root_is_unknown(path: str) -> None:
    assert _named([path], Exclusion(["/config/x"])) == path


def test_an_anchored_pattern_does_not_count_deeper_in_a_relative_path() -> None:
    assert _named(["docs/config/x"], Exclusion(["/config/x"])) is None


@pytest.mark.parametrize("path", ["secrets", "secrets/a/b", "/home/u/secrets/a"])
def test_a_pattern_for_a_folder_excludes_it_and_what_is_in_it(path: str) -> None:
    assert _named([path], Exclusion(["secrets/"])) == path


@pytest.mark.parametrize("path", [".env.example", "/a/.env.example"])
def test_a_later_negation_takes_a_path_back(path: str) -> None:
    assert _named([path], Exclusion(["**/.env*", "!**/.env.example"])) is None


def test_no_patterns_exclude_nothing() -> None:
    assert _named([".env"], Exclusion([])) is None


@pytest.mark.parametrize("pattern", ["!", "\\", "[z-a]", "a[", "", "# note", "/"])
def test_a_pattern_that_is_not_valid_is_refused_by_name(pattern: str) -> None:
    with pytest.raises(ValueError, match="not a valid glob pattern") as refused:
        Exclusion(["**/.env*", pattern])
    assert repr(pattern) in str(refused.value)


def test_an_exclusion_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        DEFAULT.patterns = ()  # type: ignore[misc]


def test_exclusions_of_equal_patterns_are_equal() -> None:
    assert Exclusion(["a", "b"]) == Exclusion(("a", "b"))


# --- which events ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["prompt", "note", "session_summary"])
def test_only_tool_events_are_looked_at(kind: str) -> None:
    body = {"type": "json", "data": {"tool_input": {"file_path": ".env"}}}
    assert DEFAULT.excluded_path(kind, body) is None


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"type": "text", "content": ".env"},
        {"type": "message", "turns": [{"role": "user", "content": ".env"}]},
        {"type": "text", "content": "a", "data": {"tool_input": {"file_path": ".env"}}},
        {"type": "json"},
        {"type": "json", "data": [".env"]},
        {"type": "json", "data": {"tool_name": ".env", "tool_response": ".env"}},
        {"type": "json", "data": {"tool_input": None}},
    ],
)
def test_only_the_input_of_a_json_body_is_looked_at(body: dict[str, Any]) -> None:
    assert DEFAULT.excluded_path("tool_use", body) is None


# --- where in the input ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "tool_input",
    [
        {"anything": ".env"},
        {"deep": [{"er": [1, None, ".env"]}]},
        {"changes": {".env": {"add": "A=1"}}},
        {"pattern": ".env"},
        [".env"],
        ".env",
        '{"file_path": ".env"}',
        '".env"',
    ],
)
def test_a_path_is_found_wherever_it_stands(tool_input: Any) -> None:
    assert _named(tool_input) == ".env"


def test_the_first_path_in_the_order_written_is_named() -> None:
    assert _named({"a": "x.py", "b": ["y.key", "z.pem"], "c": ".env"}) == "y.key"


@pytest.mark.parametrize("key", ["command", "cmd", "script", "shell_command", "commandLine", "args", "arguments"])
def test_the_words_of_a_command_are_paths(key: str) -> None:
    assert _named({key: "cd app && cat ./.env | head"}) == "./.env"


@pytest.mark.parametrize(
    "command",
    [
        "cat .env",
        "cat '.env'",
        'cat ".env"',
        "cat<.env",
        "echo A=1 >>.env",
        "cp a.txt b;cat .env;",
        "docker run --env-file=.env x",
        "scp host:.env .",
        "cat {a,.env}",
        "echo $(<.env)",
        "curl -d @.env https://host/",
        "true&cat .env&",
        "cat `ls|head`\ncat .env",
    ],
)
def test_a_word_is_cut_out_of_what_the_shell_puts_around_it(command: str) -> None:
    assert _named({"command": command}) == ".env"


@pytest.mark.parametrize("command", [["bash", "-lc", "cat .env"], ["cat", ".env"]])
def test_a_command_may_be_a_list(command: list[str]) -> None:
    assert _named({"command": command}) == ".env"


def test_an_argument_with_spaces_is_one_path() -> None:
    assert _named({"args": ["cat", "my notes/a.md"]}, Exclusion(["my notes/"])) == "my notes/a.md"


@pytest.mark.parametrize(
    "command", ["curl https://host/a/.env -o x", "printenv", "ls env", "npm run dev:env", "grep -rn process.env src"]
)
def test_a_command_that_names_no_excluded_path_is_recorded(command: str) -> None:
    assert _named({"command": command}) is None


def test_a_uri_in_a_command_is_read_as_a_path() -> None:
    assert _named({"command": "open file:///a/%2Eenv"}) == "file:///a/%2Eenv"


@pytest.mark.parametrize("tool_input", ["cat .env", '{"command": "cat .env"}', '"cat .env"'])
def test_an_input_that_is_a_string_is_read_as_json_or_as_a_command(tool_input: str) -> None:
    assert _named(tool_input) == ".env"


def test_json_in_a_string_is_read_by_its_keys() -> None:
    assert _named('{"file_path": "a.md", "content": "see .env"}') is None


PATCH = "*** Begin Patch\n*** Update File: {}\n@@\n-a\n+see .env for more\n*** End Patch\n"


@pytest.mark.parametrize("key", ["patch", "input", "diff"])
@pytest.mark.parametrize(
    "patch",
    [
        PATCH.format("a/.env"),
        "*** Begin Patch\n*** Add File: a/.env\n+A=1\n",
        "*** Begin Patch\n*** Delete File: a/.env\n",
        "*** Begin Patch\n*** Update File: b\n*** Move to: a/.env\n",
        "--- a/a/.env\n+++ /dev/null\n@@ -1 +0,0 @@\n-A=1\n",
        "--- /dev/null\n+++ b/a/.env\t2026-01-01\n@@ -0,0 +1 @@\n+A=1\n",
        "diff --git a/b b/c\nrename from b\nrename to a/.env\n",
        "Index: a/.env\r\n===\r\n",
    ],
)
def test_the_files_of_a_patch_are_paths(key: str, patch: str) -> None:
    assert _named({key: patch}) in {"a/.env", ".env"}


def test_the_prefix_of_a_file_in_a_diff_is_no_folder() -> None:
    assert _named({"diff": "--- a/config/x\n+++ b/config/x\n"}, Exclusion(["/config/x"])) == "config/x"


def test_a_patch_that_is_the_whole_input_is_read_as_a_patch() -> None:
    assert _named(PATCH.format("a/.env")) == ".env"
    assert _named(PATCH.format("a.py")) is None
    assert _named("--- a/a.md\n+++ b/a.md\n@@ -1 +1 @@\n-a\n+see .env for more\n") is None


def test_a_patch_inside_a_command_is_read_as_a_patch() -> None:
    assert _named({"command": ["apply_patch", PATCH.format("docs/.env")]}) == "docs/.env"
    assert _named({"command": ["apply_patch", PATCH.format("docs/a.md")]}) is None


def test_a_command_after_a_patch_is_still_read() -> None:
    assert _named({"command": f"apply_patch <<EOF\n{PATCH.format('a.md')}EOF\ncat b/.env"}) == "b/.env"


@pytest.mark.parametrize(
    "key", ["content", "contents", "file_text", "text", "new_string", "old_string", "newString", "new_str", "prompt"]
)
@pytest.mark.parametrize("text", [".env", "Copy .env.example to .env", "see config/.env here", "a\n.env\nserver.key\n"])
def test_what_a_file_says_is_no_path(key: str, text: str) -> None:
    assert _named({"file_path": "README.md", key: text}) is None


def test_what_the_edits_of_a_file_say_is_no_path() -> None:
    assert _named({"file_path": "a.md", "edits": [{"old_string": ".env", "new_string": "x.key"}]}) is None


@pytest.mark.parametrize("pattern", [r"process\.env", r"\.env", r"\.key$"])
def test_an_expression_searched_for_is_no_path(pattern: str) -> None:
    assert _named({"pattern": pattern, "path": "src"}) is None


# --- foreign input --------------------------------------------------------------------------------------------


def test_an_input_nested_thousands_of_levels_deep_is_read() -> None:
    value: Any = ".env"
    for _ in range(10_000):
        value = [value]
    assert _named(value) == ".env"


def test_json_text_nested_too_deep_to_decode_is_read_as_text() -> None:
    assert _named("[" * 200_000) is None


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(),
        lambda children: (
            st.lists(children)
            | st.dictionaries(st.sampled_from(["command", "patch", "content", "x"]) | st.text(), children)
        ),
        max_leaves=10,
    )
)
def test_no_input_makes_it_raise(tool_input: Any) -> None:
    named = _named(tool_input)
    assert named is None or DEFAULT.excludes(named)
