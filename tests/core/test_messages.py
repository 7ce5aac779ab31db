"""What a message says, and what it is measured to be."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.core.messages import (
    ToolCall,
    answered_calls,
    call_ids,
    counted_bytes,
    estimate_tokens,
    has_media,
    text_of,
    tool_calls,
    total_bytes,
)
from tests.support.messages import Message, calling, result, said, text, used, user, using

# --- tokens: ceil(UTF-8 bytes / 2.7) over text parts and tool calls --------------------------------------------


@pytest.mark.parametrize(
    ("size", "tokens"), [(0, 0), (1, 1), (2, 1), (3, 2), (27, 10), (28, 11), (270, 100), (2701, 1001)]
)
def test_tokens_are_bytes_over_2_7_rounded_up(size: int, tokens: int) -> None:
    assert estimate_tokens([user("a" * size)]) == tokens


@pytest.mark.parametrize(("character", "size"), [("é", 2), ("漢", 3), ("😀", 4), ("\ud800", 3)])
def test_characters_count_by_their_bytes_in_utf_8(character: str, size: int) -> None:
    assert estimate_tokens([user(character * 27)]) == size * 10


def test_text_parts_count_as_much_as_a_string() -> None:
    assert estimate_tokens([said("user", text("a" * 20, "b" * 7))]) == 10


def test_rounding_happens_once_for_all_messages() -> None:
    assert estimate_tokens([user("a")] * 27) == 10


@pytest.mark.parametrize(
    "part",
    [
        {"type": "think", "think": "x" * 270},
        {"type": "image_url", "image_url": {"url": "x" * 270}},
        {"type": "weird", "x": "x" * 270},
    ],
)
def test_parts_without_text_count_nothing(part: dict[str, Any]) -> None:
    assert estimate_tokens([said("user", [part])]) == 0


@pytest.mark.parametrize("role", ["system", "developer", "user", "assistant", "tool"])
def test_text_counts_alike_whoever_says_it(role: str) -> None:
    assert estimate_tokens([said(role, "a" * 27)]) == 10


def test_tool_calls_count_as_compact_json() -> None:
    calls = [{"id": "c", "function": {"name": "f", "arguments": "漢"}}]
    written = '[{"id":"c","function":{"name":"f","arguments":"漢"}}]'
    wanted = estimate_tokens([user(written)])
    assert estimate_tokens([{"role": "assistant", "content": None, "tool_calls": calls}]) == wanted


def test_a_call_in_anthropics_form_counts_as_compact_json() -> None:
    part = {"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}}
    written = '{"type":"tool_use","id":"t","name":"f","input":{"a":1}}'
    assert estimate_tokens([said("assistant", [part])]) == estimate_tokens([user(written)])


def test_the_text_of_a_result_in_anthropics_form_counts() -> None:
    parts = [{"type": "tool_result", "tool_use_id": "t", "content": text("a" * 27)}]
    assert estimate_tokens([said("user", parts)]) == 10


def test_ids_names_and_other_keys_count_nothing() -> None:
    assert estimate_tokens([{**result("c" * 270, "a" * 27), "name": "n" * 270, "id": "i" * 270}]) == 10


def test_no_messages_are_no_tokens() -> None:
    assert estimate_tokens([]) == 0


# --- what is said ---------------------------------------------------------------------------------------------


def test_the_text_of_a_message_is_its_text_parts_joined_by_newlines() -> None:
    assert text_of(said("user", [*text("a"), {"type": "think", "think": "t"}, *text("b")])) == "a\nb"


@pytest.mark.parametrize("content", [None, [], 7, {}, [None], [{"type": "text"}], [{"type": "thinking", "text": "t"}]])
def test_content_of_any_other_shape_says_nothing(content: Any) -> None:
    assert text_of(said("user", content)) == ""


@pytest.mark.parametrize("kind", ["image_url", "audio_url", "video_url", "image", "input_audio"])
def test_images_sound_and_film_are_media(kind: str) -> None:
    assert has_media(said("user", [*text("a"), {"type": kind}]))


@pytest.mark.parametrize("message", [user(), said("user", text("a")), said("user", None), {}])
def test_text_is_no_media(message: Message) -> None:
    assert not has_media(message)


# --- calls ----------------------------------------------------------------------------------------------------


def test_calls_are_read_with_their_arguments_decoded() -> None:
    assert tool_calls(calling("c1")) == [ToolCall("c1", "shell", {"command": "ls"})]


def test_arguments_that_are_no_json_stay_text() -> None:
    call = {"id": "c1", "function": {"name": "f", "arguments": "not json"}}
    assert tool_calls({"tool_calls": [call]}) == [ToolCall("c1", "f", "not json")]


def test_arguments_nested_too_deep_stay_text() -> None:
    deep = "[" * 100_000
    assert tool_calls({"tool_calls": [{"id": "c1", "function": {"name": "f", "arguments": deep}}]}) == [
        ToolCall("c1", "f", deep)
    ]


def test_calls_in_anthropics_form_are_read() -> None:
    assert tool_calls(using("t1")) == [ToolCall("t1", "shell", {})]


@pytest.mark.parametrize(
    ("message", "ids"),
    [
        (result("c1"), ["c1"]),
        (result(), [""]),
        (result(""), [""]),
        ({"role": "tool", "tool_call_ids": ["c1", "c2"]}, ["c1", "c2"]),
        ({"role": "tool", "tool_call_ids": []}, [""]),
        (used("t1", "t2"), ["t1", "t2"]),
        (said("user", "x", tool_call_id="c1"), []),
        (user(), []),
    ],
)
def test_a_message_answers_the_calls_it_names(message: Message, ids: list[str]) -> None:
    assert answered_calls(message) == ids


@pytest.mark.parametrize("arguments", ['{"x": NaN}', '{"x": -Infinity}', '{"x": 1e999}', "{", "[" * 100_000])
def test_arguments_that_are_no_json_stand_as_their_text(arguments: str) -> None:
    message = {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": arguments}}]}
    assert tool_calls(message)[0].arguments == arguments


# --- many at once ---------------------------------------------------------------------------------------------

words = st.sampled_from(["", " ", "a", "é漢", "😀", '"\\n', "\ud800"])
odd = st.none() | st.integers() | words | st.lists(words, max_size=2)
calls = st.fixed_dictionaries(
    {}, optional={"id": odd, "name": odd, "function": st.dictionaries(words, odd, max_size=2)}
)
parts = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["text", "think", "tool_use", "tool_result"]),
        "id": odd,
        "text": odd,
        "input": odd,
        "content": odd,
    },
)
messages_of_any_shape = st.fixed_dictionaries(
    {}, optional={"role": odd, "content": odd | st.lists(parts | odd), "tool_calls": odd | st.lists(calls | odd)}
)


@given(st.lists(messages_of_any_shape, max_size=4))
def test_the_size_of_many_messages_is_the_sum_of_their_sizes(messages: list[Message]) -> None:
    assert total_bytes(messages) == sum(map(counted_bytes, messages))


@given(messages_of_any_shape)
def test_the_ids_of_calls_are_those_of_the_calls_that_are_read(message: Message) -> None:
    assert call_ids(message) == [call.call_id for call in tool_calls(message)]
