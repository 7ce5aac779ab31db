"""The HTTP model against a scripted endpoint: what it asks, what it makes of answers and errors, what it asks again."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
from typing import Any

import pytest

from lithify.core.model_calls import ModelFailure, ModelReply, Usage
from lithify.llm.http.model import MOST_REQUESTS
from lithify.llm.http.retrying import LEAST_WAIT_S, MOST_WAITS, SHORT_WAIT_S
from tests.llm.http.asking import KEY, WIRES, Pauses, failure, model_at, reply, request
from tests.support import model_server
from tests.support.model_server import (
    Answer,
    ByWire,
    Commented,
    Drip,
    Error,
    ErrorInStream,
    Garbage,
    ModelServer,
    Redirect,
    Request,
    Script,
    Shredded,
    Slow,
    Text,
    ToolCall,
    openrouter_unknown_model,
    overloaded,
    quota_exhausted,
    rate_limited,
    unauthorized,
    unknown_model,
)

pytestmark = pytest.mark.parametrize("wire", WIRES)

SUMMARY = Text("a summary", pieces=3)


async def asked(wire: str, script: Script = SUMMARY, **given: Any) -> tuple[ModelReply | ModelFailure, list[Request]]:
    """What a scripted endpoint is asked, and what becomes of its answer."""
    async with ModelServer(script) as server:
        found = await model_at(server.base_url, wire).ask(request(**given))
        return found, server.questions


async def outcome(wire: str, script: Script = SUMMARY, **given: Any) -> ModelReply | ModelFailure:
    return (await asked(wire, script, **given))[0]


# --- what is asked --------------------------------------------------------------------------------------------


@pytest.mark.asyncio
async def test_the_request_carries_the_text_in_its_parts_and_no_tools(wire: str) -> None:
    (sent,) = (await asked(wire, settings={"disable_all_tools": True, "tools": [{}], "temperature": 0.5}))[1]
    user = sent.body["messages"][-1]
    assert user == {"role": "user", "content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]}
    assert sent.body["temperature"] == 0.5
    assert {"tools", "tool_choice", "functions", "disable_all_tools"} & set(sent.body) == set()


@pytest.mark.asyncio
async def test_the_key_is_in_its_header_and_nowhere_else(wire: str) -> None:
    (sent,) = (await asked(wire))[1]
    holders = [name for name, value in sent.headers.items() if KEY in value]
    assert holders == [{"openai": "authorization", "anthropic": "x-api-key"}[wire]]
    assert KEY not in sent.raw.decode() + sent.path + sent.query


@pytest.mark.asyncio
async def test_a_text_that_is_no_unicode_is_sent_all_the_same(wire: str) -> None:
    (sent,) = (await asked(wire, parts=("a\ud800b",)))[1]
    assert sent.body["messages"][-1]["content"][0]["text"] == "a?b"


@pytest.mark.asyncio
async def test_the_key_is_read_anew_for_each_question(wire: str) -> None:
    environment = {"MY_KEY": "first"}
    async with ModelServer(SUMMARY) as server:
        model = model_at(server.base_url, wire, environment=environment)
        await model.ask(request())
        environment["MY_KEY"] = "second\n"
        await model.ask(request())
        headers = [" ".join(sent.headers.values()) for sent in server.questions]
    assert ["first" in headers[0], "second" in headers[1]] == [True, True]


@pytest.mark.asyncio
@pytest.mark.parametrize("environment", [{}, {"MY_KEY": ""}, {"MY_KEY": " \n"}, {"MY_KEY": "sk-ü"}, {"MY_KEY": "a\nb"}])
async def test_without_a_usable_key_nothing_is_sent_and_the_variable_is_named(
    wire: str, environment: dict[str, str]
) -> None:
    async with ModelServer(SUMMARY) as server:
        found = failure(await model_at(server.base_url, wire, environment=environment).ask(request()))
        assert server.requests == []
    assert (found.type, found.retryable, found.absent) == ("model_unavailable", False, False)
    assert "MY_KEY" in found.message
    assert "model.http.apiKeyEnv" in found.message


# --- answers --------------------------------------------------------------------------------------------------


@pytest.mark.asyncio
async def test_an_answer_is_the_models_reply(wire: str) -> None:
    assert await outcome(wire) == ModelReply("a summary", "http", "own", "end", Usage(12, 3))


@pytest.mark.asyncio
async def test_an_answer_at_the_output_limit_says_so(wire: str) -> None:
    assert reply(await outcome(wire, Text("half", stop="max_tokens"))).stop_reason == "max_tokens"


PLAIN = ByWire(
    openai=Garbage(json.dumps({"choices": [{"message": {"content": "plain"}, "finish_reason": "stop"}]}).encode()),
    anthropic=Garbage(json.dumps({"content": [{"type": "text", "text": "plain"}], "stop_reason": "end_turn"}).encode()),
)


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("script", "text"),
    [
        (Text("a summary", usage=None), "a summary"),
        (Text("a summary", thinking="hm"), "a summary"),
        (Text("grün 😀" * 1000, pieces=500), "grün 😀" * 1000),
        (Shredded(Text("grün 😀", pieces=2)), "grün 😀"),
        (Commented(SUMMARY), "a summary"),
        (PLAIN, "plain"),
    ],
)
async def test_an_answer_is_read_however_it_comes(wire: str, script: Answer, text: str) -> None:
    assert reply(await outcome(wire, script)).text == text


@pytest.mark.asyncio
async def test_an_answer_may_be_slow_to_start_and_drip(wire: str) -> None:
    first, parts = asyncio.Event(), asyncio.Semaphore(0)
    async with ModelServer([Slow(SUMMARY, first), Drip(SUMMARY, parts)]) as server:
        model = model_at(server.base_url, wire)
        asking = asyncio.ensure_future(model.ask(request()))
        await server.asked(1)
        first.set()
        assert reply(await asking).text == "a summary"
        asking = asyncio.ensure_future(model.ask(request()))
        await server.asked(2)
        for _ in range(5):
            assert not asking.done()
            parts.release()
            await asyncio.sleep(0)
        assert reply(await asking).text == "a summary"


@pytest.mark.asyncio
async def test_questions_may_be_asked_at_the_same_time(wire: str) -> None:
    async with ModelServer(lambda sent: Text(sent.body["messages"][-1]["content"][0]["text"])) as server:
        model = model_at(server.base_url, wire)
        found = await asyncio.gather(*(model.ask(request(parts=(f"number {n}",))) for n in range(20)))
    assert [reply(one).text for one in found] == [f"number {n}" for n in range(20)]


# --- errors ---------------------------------------------------------------------------------------------------

ERRORS: list[tuple[Script, tuple[str, bool, bool]]] = [
    (unauthorized(), ("model_error", False, True)),
    (model_server.forbidden(), ("model_error", False, True)),
    (quota_exhausted(), ("model_unavailable", False, False)),
    (model_server.openrouter_out_of_credits(), ("model_unavailable", False, False)),
    (unknown_model("own"), ("model_error", False, True)),
    (model_server.server_error(), ("model_error", True, True)),
    (overloaded(), ("model_error", True, True)),
    (model_server.llama_cpp_loading(), ("model_error", True, True)),
    (model_server.context_too_long(), ("context_too_long", True, True)),
    (model_server.body_too_large(), ("context_too_long", True, True)),
    (model_server.anthropic_no_room_for_output(), ("context_too_long", True, True)),
    (model_server.llama_cpp_context_too_long(), ("context_too_long", True, True)),
    (model_server.llama_cpp_context_too_long_of_old(), ("context_too_long", True, True)),
    (model_server.vllm_context_too_long(), ("context_too_long", True, True)),
    (model_server.moonshot_context_too_long(), ("context_too_long", True, True)),
    (model_server.deepseek_context_too_long(), ("context_too_long", True, True)),
    (Text(""), ("empty_response", True, True)),
    (Text("x", stop="refusal"), ("model_error", False, True)),
    (ToolCall("read_file", {"path": "a"}, text="I look."), ("model_error", True, True)),
    (ErrorInStream("a sum", "it hurts"), ("model_error", True, True)),
    (model_server.openrouter_error_in_stream("a sum"), ("model_error", True, True)),
    (Garbage(b"<html>Hello</html>", "text/html"), ("model_error", False, True)),
    (Garbage(b"<html>Bad gateway</html>", "text/html", 502), ("model_error", True, True)),
    (Garbage(b'{"choices": [', "application/json"), ("model_error", False, True)),
    (Error(404, "invalid_request_error", "Invalid URL (POST /v2)"), ("model_error", False, True)),
]


@pytest.mark.asyncio
@pytest.mark.parametrize(("script", "expected"), ERRORS)
async def test_every_error_has_the_contracts_type_and_is_asked_once(
    wire: str, script: Script, expected: tuple[str, bool, bool]
) -> None:
    found, sent = await asked(wire, script)
    assert (failure(found).type, failure(found).retryable, failure(found).counts) == expected
    assert len(sent) == 1


@pytest.mark.asyncio
async def test_the_endpoints_own_sentence_is_kept_without_the_key(wire: str) -> None:
    found = failure(await outcome(wire, Error(401, "t", f"wrong key\n{KEY}!", "c", headers={"x-note": "other"})))
    assert "wrong key ***!" in found.message
    assert not {KEY, "\n", "other"} & {word for word in (KEY, "\n", "other") if word in found.message}


@pytest.mark.asyncio
async def test_a_redirect_is_not_followed_and_its_target_is_named(wire: str) -> None:
    async with ModelServer(SUMMARY) as elsewhere:
        found = failure(await outcome(wire, Redirect(f"{elsewhere.base_url}/chat/completions?key=1")))
        assert elsewhere.requests == []
    assert f"{elsewhere.base_url}/chat/completions;" in found.message.replace(" Lithify", "")
    assert "model.http.baseUrl" in found.message


@pytest.mark.asyncio
async def test_a_wrong_base_url_is_told_with_its_path_and_the_setting(wire: str) -> None:
    async with ModelServer(Error(404, "x", "Not Found")) as server:
        found = failure(await model_at(f"{server.root_url}/wrong", wire).ask(request()))
    assert server.questions[0].path in found.message
    assert "model.http.baseUrl" in found.message


# --- asked again: what the endpoint does not know -------------------------------------------------------------


def refuse_key(name: str, sentence: str) -> Script:
    return lambda sent: Error(400, "invalid_request_error", sentence) if name in sent.body else SUMMARY


@pytest.mark.asyncio
async def test_what_an_endpoint_does_not_know_is_left_out_and_asked_once_more(wire: str) -> None:
    name = {"openai": "stream_options", "anthropic": "max_tokens"}[wire]
    sentence = {"openai": "Unknown parameter: 'stream_options'.", "anthropic": "max_tokens: 8192 > 4096, too many"}[
        wire
    ]
    found, sent = await asked(wire, lambda one: SUMMARY if one.index else Error(400, "x", sentence))
    assert reply(found).text == "a summary"
    assert [one.body.get(name) for one in sent] == {
        "openai": [{"include_usage": True}, None],
        "anthropic": [8192, 4096],
    }[wire]


@pytest.mark.asyncio
async def test_an_endpoint_that_never_likes_what_it_is_sent_is_left_alone_in_the_end(wire: str) -> None:
    def never(sent: Request) -> Answer:
        limit = sent.body.get("max_tokens", 9)
        return Error(400, "x", f"stream_options, max_completion_tokens, max_tokens: {limit} > {limit - 1}")

    found, sent = await asked(wire, never, max_output_tokens=100)
    assert failure(found).type == "model_error"
    assert len(sent) == {"openai": 3, "anthropic": MOST_REQUESTS}[wire]


# --- asked again: models that are not there -------------------------------------------------------------------


def only(name: str | None, refusal: Any = unknown_model) -> Script:
    """An endpoint that has one model; with None, one that takes no name at all."""
    return lambda sent: SUMMARY if sent.model == name else refusal(sent.model)


@pytest.mark.asyncio
@pytest.mark.parametrize("refusal", [unknown_model, openrouter_unknown_model, model_server.ollama_unknown_model])
async def test_a_pinned_model_that_is_not_there_means_the_configured_one(wire: str, refusal: Any) -> None:
    found, sent = await asked(wire, only("own", refusal), model="pinned")
    assert (reply(found).text, reply(found).missing_model) == ("a summary", "pinned")
    assert [one.model for one in sent] == ["pinned", "own"]


@pytest.mark.asyncio
async def test_the_same_holds_for_a_model_of_the_settings_overrides(wire: str) -> None:
    found, sent = await asked(wire, only("own"), model="other", settings={"model": "pinned"})
    assert reply(found).missing_model == "pinned"
    assert [one.model for one in sent] == ["pinned", "own"]


@pytest.mark.asyncio
async def test_a_missing_model_is_asked_for_and_logged_once_and_told_each_time(
    wire: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with ModelServer(only("own")) as server:
        model = model_at(server.base_url, wire)
        with caplog.at_level(logging.WARNING, "lithify"):
            found = [reply(await model.ask(request(model="pinned"))).missing_model for _ in range(3)]
        assert [one.model for one in server.questions] == ["pinned", "own", "own", "own"]
    assert found == ["pinned"] * 3
    assert [record.getMessage() for record in caplog.records] == [
        f"the endpoint {model.host} has no model pinned; its own one answers"
    ]


@pytest.mark.asyncio
async def test_a_model_that_is_there_is_not_missing(wire: str) -> None:
    found, sent = await asked(wire, only("pinned"), model="pinned")
    assert (reply(found).missing_model, len(sent)) == (None, 1)


@pytest.mark.asyncio
async def test_a_configured_model_that_is_not_there_is_a_failure_that_names_it(wire: str) -> None:
    found, sent = await asked(wire, only("another"), model="own")
    assert "does not have the model own; look at model.http.model" in failure(found).message
    assert len(sent) == 1


@pytest.mark.asyncio
async def test_without_a_configured_model_the_endpoints_own_answers_where_the_wire_has_such(wire: str) -> None:
    async with ModelServer(only(None)) as server:
        found = await model_at(server.base_url, wire, model=None).ask(request(model="pinned"))
    if wire == "openai":
        assert reply(found).missing_model == "pinned"
        assert "model" not in server.questions[1].body
    else:
        assert "does not have the model pinned; look at model.http.model" in failure(found).message


@pytest.mark.asyncio
async def test_without_any_model_anthropics_wire_is_not_asked(wire: str) -> None:
    async with ModelServer(SUMMARY) as server:
        found = await model_at(server.base_url, wire, model=None).ask(request())
    if wire == "openai":
        assert "model" not in server.questions[0].body
    else:
        assert failure(found).type == "model_unavailable"
        assert "model.http.model" in failure(found).message
        assert server.requests == []


# --- asked again: later ---------------------------------------------------------------------------------------


async def waited(wire: str, script: Script, timeout_ms: int = 60_000) -> tuple[ModelReply | ModelFailure, list[float]]:
    pauses = Pauses()
    async with ModelServer(script) as server:
        found = await model_at(server.base_url, wire, pauses=pauses).ask(request(timeout_ms=timeout_ms))
    return found, pauses.seconds


@pytest.mark.asyncio
@pytest.mark.parametrize("busy", [rate_limited(7), overloaded(7), Error(500, "x", "y", headers={"retry-after": "7"})])
async def test_an_endpoint_that_asks_to_wait_is_waited_for(wire: str, busy: Answer) -> None:
    found, seconds = await waited(wire, [busy, busy, SUMMARY])
    assert (reply(found).text, seconds) == ("a summary", [7, 7])


@pytest.mark.asyncio
@pytest.mark.parametrize("busy", [rate_limited(3600), overloaded(3600)])
async def test_a_wait_beyond_the_time_of_the_call_is_told_instead(wire: str, busy: Answer) -> None:
    found, seconds = await waited(wire, [busy, SUMMARY])
    assert (failure(found).type, failure(found).counts, seconds) == ("model_error", False, [])
    assert "wait 60 minutes" in failure(found).message


@pytest.mark.asyncio
async def test_a_rate_limit_that_does_not_say_how_long_is_tried_once_more(wire: str) -> None:
    found, seconds = await waited(wire, rate_limited(None))
    assert (failure(found).type, failure(found).counts) == ("model_error", False)
    assert seconds == [SHORT_WAIT_S]


@pytest.mark.asyncio
async def test_an_endpoint_that_always_asks_to_wait_is_left_alone_in_the_end(wire: str) -> None:
    found, seconds = await waited(wire, rate_limited(0))
    assert (failure(found).counts, seconds) == (False, [LEAST_WAIT_S * 2**waits for waits in range(MOST_WAITS)])


@pytest.mark.asyncio
async def test_the_time_waited_is_part_of_the_time_of_the_call(wire: str) -> None:
    async with ModelServer([rate_limited(0.05), model_server.Silent()]) as server:
        model = model_at(server.base_url, wire)
        model._sleep = asyncio.sleep
        found = failure(await model.ask(request(timeout_ms=300)))
    assert (found.type, len(server.questions)) == ("timeout", 2)


# --- around it ------------------------------------------------------------------------------------------------


@pytest.mark.asyncio
async def test_the_host_is_that_of_the_endpoint(wire: str) -> None:
    model = model_at("http://127.0.0.1:4321/v1", wire)
    assert (model.name, model.host) == ("http", "127.0.0.1:4321")


@pytest.mark.asyncio
async def test_a_base_url_that_is_none_is_told_with_its_setting(wire: str) -> None:
    model = model_at("localhost:11434", wire)
    found = failure(await model.ask(request()))
    assert (model.host, found.type, found.retryable) == (None, "model_unavailable", False)
    assert "model.http.baseUrl" in found.message


@pytest.mark.asyncio
async def test_proxies_of_the_environment_are_used_but_never_for_this_machine(
    wire: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("NO_PROXY", "no_proxy", "ALL_PROXY", "all_proxy", "http_proxy"):
        monkeypatch.delenv(name, raising=False)
    async with ModelServer(Text("by proxy")) as proxy, ModelServer(Text("direct")) as server:
        monkeypatch.setenv("HTTP_PROXY", proxy.root_url)
        assert reply(await model_at("http://model.example/v1", wire).ask(request())).text == "by proxy"
        assert reply(await model_at(server.base_url, wire).ask(request())).text == "direct"


@pytest.mark.asyncio
@pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:1", "nonsense://127.0.0.1:1", "http://[::1"])
async def test_a_proxy_that_cannot_be_used_is_a_failure_that_names_the_variables(
    wire: str, proxy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NO_PROXY", "no_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ALL_PROXY", proxy)
    found = failure(await model_at("http://model.example/v1", wire).ask(request()))
    assert found.type == "model_unavailable"
    assert "ALL_PROXY" in found.message


@pytest.mark.asyncio
async def test_a_key_that_travels_in_clear_is_warned_of_once(
    wire: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("NO_PROXY", "no_proxy", "http_proxy"):
        monkeypatch.delenv(name, raising=False)
    async with ModelServer(SUMMARY) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.root_url)
        exposed = model_at("http://model.example/v1", wire)
        with caplog.at_level(logging.WARNING, "lithify"):
            await exposed.ask(request())
            await exposed.ask(request())
            await model_at(proxy.base_url, wire).ask(request())
    (record,) = caplog.records
    assert "MY_KEY" in record.getMessage()
    assert "model.example" in record.getMessage()
    assert KEY not in record.getMessage()


def test_httpx_is_imported_with_the_first_question_only(wire: str) -> None:
    code = "import sys, lithify.llm.http.model; sys.exit('httpx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=30).returncode == 0
