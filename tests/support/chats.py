"""Short ways to write the messages of a made chat."""

from __future__ import annotations

import json
from typing import Any

Message = dict[str, Any]
SUMMARY_PREFIX = "<system>Previous context has been compacted. Here is the compaction output:</system>"


def user(text: str) -> Message:
    """A request."""
    return {"role": "user", "content": text}


def said(text: str) -> Message:
    """Words of the model."""
    return {"role": "assistant", "content": text}


def call(name: str, call_id: str = "c", /, **arguments: Any) -> Message:
    """A call in OpenAI's form, its arguments as JSON text."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"role": "assistant", "content": None, "tool_calls": [{"id": call_id, "function": function}]}


def result(output: str, call_id: str = "c", /) -> Message:
    """The answer to a call."""
    return {"role": "tool", "tool_call_id": call_id, "content": output}


def used(name: str, output: str, /, **arguments: Any) -> list[Message]:
    """A call and its answer."""
    return [call(name, **arguments), result(output)]


def summary(text: str) -> Message:
    """A summary message as kimi-cli writes it: two text parts."""
    return {"role": "user", "content": [{"type": "text", "text": SUMMARY_PREFIX}, {"type": "text", "text": text}]}


def section_of(text: str, name: str) -> str:
    """One section of a digest, without its tags."""
    return text.partition(f"<{name}>\n")[2].partition(f"\n</{name}>")[0]


def claude_used(name: str, output: str, /, *, is_error: bool = False, **arguments: Any) -> list[Message]:
    """A call and its answer in the parts of Claude Code."""
    answer = {"type": "tool_result", "tool_use_id": "t", "content": output, "is_error": is_error}
    return [
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": name, "input": arguments}]},
        {"role": "user", "content": [answer]},
    ]
