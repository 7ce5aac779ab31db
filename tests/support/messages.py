"""Messages for tests, and a check for tool calls and results that lost each other.

The check is written from the contract alone and shares nothing with `lithify.core.tool_groups`: it walks back from
every result, and forward from every call, at the cost of quadratic time.
"""

from __future__ import annotations

import json
from typing import Any

Message = dict[str, Any]

TOOL_NAME = "shell"


def said(role: str, content: Any, **more: Any) -> Message:
    """A message of any role."""
    return {"role": role, "content": content, **more}


def system(text: str = "rules") -> Message:
    return said("system", text)


def user(text: str = "please") -> Message:
    return said("user", text)


def assistant(text: str = "done") -> Message:
    return said("assistant", text)


def calling(*ids: str | None, text: Any = None) -> Message:
    """An assistant message that calls a tool once for each id, in OpenAI's form; None: a call without an id."""
    calls = [
        {
            **({} if call_id is None else {"id": call_id}),
            "type": "function",
            "function": {"name": TOOL_NAME, "arguments": '{"command": "ls"}'},
        }
        for call_id in ids
    ]
    return {"role": "assistant", "content": text, "tool_calls": calls}


def result(call_id: str | None = None, text: Any = "output") -> Message:
    """A tool message that answers one call; None: it names none."""
    named = {} if call_id is None else {"tool_call_id": call_id}
    return {"role": "tool", "content": text, **named}


def using(*ids: str) -> Message:
    """An assistant message that calls a tool once for each id, in Anthropic's form."""
    return said("assistant", [{"type": "tool_use", "id": each, "name": TOOL_NAME, "input": {}} for each in ids])


def used(*ids: str) -> Message:
    """A user message that answers calls, in Anthropic's form."""
    return said("user", [{"type": "tool_result", "tool_use_id": each, "content": "output"} for each in ids])


def text(*parts: str) -> list[dict[str, Any]]:
    """Content made of text parts."""
    return [{"type": "text", "text": part} for part in parts]


def exactly(value: Any) -> str:
    """A value as JSON, in which every difference shows, the order of keys included."""
    return json.dumps(value)


# --- the check ------------------------------------------------------------------------------------------------


def call_ids(message: Message) -> list[str]:
    """Ids of the calls a message makes, "" for one without an id."""
    listed = message.get("tool_calls")
    found = [call.get("id") or "" for call in listed if isinstance(call, dict)] if isinstance(listed, list) else []
    return found + [part.get("id") or "" for part in _parts(message) if part.get("type") == "tool_use"]


def result_ids(message: Message) -> list[str]:
    """Ids of the calls a message answers, "" for a tool message that names none."""
    found = [part.get("tool_use_id") or "" for part in _parts(message) if part.get("type") == "tool_result"]
    if message.get("role") != "tool":
        return found
    if "tool_call_id" in message:
        return [*found, message["tool_call_id"] or ""]
    return found + list(message.get("tool_call_ids") or [""])


def pairs(messages: list[Message]) -> set[tuple[int, int]]:
    """Indices of every call with each of its results."""
    found = set()
    for index, message in enumerate(messages):
        for call_id in result_ids(message):
            call = _call_of(messages, index, call_id)
            if call is not None:
                found.add((call, index))
    return found


def orphans(messages: list[Message]) -> list[str]:
    """Every result without its call, and every call without a result, each in words."""
    found = []
    for index, message in enumerate(messages):
        found += [
            f"result of {call_id!r} in {exactly(message)}"
            for call_id in result_ids(message)
            if _call_of(messages, index, call_id) is None
        ]
        found += [
            f"call {call_id!r} in {exactly(message)}"
            for call_id in call_ids(message)
            if not _is_answered(messages, index, call_id)
        ]
    return found


def _call_of(messages: list[Message], index: int, call_id: str) -> int | None:
    before = range(index - 1, -1, -1)
    if call_id:
        named = next((each for each in before if call_id in call_ids(messages[each])), None)
        if named is not None:
            return named
    for each in before:
        if call_ids(messages[each]) or messages[each].get("tool_calls"):
            return each
        if not result_ids(messages[each]):
            return None
    return None


def _is_answered(messages: list[Message], index: int, call_id: str) -> bool:
    answering = [at for at in range(index + 1, len(messages)) if _points_at(messages, at, index)]
    named = set(call_ids(messages[index])) - {""}
    return any(call_id in given or not set(given) <= named for given in (result_ids(messages[at]) for at in answering))


def _points_at(messages: list[Message], at: int, index: int) -> bool:
    return any(_call_of(messages, at, call_id) == index for call_id in result_ids(messages[at]))


def _parts(message: Message) -> list[dict[str, Any]]:
    content = message.get("content")
    return [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
