"""A session's text as that of another session: the same records under a new id, so that its agent takes up both.

In files of JSON lines the id stands in the records and in the file's name; all else is kept, character by character. An
export of opencode gets new ids for its messages and their parts too, since opencode has each id once. That each agent
lists and resumes such a session was tried with Claude Code 2.1.332, Codex 0.171, kimi-code 2.1.0, Gemini CLI 0.61 and
opencode 1.18.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from lithify.transcripts import claude_code, codex, gemini, kimi_code
from lithify.transcripts.chat_messages import listed, mapped, string
from lithify.transcripts.model import Stamp
from lithify.transcripts.opencode_ids import behind, falling_id, renewed

COPIED = frozenset({claude_code.name, codex.name, gemini.name, kimi_code.name})
"""The formats of files whose agent takes up a copy under another id."""

_KEYS = "sessionId|session_id|thread_id|id"


def with_id(text: str, old: str, new: str) -> str:
    """JSON lines in which the session has a new id: wherever a key of a record holds the old one."""
    held = re.compile(rf'("(?:{_KEYS})"[ \t]*:[ \t]*)"{re.escape(old)}"')
    return held.sub(lambda found: f'{found[1]}"{new}"', text)


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
    copied = _replaced(export, ids)
    copied["info"] = {key: value for key, value in copied["info"].items() if key != "share"}
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


def _replaced(value: Any, ids: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _replaced(one, ids) for key, one in value.items()}
    if isinstance(value, list):
        return [_replaced(one, ids) for one in value]
    return ids.get(value, value) if isinstance(value, str) else value
