"""The shapes of OpenAI's chat completions: bodies, streams and errors."""

from __future__ import annotations

import json
from typing import Any

from tests.support.model_server.answers import Error, Text, ToolCall, Usage
from tests.support.model_server.http import Request
from tests.support.model_server.parts import Stream, call_id, split

STOPS = {"end": "stop", "max_tokens": "length", "tool_use": "tool_calls", "refusal": "content_filter"}
CREATED = 1_750_000_000
DONE = b"data: [DONE]\n\n"


def body(answer: Text | ToolCall, request: Request, model: str) -> dict[str, Any]:
    """The answer to a request that does not stream."""
    message: dict[str, Any] = {"role": "assistant", "content": answer.text or None, "refusal": None}
    if isinstance(answer, ToolCall):
        message["tool_calls"] = [
            _call(call, request, place, json.dumps(call.arguments)) for place, call in enumerate(answer.calls)
        ]
    else:
        message["content"] = answer.text
        message |= {"reasoning_content": answer.thinking} if answer.thinking else {}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _stop(answer)}
    whole = {**_base(request, model, "chat.completion"), "choices": [choice]}
    return whole if answer.usage is None else whole | {"usage": usage(answer.usage)}


def stream(answer: Text | ToolCall, request: Request, model: str) -> Stream:
    """The answer to a request that streams."""
    base = _base(request, model, "chat.completion.chunk")
    opening = event(_chunk(base, {"role": "assistant", "content": "", "refusal": None}))
    deltas = _call_deltas(answer, request) if isinstance(answer, ToolCall) else _text_deltas(answer)
    closing = event(_chunk(base, {}, _stop(answer)))
    if wants_usage(request) and answer.usage is not None:
        closing += event({**base, "choices": [], "usage": usage(answer.usage)})
    return Stream(opening, tuple(event(_chunk(base, delta)) for delta in deltas), closing + DONE)


def error(answer: Error) -> dict[str, Any]:
    shape = {"message": answer.message, "type": answer.type, "param": answer.param, "code": answer.code}
    return {"error": shape}


def event(data: Any) -> bytes:
    return f"data: {json.dumps(data, ensure_ascii=False)}\n\n".encode()


def models(names: tuple[str, ...]) -> dict[str, Any]:
    return {"object": "list", "data": [model(name) for name in names]}


def model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": CREATED, "owned_by": "script"}


def usage(numbers: Usage) -> dict[str, Any]:
    tokens_in, tokens_out = numbers
    return {"prompt_tokens": tokens_in, "completion_tokens": tokens_out, "total_tokens": tokens_in + tokens_out}


def wants_usage(request: Request) -> bool:
    wishes = request.body.get("stream_options") if isinstance(request.body, dict) else None
    return isinstance(wishes, dict) and wishes.get("include_usage") is True


def _base(request: Request, model: str, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{request.index}", "object": kind, "created": CREATED, "model": model}


def _chunk(base: dict[str, Any], delta: dict[str, Any], stop: str | None = None) -> dict[str, Any]:
    return {**base, "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": stop}]}


def _stop(answer: Text | ToolCall) -> str | None:
    stop = "tool_use" if isinstance(answer, ToolCall) else answer.stop
    return None if stop is None else STOPS.get(stop, stop)


def _text_deltas(answer: Text) -> list[dict[str, Any]]:
    thoughts = [{"reasoning_content": answer.thinking}] if answer.thinking else []
    return [*thoughts, *({"content": piece} for piece in split(answer.text, answer.pieces))]


def _call_deltas(answer: ToolCall, request: Request) -> list[dict[str, Any]]:
    words = [{"content": answer.text}] if answer.text else []
    return [*words, *(delta for place, call in enumerate(answer.calls) for delta in _deltas_of(call, request, place))]


def _deltas_of(call: ToolCall, request: Request, place: int) -> list[dict[str, Any]]:
    start = {"tool_calls": [{"index": place, **_call(call, request, place, "")}]}
    pieces = split(json.dumps(call.arguments), call.pieces)
    return [start, *({"tool_calls": [{"index": place, "function": {"arguments": piece}}]} for piece in pieces)]


def _call(answer: ToolCall, request: Request, place: int, arguments: str) -> dict[str, Any]:
    return {
        "id": call_id("call_", request.index, place),
        "type": "function",
        "function": {"name": answer.name, "arguments": arguments},
    }
