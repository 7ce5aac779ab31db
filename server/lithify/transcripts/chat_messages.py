"""The chat messages that the records of agents are read as: what is said, tools that are called, what they answered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lithify.core.messages import Message, compact_json

Part = dict[str, Any]
"""One part of a message's content."""


def text_part(text: str) -> Part:
    """A text."""
    return {"type": "text", "text": text}


def think_part(thought: str) -> Part:
    """What the model thought."""
    return {"type": "think", "think": thought}


def media_part(mime: str, url: str) -> Part:
    """An image, a sound or a film under its address; anything else is an image_url as well, and nobody reads it."""
    kind = mime.partition("/")[0]
    key = f"{kind}_url" if kind in ("audio", "video") else "image_url"
    return {"type": key, key: {"url": url}}


def user(parts: Sequence[Any]) -> Message:
    """What a user says."""
    return {"role": "user", "content": list(parts)}


def assistant(parts: Sequence[Any], calls: Sequence[Part] = ()) -> Message:
    """What a model says in one step, and the tools it calls; no content where it only calls."""
    if not calls:
        return {"role": "assistant", "content": list(parts)}
    return {"role": "assistant", "content": list(parts) or None, "tool_calls": list(calls)}


def call(call_id: Any, name: Any, arguments: Any) -> Part:
    """One call of a tool; arguments that are no text are spelled as JSON."""
    spelled = arguments if isinstance(arguments, str) else compact_json({} if arguments is None else arguments)
    return {"id": string(call_id), "type": "function", "function": {"name": string(name), "arguments": spelled}}


def result(call_id: Any, content: Any) -> Message:
    """What a tool answered to one call: a text, or parts."""
    parts = [text_part(content)] if isinstance(content, str) else content
    return {"role": "tool", "tool_call_id": string(call_id), "content": parts}


def string(value: Any) -> str:
    """The value where it is a string, else an empty one."""
    return value if isinstance(value, str) else ""


def whole(value: Any) -> int | None:
    """The value where it is a whole number, else None; true and false are none."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def listed(value: Any) -> list[Any]:
    """The value where it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def mapped(value: Any) -> dict[str, Any]:
    """The value where it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}
