"""The records of a Claude Code session file: one a line, each naming the one before it.

A `user` or `assistant` record holds a message or a part of one, `attachment` and `system` records stand among them, and
records of other kinds are Claude Code's own notes. Source: Claude Code 1.0 to 2.1.332, as measured.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

from lithify.core.bare_messages import bare
from lithify.core.brief import brief
from lithify.core.messages import Message, answered_calls, counted_bytes, tool_calls
from lithify.transcripts.appended import is_beyond_us
from lithify.transcripts.model import Problem

SPEAKERS = frozenset({"user", "assistant"})
LINKED = SPEAKERS | {"attachment", "system"}
"""The types that Claude Code itself follows from record to record."""

CARRIED = ("userType", "entrypoint", "cwd", "sessionId", "version", "gitBranch", "slug")
"""The keys that each record repeats, in the order in which they are written."""


class Shape(NamedTuple):
    """What a line says of its place in the conversation. `wrong` is what is wrong with the line by itself; a line that
    is no record has no `type`, one that is placed nowhere neither `uuid` nor a type of SPEAKERS.

    `said` is the bare message where the record says one that can be used, `message_id` is the same in all records of
    one assistant message, `results` are the calls that a user record answers, `calls` those that a message makes.
    `compaction` is all of the record where a compaction begins with it; `leaf` the uuid that a `last-prompt` names;
    `carried` what it says of the keys in CARRIED. `is_beyond_us`: only Claude Code may read the line.
    """

    wrong: tuple[str, ...] = ()
    type: str | None = None
    uuid: str | None = None
    parent: str | None = None
    said: Message | None = None
    message_id: str | None = None
    results: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    compaction: dict[str, Any] | None = None
    leaf: str | None = None
    is_sidechain: bool = False
    carried: tuple[tuple[str, str], ...] = ()
    is_beyond_us: bool = False


class Record(NamedTuple):
    """One record that is placed: its line, and a key, which is its uuid or an invented one where `named` is false. The
    others are as in `Shape`."""

    key: str
    named: bool
    line: int
    type: str
    parent: str | None
    said: Message | None
    message_id: str | None
    results: tuple[str, ...]
    calls: tuple[str, ...]
    compaction: dict[str, Any] | None


@dataclass(slots=True)
class Records:
    """All records of one text. `main` are those of the conversation by key: where a uuid repeats, the last record
    counts and stands in the place of the first. `leaf` is where the last `last-prompt` lies, and the uuid it names;
    `carried` holds what the last record says of each key in CARRIED, `last` is the line of the last JSON object,
    `beyond` what is wrong with a line that only Claude Code may read."""

    main: dict[str, Record] = field(default_factory=dict)
    sidechains: dict[str, Record] = field(default_factory=dict)
    leaf: tuple[int, str] | None = None
    carried: dict[str, str] = field(default_factory=dict)
    versions: set[str] = field(default_factory=set)
    faults: list[Problem] = field(default_factory=list)
    last: int = 0
    beyond: Problem | None = None

    @property
    def boundaries(self) -> list[Record]:
        """Where compactions begin, in order."""
        return [record for record in self.main.values() if record.compaction is not None]


def shape_of(value: Any, fault: str | None) -> tuple[Shape, int]:
    """The shape of a line that holds this value or has this fault, and the counted bytes of what it says."""
    if not isinstance(value, dict):
        return Shape((fault or "not a record: no JSON object",), is_beyond_us=is_beyond_us(fault)), 0
    uuid, kind = _text(value.get("uuid")), _text(value.get("type")) or ""
    leaf = _text(value.get("leafUuid")) if kind == "last-prompt" else None
    speaks = kind in SPEAKERS
    if uuid is None and not speaks:
        return Shape(type=kind, leaf=leaf), 0
    message = message_of(value)
    shape = Shape(
        wrong=tuple(_wrong_with(uuid, message, speaks=speaks)),
        type=kind,
        uuid=uuid,
        parent=_text(value.get("parentUuid")),
        said=bare(message) if message else None,
        message_id=_text(value["message"].get("id")) if message and kind == "assistant" else None,
        results=tuple(answered_calls(message)) if message and kind == "user" else (),
        calls=tuple(call.call_id for call in tool_calls(message)) if message else (),
        compaction=value if kind == "system" and value.get("subtype") == "compact_boundary" else None,
        leaf=leaf,
        is_sidechain=value.get("isSidechain") is True,
        carried=_once(tuple((key, value[key]) for key in CARRIED if isinstance(value.get(key), str))),
    )
    return shape, counted_bytes(message) if message else 0


def _wrong_with(uuid: str | None, message: Message | None, *, speaks: bool) -> Iterator[str]:
    if speaks and message is None:
        yield "not a message: no `message` object with a `content`"
    if uuid is None:
        yield "a message without a `uuid`, which Claude Code cannot place"


@lru_cache(maxsize=1000)
def _once(carried: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """One object for all that are equal: nearly every record carries the same."""
    return carried


def records_of(shapes: Iterable[Shape | None]) -> Records:
    """The records that lines of these shapes hold."""
    found = Records()
    for line, shape in enumerate(shapes):
        if shape is None:
            continue
        found.faults.extend(Problem(line, wrong) for wrong in shape.wrong)
        if shape.is_beyond_us:
            found.beyond = found.faults[-1]
        if shape.type is None:
            continue
        found.last = line
        if shape.leaf is not None:
            found.leaf = (line, shape.leaf)
        if shape.uuid is not None or shape.type in SPEAKERS:
            _take(found, line, shape)
    return found


def _take(found: Records, line: int, shape: Shape) -> None:
    record = Record(
        shape.uuid or f"\0{line}",
        shape.uuid is not None,
        line,
        shape.type or "",
        shape.parent,
        shape.said,
        shape.message_id,
        shape.results,
        shape.calls,
        shape.compaction,
    )
    if shape.is_sidechain:
        found.sidechains[record.key] = record
        return
    found.main[record.key] = record
    found.carried |= shape.carried
    found.versions.update(value for key, value in shape.carried if key == "version")


def message_of(value: dict[str, Any]) -> Message | None:
    """The message that a record says, None where it says none that can be used."""
    kind, said = value.get("type"), value.get("message")
    if kind not in ("user", "assistant") or not isinstance(said, dict):
        return None
    if not isinstance(said.get("content"), str | list):
        return None
    role = said.get("role")
    return {"role": role if role in ("user", "assistant") else kind, "content": said["content"]}


def faults_between(found: Records) -> Iterator[Problem]:
    """What is wrong between the records: ids that are named and not there, results of no call.

    All of the file is looked at, so that a compaction neither adds a fault nor hides one.
    """
    everything = [*found.main.values(), *found.sidechains.values()]
    calls = {call for record in everything for call in record.calls}
    for record in everything:
        if record.type not in LINKED:
            continue
        kept = kept_by(record.compaction, found.main) if record.compaction else None
        if kept is not None and kept.broken:
            yield Problem(
                record.line, "a compaction that kept messages which are not in the file, so none of them count"
            )
        parent = record.parent
        if parent == record.key:
            yield Problem(record.line, "the record names itself as its parent")
        elif parent is not None and parent not in found.main and parent not in found.sidechains:
            yield Problem(record.line, f"the parent {brief(parent)!r} is not in the file")
        for call in record.results:
            if call not in calls:
                yield Problem(record.line, f"a result of the call {brief(call)!r}, which is not in the file")
    if found.leaf is not None and found.leaf[1] not in found.main:
        yield Problem(found.leaf[0], f"the last message {brief(found.leaf[1])!r} is not in the file")


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
