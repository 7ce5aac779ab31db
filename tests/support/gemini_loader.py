"""How Gemini CLI takes up a `session-*.jsonl` again: what its history is then, and what makes that fail.

Source: Gemini CLI 0.61, as measured; our own words. Facts this replays: a line ends at `\\n`, `\\r\\n` or `\\r`; a line
that is no JSON is passed over; a record with an id is a message and takes the place of an earlier one with that id;
`$rewindTo` takes back that message and all behind it, or everything; `$set` with messages starts anew with these; a
session without an id and a project cannot be taken up. Sent are what the user said, unless it is a command or comes
anew at each start, and what the model said, with its calls and then their results.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

SPACE = "\t\n\v\f\r \xa0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(map(chr, range(0x2000, 0x200B)))
COMMANDS = ("/", "?", "<session_context>", "<hook_context>")


class GeminiCrash(Exception):
    """Gemini CLI would not find the session."""


@dataclass
class Session:
    """What Gemini CLI holds after it took up a session: `turns` as they would be sent, `{role, parts}`."""

    turns: list[Json] = field(default_factory=list)
    messages: dict[str, Json] = field(default_factory=dict)
    about: Json = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)


def load(data: bytes) -> Session:
    """Takes up the bytes of a session file. Raises GeminiCrash."""
    session = Session()
    for line in re.split(r"\r\n|\n|\r", data.decode("utf-8", errors="replace")):
        if line.strip():
            _take(session, line)
    if not session.about.get("sessionId") or not session.about.get("projectHash"):
        raise GeminiCrash("no session id")
    for message in session.messages.values():
        session.turns += _turns(message)
    return session


def append(data: bytes, record: Json) -> bytes:
    """What the file holds after Gemini CLI appended a record: it does not look at the last byte."""
    return data + json.dumps(record).encode() + b"\n"


def _refuse(constant: str) -> Any:
    raise ValueError(constant)


def _take(session: Session, line: str) -> None:
    try:
        record = json.loads(line, parse_constant=_refuse)
    except (ValueError, RecursionError):
        session.skipped.append(line)
        return
    if not isinstance(record, dict):
        return
    if isinstance(record.get("$rewindTo"), str):
        ids = list(session.messages)
        keep = ids[: ids.index(record["$rewindTo"])] if record["$rewindTo"] in ids else []
        session.messages = {key: session.messages[key] for key in keep}
    elif isinstance(record.get("id"), str):
        session.messages[record["id"]] = record
    elif isinstance(record.get("$set"), dict):
        if isinstance(record["$set"].get("messages"), list):
            session.messages = {}
            _add_all(session, record["$set"]["messages"])
        session.about |= record["$set"]
    elif isinstance(record.get("sessionId"), str) and isinstance(record.get("projectHash"), str):
        session.about |= record
        _add_all(session, record.get("messages") or [])


def _add_all(session: Session, messages: list[Any]) -> None:
    session.messages |= {one["id"]: one for one in messages if isinstance(one, dict) and isinstance(one.get("id"), str)}


def _turns(message: Json) -> list[Json]:
    parts = _parts(message.get("content"))
    if message.get("type") == "user":
        words = "".join(part.get("text", "") if set(part) <= {"text"} else "[a part]" for part in parts).strip(SPACE)
        return [] if not words or words.startswith(COMMANDS) else [{"role": "user", "parts": parts}]
    if message.get("type") != "gemini":
        return []
    calls = message.get("toolCalls") or []
    if not any("functionCall" in part or part.get("thought") for part in parts):
        thoughts = [{"thought": True, "text": _thought(one)} for one in message.get("thoughts") or []]
        asked = [{"functionCall": {key: call.get(key) for key in ("id", "name", "args")}} for call in calls]
        parts = [*thoughts, *parts, *asked]
    if not parts:
        return []
    answers = [part for call in calls for part in _answer(call)]
    return [{"role": "model", "parts": parts}, *([{"role": "user", "parts": answers}] if answers else [])]


def _parts(content: Any) -> list[Json]:
    listed = content if isinstance(content, list) else [content] if content else []
    return [{"text": part} if isinstance(part, str) else part for part in listed]


def _thought(thought: Json) -> str:
    said = thought.get("description", "")
    return f"**{thought['subject']}** {said}" if thought.get("subject") else said


def _answer(call: Json) -> list[Json]:
    result = call.get("result")
    if isinstance(result, str) and result:
        response = {"id": call.get("id"), "name": call.get("name"), "response": {"output": result}}
        return [{"functionResponse": response}]
    return _parts(result)
