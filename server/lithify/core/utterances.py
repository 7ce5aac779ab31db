"""What is said in a session: which messages become events, and how one is known again."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from lithify.core.events import EventKind
from lithify.core.kimi import is_summary
from lithify.core.messages import Message, ToolCall, answered_calls, result_text, role_of, text_of, tool_calls
from lithify.core.stored_json import storable_json

_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_KINDS: dict[str, EventKind] = {"user": "prompt", "assistant": "note"}


CALLS_LOOK_BACK = 256
"""How many messages before a tool result its call is looked for in."""


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


def utterances(messages: Iterable[Message], *, tools: bool) -> Iterator[Utterance]:
    """What a whole conversation says, in order, each thing once; with `tools` also tool calls with their results."""
    told: set[str] = set()
    before: list[Message] = []
    for message in messages:
        for utterance in said_by(message, before, tools=tools):
            if utterance.fingerprint not in told:
                told.add(utterance.fingerprint)
                yield utterance
        before.append(message)


def said_by(message: Message, before: list[Message], *, tools: bool) -> list[Utterance]:
    """What one message says: its turn, and with `tools` the tool calls it answers, found in the messages before it."""
    turn = turn_of(message)
    said = [] if turn is None else [turn]
    return [*said, *tool_uses(message, before[-CALLS_LOOK_BACK:])] if tools else said


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


def event_id_of(project_id: str, utterance: Utterance) -> str:
    """The id of the event that an utterance of an old transcript becomes: a ULID that is the same each time, so that
    what is recorded again, from a file that was moved or has grown, is a duplicate."""
    digest = hashlib.sha256(f"{project_id}/{utterance.fingerprint}".encode()).digest()
    number = int.from_bytes(digest[:10], "big")
    return "0" * 10 + "".join(_CROCKFORD[number >> shift & 31] for shift in range(75, -1, -5))
