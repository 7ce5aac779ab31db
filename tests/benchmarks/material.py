"""What the servers are given: events, messages, transcripts. The same at every run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from ulid import ULID

from lithify.core.events import NewEvent, StoredEvent, stored_event
from tests.benchmarks.client import message
from tests.benchmarks.words import Writer

FIRST_MILLISECOND = 1_700_000_000_000
EVENT_BYTES = 1024
"""Bytes of one event as JSON on the wire."""


def events(count: int, seed: int = 0) -> Iterator[dict[str, Any]]:
    """Tool events of 1 KiB, as an editor records them."""
    writer = Writer(seed)
    output = writer.text(EVENT_BYTES)
    for number in range(count):
        event = {
            "eventId": str(ULID.from_int((FIRST_MILLISECOND << 80) + (seed << 40) + number)),
            "sessionId": f"session-{seed}",
            "kind": "tool_use",
            "body": {
                "type": "json",
                "data": {
                    "tool_name": "Read",
                    "tool_input": {"file_path": f"src/package/module_{number % 200}.py", "limit": 200},
                    "tool_response": "",
                },
            },
            "validTime": "2026-01-02T03:04:05.678Z",
            "source": {"surface": "bench", "version": "1.0"},
        }
        lacking = EVENT_BYTES - len(json.dumps(event))
        event["body"]["data"]["tool_response"] = output[number % 100 : number % 100 + lacking]  # type: ignore[index]
        yield event


def notifications(all_events: Sequence[dict[str, Any]], size: int) -> bytes:
    """The events in notifications of that many each, framed."""
    parts = (all_events[start : start + size] for start in range(0, len(all_events), size))
    return b"".join(message("lithify/didRecordEvents", {"events": part}) for part in parts)


def stored(count: int, project_id: str, seed: int = 0) -> list[StoredEvent]:
    """The same events as the storage takes them."""
    found = []
    for event in events(count, seed):
        new = NewEvent(
            event_id=event["eventId"],
            session_id=event["sessionId"],
            actor_id="ann",
            kind=event["kind"],
            body=event["body"],
            valid_time=event["validTime"],
            surface="bench",
        )
        one = stored_event(new, project_id)
        assert isinstance(one, StoredEvent)
        found.append(one)
    return found


def messages(count: int, size_bytes: int) -> list[dict[str, Any]]:
    """A conversation in OpenAI's form: questions, answers, tool calls with their results, so many bytes as JSON."""
    writer = Writer(1)
    each = max(size_bytes // count - 100, 20)
    found: list[dict[str, Any]] = []
    while len(found) < count:
        number = len(found)
        call = {"name": "Read", "arguments": json.dumps({"file_path": f"src/package/module_{number % 300}.py"})}
        found += [
            {"role": "user", "content": writer.text(each // 2)},
            {
                "role": "assistant",
                "content": writer.text(each // 4),
                "tool_calls": [{"id": f"call_{number}", "type": "function", "function": call}],
            },
            {"role": "tool", "tool_call_id": f"call_{number}", "content": writer.text(each * 5 // 2)},
            {"role": "assistant", "content": writer.text(each // 2)},
        ]
    return found[:count]


def transcript(size_bytes: int) -> str:
    """A chat file of JSON lines with about so many bytes."""
    some = [json.dumps(one, ensure_ascii=False) + "\n" for one in messages(4000, 4_000_000)]
    lines: list[str] = []
    total = 0
    while total < size_bytes:
        line = some[len(lines) % len(some)]
        lines.append(line)
        total += len(line)
    return "".join(lines)
