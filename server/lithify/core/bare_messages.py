"""Messages without what they say: only what ranges are planned by. Many plans of a long conversation cost little."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from lithify.core.messages import Message

_KEPT = ("role", "tool_call_id", "tool_call_ids")
_SAID = ("role", "content")
_GROUPING = frozenset({"tool_use", "tool_result"})


def bare(message: Message) -> Message:
    """The message with its role and the ids of its calls and results, and nothing else; not to be changed, since many
    bare messages are one object.

    Whatever `core.conversation` and `core.tool_groups` plan for a conversation, they plan for its bare messages too.
    """
    role, content = message.get("role"), message.get("content")
    if len(message) == len(_SAID) and isinstance(role, str) and isinstance(content, str):
        return _with_role_alone(role)
    kept: Message = {key: message[key] for key in _KEPT if key in message}
    calls = message.get("tool_calls")
    if isinstance(calls, list):
        kept["tool_calls"] = [{"id": one.get("id")} if isinstance(one, dict) else one for one in calls]
    elif calls:
        kept["tool_calls"] = True
    if isinstance(content, list) and (parts := [_bare_part(part) for part in content if _is_grouping(part)]):
        kept["content"] = parts
    return _with_role_alone(role) if len(kept) == 1 and isinstance(role, str) else kept


@lru_cache(maxsize=100)
def _with_role_alone(role: str) -> Message:
    return {"role": role}


def _is_grouping(part: Any) -> bool:
    return isinstance(part, dict) and isinstance(part.get("type"), str) and part["type"] in _GROUPING


def _bare_part(part: dict[str, Any]) -> dict[str, Any]:
    return {key: part[key] for key in ("type", "id", "tool_use_id") if key in part}
