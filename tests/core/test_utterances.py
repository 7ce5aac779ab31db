"""Which messages become events, and how the same thing said again is known."""

from __future__ import annotations

from typing import Any

import pytest
from ulid import ULID

from lithify.core.kimi import summary_message
from lithify.core.messages import ToolCall
from lithify.core.utterances import Utterance, event_id_of, tool_use_of, tool_uses, turn_of, utterances
from tests.support.messages import Message, assistant, calling, result, said, system, text, used, user, using


def turn(message: Message) -> Utterance:
    found = turn_of(message)
    assert found is not None
    return found


def fingerprint(message: Message) -> str:
    return turn(message).fingerprint


# --- turns ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("message", "kind"), [(user("hi"), "prompt"), (assistant("hi"), "note")])
def test_a_user_or_assistant_message_with_text_becomes_a_turn(message: Message, kind: str) -> None:
    found = turn(message)
    assert found.kind == kind
    assert found.body == {"type": "message", "turns": [{"role": message["role"], "content": "hi"}]}


def test_the_content_of_a_turn_is_its_text_parts_joined_by_newlines() -> None:
    message = said("user", [*text("a"), {"type": "think", "think": "t"}, {"type": "image_url"}, *text("b")])
    assert turn(message).body["turns"][0]["content"] == "a\nb"


def test_the_text_beside_tool_calls_is_a_turn() -> None:
    assert turn(calling("c1", text="let me look")).body["turns"][0]["content"] == "let me look"


@pytest.mark.parametrize("role", ["system", "developer", "tool", "somebody"])
def test_no_other_role_becomes_a_turn(role: str) -> None:
    assert turn_of(said(role, "hi")) is None


@pytest.mark.parametrize(
    "content", [None, [], "", " \n", text("", " "), [{"type": "think", "think": "t"}], [{"type": "image_url"}]]
)
def test_a_message_without_text_becomes_no_turn(content: Any) -> None:
    assert turn_of(said("user", content)) is None
    assert turn_of(said("assistant", content)) is None


@pytest.mark.parametrize("beside", [[user()], [calling("c1")]], ids=["string", "parts"])
def test_a_summary_made_by_a_compaction_becomes_no_turn(beside: list[Message]) -> None:
    assert turn_of(summary_message(beside, "SUM")) is None


def test_results_in_anthropics_form_are_no_turn() -> None:
    assert turn_of(used("t1")) is None


# --- the same thing said again ----------------------------------------------------------------------------------


def test_the_same_message_has_the_same_fingerprint() -> None:
    assert fingerprint(user("hi")) == fingerprint(user("hi"))


@pytest.mark.parametrize("other", [user("ho"), assistant("hi"), said("user", "hi ")])
def test_another_text_or_role_is_something_else(other: Message) -> None:
    assert fingerprint(other) != fingerprint(user("hi"))


def test_a_new_id_does_not_make_it_something_else() -> None:
    assert fingerprint(said("user", "yes", id="m1")) == fingerprint(said("user", "yes", id="m2"))


def test_keys_that_say_nothing_do_not_make_it_something_else() -> None:
    assert fingerprint(said("user", "hi", name="bob", stamp=7)) == fingerprint(user("hi"))


def test_a_string_and_one_text_part_say_the_same() -> None:
    assert fingerprint(said("user", text("hi"))) == fingerprint(user("hi"))


@pytest.mark.parametrize("odd", ["\ud800", "漢", "😀", "\x00"])
def test_any_text_has_a_fingerprint(odd: str) -> None:
    assert fingerprint(user(odd)) != fingerprint(user("hi"))


# --- tool uses ------------------------------------------------------------------------------------------------


def test_a_call_with_its_result_becomes_a_tool_use() -> None:
    (found,) = tool_uses(result("c1", text("out", "put")), [user(), calling("c1")])
    assert found.kind == "tool_use"
    data = {"tool_name": "shell", "tool_input": {"command": "ls"}, "tool_response": "out\nput"}
    assert found.body == {"type": "json", "data": data}


def test_each_of_several_calls_answered_at_once_becomes_a_tool_use_with_its_own_result() -> None:
    results = [{"type": "tool_result", "tool_use_id": each, "content": f"of {each}"} for each in ("t1", "t2")]
    found = tool_uses(said("user", [*results, *text("what the user adds")]), [using("t1", "t2")])
    assert [each.body["data"]["tool_response"] for each in found] == ["of t1", "of t2"]


def test_where_ids_repeat_the_nearest_call_is_the_one_answered() -> None:
    older, newer = calling("c1"), calling("c1")
    newer["tool_calls"][0]["function"]["arguments"] = '{"command": "pwd"}'
    (found,) = tool_uses(result("c1"), [older, result("c1"), newer])
    assert found.body["data"]["tool_input"] == {"command": "pwd"}


@pytest.mark.parametrize("message", [user(), system(), assistant(), calling("c1"), result("unknown")])
def test_a_message_that_answers_no_known_call_becomes_no_tool_use(message: Message) -> None:
    assert tool_uses(message, [user(), calling("c1")]) == []


def test_the_same_call_with_another_result_is_something_else() -> None:
    call = ToolCall("c1", "shell", {"command": "ls"})
    same = tool_use_of(call, result("c1", "a")).fingerprint
    assert tool_use_of(call, result("c1", "a")).fingerprint == same
    assert tool_use_of(call, result("c1", "b")).fingerprint != same


def test_a_tool_use_and_a_turn_are_never_taken_for_each_other() -> None:
    assert tool_use_of(ToolCall("", "", ""), result("", "hi")).fingerprint != fingerprint(user("hi"))


# --- old transcripts ------------------------------------------------------------------------------------------


def test_an_old_utterance_has_the_same_ulid_each_time_and_another_one_in_another_project() -> None:
    (said,) = utterances([{"role": "user", "content": "Fix it."}], tools=False)
    first, again, elsewhere = event_id_of("p", said), event_id_of("p", said), event_id_of("q", said)
    assert (first == again, first == elsewhere) == (True, False)
    assert str(ULID.from_str(first)) == first


def test_a_whole_conversation_says_each_thing_once() -> None:
    said = [{"role": "user", "content": text} for text in ("yes", "no", "yes")]
    assert [one.body["turns"][0]["content"] for one in utterances(said, tools=True)] == ["yes", "no"]
