"""The recorded session that the demo plays; `demo_data/PROVENANCE.md` says where it comes from."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lithify.core.messages import Message, answered_calls, result_text, tool_calls

SESSION_FILE = Path(__file__).with_name("demo_data") / "session.json"


@dataclass(frozen=True, slots=True)
class RecordedSession:
    """A conversation as it was recorded, with the repository and the licence it comes from."""

    title: str
    source: str
    licence: str
    messages: list[Message]


def recorded_session() -> RecordedSession:
    """The session in the package. Raises OSError, ValueError, KeyError or TypeError where it is not whole."""
    recorded = json.loads(SESSION_FILE.read_text(encoding="utf-8"))
    return RecordedSession(recorded["title"], recorded["source"], recorded["licence"], recorded["messages"])


def tool_events(messages: Sequence[Message], session_id: str) -> list[dict[str, Any]]:
    """One `tool_use` event for each tool call with its result, in order, as an editor would send them."""
    return [
        {"sessionId": session_id, "kind": "tool_use", "body": {"type": "json", "data": data}}
        for data in _tool_uses(messages)
    ]


def _tool_uses(messages: Sequence[Message]) -> Iterator[dict[str, Any]]:
    open_calls: dict[str, tuple[str, Any]] = {}
    for message in messages:
        for call_id in answered_calls(message):
            if call_id in open_calls:
                name, arguments = open_calls.pop(call_id)
                yield {"tool_name": name, "tool_input": arguments, "tool_response": result_text(message)}
        open_calls.update({call.call_id: (call.name, call.arguments) for call in tool_calls(message)})
