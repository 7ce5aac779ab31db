"""Events as they are stored: JSON that is sound, bodies within bounds, and the line of the buffer."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.core.events import (
    EventSource,
    NewEvent,
    StoredEvent,
    buffer_line,
    project_id_of,
    stored_event,
)
from lithify.core.outcomes import Rejected
from lithify.core.stored_json import same_json, storable_json

MEBIBYTE = 1024 * 1024
SURROGATE = "\ud800"


def event(body: Any, **more: Any) -> NewEvent:
    known = {"event_id": "01ARZ3NDEKTSV4RRFFQ69G5FAV", "session_id": "s", "actor_id": "me", "kind": "note"}
    return NewEvent(**{**known, "body": body, "valid_time": "2026-01-01T00:00:00Z", "surface": "test", **more})


def stored(body: Any, **more: Any) -> StoredEvent:
    found = stored_event(event(body, **more), "project")
    assert isinstance(found, StoredEvent), found
    return found


def rejected(body: Any) -> str:
    found = stored_event(event(body), "project")
    assert isinstance(found, Rejected), "it was taken"
    return found.reason


def text_body(content: str) -> dict[str, Any]:
    return {"type": "text", "content": content}


def json_body(data: Any) -> dict[str, Any]:
    return {"type": "json", "data": data}


def nested(depth: int) -> Any:
    found: Any = "core"
    for _ in range(depth):
        found = [found]
    return found


# --- JSON -----------------------------------------------------------------------------------------------------

leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
values = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4), max_leaves=12
)
any_text = st.text(st.characters(exclude_categories=()), max_size=20)


@given(values)
def test_stored_json_says_what_was_given(value: Any) -> None:
    assert json.loads(storable_json(value)) == value


@given(any_text)
def test_stored_json_is_always_sound_utf_8_on_one_line(value: str) -> None:
    written = storable_json({value: value})
    assert "\n" not in written
    assert written.encode("utf-8").decode("utf-8") == written


@pytest.mark.parametrize("text", ["漢", "😀", "é", "\u2028"])
def test_characters_are_stored_as_they_are(text: str) -> None:
    assert storable_json(text) == f'"{text}"'


@pytest.mark.parametrize("text", [SURROGATE, f"漢{SURROGATE}", "\udfff\ud800"])
def test_a_lone_surrogate_is_stored_as_an_escape(text: str) -> None:
    written = storable_json({"a": text})
    assert written.isascii()
    assert json.loads(written) == {"a": text}


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_numbers_that_json_does_not_know_are_an_error(number: float) -> None:
    with pytest.raises(ValueError, match="JSON"):
        storable_json({"a": [number]})


# --- what is rejected -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data", [float("nan"), [float("inf")], {"a": float("-inf")}, {1, 2}, b"bytes", nested(100_000)]
)
def test_a_body_that_is_no_json_is_rejected_by_name(data: Any) -> None:
    assert rejected(json_body(data)).startswith("body: ")


def test_a_body_nested_as_deep_as_any_program_needs_is_taken() -> None:
    assert json.loads(stored(json_body(nested(400))).body_json) == json_body(nested(400))


@pytest.mark.parametrize("character", ["a", "é", "漢", "😀"])
def test_a_body_of_exactly_a_mebibyte_is_taken_and_one_byte_more_is_not(character: str) -> None:
    free = MEBIBYTE - len('{"type":"text","content":""}')
    size = len(character.encode())
    content = character * (free // size) + "b" * (free % size)
    assert len(stored(text_body(content)).body_json.encode()) == MEBIBYTE
    reason = rejected(text_body(content + "b"))
    assert str(MEBIBYTE) in reason
    assert str(MEBIBYTE + 1) in reason


def test_a_body_is_measured_as_it_came_before_anything_is_scrubbed() -> None:
    secret = f"<private>{'s' * MEBIBYTE}</private>"
    assert "body: " in rejected(text_body(secret))


# --- what is stored -------------------------------------------------------------------------------------------


def test_an_event_is_stored_with_all_it_said() -> None:
    found = stored(
        json_body({"tool_name": "shell"}),
        kind="tool_use",
        parent_event_id="01ARZ3NDEKTSV4RRFFQ69G5FAW",
        content_hash="sha256:" + "0" * 64,
        source=EventSource("vscode", "1.2", None, "/p"),
    )
    assert (found.kind, found.valid_time, found.surface) == ("tool_use", "2026-01-01T00:00:00Z", "test")
    assert (found.parent_event_id, found.content_hash) == ("01ARZ3NDEKTSV4RRFFQ69G5FAW", "sha256:" + "0" * 64)
    assert json.loads(found.source_json) == {"surface": "vscode", "version": "1.2", "project_path": "/p"}


def test_an_event_lies_in_the_namespace_of_its_actor_and_project() -> None:
    assert stored(text_body("x")).namespace == "/actor/me/project/project/"


def test_what_is_private_is_stored_nowhere() -> None:
    found = stored(
        text_body("a <private>secret</private> b"), source=EventSource(project_path="<private>secret</private>")
    )
    assert json.loads(found.body_json) == text_body("a [REDACTED] b")
    assert "secret" not in found.source_json


def test_the_body_given_is_not_changed_by_scrubbing() -> None:
    body = text_body("<private>secret</private>")
    stored(body)
    assert body == text_body("<private>secret</private>")


def test_the_id_of_a_project_is_made_from_its_path_and_holds_no_name() -> None:
    first, second = project_id_of("/home/me/secret-name"), project_id_of("/home/me/other-name")
    assert first != second
    assert len(first) == 32
    assert set(first) <= set("0123456789abcdef")


# --- the line of the buffer -------------------------------------------------------------------------------------

KEYS = ["event_id", "namespace", "kind", "body", "timestamp", "surface"]


@given(values, any_text, any_text)
def test_a_line_has_exactly_the_six_keys_in_their_order(data: Any, namespace: str, surface: str) -> None:
    line = buffer_line("id", namespace, "note", storable_json(json_body(data)), "2026-01-01T00:00:00Z", surface)
    read = json.loads(line)
    assert list(read) == KEYS
    assert list(read.values()) == ["id", namespace, "note", json_body(data), "2026-01-01T00:00:00Z", surface]


@given(any_text)
def test_a_line_is_one_line_of_sound_utf_8(text: str) -> None:
    line = buffer_line(text, text, text, storable_json(text_body(text)), text, text)
    assert "\n" not in line
    assert line.encode("utf-8")


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c"])
def test_an_entry_is_one_line_to_every_reader(separator: str) -> None:
    line = buffer_line("E", "/actor/a/project/p/", "note", storable_json({"content": f"a{separator}b é"}), "T", "vim")
    assert line.splitlines() == [line]
    assert json.loads(line)["body"]["content"] == f"a{separator}b é"


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [('{"a":1,"b":[2]}', '{"b":[2],"a":1}', True), ('{"a":1}', '{"a":true}', False), ('{"a":1}', '{"a":1.0}', False)],
)
def test_json_says_the_same_whatever_the_order_of_keys(one: str, other: str, same: bool) -> None:
    assert same_json(one, other) is same


def test_private_spans_go_no_further_in_what_names_the_event_either() -> None:
    secret = "<private>s3cret</private>"
    made = stored_event(
        replace(event({"type": "text", "content": ""}), surface=secret, actor_id=secret, session_id=secret), "p"
    )
    assert isinstance(made, StoredEvent)
    assert "s3cret" not in repr(made)
