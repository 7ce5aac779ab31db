"""What is said in a session: which messages become events, and how one is known again."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from lithify.core.events import EventKind, storable_json
from lithify.core.kimi import is_summary
from lithify.core.messages import Message, ToolCall, answered_calls, result_text, role_of, text_of, tool_calls

_KINDS: dict[str, EventKind] = {"user": "prompt", "assistant": "note"}


@dataclass(frozen=True, slots=True)
class Utterance:
    """Something said that becomes one event. Equal fingerprints are the same thing said again."""

    fingerprint: str
    kind: EventKind
    body: dict[str, Any]


def turn_of(message: Message) -> Utterance | None:
    """A user or assistant message with text, as the event it becomes; None for all others and for summaries.

    It is known again by role and text alone: some clients make new message ids each time they open a chat.
    """
    kind = _KINDS.get(role_of(message))
    if kind is None or is_summary(message):
        return None
    text = text_of(message)
    if not text.strip():
        return None
    fingerprint = _fingerprint("turn", role_of(message), text)
    return Utterance(fingerprint, kind, {"type": "message", "turns": [{"role": role_of(message), "content": text}]})


def tool_use_of(call: ToolCall, result: Message) -> Utterance:
    """A tool call with its result, as the event it becomes."""
    data = {"tool_name": call.name, "tool_input": call.arguments, "tool_response": result_text(result, call.call_id)}
    return Utterance(_fingerprint("tool", call.call_id, data), "tool_use", {"type": "json", "data": data})


def tool_uses(message: Message, before: list[Message]) -> list[Utterance]:
    """The tool calls that a message answers, found in the messages before it, the nearest first."""
    found = []
    for call_id in answered_calls(message):
        call = next(
            (call for earlier in reversed(before) for call in tool_calls(earlier) if call.call_id == call_id), None
        )
        if call is not None:
            found.append(tool_use_of(call, message))
    return found


def _fingerprint(*what: Any) -> str:
    return hashlib.sha256(storable_json(what).encode()).hexdigest()[:32]
