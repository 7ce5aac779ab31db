"""The shapes of the scripted model server: what OpenAI's and Anthropic's clients get from it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support import model_server as usual
from tests.support.model_server import ByWire, Error, ErrorInStream, Text, ToolCall
from tests.support.model_server.client import ANTHROPIC, ANYTHING, OPENAI, Json, Reply, answer, talking

BOTH = pytest.mark.parametrize("path", [OPENAI, ANTHROPIC])
STREAMED_OR_NOT = pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])


# --- OpenAI's chat completions ----------------------------------------------------------------------------------


@pytest.mark.asyncio
async def test_openai_answers_with_a_chat_completion() -> None:
    reply = await answer(Text("Hello.", usage=(7, 2)))
    assert (reply.status, reply.headers["content-type"]) == (200, "application/json")
    message = {"role": "assistant", "content": "Hello.", "refusal": None}
    assert reply.json == {
        "id": "chatcmpl-0",
        "object": "chat.completion",
        "created": 1_750_000_000,
        "model": "m",
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9},
    }


@pytest.mark.asyncio
async def test_openai_streams_the_role_the_pieces_the_reason_and_done() -> None:
    reply = await answer(Text("Hello.", pieces=2), stream=True)
    assert reply.headers["content-type"].startswith("text/event-stream")
    base = {"id": "chatcmpl-0", "object": "chat.completion.chunk", "created": 1_750_000_000, "model": "m"}

    def chunk(delta: Json, reason: str | None = None) -> tuple[str, Json]:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        return "", {**base, "choices": [choice]}

    assert reply.events == [
        chunk({"role": "assistant", "content": "", "refusal": None}),
        chunk({"content": "Hel"}),
        chunk({"content": "lo."}),
        chunk({}, "stop"),
        ("", "[DONE]"),
    ]


@pytest.mark.asyncio
async def test_openai_streams_usage_in_a_chunk_without_choices_if_asked() -> None:
    reply = await answer(Text("a", usage=(7, 2)), stream=True, stream_options={"include_usage": True})
    _, last = reply.events[-2]
    usage = {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}
    assert (last["choices"], last["usage"]) == ([], usage)


@pytest.mark.asyncio
async def test_openai_streams_no_usage_unasked() -> None:
    reply = await answer(Text("a"), stream=True)
    assert all("usage" not in data for _, data in reply.events[:-1])


@pytest.mark.asyncio
async def test_openai_calls_a_tool() -> None:
    reply = await answer(ToolCall("read", {"path": "a.py"}))
    [choice] = reply.json["choices"]
    assert choice["finish_reason"] == "tool_calls"
    assert choice["message"] == {
        "role": "assistant",
        "content": None,
        "refusal": None,
        "tool_calls": [
            {"id": "call_0", "type": "function", "function": {"name": "read", "arguments": '{"path": "a.py"}'}}
        ],
    }


@pytest.mark.asyncio
async def test_openai_streams_a_tool_call_whose_arguments_come_in_pieces() -> None:
    reply = await answer(ToolCall("read", {"path": "a.py"}, pieces=2), stream=True)
    choices = [data["choices"][0] for _, data in reply.events[:-1]]
    [start, *pieces] = [choice["delta"]["tool_calls"][0] for choice in choices if "tool_calls" in choice["delta"]]
    empty = {"name": "read", "arguments": ""}
    assert start == {"index": 0, "id": "call_0", "type": "function", "function": empty}
    assert [piece["index"] for piece in pieces] == [0, 0]
    assert json.loads("".join(piece["function"]["arguments"] for piece in pieces)) == {"path": "a.py"}
    assert choices[-1]["finish_reason"] == "tool_calls"


@pytest.mark.asyncio
async def test_openai_thinks_beside_the_content() -> None:
    reply = await answer(Text("four", thinking="two and two"))
    message = reply.json["choices"][0]["message"]
    assert (message["content"], message["reasoning_content"]) == ("four", "two and two")


@pytest.mark.asyncio
async def test_openai_streams_thinking_before_the_content() -> None:
    reply = await answer(Text("four", thinking="two and two"), stream=True)
    deltas = [data["choices"][0]["delta"] for _, data in reply.events[1:3]]
    assert deltas == [{"reasoning_content": "two and two"}, {"content": "four"}]


@pytest.mark.asyncio
async def test_openai_wraps_an_error_in_a_key() -> None:
    reply = await answer(Error(400, "invalid_request_error", "No.", "some_code", "messages"))
    shape = {"message": "No.", "type": "invalid_request_error", "param": "messages", "code": "some_code"}
    assert (reply.status, reply.json) == (400, {"error": shape})


@pytest.mark.asyncio
async def test_openai_breaks_a_stream_with_an_error_in_place_of_a_chunk() -> None:
    reply = await answer(ErrorInStream("half", "Boom."), stream=True)
    error = {"error": {"message": "Boom.", "type": "server_error", "param": None, "code": None}}
    assert reply.events[1][1]["choices"][0]["delta"] == {"content": "half"}
    assert reply.events[2:] == [("", error)]


@pytest.mark.asyncio
async def test_openai_lists_models() -> None:
    async with talking() as (_, client):
        client.write("GET", "/v1/models")
        model = {"id": "scripted-model", "object": "model", "created": 1_750_000_000, "owned_by": "script"}
        assert (await client.reply()).json == {"object": "list", "data": [model]}


# --- Anthropic's messages ---------------------------------------------------------------------------------------

ANTHROPIC_USAGE = {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "service_tier": "standard"}


@pytest.mark.asyncio
async def test_anthropic_answers_with_a_message() -> None:
    reply = await answer(Text("Hello.", usage=(7, 2)), ANTHROPIC)
    assert (reply.status, reply.headers["content-type"]) == (200, "application/json")
    assert reply.json == {
        "id": "msg_0",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [{"type": "text", "text": "Hello."}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 7, "output_tokens": 2, **ANTHROPIC_USAGE},
    }


@pytest.mark.asyncio
async def test_anthropic_streams_a_message_in_named_events() -> None:
    reply = await answer(Text("Hello.", usage=(7, 2), pieces=2), ANTHROPIC, stream=True)
    assert reply.headers["content-type"].startswith("text/event-stream")
    message: Json = {
        "id": "msg_0",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 7, "output_tokens": 1, **ANTHROPIC_USAGE},
    }
    expected: list[Json] = [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "ping"},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hel"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "lo."}},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn", "stop_sequence": None},
            "usage": {"output_tokens": 2},
        },
        {"type": "message_stop"},
    ]
    assert reply.events == [(data["type"], data) for data in expected]


@pytest.mark.asyncio
async def test_anthropic_uses_a_tool() -> None:
    reply = await answer(ToolCall("read", {"path": "a.py"}, text="Let me see."), ANTHROPIC)
    assert reply.json["stop_reason"] == "tool_use"
    assert reply.json["content"] == [
        {"type": "text", "text": "Let me see."},
        {"type": "tool_use", "id": "toolu_0", "name": "read", "input": {"path": "a.py"}},
    ]


@pytest.mark.asyncio
async def test_anthropic_streams_a_tool_use_whose_input_comes_in_pieces() -> None:
    reply = await answer(ToolCall("read", {"path": "a.py"}, pieces=2), ANTHROPIC, stream=True)
    block = {"type": "tool_use", "id": "toolu_0", "name": "read", "input": {}}
    assert reply.events[1][1]["content_block"] == block
    deltas = [data["delta"] for name, data in reply.events if name == "content_block_delta"]
    assert [delta["type"] for delta in deltas] == ["input_json_delta"] * 2
    assert json.loads("".join(delta["partial_json"] for delta in deltas)) == {"path": "a.py"}
    assert reply.events[-2][1]["delta"]["stop_reason"] == "tool_use"


@pytest.mark.asyncio
async def test_anthropic_thinks_in_a_block_before_the_text() -> None:
    reply = await answer(Text("four", thinking="two and two"), ANTHROPIC)
    assert [block["type"] for block in reply.json["content"]] == ["thinking", "text"]


@pytest.mark.asyncio
async def test_anthropic_streams_each_block_from_its_start_to_its_stop() -> None:
    reply = await answer(Text("four", thinking="two and two"), ANTHROPIC, stream=True)
    steps = [
        (name.removeprefix("content_block_"), data["index"], data.get("delta", {}).get("type"))
        for name, data in reply.events
        if name.startswith("content_block")
    ]
    assert steps == [
        ("start", 0, None),
        ("delta", 0, "thinking_delta"),
        ("delta", 0, "signature_delta"),
        ("stop", 0, None),
        ("start", 1, None),
        ("delta", 1, "text_delta"),
        ("stop", 1, None),
    ]


@pytest.mark.asyncio
async def test_anthropic_says_that_an_error_is_one_and_names_the_request() -> None:
    reply = await answer(Error(400, "invalid_request_error", "No."), ANTHROPIC)
    error = {"type": "invalid_request_error", "message": "No."}
    assert reply.json == {"type": "error", "error": error, "request_id": reply.headers["request-id"]}


@pytest.mark.asyncio
async def test_anthropic_breaks_a_stream_with_an_error_event() -> None:
    reply = await answer(ErrorInStream("half", "Boom."), ANTHROPIC, stream=True)
    [(_, delta), (name, error)] = reply.events[-2:]
    assert delta["delta"] == {"type": "text_delta", "text": "half"}
    assert (name, error["type"], error["error"]) == (
        "error",
        "error",
        {"type": "overloaded_error", "message": "Boom."},
    )


@pytest.mark.asyncio
async def test_anthropic_is_asked_with_a_query_too() -> None:
    async with talking() as (server, client):
        reply = await client.ask(f"{ANTHROPIC}?beta=true")
    assert reply.json["type"] == "message"
    assert (server.requests[0].path, server.requests[0].query) == (ANTHROPIC, "beta=true")


@pytest.mark.asyncio
async def test_anthropic_counts_tokens_without_the_script() -> None:
    async with talking([Text("first"), Text("second")]) as (_, client):
        counted = await client.ask(f"{ANTHROPIC}/count_tokens?beta=true")
        assert counted.json == {"input_tokens": -(-len(json.dumps(ANYTHING)) // 4)}
        assert (await client.ask(ANTHROPIC)).json["content"][0]["text"] == "first"


@pytest.mark.asyncio
async def test_anthropic_lists_models_to_its_own_clients() -> None:
    async with talking() as (_, client):
        client.write("GET", "/v1/models", anthropic_version="2023-06-01")
        listed = (await client.reply()).json
    assert [(model["type"], model["id"]) for model in listed["data"]] == [("model", "scripted-model")]
    assert listed["has_more"] is False


# --- both wires -------------------------------------------------------------------------------------------------


def reason(reply: Reply, path: str, *, stream: bool) -> Any:
    if path == OPENAI:
        data = reply.events[-2][1] if stream else reply.json
        return data["choices"][0]["finish_reason"]
    return reply.events[-2][1]["delta"]["stop_reason"] if stream else reply.json["stop_reason"]


@pytest.mark.asyncio
@STREAMED_OR_NOT
@pytest.mark.parametrize(
    ("stop", "openai", "anthropic"),
    [
        ("end", "stop", "end_turn"),
        ("max_tokens", "length", "max_tokens"),
        ("tool_use", "tool_calls", "tool_use"),
        ("refusal", "content_filter", "refusal"),
        ("pause_turn", "pause_turn", "pause_turn"),
        (None, None, None),
    ],
)
async def test_each_wire_has_its_own_word_for_the_end(
    stop: str | None, openai: str | None, anthropic: str | None, stream: bool
) -> None:
    replies = [await answer(Text("a", stop=stop), path, stream=stream) for path in (OPENAI, ANTHROPIC)]
    assert reason(replies[0], OPENAI, stream=stream) == openai
    assert reason(replies[1], ANTHROPIC, stream=stream) == anthropic


@pytest.mark.asyncio
@BOTH
@STREAMED_OR_NOT
async def test_the_numbers_can_be_missing(path: str, stream: bool) -> None:
    reply = await answer(Text("a", usage=None), path, stream=stream, stream_options={"include_usage": True})
    assert b"usage" not in reply.data


@pytest.mark.asyncio
@pytest.mark.parametrize(("path", "parts"), [(OPENAI, [1, 2]), (ANTHROPIC, [2, 2])])
async def test_an_empty_text_is_a_whole_stream_without_pieces(path: str, parts: list[int]) -> None:
    reply = await answer(Text(""), path, stream=True)
    assert (reply.whole, [chunk.count(b"data: ") for chunk in reply.chunks]) == (True, parts)


@pytest.mark.asyncio
async def test_an_error_has_the_headers_that_it_was_given() -> None:
    reply = await answer(Error(429, "tokens", "Wait.", headers={"retry-after": "7"}))
    assert reply.headers["retry-after"] == "7"


@pytest.mark.asyncio
async def test_an_error_can_have_any_body() -> None:
    reply = await answer(Error(502, "", "", body=b"<html>Bad Gateway</html>", headers={"content-type": "text/html"}))
    assert (reply.status, reply.headers["content-type"], reply.data) == (
        502,
        "text/html",
        b"<html>Bad Gateway</html>",
    )


@pytest.mark.asyncio
@BOTH
async def test_an_error_in_a_stream_is_the_whole_body_of_a_200_where_nothing_streams(path: str) -> None:
    reply = await answer(ErrorInStream("half", "Boom."), path)
    assert (reply.status, reply.json["error"]["message"]) == (200, "Boom.")


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("error", "openai", "anthropic"),
    [
        (usual.unauthorized(), (401, "invalid_request_error", "invalid_api_key"), (401, "authentication_error")),
        (usual.forbidden(), (403, "invalid_request_error", None), (403, "permission_error")),
        (usual.unknown_model("m"), (404, "invalid_request_error", "model_not_found"), (404, "not_found_error")),
        (usual.rate_limited(1), (429, "tokens", "rate_limit_exceeded"), (429, "rate_limit_error")),
        (usual.quota_exhausted(), (429, "insufficient_quota", "insufficient_quota"), (400, "invalid_request_error")),
        (usual.overloaded(), (503, "server_error", None), (529, "overloaded_error")),
        (usual.server_error(), (500, "server_error", None), (500, "api_error")),
        (
            usual.context_too_long(),
            (400, "invalid_request_error", "context_length_exceeded"),
            (400, "invalid_request_error"),
        ),
        (usual.body_too_large(), (413, "invalid_request_error", None), (413, "request_too_large")),
    ],
    ids=lambda value: "" if isinstance(value, ByWire) else str(value[0]),
)
async def test_each_wire_has_its_own_shape_of_a_usual_error(
    error: ByWire, openai: tuple[int, str, str | None], anthropic: tuple[int, str]
) -> None:
    reply = await answer(error, OPENAI)
    assert (reply.status, reply.json["error"]["type"], reply.json["error"]["code"]) == openai
    reply = await answer(error, ANTHROPIC)
    assert (reply.status, reply.json["error"]["type"]) == anthropic


@pytest.mark.asyncio
@BOTH
async def test_a_rate_limit_says_when_to_come_back(path: str) -> None:
    assert (await answer(usual.rate_limited(30), path)).headers["retry-after"] == "30"


@pytest.mark.asyncio
async def test_anthropic_says_how_much_too_long_a_prompt_is() -> None:
    reply = await answer(usual.context_too_long(210_883, 200_000), ANTHROPIC)
    assert reply.json["error"]["message"] == "prompt is too long: 210883 tokens > 200000 maximum"


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (usual.anthropic_no_room_for_output(), 400, "198981 + 21333 > 200000"),
        (usual.llama_cpp_context_too_long(), 400, '"type": "exceed_context_size_error", "n_prompt_tokens": 4390'),
        (usual.llama_cpp_context_too_long_of_old(), 400, "the request exceeds the available context size"),
        (usual.llama_cpp_loading(), 503, "unavailable_error"),
        (usual.vllm_context_too_long(), 400, '{"object": "error", "message": "This model\'s maximum context'),
        (usual.moonshot_context_too_long(), 400, "exceeded model token limit: 262144 (requested: 275363)"),
        (usual.moonshot_overloaded(), 429, "engine_overloaded_error"),
        (usual.deepseek_context_too_long(), 400, "122942 in the messages, 8192 in the completion"),
        (usual.ollama_unknown_model("m"), 404, "try pulling it first"),
        (usual.ollama_unknown_model_in_words("m"), 404, '{"error": "model \'m\' not found"}'),
        (usual.openrouter_unknown_model("m"), 400, '{"error": {"message": "m is not a valid model ID", "code": 400}'),
        (usual.openrouter_out_of_credits(), 402, "Insufficient credits"),
    ],
    ids=lambda value: "" if isinstance(value, Error) else None,
)
async def test_servers_with_words_of_their_own_use_them(error: Error, status: int, said: str) -> None:
    reply = await answer(error)
    assert reply.status == status
    assert said in reply.data.decode()


@pytest.mark.asyncio
async def test_openrouter_breaks_a_stream_with_a_chunk_that_has_both_an_error_and_a_choice() -> None:
    reply = await answer(usual.openrouter_error_in_stream("half", "Gone."), stream=True)
    _, last = reply.events[-1]
    assert last["error"] == {"code": 502, "message": "Gone."}
    assert last["choices"][0]["finish_reason"] == "error"
