"""How Claude Code loads a session file: the messages that its next request would hold.

Source: Claude Code 2.1.332, as measured; our own words, and none of Lithify's code. Facts this replays:
lines end at `\\n`, broken ones are lost; the last of two records with one uuid counts; sidechains are no part;
the last compaction's list of kept records is hung below its anchor, all else before it vanishes, and an id that is
not there drops the whole list; the active leaf is the last prompt's, extended to its newest descendant; the chain goes
up to the compaction; parallel calls and their results hang beside it; records of one `message.id` are one message;
results without a call are dropped.
"""

from __future__ import annotations

import json
from typing import Any

Record = dict[str, Any]


def load(text: str) -> list[dict[str, Any]]:
    """The messages `{role, content}` that Claude Code would send after a resume, attachments left out."""
    records, last_prompt = _read(text)
    parents = {uuid: record.get("parentUuid") for uuid, record in records.items()}
    boundary = next((uuid for uuid in reversed(list(records)) if _is_boundary(records[uuid])), None)
    listed = None
    if boundary is not None:
        listed = (records[boundary].get("compactMetadata") or {}).get("preservedMessages")
    if boundary is not None and listed is not None:
        wanted = [*listed["uuids"], listed["anchorUuid"]]
        kept = listed["uuids"] if all(uuid in records for uuid in wanted) else []
        for uuid in list(records)[: list(records).index(boundary)]:
            if uuid not in set(kept):
                del records[uuid], parents[uuid]
        for place, uuid in enumerate(kept):
            parents[uuid] = kept[place - 1] if place else listed["anchorUuid"]
        for uuid, parent in parents.items():
            if kept and parent == listed["anchorUuid"] and uuid != kept[0]:
                parents[uuid] = kept[-1]
    newer = [uuid for uuid, record in records.items() if record["type"] in ("user", "assistant")]
    if last_prompt in records:
        beyond = {uuid: parent or records[uuid].get("logicalParentUuid") for uuid, parent in parents.items()}
        newer = [uuid for uuid in newer if last_prompt in _upwards(uuid, beyond, records)] or [last_prompt]
    leaves = [uuid for uuid in newer if not any(parents[other] == uuid for other in newer)]
    if not leaves:
        return []
    return without_orphans(_merged(_with_beside(_chain(leaves[-1], parents, records), parents, records)))


def _read(text: str) -> tuple[dict[str, Record], str | None]:
    records: dict[str, Record] = {}
    last_prompt = None
    for line in text.split("\n"):
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if not isinstance(record, dict):
            continue
        if record.get("type") == "last-prompt":
            last_prompt = record.get("leafUuid") or last_prompt
        if record.get("type") in ("user", "assistant") and "content" not in record.get("message", {}):
            record = {**record, "type": "unreadable"}
        if isinstance(record.get("uuid"), str) and not record.get("isSidechain"):
            records[record["uuid"]] = record
    return records, last_prompt


def _is_boundary(record: Record) -> bool:
    return record["type"] == "system" and record.get("subtype") == "compact_boundary"


def _upwards(uuid: str | None, parents: dict[str, str | None], records: dict[str, Record]) -> list[str]:
    passed: list[str] = []
    while uuid in records and uuid not in passed:
        passed.append(uuid)
        uuid = parents[uuid]
    return passed


def _chain(leaf: str, parents: dict[str, str | None], records: dict[str, Record]) -> list[Record]:
    chain = [records[uuid] for uuid in reversed(_upwards(leaf, parents, records))]
    cuts = [place for place, record in enumerate(chain) if _is_boundary(record)]
    return chain[cuts[-1] + 1 :] if cuts else chain


def _with_beside(chain: list[Record], parents: dict[str, str | None], records: dict[str, Record]) -> list[Record]:
    """Puts each record that hangs beside the chain into the turn of its parent, in file order."""
    place = {uuid: number for number, uuid in enumerate(records)}
    kept = {record["uuid"]: record for record in chain}
    for uuid, record in records.items():
        parent = kept.get(parents[uuid] or "")
        if uuid in kept or parent is None:
            continue
        if not (_results(record) or (_message_id(record) and _message_id(record) == _message_id(parent))):
            continue
        at = chain.index(parent) + 1
        while (
            at < len(chain) and place[chain[at]["uuid"]] < place[uuid] and _same_turn(chain[at], parent, kept, parents)
        ):
            at += 1
        chain.insert(at, record)
        kept[uuid] = record
    return chain


def _same_turn(record: Record, parent: Record, kept: dict[str, Record], parents: dict[str, str | None]) -> bool:
    if _results(record):
        above = kept.get(parents[record["uuid"]] or "")
        return above is parent or (above is not None and _message_id(above) == _message_id(parent))
    return _message_id(record) is not None and _message_id(record) == _message_id(parent)


def _message_id(record: Record) -> str | None:
    return record["message"].get("id") if record["type"] == "assistant" else None


def _blocks(content: Any, kind: str) -> list[dict[str, Any]]:
    blocks = content if isinstance(content, list) else []
    return [block for block in blocks if isinstance(block, dict) and block.get("type") == kind]


def _as_blocks(content: Any) -> list[Any]:
    return content if isinstance(content, list) else [{"type": "text", "text": content}]


def _results(record: Record) -> list[dict[str, Any]]:
    return _blocks(record["message"]["content"], "tool_result") if record["type"] == "user" else []


def _merged(chain: list[Record]) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    by_id: dict[str, dict[str, Any]] = {}
    for record in chain:
        if record["type"] not in ("user", "assistant"):
            continue
        said, message_id = record["message"], _message_id(record)
        if message_id in by_id:
            by_id[message_id]["content"] = _as_blocks(by_id[message_id]["content"]) + _as_blocks(said["content"])
            continue
        messages.append({"role": said["role"], "content": said["content"]})
        if message_id is not None:
            by_id[message_id] = messages[-1]
        elif record["type"] == "user" and not _results(record):
            by_id.clear()
    return messages


def without_orphans(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages without results of calls that are not among them."""
    calls = {block["id"] for message in messages for block in _blocks(message["content"], "tool_use")}
    sent = []
    for message in messages:
        orphans = [block for block in _blocks(message["content"], "tool_result") if block["tool_use_id"] not in calls]
        if orphans:
            message = {**message, "content": [block for block in message["content"] if block not in orphans]}
        if message["content"] or not orphans:
            sent.append(message)
    return sent
