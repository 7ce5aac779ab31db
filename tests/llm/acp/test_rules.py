"""The pure rules around an agent: what is masked, which program runs, which model is meant, what an error speaks of."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pytest

from lithify.llm.acp.agent_log import LONGEST_LINE_BYTES, AgentLog
from lithify.llm.acp.connection import refusal
from lithify.llm.acp.environment import Mask, NoProgram, Program, base_environment, cannot_be_given, find_program
from lithify.llm.acp.failures import (
    error_sentence,
    failure_of_error,
    is_about_login,
    shortened,
    telling_line,
    without_halves,
)
from lithify.llm.acp.model_choice import Offer, offer_of
from lithify.llm.acp.transport import LineTransport

# --- environment ----------------------------------------------------------------------------------------------


def test_a_variable_is_passed_by_the_base_by_its_prefix_or_by_name() -> None:
    given = {"PATH": "/bin", "LC_ALL": "C", "XDG_CONFIG_HOME": "/c", "MY_KEY": "k", "PYTHONPATH": "/p", "TERM": "xterm"}
    assert base_environment(given, ["MY_KEY", "UNSET"]) == {
        "PATH": "/bin",
        "LC_ALL": "C",
        "XDG_CONFIG_HOME": "/c",
        "MY_KEY": "k",
        "TERM": "dumb",
    }


def test_values_of_secrets_and_of_named_variables_are_masked() -> None:
    environment = {
        "NAMED": "named-value",
        "OPENAI_API_KEY": "sk-12345",
        "HTTPS_PROXY": "http://me:word@proxy",
        "HOME": "/home/somebody",
        "A_TOKEN": "short",
        "LONGER_KEY": "sk-12345-and-more",
    }
    mask = Mask(environment, ["NAMED"])
    text = "named-value sk-12345-and-more sk-12345 http://me:word@proxy /home/somebody short"
    assert mask(text) == "<NAMED> <LONGER_KEY> <OPENAI_API_KEY> <HTTPS_PROXY> /home/somebody short"


def test_a_secret_is_masked_as_urls_and_json_spell_it() -> None:
    value = 'a/b+"c d=\u00fc'
    mask = Mask({"A_KEY": value}, [])
    for spelled in (quote(value, ""), quote(value, "").lower(), quote_plus(value), json.dumps(value)[1:-1]):
        assert mask(f"x?{spelled}&y") == "x?<A_KEY>&y"
    assert mask(json.dumps(value, ensure_ascii=False).replace("/", "\\/")) == '"<A_KEY>"'


def test_each_line_of_a_secret_of_several_lines_is_masked() -> None:
    mask = Mask({"A_KEY": "-----BEGIN-----\nMIIEvQIBADAN\nab\n"}, [])
    assert mask("  MIIEvQIBADAN\r\nab") == "  <A_KEY>\r\nab"


def test_nul_and_halves_of_surrogate_pairs_cannot_be_given_to_a_program() -> None:
    assert [cannot_be_given(text) for text in ("a\0", "\ud800", "ü 😀", "\udcff")] == [True, True, False, False]


@pytest.mark.asyncio
@pytest.mark.parametrize("size", [LONGEST_LINE_BYTES - 20, LONGEST_LINE_BYTES - 1, LONGEST_LINE_BYTES + 10])
@pytest.mark.parametrize("before", [0, 3])
async def test_a_secret_across_the_end_of_a_cut_line_is_not_told_in_part(size: int, before: int) -> None:
    secret = "sk-live-0123456789-0123456789-0123456789"
    log = AgentLog("the stub", Mask({"A_KEY": secret}, []))
    reader = asyncio.StreamReader()
    line = (
        secret.encode() * before + b"p" * (size - before * len(secret)) + secret.encode() * 9 + b"p" * 9000 + b"\nbye\n"
    )
    for start in range(0, len(line), 1000):
        reader.feed_data(line[start : start + 1000])
    reader.feed_eof()
    await log.read(reader)
    told, last = log.lines
    assert (secret[:6] in told, last) == (False, "bye")
    assert len(told) <= LONGEST_LINE_BYTES


def test_a_program_is_found_by_name_by_path_and_in_the_home_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "agent"
    program.write_text("#!/bin/sh\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    path = {"PATH": str(tmp_path)}
    assert find_program("agent", path) == NoProgram(str(program))
    program.chmod(0o755)
    for word in ("agent", str(program), "~/agent", "./agent"):
        assert find_program(word, path) == Program(str(program))
    assert find_program("agent", {"PATH": os.devnull}) == NoProgram(None)


# --- models ---------------------------------------------------------------------------------------------------


def test_a_model_is_meant_by_its_id_first_then_its_name_then_without_case() -> None:
    offer = Offer(None, None, (("Big", "small"), ("small", "Big"), ("other", "The Other")))
    assert offer.find("small") == "small"
    assert offer.find("Big") == "Big"
    assert offer.find("the other") == "other"
    assert offer.find("OTHER") == "other"
    assert offer.find("nothing") is None


@pytest.mark.parametrize(
    "session",
    [
        {},
        {"configOptions": None, "models": None},
        {"configOptions": [5, {"category": "model"}, {"category": "mode", "id": "m"}]},
        {"models": "text"},
    ],
)
def test_a_session_that_says_nothing_of_models_offers_none(session: Any) -> None:
    assert offer_of(session) is None


def test_options_of_any_shape_do_no_harm() -> None:
    option = {"id": "m", "category": "model", "currentValue": 5, "options": [5, {}, {"value": 7}, {"value": "a"}]}
    assert offer_of({"configOptions": [option]}) == Offer("m", None, (("a", "a"),))
    assert offer_of({"models": {"availableModels": "text"}}) == Offer(None, None, ())


# --- errors ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        ({"code": 5, "message": "no"}, "no (code 5)"),
        ({"message": "no", "data": "because"}, "no: because"),
        ({"message": "no", "data": {"error": {"message": "because"}}}, "no: because"),
        ({"message": "no because", "data": {"details": "because"}}, "no because"),
        ({"message": "two\nlines"}, "two lines"),
        ({}, "no reason given"),
    ],
)
def test_an_error_says_its_message_and_its_detail(error: Any, sentence: str) -> None:
    assert error_sentence(error) == sentence


@pytest.mark.parametrize(
    "message",
    [
        "Authentication required",
        "Please log in",
        "You are not logged in",
        "Invalid API key",
        "HTTP 401",
        "auth_expired",
    ],
)
def test_an_error_about_login_is_known_by_its_words(message: str) -> None:
    assert is_about_login({"code": -32603, "message": message}, opening=False)


@pytest.mark.parametrize("message", ["the author is missing", "logging into a file failed", "model not found", "4012"])
def test_other_errors_are_not_about_login(message: str) -> None:
    assert not is_about_login({"code": -32603, "message": message}, opening=False)


@pytest.mark.parametrize(
    "message",
    [
        "This model's maximum context length is 128000 tokens",
        "context_length_exceeded",
        "prompt is too long: 210000 tokens > 200000 maximum",
        "input exceeds the context window",
        "too many tokens",
    ],
)
def test_an_error_about_length_is_known_by_its_words(message: str) -> None:
    assert failure_of_error("the stub", "the prompt", {"message": message}).failure().type == "context_too_long"


def test_any_other_error_is_one_of_the_model() -> None:
    found = failure_of_error("the stub", "the prompt", {"message": "overloaded"}).failure()
    assert (found.type, found.message) == ("model_error", "the stub failed on the prompt: overloaded")


def test_the_line_that_tells_is_the_last_one_about_an_error() -> None:
    assert telling_line(["Error: one", "fetch failed: two", "bye"]) == "fetch failed: two"
    assert telling_line(["hello", "bye"]) is None


def test_a_sentence_is_one_line_of_bounded_length() -> None:
    assert shortened("a\n  b") == "a b"
    assert shortened("x" * 600) == "x" * 499 + "…"


def test_halves_of_surrogate_pairs_are_joined_and_lone_ones_replaced() -> None:
    assert without_halves("a \ud83d\ude00 \ud800 b") == "a 😀 \ufffd b"
    assert shortened("\udfff") == "\ufffd"


def test_a_detail_below_many_others_is_left_out() -> None:
    data: Any = "deep"
    for _ in range(5000):
        data = {"details": data}
    assert error_sentence({"message": "no", "data": data}) == "no"


@pytest.mark.parametrize("params", [None, [], {}, {"options": "text"}, {"options": [5, {"kind": "allow_once"}]}])
def test_a_permission_request_of_any_shape_is_refused(params: Any) -> None:
    assert refusal(params) == {"outcome": "cancelled"}


# --- the wire -------------------------------------------------------------------------------------------------


async def received(*pieces: bytes) -> tuple[list[Any], list[Any], int]:
    """What a transport makes of the pieces: messages, notifications, and how many lines it skipped."""
    reader = asyncio.StreamReader()
    told: list[Any] = []
    transport = LineTransport(reader, None, lambda *what: told.append(what), told.append)  # type: ignore[arg-type]
    for piece in pieces:
        reader.feed_data(piece)
    reader.feed_eof()
    messages = []
    while (message := await transport.receive()) is not None:
        messages.append(message)
    return messages, told, transport.skipped_lines


@pytest.mark.asyncio
async def test_messages_are_put_together_from_pieces() -> None:
    line = json.dumps({"id": 1, "result": {"text": "ü" * 100}}).encode() + b"\r\n"
    assert await received(line[:10], line[10:50], line[50:] + line[:5], line[5:]) == ([json.loads(line)] * 2, [], 0)


@pytest.mark.asyncio
async def test_a_last_message_without_a_line_end_counts() -> None:
    assert await received(b'{"id":1,"result":null}') == ([{"id": 1, "result": None}], [], 0)


@pytest.mark.asyncio
async def test_notifications_are_told_in_order_and_requests_are_not_among_them() -> None:
    first, request, second = {"method": "a", "params": 1}, {"method": "b", "id": "x"}, {"method": "c"}
    lines = b"".join(json.dumps(message).encode() + b"\n" for message in (first, request, second))
    assert await received(lines) == ([request], [("a", 1), ("c", None)], 0)


@pytest.mark.asyncio
async def test_what_is_no_message_is_counted_and_skipped() -> None:
    lines = [b"hello", b"", b"5", b"[]", b"{}", b'{"id":"x","result":1}', b'{"method":5}', b"\xff\xfe", b"[" * 100_000]
    assert await received(b"\n".join(lines) + b"\n") == ([], [], 8)


@pytest.mark.asyncio
async def test_the_hundred_and_first_request_is_the_last_thing_that_is_read() -> None:
    messages, told, _ = await received(b'{"id":"x","method":"a"}\n' * 200)
    assert (len(messages), told) == (100, ["asked for more than 100 things where it was only asked for a text"])


@pytest.mark.asyncio
async def test_a_line_without_an_end_is_told_as_that() -> None:
    assert await received(b"x" * (65 << 20)) == ([], ["wrote more than 64 MB without the end of a line"], 0)


@pytest.mark.asyncio
async def test_an_error_is_always_an_object() -> None:
    messages, _, _ = await received(b'{"id":1,"error":"text"}\n{"id":2}\n')
    assert [message["error"] for message in messages] == [{"message": "text"}, {"message": "None"}]
