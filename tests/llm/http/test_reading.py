"""What is made of the bytes of an answer, in both wire formats, whole and in any cuts."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.core.model_calls import ModelFailure, ModelReply, Usage
from lithify.llm.http.answer import MOST_TEXT_BYTES, verdict
from lithify.llm.http.endpoint import Access, Endpoint, Wire, read_endpoint
from lithify.llm.http.reading import MOST_BODY_BYTES, WIRE_FORMATS, AnswerReader

EVENTS = "text/event-stream; charset=utf-8"
JSON_TYPE = "application/json"


def worth(wire: Wire, content_type: str, *pieces: bytes) -> ModelReply | ModelFailure:
    """What an answer in these pieces is worth."""
    endpoint = read_endpoint("http://h:1/v1", wire)
    assert isinstance(endpoint, Endpoint)
    reader = AnswerReader(WIRE_FORMATS[wire], content_type)
    for piece in pieces:
        if not reader.answer.is_over:
            reader.feed(piece)
    return verdict(reader.finish(), Access(endpoint), 200, content_type, "asked", None)


def stream(*events: Any) -> bytes:
    """A stream of events, each a JSON value or a text as it is."""
    return b"".join(f"data: {event if isinstance(event, str) else json.dumps(event)}\n\n".encode() for event in events)


def chunk(delta: Any = None, stop: Any = None, **more: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta or {}, "finish_reason": stop}], **more}


def openai(*events: Any) -> ModelReply | ModelFailure:
    return worth("openai", EVENTS, stream(*events))


def anthropic(*events: dict[str, Any]) -> ModelReply | ModelFailure:
    return worth("anthropic", EVENTS, stream(*events))


def reply(found: ModelReply | ModelFailure) -> ModelReply:
    assert isinstance(found, ModelReply), found
    return found


def failure(found: ModelReply | ModelFailure) -> ModelFailure:
    assert isinstance(found, ModelFailure), found
    return found


# --- OpenAI ---------------------------------------------------------------------------------------------------

HELLO, END = chunk({"content": "hello"}), chunk(stop="stop")


def test_openais_stream_is_its_deltas_joined() -> None:
    usage = {"choices": [], "usage": {"prompt_tokens": 12, "completion_tokens": 3}}
    found = openai(
        chunk({"role": "assistant", "content": ""}, model="gpt"), HELLO, chunk({"content": " you"}), END, usage
    )
    assert found == ModelReply("hello you", "http", "gpt", "end", Usage(12, 3))


def test_openais_answer_in_one_piece_is_read_though_a_stream_was_asked_for() -> None:
    whole = {
        "model": "gpt",
        "choices": [{"message": {"role": "assistant", "content": "hello"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 12, "completion_tokens": 3},
    }
    for content_type in (JSON_TYPE, EVENTS, ""):
        found = worth("openai", content_type, json.dumps(whole).encode())
        assert found == ModelReply("hello", "http", "gpt", "end", Usage(12, 3))


@pytest.mark.parametrize(
    ("reason", "stop_reason"),
    [("stop", "end"), ("length", "max_tokens"), ("eos", "eos")],
)
def test_openais_stop_reasons_are_put_into_ours(reason: str, stop_reason: str) -> None:
    assert reply(openai(HELLO, chunk(stop=reason), "[DONE]")).stop_reason == stop_reason


@pytest.mark.parametrize(
    "events",
    [
        (chunk({"reasoning_content": "hm"}), chunk({"reasoning": "hm"}), HELLO, END),
        (chunk({"content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "hello"}]}), END),
        ({"choices": [{"index": 1, "delta": {"content": "other"}, "finish_reason": "stop"}]}, HELLO, END),
        (HELLO, "[DONE]", chunk({"content": "late"})),
        (HELLO, END, "[DONE]", "no json"),
        (HELLO, {"choices": []}, {"choices": None}, [], 5, END),
        (HELLO, chunk({"content": None}), chunk({"tool_calls": []}), END),
    ],
)
def test_openais_other_parts_are_no_text(events: tuple[Any, ...]) -> None:
    assert reply(openai(*events)).text == "hello"


def test_a_block_of_thoughts_in_the_text_stays() -> None:
    assert reply(openai(chunk({"content": "<think>hm</think>hello"}), END)).text == "<think>hm</think>hello"


def test_without_a_name_in_the_answer_the_model_is_the_one_asked_for() -> None:
    assert reply(openai(HELLO, END)).model == "asked"


@pytest.mark.parametrize(
    ("events", "word"),
    [
        ((HELLO, chunk(stop="content_filter")), "filter"),
        ((HELLO, chunk(stop="tool_calls")), "tool"),
        ((HELLO, chunk({"tool_calls": [{"index": 0}]}), END), "tool"),
        ((HELLO, chunk({"function_call": {"name": "f"}}), END), "tool"),
        ((HELLO, chunk(stop="error")), "error"),
        ((HELLO, {"error": {"message": "it hurts"}}), "it hurts"),
        ((HELLO, {**chunk(stop="error"), "error": {"message": "it hurts"}}), "it hurts"),
        ((HELLO, {"object": "error", "message": "it hurts"}), "it hurts"),
        ((chunk({"refusal": "I can"}), chunk({"refusal": "not"}), END), "I cannot"),
        ((HELLO,), "broke off after 5 bytes"),
        ((HELLO, "{broken"), "no answer"),
    ],
)
def test_openais_answer_with_something_wrong_is_an_error_that_says_what(events: tuple[Any, ...], word: str) -> None:
    found = failure(openai(*events))
    assert found.type == "model_error"
    assert word in found.message


def test_llama_cpps_error_line_is_an_error() -> None:
    body = stream(HELLO) + b'error: {"code":500,"message":"it hurts"}\n\n'
    assert "it hurts" in failure(worth("openai", EVENTS, body)).message


def test_lm_studios_error_event_is_an_error() -> None:
    body = stream(HELLO) + b'event: error\ndata: {"message":"it hurts"}\n\n'
    assert "it hurts" in failure(worth("openai", EVENTS, body)).message


# --- Anthropic ------------------------------------------------------------------------------------------------

START = {
    "type": "message_start",
    "message": {
        "model": "claude",
        "content": [],
        "stop_reason": None,
        "usage": {
            "input_tokens": 10,
            "cache_creation_input_tokens": 20,
            "cache_read_input_tokens": 30,
            "output_tokens": 1,
        },
    },
}
STOP: dict[str, Any] = {"type": "message_stop"}


def text_delta(text: str) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}


def stopped(reason: str, **usage: int) -> dict[str, Any]:
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}


def block(kind: str, **more: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": 0, "content_block": {"type": kind, **more}}


def test_anthropics_stream_is_its_text_deltas_joined() -> None:
    found = anthropic(
        START,
        block("text", text=""),
        {"type": "ping"},
        text_delta("hello"),
        text_delta(" you"),
        stopped("end_turn", output_tokens=3),
        STOP,
    )
    assert found == ModelReply("hello you", "http", "claude", "end", Usage(60, 3))


def test_anthropics_answer_in_one_piece_is_read_though_a_stream_was_asked_for() -> None:
    whole = {
        "type": "message",
        "model": "claude",
        "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "hello"}],
        "stop_reason": "max_tokens",
        "usage": {"input_tokens": 12, "output_tokens": 3},
    }
    found = worth("anthropic", JSON_TYPE, json.dumps(whole).encode())
    assert found == ModelReply("hello", "http", "claude", "max_tokens", Usage(12, 3))


@pytest.mark.parametrize(
    ("reason", "stop_reason"),
    [
        ("end_turn", "end"),
        ("stop_sequence", "end"),
        ("max_tokens", "max_tokens"),
        ("model_context_window_exceeded", "max_tokens"),
        ("pause_turn", "pause_turn"),
    ],
)
def test_anthropics_stop_reasons_are_put_into_ours(reason: str, stop_reason: str) -> None:
    assert reply(anthropic(START, text_delta("hello"), stopped(reason), STOP)).stop_reason == stop_reason


def test_anthropics_thoughts_are_no_text() -> None:
    thought = {"type": "content_block_delta", "delta": {"type": "thinking_delta", "thinking": "hm"}}
    signature = {"type": "content_block_delta", "delta": {"type": "signature_delta", "signature": "s"}}
    found = anthropic(
        START, block("thinking", thinking="hm"), thought, signature, text_delta("hello"), stopped("end_turn")
    )
    assert reply(found).text == "hello"


@pytest.mark.parametrize(
    ("events", "word"),
    [
        ((START, text_delta("x"), stopped("refusal"), STOP), "refused"),
        ((START, text_delta("x"), stopped("tool_use"), STOP), "tool"),
        ((START, block("tool_use", name="f"), stopped("end_turn"), STOP), "tool"),
        ((START, block("server_tool_use", name="f"), stopped("end_turn"), STOP), "tool"),
        ((START, text_delta("x"), {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}), "busy"),
        ((START, text_delta("hello")), "broke off after 5 bytes"),
        ((START, text_delta("hello"), {"type": "content_block_stop"}), "broke off"),
    ],
)
def test_anthropics_answer_with_something_wrong_is_an_error_that_says_what(
    events: tuple[dict[str, Any], ...], word: str
) -> None:
    found = failure(anthropic(*events))
    assert found.type == "model_error"
    assert word in found.message


# --- both -----------------------------------------------------------------------------------------------------


def whole_stream(wire: Wire, text: str) -> bytes:
    if wire == "openai":
        return stream(chunk({"content": text}), END, "[DONE]")
    return stream(START, text_delta(text), stopped("end_turn"), STOP)


WIRES: list[Wire] = ["openai", "anthropic"]


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("text", ["", " \n "])
def test_an_answer_without_text_is_an_empty_response(wire: Wire, text: str) -> None:
    assert failure(worth(wire, EVENTS, whole_stream(wire, text))).type == "empty_response"


@pytest.mark.parametrize(
    "found", [openai(chunk(stop="length"), "[DONE]"), anthropic(START, stopped("max_tokens"), STOP)]
)
def test_an_empty_answer_at_the_output_limit_says_so(found: ModelReply | ModelFailure) -> None:
    assert failure(found).type == "empty_response"
    assert "output limit" in failure(found).message


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("text/html", b"<!doctype html><html></html>"),
        (JSON_TYPE, b"{broken"),
        (JSON_TYPE, b""),
        (JSON_TYPE, b"[]"),
        (JSON_TYPE, b'{"models": []}'),
        ("", b"hello"),
        ("", b"hi"),
    ],
)
def test_garbage_is_an_error_that_names_status_and_content_type(wire: Wire, content_type: str, body: bytes) -> None:
    found = failure(worth(wire, content_type, body))
    assert found.type == "model_error"
    assert "HTTP 200" in found.message
    assert (content_type or "no content type") in found.message


@pytest.mark.parametrize("wire", WIRES)
def test_an_error_with_status_200_is_an_error(wire: Wire) -> None:
    assert "it hurts" in failure(worth(wire, JSON_TYPE, b'{"error": {"message": "it hurts"}}')).message


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("content_type", ["", "text/plain", JSON_TYPE])
def test_a_stream_is_known_whatever_it_is_called(wire: Wire, content_type: str) -> None:
    body = b": comment\n\n" + whole_stream(wire, "hello")
    pieces = [body[at : at + 1] for at in range(len(body))]
    assert reply(worth(wire, content_type, *pieces)).text == "hello"


@pytest.mark.parametrize("wire", WIRES)
def test_the_end_of_a_stream_needs_no_empty_line(wire: Wire) -> None:
    assert reply(worth(wire, EVENTS, whole_stream(wire, "hello").rstrip())).text == "hello"


@pytest.mark.parametrize("wire", WIRES)
def test_a_last_event_that_is_cut_in_two_is_a_broken_off_answer(wire: Wire) -> None:
    first = stream(chunk({"content": "hello"})) if wire == "openai" else stream(START, text_delta("hello"))
    assert "broke off after 5 bytes" in failure(worth(wire, EVENTS, first + b'data: {"choi')).message


def test_halves_of_a_character_in_two_pieces_are_joined_and_a_lone_half_is_replaced() -> None:
    body = stream('{"choices":[{"delta":{"content":"\\ud83d"}}]}', '{"choices":[{"delta":{"content":"\\ude00"}}]}')
    lone = stream('{"choices":[{"delta":{"content":"x\\ud83d"},"finish_reason":"stop"}]}')
    assert reply(worth("openai", EVENTS, body + lone)).text == "😀x\ufffd"


@pytest.mark.parametrize("wire", WIRES)
def test_an_answer_of_more_text_than_any_summary_is_given_up(wire: Wire) -> None:
    text = "x" * (1 << 20)
    piece = stream(chunk({"content": text})) if wire == "openai" else stream(text_delta(text))
    found = failure(worth(wire, EVENTS, *[piece] * (MOST_TEXT_BYTES // len(text) + 1)))
    assert (found.type, "8 MiB" in found.message) == ("model_error", True)


@pytest.mark.parametrize("wire", WIRES)
def test_json_that_does_not_end_is_given_up(wire: Wire) -> None:
    piece = b" " * (1 << 20)
    found = failure(worth(wire, JSON_TYPE, b'{"x": "', *[piece] * (MOST_BODY_BYTES // len(piece) + 1)))
    assert (found.type, "MiB" in found.message) == ("model_error", True)


@pytest.mark.parametrize("wire", WIRES)
def test_an_event_that_does_not_end_is_given_up(wire: Wire) -> None:
    found = failure(worth(wire, EVENTS, b"data: ", *[b"x" * (1 << 20)] * 9))
    assert (found.type, "MiB" in found.message) == ("model_error", True)


@pytest.mark.parametrize("count", [-1, 1.5, True, "5", None, 1 << 60])
def test_what_is_no_count_of_tokens_is_none(count: Any) -> None:
    usage = {"choices": [], "usage": {"prompt_tokens": count, "completion_tokens": 3}}
    assert reply(openai(HELLO, END, usage)).usage == Usage(None, 3)


# --- anything -------------------------------------------------------------------------------------------------

NAMES = st.sampled_from(
    ["choices", "delta", "message", "content", "finish_reason", "error", "usage", "type", "text", "model", "index", "x"]
) | st.sampled_from(
    ["tool_calls", "stop_reason", "content_block", "prompt_tokens", "output_tokens", "object", "refusal"]
)
WORDS = st.sampled_from(
    ["text", "stop", "message_start", "message_delta", "content_block_delta", "error", "text_delta"]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=5),
    max_leaves=20,
)


@given(st.sampled_from(WIRES), st.sampled_from([JSON_TYPE, EVENTS, ""]), VALUES)
def test_any_json_is_a_reply_or_a_failure(wire: Wire, content_type: str, value: Any) -> None:
    assert isinstance(worth(wire, content_type, json.dumps(value).encode()), ModelReply | ModelFailure)


@given(st.sampled_from(WIRES), st.lists(VALUES, max_size=5))
def test_any_events_are_a_reply_or_a_failure(wire: Wire, values: list[Any]) -> None:
    assert isinstance(worth(wire, EVENTS, stream(*values)), ModelReply | ModelFailure)


@given(st.sampled_from(WIRES), st.sampled_from([JSON_TYPE, EVENTS, ""]), st.lists(st.binary()))
def test_any_bytes_are_a_reply_or_a_failure(wire: Wire, content_type: str, pieces: list[bytes]) -> None:
    assert isinstance(worth(wire, content_type, *pieces), ModelReply | ModelFailure)


@given(st.sampled_from(WIRES), st.text(min_size=1).map("x".__add__), st.integers(1, 50))
def test_any_cuts_give_the_same_answer(wire: Wire, text: str, size: int) -> None:
    body = whole_stream(wire, text)
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    assert reply(worth(wire, EVENTS, *pieces)).text == text
