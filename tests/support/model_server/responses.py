"""The shapes of OpenAI's Responses API, which Codex asks: bodies and streams. Its errors are those of `openai`."""

from __future__ import annotations

import json
from typing import Any

from tests.support.model_server.answers import Text, ToolCall, Usage
from tests.support.model_server.http import Request
from tests.support.model_server.parts import Stream, call_id, split

CREATED = 1_750_000_000


def body(answer: Text | ToolCall, request: Request, model: str) -> dict[str, Any]:
    """The answer to a request that does not stream."""
    whole = _response(request, model, "completed", _output(answer, request))
    return whole if answer.usage is None else whole | {"usage": usage(answer.usage)}


def stream(answer: Text | ToolCall, request: Request, model: str) -> Stream:
    """The answer to a request that streams: each item opened, its text in pieces, then each item whole."""
    items = _output(answer, request)
    opening = event("response.created", response=_response(request, model, "in_progress", []))
    texts = [
        event("response.output_text.delta", output_index=0, content_index=0, item_id=items[0]["id"], delta=piece)
        for piece in split(answer.text, answer.pieces if isinstance(answer, Text) else 1)
    ]
    if texts:
        opened = {**items[0], "content": [], "status": "in_progress"}
        texts[0] = event("response.output_item.added", output_index=0, item=opened) + texts[0]
    ended = (event("response.output_item.done", output_index=place, item=item) for place, item in enumerate(items))
    closing = b"".join(ended) + event("response.completed", response=body(answer, request, model))
    return Stream(opening, tuple(texts), closing)


def event(name: str, /, **fields: Any) -> bytes:
    data = {"type": name, **fields}
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode()


def usage(numbers: Usage) -> dict[str, Any]:
    tokens_in, tokens_out = numbers
    return {
        "input_tokens": tokens_in,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": tokens_out,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": tokens_in + tokens_out,
    }


def _response(request: Request, model: str, status: str, output: list[dict[str, Any]]) -> dict[str, Any]:
    identity = {"id": f"resp_{request.index}", "object": "response", "created_at": CREATED}
    return {**identity, "status": status, "model": model, "output": output}


def _output(answer: Text | ToolCall, request: Request) -> list[dict[str, Any]]:
    """The items of the answer: what is said, then what is called."""
    items: list[dict[str, Any]] = []
    if answer.text or isinstance(answer, Text):
        content = [{"type": "output_text", "text": answer.text, "annotations": []}]
        said = {"type": "message", "id": f"msg_{request.index}", "role": "assistant", "content": content}
        items.append({**said, "status": "completed"})
    if isinstance(answer, ToolCall):
        items += [_call(call, request, place) for place, call in enumerate(answer.calls)]
    return items


def _call(call: ToolCall, request: Request, place: int) -> dict[str, Any]:
    identity = {"id": call_id("fc_", request.index, place), "call_id": call_id("call_", request.index, place)}
    named = {"name": call.name, "arguments": json.dumps(call.arguments)}
    return {"type": "function_call", **identity, **named, "status": "completed"}
