"""The records of a Claude Code session file: one a line, each naming the one before it.

A `user` or `assistant` record holds a message or a part of one, `attachment` and `system` records stand among them, and
records of other kinds are Claude Code's own notes. Source: Claude Code 1.0 to 2.1.332, as measured.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from lithify.core.messages import Message, answered_calls, tool_calls
from lithify.transcripts.json_lines import json_lines
from lithify.transcripts.json_text import Fault

SPEAKERS = frozenset({"user", "assistant"})
LINKED = SPEAKERS | {"attachment", "system"}
"""The types that Claude Code itself follows from record to record."""

CARRIED = ("userType", "entrypoint", "cwd", "sessionId", "version", "gitBranch", "slug")
"""The keys that each record repeats, in the order in which they are written."""


@dataclass(frozen=True, slots=True, eq=False)
class Record:
    """One record at the characters [start, end), with what its place in the conversation depends on.

    `key` is its uuid, or an invented one where `named` is false; `message` is present where the record says one that
    can be used, `message_id` is the same in all records of one assistant message, `results` are the calls that a user
    record answers. `compaction` is all of the record where a compaction begins with it.
    """

    key: str
    named: bool
    start: int
    end: int
    type: str
    parent: str | None
    message: Message | None
    message_id: str | None
    results: tuple[str, ...]
    compaction: dict[str, Any] | None


@dataclass(slots=True)
class Records:
    """All records of one text. `main` are those of the conversation by key: where a uuid repeats, the last record
    counts and stands in the place of the first. `leaf` is where the last `last-prompt` lies, and the uuid it names;
    `carried` holds what the last record says of each key in CARRIED, `last` the place of the last JSON object."""

    main: dict[str, Record] = field(default_factory=dict)
    sidechains: dict[str, Record] = field(default_factory=dict)
    leaf: tuple[int, str] | None = None
    carried: dict[str, Any] = field(default_factory=dict)
    versions: set[str] = field(default_factory=set)
    faults: list[Fault] = field(default_factory=list)
    last: tuple[int, int] = (0, 0)

    @property
    def boundaries(self) -> list[Record]:
        """Where compactions begin, in order."""
        return [record for record in self.main.values() if record.compaction is not None]


def read_records(text: str) -> Records:
    """The records of any text whatever, and what is wrong with its lines one by one."""
    found = Records()
    for line in json_lines(text):
        if not isinstance(line.value, dict):
            found.faults.append(Fault(line.start, line.fault or "not a record: no JSON object"))
            continue
        found.last = (line.start, line.end)
        leaf = _text(line.value.get("leafUuid")) if line.value.get("type") == "last-prompt" else None
        if leaf is not None:
            found.leaf = (line.start, leaf)
        _take(found, line.start, line.end, line.value)
    return found


def _take(found: Records, start: int, end: int, value: dict[str, Any]) -> None:
    uuid, kind = _text(value.get("uuid")), _text(value.get("type")) or ""
    speaks = kind in SPEAKERS
    if uuid is None and not speaks:
        return
    message = _message_of(value, kind) if speaks else None
    if speaks and message is None:
        found.faults.append(Fault(start, "not a message: no `message` object with a `content`"))
    if uuid is None:
        found.faults.append(Fault(start, "a message without a `uuid`, which Claude Code cannot place"))
    record = Record(
        uuid or f"\0{start}",
        uuid is not None,
        start,
        end,
        kind,
        _text(value.get("parentUuid")),
        message,
        _text(value["message"].get("id")) if message and kind == "assistant" else None,
        tuple(answered_calls(message)) if message and kind == "user" else (),
        value if kind == "system" and value.get("subtype") == "compact_boundary" else None,
    )
    if value.get("isSidechain") is True:
        found.sidechains[record.key] = record
        return
    found.main[record.key] = record
    found.carried |= {key: value[key] for key in CARRIED if isinstance(value.get(key), str)}
    if isinstance(value.get("version"), str):
        found.versions.add(value["version"])


def _message_of(value: dict[str, Any], kind: str) -> Message | None:
    said = value.get("message")
    if not isinstance(said, dict) or not isinstance(said.get("content"), str | list):
        return None
    role = said.get("role")
    return {"role": role if role in ("user", "assistant") else kind, "content": said["content"]}


def faults_between(found: Records) -> Iterator[Fault]:
    """What is wrong between the records: ids that are named and not there, results of no call.

    All of the file is looked at, so that a compaction neither adds a fault nor hides one.
    """
    everything = [*found.main.values(), *found.sidechains.values()]
    calls = {call.call_id for record in everything if record.message for call in tool_calls(record.message)}
    for record in everything:
        if record.type not in LINKED:
            continue
        kept = kept_by(record.compaction, found.main) if record.compaction else None
        if kept is not None and kept.broken:
            yield Fault(
                record.start, "a compaction that kept messages which are not in the file, so none of them count"
            )
        parent = record.parent
        if parent == record.key:
            yield Fault(record.start, "the record names itself as its parent")
        elif parent is not None and parent not in found.main and parent not in found.sidechains:
            yield Fault(record.start, f"the parent {parent!r} is not in the file")
        for call in record.results:
            if call not in calls:
                yield Fault(record.start, f"a result of the call {call!r}, which is not in the file")
    if found.leaf is not None and found.leaf[1] not in found.main:
        yield Fault(found.leaf[0], f"the last message {found.leaf[1]!r} is not in the file")


@dataclass(frozen=True, slots=True)
class Kept:
    """What a compaction kept: the uuids in order, hung below the anchor. With `broken` Claude Code drops them all."""

    uuids: tuple[str, ...] = ()
    anchor: str = ""
    broken: bool = False


def kept_by(compaction: dict[str, Any], records: dict[str, Record]) -> Kept | None:
    """The list of a compaction, None where it has none."""
    listed = _object(_object(compaction.get("compactMetadata")).get("preservedMessages"))
    uuids = listed.get("uuids")
    return kept_messages(uuids, listed.get("anchorUuid"), records) if isinstance(uuids, list) else None


def kept_messages(uuids: list[Any], anchor: Any, records: dict[str, Record]) -> Kept:
    """These messages below this anchor; `broken` where one of them is not in the file, or is named twice."""
    if not uuids:
        return Kept()
    named = [*uuids, anchor]
    if not all(isinstance(one, str) and one in records for one in named) or len(set(named)) < len(named):
        return Kept(broken=True)
    return Kept(tuple(uuids), anchor)


def segment_of(compaction: dict[str, Any]) -> tuple[str, str, str] | None:
    """Head, tail and anchor of what a compaction kept, as compactions without a list say it."""
    segment = _object(_object(compaction.get("compactMetadata")).get("preservedSegment"))
    head, tail, anchor = (_text(segment.get(key)) for key in ("headUuid", "tailUuid", "anchorUuid"))
    return (head, tail, anchor) if head and tail and anchor else None


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
