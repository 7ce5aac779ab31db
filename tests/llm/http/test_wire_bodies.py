"""What is sent: the bodies and headers of both wire formats."""

from __future__ import annotations

from typing import Any

import pytest

from lithify.core.model_calls import ModelRequest
from lithify.llm.http import anthropic, openai
from lithify.llm.http.overrides import choose_model_name
from lithify.llm.http.reading import WIRE_FORMATS, WireFormat
from lithify.llm.http.refusals import Refusal

PARTS = [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]


def request(**given: Any) -> ModelRequest:
    defaults: dict[str, Any] = {
        "purpose": "conversation",
        "system_prompt": "You sum up.",
        "parts": ("one", "two"),
        "timeout_ms": 1000,
    }
    return ModelRequest(**{**defaults, **given})


def test_openais_body_is_a_system_message_and_a_user_message_in_parts() -> None:
    assert openai.body(request(), "m") == {
        "model": "m",
        "messages": [{"role": "system", "content": "You sum up."}, {"role": "user", "content": PARTS}],
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_anthropics_body_is_a_system_prompt_and_a_user_message_in_parts() -> None:
    assert anthropic.body(request(), "m") == {
        "model": "m",
        "system": "You sum up.",
        "messages": [{"role": "user", "content": PARTS}],
        "max_tokens": 8192,
        "stream": True,
    }


def test_an_empty_system_prompt_is_left_out() -> None:
    assert openai.body(request(system_prompt=""), "m")["messages"] == [{"role": "user", "content": PARTS}]
    assert "system" not in anthropic.body(request(system_prompt=""), "m")


def test_anthropic_is_sent_no_part_without_text() -> None:
    assert anthropic.body(request(parts=("one", "", " \n", "two")), "m")["messages"][0]["content"] == PARTS


def test_without_a_model_openais_body_has_no_such_key() -> None:
    assert "model" not in openai.body(request(), None)


@pytest.mark.parametrize("wire", [openai, anthropic])
def test_a_limit_of_the_request_is_sent(wire: WireFormat) -> None:
    assert wire.body(request(max_output_tokens=500), "m")["max_tokens"] == 500


FORBIDDEN = ["tools", "tool_choice", "functions", "messages", "system", "stream", "disable_all_tools"]


@pytest.mark.parametrize("wire", [openai, anthropic])
def test_settings_go_into_the_body_but_for_those_of_the_contract(wire: WireFormat) -> None:
    settings = {"temperature": 0, "max_tokens": 7, "metadata": {"a": [1]}, **dict.fromkeys(FORBIDDEN, "no")}
    expected = {**wire.body(request(), "m"), "temperature": 0, "max_tokens": 7, "metadata": {"a": [1]}}
    assert wire.body(request(settings=settings), "m") == expected


@pytest.mark.parametrize("wire", [openai, anthropic])
def test_no_body_ever_has_a_key_for_tools(wire: WireFormat) -> None:
    body = wire.body(request(settings={"disable_all_tools": True, "tools": [], "functions": []}), "m")
    assert {"tools", "tool_choice", "functions", "disable_all_tools"} & set(body) == set()


@pytest.mark.parametrize(
    ("wire", "key", "expected"),
    [
        (openai, "k", {"authorization": "Bearer k"}),
        (openai, None, {}),
        (anthropic, "k", {"x-api-key": "k", "anthropic-version": "2023-06-01"}),
        (anthropic, None, {"anthropic-version": "2023-06-01"}),
    ],
)
def test_the_key_is_in_the_header_of_the_wire(wire: WireFormat, key: str | None, expected: dict[str, str]) -> None:
    assert wire.headers(key) == expected


# --- which model ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pinned", "setting", "configured", "expected"),
    [
        (None, None, None, (None, None)),
        (None, None, "own", ("own", None)),
        ("pinned", None, "own", ("pinned", None)),
        ("pinned", "override", "own", ("override", None)),
        (None, "override", None, ("override", None)),
        ("missing", None, "own", ("own", "missing")),
        ("missing", None, None, (None, "missing")),
        ("pinned", "missing", "own", ("own", "missing")),
    ],
)
def test_the_model_is_the_overrides_then_the_requests_then_the_settings(
    pinned: str | None, setting: str | None, configured: str | None, expected: tuple[str | None, str | None]
) -> None:
    settings = {} if setting is None else {"model": setting}
    assert choose_model_name(request(model=pinned, settings=settings), configured, {"missing"}) == expected


# --- what is sent again ---------------------------------------------------------------------------------------


def test_an_endpoint_that_knows_no_stream_options_is_asked_without_them() -> None:
    sent = openai.body(request(), "m")
    for sentence in ("Unknown parameter: stream_options", "unexpected field include_usage"):
        amended = openai.amended(sent, Refusal(400, sentence=sentence))
        assert amended == {name: value for name, value in sent.items() if name != "stream_options"}
        assert openai.amended(amended, Refusal(400, sentence=sentence)) is None


def test_a_model_that_wants_max_completion_tokens_gets_them() -> None:
    sent = openai.body(request(max_output_tokens=500), "m")
    refusal = Refusal(
        400, sentence="'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    )
    amended = openai.amended(sent, refusal)
    assert amended is not None
    assert ("max_tokens" in amended, amended["max_completion_tokens"]) == (False, 500)
    assert openai.amended(amended, refusal) is None


def test_a_model_of_anthropics_that_writes_less_gets_its_own_limit() -> None:
    sent = anthropic.body(request(), "m")
    refusal = Refusal(
        400, sentence="max_tokens: 8192 > 4096, which is the maximum allowed number of output tokens for m"
    )
    amended = anthropic.amended(sent, refusal)
    assert amended == {**sent, "max_tokens": 4096}
    assert anthropic.amended(amended, refusal) is None


@pytest.mark.parametrize("wire", WIRE_FORMATS)
@pytest.mark.parametrize(
    "refusal",
    [
        Refusal(400, sentence="no"),
        Refusal(500, sentence="stream_options max_completion_tokens max_tokens: 2 > 1"),
        Refusal(None, sentence="stream_options max_completion_tokens max_tokens: 2 > 1"),
    ],
)
def test_what_names_nothing_to_change_is_not_sent_again(wire: Any, refusal: Refusal) -> None:
    wire_format = WIRE_FORMATS[wire]
    assert wire_format.amended(wire_format.body(request(max_output_tokens=5), "m"), refusal) is None
