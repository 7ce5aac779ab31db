"""Messages without what they say: only what ranges are planned by. Many plans of a long conversation cost little."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from lithify.core.messages import Message

_KEPT = ("role", "tool_call_id", "tool_call_ids")
_GROUPING = frozenset({"tool_use", "tool_result"})


def bare(message: Message) -> Message:
    """The message with its role and the ids of its calls and results, and nothing else; not to be changed, since many
    bare messages are one object.

    Whatever `core.conversation` and `core.tool_groups` plan for a conversation, they plan for its bare messages too.
    """
    kept: Message = {}
    for key in _KEPT:
        if key in message:
            kept[key] = message[key]
    calls, role = message.get("tool_calls"), message.get("role")
    if isinstance(calls, list):
        kept["tool_calls"] = [{"id": one.get("id")} if isinstance(one, dict) else one for one in calls]
    elif calls:
        kept["tool_calls"] = True
    content = message.get("content")
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
