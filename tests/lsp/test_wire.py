"""The shapes on the wire: what fits, and that what does not is told by its field and never quoted."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from lithify.lsp import wire
from lithify.lsp.errors import field_problems
from lithify.lsp.folders import folders_of, with_usable_folders
from lithify.lsp.wire_base import ExecuteCommand, is_place, is_ulid, project_uri

MARKER = "marzipan"
ASKING, FULL = wire.CompactWithInstructions, "lithify.compact_conversation"


def problems(shape: Any, value: Any) -> str:
    with pytest.raises(ValidationError) as raised:
        shape.model_validate(value)
    return field_problems(raised.value)


@pytest.mark.parametrize(
    ("shape", "value", "told"),
    [
        (wire.RecordParams, {"recordId": "x" * 129}, "recordId: must have at most 128 characters"),
        (wire.RecordParams, {"recordId": ""}, "recordId: must have at least 1 character"),
        (wire.SessionParams, {"sessionId": "x" * 129}, "sessionId: must have at most 128 characters"),
        (wire.SessionParams, {"sessionId": ""}, "sessionId: must have at least 1 character"),
        (wire.SessionParams, {"sessionId": 7}, "sessionId: must be a string"),
        (wire.SessionParams, {}, "sessionId: missing"),
        (wire.SessionParams, [], "params: must be an object"),
        (ASKING, {"command": FULL, "arguments": [{}, {}]}, "arguments: must have at most 1 item"),
        (ASKING, {"command": FULL, "arguments": []}, "arguments: must have at least 1 item"),
        (ExecuteCommand, {"command": "c", "arguments": {}}, "arguments: must be a list"),
        (wire.ListSessions, {"limit": "many"}, "limit: must be a whole number"),
        (wire.ListSessions, {"limit": 0}, "limit: must be greater than 0"),
    ],
)
def test_a_problem_is_told_in_plain_words(shape: Any, value: Any, told: str) -> None:
    assert problems(shape, value) == told


@pytest.mark.parametrize(
    ("shape", "value"),
    [
        (wire.Event, {"sessionId": "s", "kind": "note", "body": {"type": MARKER}}),
        (wire.Event, {"sessionId": "s", "kind": MARKER, "body": {"type": "text", "content": [MARKER]}}),
        (wire.Event, {"sessionId": "s", "kind": "note", "body": MARKER}),
        (wire.Event, {"sessionId": "s", "kind": "note", "body": {"type": "text", "content": ""}, "validTime": MARKER}),
        (wire.Event, MARKER),
        (wire.DidOpenSession, {"sessionId": "s", "messages": [{"role": {MARKER: 1}}]}),
        (wire.DidOpenSession, {"sessionId": "s", "messages": [MARKER]}),
        (wire.DidOpenSession, {"sessionId": "s", "messages": [], "agent": {"compaction": {"prompt": [MARKER]}}}),
        (wire.ListSessions, {"projectUri": f"http://[{MARKER}"}),
        (wire.ListSessions, {"projectUri": MARKER}),
    ],
)
def test_a_problem_never_quotes_what_was_given(shape: Any, value: Any) -> None:
    assert MARKER not in problems(shape, value)


def test_a_problem_inside_an_agent_is_told_by_its_path() -> None:
    assert "compaction.enabled: must be true or false" in problems(
        wire.SessionActions, {"agent": {"compaction": {"enabled": 1}}}
    )


@pytest.mark.parametrize("text", ["01ARZ3NDEKTSV4RRFFQ69G5FAV", "01arz3ndektsv4rrffq69g5fav"])
def test_a_ulid_is_one_in_any_case(text: str) -> None:
    assert is_ulid(text)


@pytest.mark.parametrize(
    "text",
    [
        "01ARZ3NDEKTSV4RRFFQ69G5FAV\n",
        "01ARZ3NDEKTSV4RRFFQ69G5FA",
        "81ARZ3NDEKTSV4RRFFQ69G5FAV",
        "01ARZ3NDEKTſV4RRFFQ69G5FAV",
    ],
)
def test_what_only_looks_like_a_ulid_is_none(text: str) -> None:
    assert not is_ulid(text)


@pytest.mark.parametrize(
    "place", ["/a", "a", "~/b", "C:\\x", "file:///a%20b", "file://host/x", "untitled:1", "%00", "[x"]
)
def test_a_path_or_a_uri_is_a_place(place: str) -> None:
    assert is_place(place)


@pytest.mark.parametrize("place", [None, 7, "", "/a\x00", "file:///a%00", "http://[x", "\ud800"])
def test_what_cannot_be_looked_for_is_no_place(place: Any) -> None:
    assert not is_place(place)


@pytest.mark.parametrize("named", ["/a", "~", "~/b", "file:///a%20b", "FILE:///a", "file://host/x", "file:///"])
def test_a_file_uri_and_an_absolute_path_name_a_project(named: str) -> None:
    assert project_uri(named) == named


def test_a_file_uri_without_an_authority_names_the_same_project_as_with_an_empty_one() -> None:
    assert project_uri("file:/home/ana") == "file:///home/ana"


@pytest.mark.parametrize(
    "named",
    [
        *("", "a", "./a", "~nobody-is-called-this/a", "http://x", "http://x/y", "untitled:1", "untitled:/a", "file:"),
        *("file:a", "file://x", "vscode-vfs://github/a", "/a\x00", "file:///a%00", "file://[x", "/\ud800", 7, [], True),
    ],
)
def test_nothing_else_names_a_project_and_the_words_say_what_does(named: Any) -> None:
    assert problems(wire.ProjectParams, {"projectUri": named}).startswith("projectUri: must be a ")


def test_without_a_project_uri_or_with_null_the_default_project_is_meant() -> None:
    assert wire.ProjectParams.model_validate({}) == wire.ProjectParams.model_validate({"projectUri": None})


@pytest.mark.parametrize("value", [float("nan"), float("inf"), [{"a": float("-inf")}]])
def test_numbers_that_json_does_not_know_are_refused_in_data_of_the_user(value: Any) -> None:
    assert "messages[0]" in problems(
        wire.DidAppendMessages, {"sessionId": "s", "messages": [{"role": "user", "x": value}]}
    )


def test_unusable_folders_are_left_out_of_the_params_and_the_rest_stays() -> None:
    good = {"uri": "file:///a", "name": "a"}
    params = {"rootUri": "file://[x", "workspaceFolders": [{"uri": "file://[x", "name": "x"}, good], "processId": 1}
    usable = {"rootUri": None, "workspaceFolders": [good], "processId": 1}
    assert with_usable_folders(params) == usable
    assert folders_of(usable) == ("file:///a",)


@pytest.mark.parametrize(
    "time",
    ["2026-07-01\ud80009:30:00Z", "2026-07-01\x0009:30:00Z", "2026-07-01X09:30:00Z", "2026-W27-3T09:30Z", "2026-07-01"],
)
def test_a_time_of_other_characters_is_none(time: str) -> None:
    with pytest.raises(ValidationError, match="ISO 8601"):
        wire.Event.model_validate(
            {"sessionId": "s", "kind": "note", "body": {"type": "text", "content": ""}, "validTime": time}
        )


@pytest.mark.parametrize("time", ["2026-07-01T09:30:00Z", "2026-07-01t09:30z", "2026-07-01 09:30:00.5+02:00"])
def test_a_time_with_an_offset_is_kept_as_it_stands(time: str) -> None:
    assert wire.Event.model_validate(noted(time)).valid_time == time


def noted(time: str) -> dict[str, Any]:
    return {"sessionId": "s", "kind": "note", "body": {"type": "text", "content": ""}, "validTime": time}
