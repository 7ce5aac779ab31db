"""The shapes of the scripted model server for coding agents: the Responses API, Gemini's, and several calls at once."""

from __future__ import annotations

import json

import pytest

from tests.support.model_server import Error, Text, ToolCall
from tests.support.model_server.client import ANTHROPIC, OPENAI, Json, Reply, answer

pytestmark = pytest.mark.asyncio

RESPONSES = "/v1/responses"
GEMINI = "/v1beta/models/a-model:generateContent"
GEMINI_STREAM = "/v1beta/models/a-model:streamGenerateContent"
TWO_CALLS = ToolCall("read", {"path": "a"}, more=(ToolCall("write", {"path": "b"}),))


def streamed(reply: Reply) -> list[Json]:
    """The data of a stream of Gemini, whose lines end in CRLF."""
    return [json.loads(line.removeprefix("data: ")) for line in reply.data.decode().split("\r\n\r\n") if line]


async def test_responses_answers_with_a_response() -> None:
    reply = await answer(Text("Hello.", usage=(7, 2)), RESPONSES)
    [item] = reply.json["output"]
    assert (reply.json["object"], reply.json["status"], reply.json["model"]) == ("response", "completed", "m")
    assert (item["type"], item["content"][0]["text"]) == ("message", "Hello.")
    assert reply.json["usage"]["total_tokens"] == 9


async def test_responses_streams_the_pieces_the_item_and_the_whole() -> None:
    reply = await answer(Text("Hello.", pieces=2), RESPONSES, stream=True)
    assert [name for name, _ in reply.events] == [
        "response.created",
        "response.output_item.added",
        "response.output_text.delta",
        "response.output_text.delta",
        "response.output_item.done",
        "response.completed",
    ]
    deltas = [data["delta"] for name, data in reply.events if name == "response.output_text.delta"]
    assert (deltas, reply.events[-1][1]["response"]["usage"]["input_tokens"]) == (["Hel", "lo."], 12)


async def test_responses_streams_calls_as_items() -> None:
    reply = await answer(TWO_CALLS, RESPONSES, stream=True)
    items = [data["item"] for name, data in reply.events if name == "response.output_item.done"]
    assert [(item["type"], item["name"], item["call_id"]) for item in items] == [
        ("function_call", "read", "call_0"),
        ("function_call", "write", "call_0_1"),
    ]
    assert json.loads(items[0]["arguments"]) == {"path": "a"}


async def test_responses_wraps_an_error_as_openai_does() -> None:
    reply = await answer(Error(400, "invalid_request_error", "No."), RESPONSES)
    assert (reply.status, reply.json["error"]["message"]) == (400, "No.")


async def test_gemini_answers_with_a_candidate() -> None:
    reply = await answer(Text("Hello.", usage=(7, 2), thinking="hm"), GEMINI)
    [candidate] = reply.json["candidates"]
    assert candidate["content"] == {"role": "model", "parts": [{"text": "hm", "thought": True}, {"text": "Hello."}]}
    assert (candidate["finishReason"], reply.json["usageMetadata"]["totalTokenCount"]) == ("STOP", 9)
    assert reply.json["modelVersion"] == "a-model"


async def test_gemini_streams_a_chunk_for_each_piece_and_the_reason_last() -> None:
    chunks = streamed(await answer(Text("Hello.", pieces=2), GEMINI_STREAM))
    said = [chunk["candidates"][0]["content"]["parts"][0]["text"] for chunk in chunks]
    reasons = [chunk["candidates"][0].get("finishReason") for chunk in chunks]
    assert (said, reasons) == (["Hel", "lo.", ""], [None, None, "STOP"])


async def test_gemini_streams_calls_in_one_chunk() -> None:
    first, _ = streamed(await answer(TWO_CALLS, GEMINI_STREAM))
    calls = [part["functionCall"] for part in first["candidates"][0]["content"]["parts"]]
    assert calls == [{"name": "read", "args": {"path": "a"}}, {"name": "write", "args": {"path": "b"}}]


async def test_gemini_names_the_status_of_an_error() -> None:
    reply = await answer(Error(404, "not_found_error", "No such model."), GEMINI)
    assert reply.json == {"error": {"code": 404, "message": "No such model.", "status": "NOT_FOUND"}}


async def test_gemini_counts_tokens() -> None:
    reply = await answer(Text("unasked"), "/v1beta/models/a-model:countTokens")
    assert reply.json["totalTokens"] > 0


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
async def test_openai_makes_several_calls_in_one_answer(stream: bool) -> None:
    reply = await answer(TWO_CALLS, OPENAI, stream=stream)
    if stream:
        deltas = [data["choices"][0]["delta"].get("tool_calls", []) for _, data in reply.events[:-1]]
        found = [(call["index"], call["id"]) for calls in deltas for call in calls if "id" in call]
    else:
        found = list(enumerate(call["id"] for call in reply.json["choices"][0]["message"]["tool_calls"]))
    assert found == [(0, "call_0"), (1, "call_0_1")]


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
async def test_anthropic_makes_several_calls_in_one_answer(stream: bool) -> None:
    reply = await answer(TWO_CALLS, ANTHROPIC, stream=stream)
    starts = [data["content_block"] for name, data in reply.events if name == "content_block_start"] if stream else []
    blocks = starts if stream else reply.json["content"]
    assert [(block["id"], block["name"]) for block in blocks] == [("toolu_0", "read"), ("toolu_0_1", "write")]
