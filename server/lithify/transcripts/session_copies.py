"""A session's text as that of another session: the same records under a new id, so that its agent takes up both.

In files of JSON lines the id stands in a few fields of the agent's own records, and in the file's name; all else is
kept, byte by byte, also where somebody says the id, and the id of the session that one was forked from. An export of
opencode gets new ids for its messages and their parts too, since opencode has each id once. That each agent lists and
resumes such a session was tried with Claude Code 2.1.332, Codex 0.171, kimi-code 2.1.0, Gemini CLI 0.61 and opencode
1.18.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeAlias

from lithify.core.format_names import CLAUDE_CODE, CODEX, GEMINI, KIMI_CODE
from lithify.transcripts.chat_messages import listed, mapped, string
from lithify.transcripts.json_places import members
from lithify.transcripts.json_text import Fault, skip_mark, skip_space, value_at
from lithify.transcripts.model import Stamp
from lithify.transcripts.opencode_ids import behind, falling_id, renewed

COPIED = frozenset({CLAUDE_CODE, CODEX, GEMINI, KIMI_CODE})
"""The formats of files whose agent takes up a copy under another id."""

_Path: TypeAlias = tuple[str, ...]


def _top(_: Mapping[str, Any]) -> Sequence[_Path]:
    return (("sessionId",),)


def _in_gemini(_: Mapping[str, Any]) -> Sequence[_Path]:
    return (("sessionId",), ("$set", "sessionId"))


def _in_codex(record: Mapping[str, Any]) -> Sequence[_Path]:
    """What is said lies in a `response_item`, and again in `compacted`; its ids are its own."""
    kind = record.get("type")
    if kind in ("response_item", "compacted"):
        return ()
    return tuple(("payload", key) for key in (("id",) if kind == "session_meta" else ()) + ("session_id", "thread_id"))


_FIELDS: Mapping[str, Callable[[Mapping[str, Any]], Sequence[_Path]]] = {
    CLAUDE_CODE: _top,
    CODEX: _in_codex,
    GEMINI: _in_gemini,
    KIMI_CODE: _top,
}
"""By format, the fields of a record that hold the id of the session that the record belongs to. Source: files of the
versions above."""


def with_id(data: bytes, format_name: str, old: str, new: str) -> bytes:
    """JSON lines in which the session has a new id: in each field of a record that says whose record it is, and holds
    the old one."""
    known, fields = old.encode(), _FIELDS[format_name]
    lines = data.split(b"\n")
    return b"\n".join(_line_with_id(line, fields, old, new) if known in line else line for line in lines)


def _line_with_id(line: bytes, fields: Callable[[Mapping[str, Any]], Sequence[_Path]], old: str, new: str) -> bytes:
    """One line; it stays where it is no record that can be read."""
    try:
        text = line.decode()
    except UnicodeDecodeError:
        return line
    start = skip_space(text, skip_mark(text))
    record = value_at(text, start)
    if isinstance(record, Fault) or not isinstance(record[0], dict) or skip_space(text, record[1]) < len(text):
        return line
    found = sorted({place for path in fields(record[0]) for place in _places(text, start, path, old)}, reverse=True)
    for begin, end in found:
        text = text[:begin] + json.dumps(new) + text[end:]
    return text.encode()


def _places(text: str, start: int, path: _Path, old: str) -> Iterator[tuple[int, int]]:
    """Where a field of the object that begins at `start` holds the old id."""
    for key, element in members(text, start):
        if key == path[0] and len(path) > 1:
            yield from _places(text, element.start, path[1:], old)
        elif key == path[0] and element.value == old:
            yield element.start, element.end


def opencode_copy(text: str, stamp: Stamp) -> tuple[str, str]:
    """An export of opencode as one of a new session, and the id of that. Raises ValueError for what is no export."""
    export = json.loads(text)
    session = mapped(export.get("info") if isinstance(export, dict) else None)
    old = string(session.get("id"))
    if not old:
        raise ValueError("it is no export of a session")
    now = round(datetime.fromisoformat(stamp.now).timestamp() * 1000)
    new = falling_id("ses", now, stamp.new_uuid)
    ids = {old: new} | _new_ids(export, stamp.new_uuid)
    copied = _with_ids(export, ids)
    copied["info"].pop("share", None)
    if title := string(session.get("title")):
        copied["info"]["title"] = f"{title} (restored)"
    return json.dumps(copied, ensure_ascii=False), new


def _new_ids(export: dict[str, Any], new_uuid: Callable[[], str]) -> dict[str, str]:
    """By the old ones, new ids of messages and parts, each kind in the same order: opencode sorts by them."""
    messages = [mapped(one) for one in listed(export.get("messages"))]
    named = [string(mapped(one.get("info")).get("id")) for one in messages]
    parts = [string(mapped(part).get("id")) for one in messages for part in listed(one.get("parts"))]
    return _in_order(named, new_uuid) | _in_order(parts, new_uuid)


def _in_order(old: list[str], new_uuid: Callable[[], str]) -> dict[str, str]:
    found: dict[str, str] = {}
    last = ""
    for one in sorted(set(filter(None, old))):
        last = found[one] = behind(last, renewed(one, new_uuid))
    return found


_ID_KEYS = frozenset({"id", "sessionID", "messageID", "parentID", "partID", "tail_start_id"})


def _with_ids(export: dict[str, Any], ids: Mapping[str, str]) -> dict[str, Any]:
    """The export with new ids in the fields that hold them: of the session and what it is turned back to, of messages,
    and of their parts. What is said or handed to a tool stays, whatever it names."""
    session = _renamed(export["info"], ids)
    if isinstance(session.get("revert"), dict):
        session["revert"] = _renamed(session["revert"], ids)
    messages = [_message_with_ids(one, ids) for one in listed(export.get("messages"))]
    return {**export, "info": session, "messages": messages}


def _message_with_ids(message: Any, ids: Mapping[str, str]) -> Any:
    if not isinstance(message, dict):
        return message
    parts = [_renamed(part, ids) if isinstance(part, dict) else part for part in listed(message.get("parts"))]
    return {**message, "info": _renamed(mapped(message.get("info")), ids), "parts": parts}


def _renamed(value: Mapping[str, Any], ids: Mapping[str, str]) -> dict[str, Any]:
    return {key: ids.get(one, one) if key in _ID_KEYS and isinstance(one, str) else one for key, one in value.items()}
