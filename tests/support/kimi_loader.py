"""How kimi-cli reads `context.jsonl`: what it takes, what it passes over, and what makes its whole load fail.

Source: kimi-cli 1.52.0 with kosong 0.56.0, as measured; our own words. Facts this replays:
lines end at `\\n`, `\\r\\n` or `\\r`; broken lines, lines that are no objects, roles it does not know and malformed
messages are passed over; a message without `content` and a part of an unknown type end the whole load.
"""

from __future__ import annotations

import io
import json
from dataclasses import dataclass, field
from typing import Any

ROLES = ("system", "user", "assistant", "tool")
PART_KEYS = {
    "text": "text",
    "think": "think",
    "image_url": "image_url",
    "audio_url": "audio_url",
    "video_url": "video_url",
}
RECORD_KEYS = {"_system_prompt": ("content", str), "_checkpoint": ("id", int), "_usage": ("token_count", int)}


class KimiCrash(Exception):
    """kimi-cli would fail to load the session."""


@dataclass
class Session:
    """What kimi-cli holds after a load; `pending` are the messages it estimates itself, on top of `token_count`."""

    system_prompt: str | None = None
    messages: list[dict[str, Any]] = field(default_factory=list)
    token_count: int = 0
    next_checkpoint: int = 0
    pending: list[dict[str, Any]] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    record_roles: list[str] = field(default_factory=list)


def load(data: bytes) -> Session:
    """Loads the bytes of a session file, as `kimi --continue` would. Raises KimiCrash."""
    session = Session()
    for line in io.StringIO(data.decode("utf-8", errors="replace"), newline=None):
        if line.strip():
            _take(session, line)
    return session


def append(data: bytes, record: dict[str, Any]) -> bytes:
    """What the file holds after kimi-cli appended a record: it does not look at the last byte."""
    return data + json.dumps(record).encode() + b"\n"


def _take(session: Session, line: str) -> None:
    try:
        record = json.loads(line, strict=False)
    except json.JSONDecodeError:
        session.skipped.append(line)
        return
    except (ValueError, RecursionError) as error:
        raise KimiCrash(str(error)) from error
    if not isinstance(record, dict) or not isinstance(record.get("role"), str):
        session.skipped.append(line)
        return
    role = record["role"]
    if role in RECORD_KEYS:
        key, kind = RECORD_KEYS[role]
        sound = isinstance(record.get(key), kind)
    else:
        sound = _is_message(record)
    if not sound:
        session.skipped.append(line)
        return
    session.record_roles.append(role)
    if role == "_system_prompt":
        session.system_prompt = record["content"]
    elif role == "_checkpoint":
        session.next_checkpoint = record["id"] + 1
    elif role == "_usage":
        session.token_count = record["token_count"]
        session.pending.clear()
    else:
        session.messages.append(record)
        session.pending.append(record)


def _is_message(record: dict[str, Any]) -> bool:
    if "content" not in record:
        raise KimiCrash("a message without content")
    if "self" in record:
        raise KimiCrash("a message with a key that clashes with Python's own")
    content = record["content"]
    parts = content if isinstance(content, list) else []
    sound = [_is_part(part) for part in parts]
    calls = record.get("tool_calls")
    calls_sound = calls is None or (isinstance(calls, list) and all(map(_is_call, calls)))
    return (
        record["role"] in ROLES
        and (content is None or isinstance(content, str | list))
        and all(sound)
        and calls_sound
        and isinstance(record.get("tool_call_id"), str | None)
        and isinstance(record.get("name"), str | None)
    )


def _is_part(part: Any) -> bool:
    if not isinstance(part, dict) or not isinstance(part.get("type"), str):
        return False
    if part["type"] not in PART_KEYS:
        raise KimiCrash(f"a part of the unknown type {part['type']}")
    value = part.get(PART_KEYS[part["type"]])
    return isinstance(value, dict) if part["type"].endswith("_url") else isinstance(value, str)


def _is_call(call: Any) -> bool:
    function = call.get("function") if isinstance(call, dict) else None
    return isinstance(function, dict) and isinstance(function.get("name"), str) and isinstance(call.get("id"), str)
