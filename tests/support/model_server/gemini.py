"""The shapes of Gemini's `generateContent`, which Gemini CLI asks: bodies, streams and errors."""

from __future__ import annotations

import json
from typing import Any

from tests.support.model_server.answers import Error, Text, ToolCall, Usage
from tests.support.model_server.http import Request
from tests.support.model_server.parts import Stream, split

STOPS = {"end": "STOP", "max_tokens": "MAX_TOKENS", "tool_use": "STOP", "refusal": "SAFETY"}
STATUSES = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND"}


def body(answer: Text | ToolCall, request: Request, model: str) -> dict[str, Any]:
    """The answer to a request that does not stream."""
    whole = _chunk(request, model, [part for parts in _parts(answer) for part in parts], _stop(answer))
    return whole if answer.usage is None else whole | {"usageMetadata": usage(answer.usage)}


def stream(answer: Text | ToolCall, request: Request, model: str) -> Stream:
    """The answer to a request that streams. Nothing opens it; what closes it says why it ended."""
    last = _chunk(request, model, [{"text": ""}], _stop(answer))
    if answer.usage is not None:
        last["usageMetadata"] = usage(answer.usage)
    return Stream(b"", tuple(event(_chunk(request, model, parts)) for parts in _parts(answer)), event(last))


def error(answer: Error) -> dict[str, Any]:
    status = STATUSES.get(answer.status, "INTERNAL")
    return {"error": {"code": answer.status, "message": answer.message, "status": status}}


def event(data: Any) -> bytes:
    return f"data: {json.dumps(data, ensure_ascii=False)}\r\n\r\n".encode()


def usage(numbers: Usage) -> dict[str, Any]:
    tokens_in, tokens_out = numbers
    return {
        "promptTokenCount": tokens_in,
        "candidatesTokenCount": tokens_out,
        "totalTokenCount": tokens_in + tokens_out,
    }


def _chunk(request: Request, model: str, parts: list[dict[str, Any]], stop: str | None = None) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
    if stop is not None:
        candidate["finishReason"] = stop
    return {"candidates": [candidate], "modelVersion": model, "responseId": f"response_{request.index}"}


def _stop(answer: Text | ToolCall) -> str | None:
    stop = "tool_use" if isinstance(answer, ToolCall) else answer.stop
    return None if stop is None else STOPS.get(stop, stop)


def _parts(answer: Text | ToolCall) -> list[list[dict[str, Any]]]:
    """The parts of the answer, as its chunks bring them."""
    if isinstance(answer, ToolCall):
        words = [[{"text": answer.text}]] if answer.text else []
        return [*words, [{"functionCall": {"name": call.name, "args": dict(call.arguments)}} for call in answer.calls]]
    thoughts = [[{"text": answer.thinking, "thought": True}]] if answer.thinking else []
    return [*thoughts, *([{"text": piece}] for piece in split(answer.text, answer.pieces))]
