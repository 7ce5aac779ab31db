"""The session file of GitHub Copilot CLI, `events.jsonl`: events `{type, data, id, timestamp, parentId}`, one a line.

The conversation is what the user and the model said and what tools answered since the last compaction, whose summary
comes first. What Copilot puts in front at each start (`system.message`) is no part of it, nor is what subagents say.
Source: Copilot CLI 1.0.34, a session; nobody has tried what it takes up again, so nothing is written.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from lithify.core.messages import Message
from lithify.core.outcomes import LithifyError
from lithify.transcripts.chat_messages import (
    assistant,
    call,
    listed,
    mapped,
    result,
    string,
    text_part,
    think_part,
    user,
)
from lithify.transcripts.folds import Said, folds_over
from lithify.transcripts.json_lines import JsonLine, first_objects, json_lines
from lithify.transcripts.json_text import Fault, problems_of
from lithify.transcripts.model import Stamp, Transcript, TranscriptMessage

name = "copilot-cli"

_FILE_NAME = re.compile(r"(?:.*[/\\])?\.copilot[/\\]session-state[/\\].*\.jsonl", re.DOTALL)
_TELLING = frozenset({"session.start", "user.message", "assistant.message", "system.message"})
_REASON = "How Copilot CLI takes up a session that was changed is not known: it can only be read."


def recognise(text: str, name: str) -> bool:
    """Whether an event of Copilot CLI is among the first lines; an empty text by its place in `.copilot`."""
    values = first_objects(text)
    if any(_tells(value.get("type")) and isinstance(value.get("data"), dict) for value in values):
        return True
    return _FILE_NAME.fullmatch(name) is not None and not text.strip()


def _tells(kind: object) -> bool:
    return isinstance(kind, str) and kind in _TELLING


def parse(text: str) -> Transcript:
    """What was said since the last compaction."""
    reading = _Reading()
    for line in json_lines(text):
        reading.take(line)
    said = [*reading.gone, *(Said(one.start, one.end, 1, None) for one in reading.messages)]
    problems = problems_of(text, reading.faults)
    return Transcript(name, tuple(reading.messages), problems, False, _REASON, folds_over(said))


def write(text: str, transcript: Transcript, start: int, end: int, summary: Message, stamp: Stamp) -> str:  # noqa: ARG001 - read-only
    """Never done."""
    raise LithifyError("unsupported_document", _REASON)


@dataclass(slots=True)
class _Reading:
    """A walk over the events: what was said, and what is not sent any more."""

    messages: list[TranscriptMessage] = field(default_factory=list)
    gone: list[Said] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)

    def take(self, line: JsonLine) -> None:
        """One event."""
        event = mapped(line.value)
        kind, data = event.get("type"), event.get("data")
        if not isinstance(kind, str) or not isinstance(data, dict):
            self.faults.append(Fault(line.start, line.fault or "not an event: no object with a type and its data"))
            return
        if (
            kind == "session.compaction_complete"
            and data.get("success")
            and isinstance(data.get("summaryContent"), str)
        ):
            self.gone += (Said(one.start, one.end, 1, "Compacted away") for one in self.messages)
            self.messages = [TranscriptMessage(user([text_part(data["summaryContent"])]), line.start, line.end)]
        elif (message := _message(kind, data)) is None:
            return
        elif "parentToolCallId" in data or event.get("agentId"):
            self.gone.append(Said(line.start, line.end, 1, "Subagent"))
        else:
            self.messages.append(TranscriptMessage(message, line.start, line.end))


def _message(kind: str, data: dict[str, Any]) -> Message | None:
    if kind == "user.message":
        return user([text_part(string(data.get("transformedContent")) or string(data.get("content")))])
    if kind == "assistant.message":
        return _answer(data)
    return _result(data) if kind == "tool.execution_complete" else None


def _answer(data: dict[str, Any]) -> Message | None:
    thought, said = string(data.get("reasoningText")), string(data.get("content"))
    parts = [*([think_part(thought)] if thought else []), *([text_part(said)] if said else [])]
    asked = map(mapped, listed(data.get("toolRequests")))
    calls = [call(one.get("toolCallId"), one.get("name"), one.get("arguments")) for one in asked]
    return assistant(parts, calls) if parts or calls else None


def _result(data: dict[str, Any]) -> Message:
    told = data.get("result")
    said = mapped(told).get("content", told)
    failed = mapped(data.get("error")).get("message", data.get("error"))
    return result(data.get("toolCallId"), string(said) or string(failed))
