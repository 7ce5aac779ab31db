"""What a request of an agent says to its model: texts, calls and results in order, the same for all wires."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from tests.support.model_server import Request

Kind = Literal["text", "call", "result"]


@dataclass(frozen=True, slots=True)
class Said:
    """One text, call or result. `call_id` is that of a call, and of the call that a result belongs to.

    `text` is the text; a call's name and arguments; a result's text.
    """

    role: str
    kind: Kind
    text: str
    call_id: str = ""


def said(request: Request) -> list[Said]:
    """All that a request says, instructions of the agent included; empty texts left out."""
    read = {"openai": _openai, "anthropic": _anthropic, "responses": _responses, "gemini": _gemini}[request.wire]
    return [one for one in read(request.body) if one.text]


def offers_tools(request: Request) -> bool:
    """Whether the model may call a tool: what an agent asks beside the conversation, such as a title, has none."""
    return bool(request.body.get("tools"))


def without_repeats(conversation: Iterable[Said]) -> list[Said]:
    """The conversation without results that are said twice in a row, as Gemini CLI does in every resumed session."""
    found: list[Said] = []
    for one in conversation:
        if not (one.kind == "result" and found[-1:] == [one]):
            found.append(one)
    return found


def orphans(conversation: Iterable[Said]) -> list[Said]:
    """The results without a call before them, and the calls without a result after them."""
    calls: dict[str, Said] = {}
    found = []
    for one in conversation:
        if one.kind == "call":
            calls[one.call_id] = one
        elif one.kind == "result" and calls.pop(one.call_id, None) is None:
            found.append(one)
    return [*found, *calls.values()]


def _openai(body: dict[str, Any]) -> Iterator[Said]:
    for message in body["messages"]:
        if message["role"] == "tool":
            yield Said("tool", "result", "\n".join(_texts(message["content"])), message["tool_call_id"])
            continue
        yield from (Said(message["role"], "text", text) for text in _texts(message.get("content")))
        for call in message.get("tool_calls") or []:
            made = _call(call["function"]["name"], json.loads(call["function"]["arguments"]))
            yield Said("assistant", "call", made, call["id"])


def _anthropic(body: dict[str, Any]) -> Iterator[Said]:
    yield from (Said("system", "text", text) for text in _texts(body.get("system")))
    for message in body["messages"]:
        content = message["content"]
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            if block["type"] == "tool_use":
                yield Said("assistant", "call", _call(block["name"], block["input"]), block["id"])
            elif block["type"] == "tool_result":
                yield Said("tool", "result", "\n".join(_texts(block["content"])), block["tool_use_id"])
            else:
                yield Said(message["role"], "text", block.get("text", ""))


def _responses(body: dict[str, Any]) -> Iterator[Said]:
    yield Said("system", "text", body.get("instructions") or "")
    for item in body["input"]:
        if item["type"] == "message":
            yield from (Said(item["role"], "text", text) for text in _texts(item["content"]))
        elif item["type"] == "function_call":
            yield Said("assistant", "call", _call(item["name"], json.loads(item["arguments"])), item["call_id"])
        elif item["type"] == "function_call_output":
            yield Said("tool", "result", "\n".join(_texts(item["output"])), item["call_id"])
        else:
            yield Said("assistant", "text", json.dumps(item))


def _gemini(body: dict[str, Any]) -> Iterator[Said]:
    for part in (body.get("systemInstruction") or {"parts": []})["parts"]:
        yield Said("system", "text", part.get("text", ""))
    for content in body["contents"]:
        role = "assistant" if content.get("role") == "model" else "user"
        for part in content["parts"]:
            if "functionCall" in part:
                call = part["functionCall"]
                yield Said("assistant", "call", _call(call["name"], call["args"]), call["id"])
            elif "functionResponse" in part:
                result = part["functionResponse"]
                yield Said("tool", "result", json.dumps(result["response"]), result["id"])
            else:
                yield Said(role, "text", part.get("text", ""))


def _call(name: str, arguments: Any) -> str:
    return f"{name} {json.dumps(arguments, sort_keys=True)}"


def _texts(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content]
    return [part.get("text") or json.dumps(part) for part in content or []]
