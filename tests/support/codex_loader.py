"""How Codex takes up a `rollout-*.jsonl` again: what its history is then, and what makes that fail.

Source: Codex 0.171, as measured; our own words. Facts this replays: a line ends at a newline and nowhere else; a line
that is not one whole record, or that holds an item Codex cannot read, is passed over; the last `replacement_history`
is the history, and the items behind it follow, but those that a compaction produced; in a file with ordinals, the last
line must have one. What Codex adds at each start (its own instructions, the environment) is left out of the comparison.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

Item = dict[str, Any]

NEEDED: dict[str, dict[str, Any]] = {
    "message": {"role": str, "content": list},
    "reasoning": {"summary": list},
    "function_call": {"name": str, "arguments": str, "call_id": str},
    "custom_tool_call": {"name": str, "input": str, "call_id": str},
    "function_call_output": {"call_id": str, "output": (str, list)},
    "custom_tool_call_output": {"call_id": str, "output": (str, list)},
    "local_shell_call": {"action": dict},
    "compaction": {"encrypted_content": str},
    "web_search_call": {},
    "ghost_snapshot": {},
}
OWN_BLOCKS = ("<environment_context>", "<user_instructions>", "# AGENTS.md instructions")


class CodexCrash(Exception):
    """Codex would fail to take up the session."""


@dataclass
class Session:
    """What Codex holds after it took up a session: `history` as it would be sent, without Codex's own blocks."""

    history: list[Item] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    next_ordinal: int | None = None
    summary: str | None = None


def load(data: bytes) -> Session:
    """Takes up the bytes of a session file. Raises CodexCrash."""
    session, records = Session(), []
    for line in data.decode("utf-8", errors="replace").split("\n"):
        if line.strip():
            record = _record(line)
            if record is None:
                session.skipped.append(line)
            else:
                records.append(record)
    numbered = any("ordinal" in record for record in records)
    if numbered and "ordinal" not in records[-1]:
        raise CodexCrash("the last line has no ordinal")
    session.next_ordinal = records[-1]["ordinal"] + 1 if numbered else None
    for record in records:
        _take(session, record)
    session.history = [item for item in session.history if not _is_own_block(item)]
    return session


def append(data: bytes, session: Session, item: Item) -> bytes:
    """What the file holds after Codex appended an item: it does not look at the last byte."""
    ordinal = {} if session.next_ordinal is None else {"ordinal": session.next_ordinal}
    record = {"timestamp": "2026-01-03T00:00:00.000Z", **ordinal, "type": "response_item", "payload": item}
    return data + json.dumps(record).encode() + b"\n"


def _record(line: str) -> dict[str, Any] | None:
    try:
        record = json.loads(line, parse_constant=_refuse)
        json.dumps(record, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict) or not isinstance(record.get("payload"), dict):
        return None
    payload = record["payload"]
    items = {"response_item": [payload], "compacted": payload.get("replacement_history") or []}
    return record if all(map(_is_item, items.get(record.get("type", ""), []))) else None


def _refuse(constant: str) -> Any:
    raise ValueError(constant)


def _is_item(item: Any) -> bool:
    if not isinstance(item, dict) or item.get("type") not in NEEDED:
        return False
    if not all(isinstance(item.get(key), kind) for key, kind in NEEDED[item["type"]].items()):
        return False
    parts = item["content"] if item["type"] == "message" else item.get("output", [])
    return isinstance(parts, str) or all(map(_is_part, parts))


def _is_part(part: Any) -> bool:
    if not isinstance(part, dict):
        return False
    text = part.get("type") in ("input_text", "output_text") and isinstance(part.get("text"), str)
    return text or (part.get("type") == "input_image" and isinstance(part.get("image_url"), str))


def _take(session: Session, record: dict[str, Any]) -> None:
    payload = record["payload"]
    if record["type"] == "compacted" and payload.get("replacement_history") is not None:
        session.history = list(payload["replacement_history"])
        session.summary = payload["message"]
    elif record["type"] == "response_item":
        metadata = record.get("metadata")
        if not (isinstance(metadata, dict) and metadata.get("compaction_output")):
            session.history.append(payload)


def _is_own_block(item: Item) -> bool:
    if item["type"] != "message":
        return False
    texts = [part.get("text", "") for part in item["content"]]
    return item["role"] == "developer" or (
        item["role"] == "user" and texts != [] and all(text.lstrip().startswith(OWN_BLOCKS) for text in texts)
    )
