"""The shapes of Anthropic's messages: bodies, streams and errors."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from tests.support.model_server.answers import Error, Text, ToolCall, Usage
from tests.support.model_server.http import Request
from tests.support.model_server.parts import Stream, call_id, split

STOPS = {"end": "end_turn"}
CREATED_AT = "2025-06-15T00:00:00Z"
SIGNATURE = "EqQBCgIYAhIM"


def body(answer: Text | ToolCall, request: Request, model: str) -> dict[str, Any]:
    """The answer to a request that does not stream."""
    whole = _message(request, model, _content(answer, request), _stop(answer))
    return whole if answer.usage is None else whole | {"usage": usage(answer.usage)}


def stream(answer: Text | ToolCall, request: Request, model: str) -> Stream:
    """The answer to a request that streams. The opening part reaches to the ping after the first block's start."""
    blocks = list(_blocks(answer, request))
    start = _message(request, model, [], None)
    if answer.usage is not None:
        start["usage"] = usage((answer.usage[0], 1))
    opening = event("message_start", message=start)
    opening += _block_start(0, blocks[0][0]) if blocks else b""
    delta: dict[str, Any] = {"delta": {"stop_reason": _stop(answer), "stop_sequence": None}}
    if answer.usage is not None:
        delta["usage"] = {"output_tokens": answer.usage[1]}
    closing = _block_stop(len(blocks) - 1) if blocks else b""
    closing += event("message_delta", **delta) + event("message_stop")
    return Stream(opening + event("ping"), tuple(_pieces(blocks)), closing)


def error(answer: Error, request: Request) -> dict[str, Any]:
    return {
        "type": "error",
        "error": {"type": answer.type, "message": answer.message},
        "request_id": request_id(request),
    }


def event(name: str, /, **fields: Any) -> bytes:
    data = {"type": name, **fields}
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode()


def request_id(request: Request) -> str:
    return f"req_{request.index:024}"


def models(names: tuple[str, ...]) -> dict[str, Any]:
    return {"data": [model(name) for name in names], "has_more": False, "first_id": names[0], "last_id": names[-1]}


def model(name: str) -> dict[str, Any]:
    return {"type": "model", "id": name, "display_name": name, "created_at": CREATED_AT}


def usage(numbers: Usage) -> dict[str, Any]:
    return {
        "input_tokens": numbers[0],
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": numbers[1],
        "service_tier": "standard",
    }


def _message(request: Request, model: str, content: list[dict[str, Any]], stop: str | None) -> dict[str, Any]:
    return {
        "id": f"msg_{request.index}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
    }


def _stop(answer: Text | ToolCall) -> str | None:
    stop = "tool_use" if isinstance(answer, ToolCall) else answer.stop
    return None if stop is None else STOPS.get(stop, stop)


def _content(answer: Text | ToolCall, request: Request) -> list[dict[str, Any]]:
    content: list[dict[str, Any]] = []
    if isinstance(answer, Text) and answer.thinking:
        content.append({"type": "thinking", "thinking": answer.thinking, "signature": SIGNATURE})
    if answer.text:
        content.append({"type": "text", "text": answer.text})
    if isinstance(answer, ToolCall):
        content += [_tool_use(call, request, place, dict(call.arguments)) for place, call in enumerate(answer.calls)]
    return content


def _tool_use(call: ToolCall, request: Request, place: int, arguments: dict[str, Any]) -> dict[str, Any]:
    identity = call_id("toolu_", request.index, place)
    return {"type": "tool_use", "id": identity, "name": call.name, "input": arguments}


Block = tuple[dict[str, Any], list[dict[str, Any]]]
"""A block as its start shows it, and its deltas."""


def _blocks(answer: Text | ToolCall, request: Request) -> Iterable[Block]:
    if isinstance(answer, Text) and answer.thinking:
        thought = {"type": "thinking_delta", "thinking": answer.thinking}
        signature = {"type": "signature_delta", "signature": SIGNATURE}
        yield {"type": "thinking", "thinking": "", "signature": ""}, [thought, signature]
    if answer.text:
        pieces = split(answer.text, answer.pieces if isinstance(answer, Text) else 1)
        yield {"type": "text", "text": ""}, [{"type": "text_delta", "text": piece} for piece in pieces]
    for place, call in enumerate(answer.calls if isinstance(answer, ToolCall) else ()):
        pieces = split(json.dumps(call.arguments), call.pieces)
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
        yield _tool_use(call, request, place, {}), deltas


def _pieces(blocks: Sequence[Block]) -> Iterable[bytes]:
    """One for each delta; those between two blocks bring the end of one and the start of the next."""
    for index, (block, deltas) in enumerate(blocks):
        lead = b"" if index == 0 else _block_stop(index - 1) + _block_start(index, block)
        for delta in deltas:
            yield lead + event("content_block_delta", index=index, delta=delta)
            lead = b""


def _block_start(index: int, block: dict[str, Any]) -> bytes:
    return event("content_block_start", index=index, content_block=block)


def _block_stop(index: int) -> bytes:
    return event("content_block_stop", index=index)
