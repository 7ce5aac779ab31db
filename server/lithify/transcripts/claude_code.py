"""The session file of Claude Code: a graph of records, of which its last prompt's chain is the conversation.

What is read is what Claude Code itself would send after a resume; attachments stay with it and are no messages here. A
file in which no record names one before it, as other tools write them, is read from top to bottom.

What is written comes behind the text: a `compact_boundary` and a summary, as Claude Code records its own compaction
"up to here". Every record stays as it is; the boundary lists those that are kept, and Claude Code hangs them below the
summary. With nothing kept the list is empty, and Claude Code puts an answer of its own behind the summary when it is
resumed. Source: Claude Code 2.1.332, as measured; the records of 1.x have the same shape.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from lithify.core.kimi import OUTPUT_PREFIX
from lithify.core.messages import Message, text_parts, tokens_of_bytes
from lithify.transcripts.appended import is_version_within, newer_version
from lithify.transcripts.claude_code_folds import folds_of
from lithify.transcripts.claude_code_graph import Graph
from lithify.transcripts.claude_code_records import (
    CARRIED,
    LINKED,
    SPEAKERS,
    Record,
    Records,
    Shape,
    faults_between,
    message_of,
    records_of,
    shape_of,
)
from lithify.transcripts.json_lines import first_objects, json_of
from lithify.transcripts.json_text import line_ending
from lithify.transcripts.line_format import (
    Arranged,
    Arrangement,
    Ground,
    LineFacts,
    LineFormat,
    size_of_lines,
)
from lithify.transcripts.line_reading import parse_lines, read_lines
from lithify.transcripts.lines import Lines
from lithify.transcripts.model import Stamp, Transcript, replaced_messages
from lithify.transcripts.summary_text import is_spaced, one_line

name = "claude-code"

NEWEST_VERSION = (2, 1)
"""The newest version of Claude Code, major and minor, whose records are known; files of a newer one are read-only. What
lies among Claude Code's own sessions must be of a version that was seen to go on (`storage.agent_sessions`)."""

_FILE_NAME = re.compile(r"(?:.*[/\\])?\.claude[/\\]projects[/\\].*\.jsonl", re.DOTALL)
_MARKS = ("uuid", "parentUuid", "sessionId")
_NOTES = {
    "file-history-snapshot": "messageId",
    "last-prompt": "sessionId",
    "queue-operation": "operation",
    "summary": "leafUuid",
}
"""Records of Claude Code's own that can stand in front of the first message, and a key that each has."""


def recognise(text: str, name: str) -> bool:
    """Whether a record of Claude Code is among the first lines; an empty text by its place in `.claude/projects`."""
    values = first_objects(text)
    return any(map(_is_record, values)) or (_FILE_NAME.fullmatch(name) is not None and not text.strip())


def parse(text: str) -> Transcript:
    """The messages of the effective conversation, and folds of what it leaves out; problems are those of all lines."""
    return parse_lines(LINES, text)


def write(text: str, transcript: Transcript, start: int, end: int, summary: Message, stamp: Stamp) -> str:
    """The text with the boundary and the summary behind it, spelled like its last record; a missing newline first."""
    leaving = replaced_messages(transcript, start, end)
    reading = read_lines(LINES, Lines(text))
    found = records_of(reading.shapes)
    sequence = Graph(found).effective().sequence
    places = reading.arrangement.messages
    gone = {line for lines in places[end - len(leaving) : end] for line in lines}
    staying = {line for lines in places[end:] for line in lines}
    last = next(record for record in reversed(sequence) if record.line in gone)
    boundary, said = stamp.new_uuid(), stamp.new_uuid()
    metadata = {
        "trigger": "manual",
        "preTokens": tokens_of_bytes(sum(reading.sizes)),
        "messagesSummarized": len(leaving),
        **_preserved(_kept(sequence, gone, staying), said),
    }
    carried = {key: found.carried[key] for key in CARRIED if key in found.carried}
    records = (
        _boundary_record(boundary, last.key, carried, stamp.now, metadata),
        _summary_record(said, boundary, carried, stamp.now, summary, len(leaving)),
    )
    return _appended(text, reading.span(found.last), records)


def _facts_of(source: str) -> LineFacts:
    shape, size = shape_of(*json_of(source, strict=True))
    return LineFacts(shape, size)


def _arrange(shapes: Sequence[Shape | None], ground: Ground) -> Arrangement:
    found = records_of(shapes)
    problems = sorted((*found.faults, *faults_between(found)), key=lambda problem: problem.line)
    conversation, is_subagent = _conversation(found)
    effective = Graph(conversation).effective()
    messages = _messages(effective.sequence)
    return Arrangement(
        [tuple(record.line for record in records) for records in messages],
        list(map(_bare, messages)),
        tuple(problems),
        _reason(ground, found, effective.sequence, is_subagent=is_subagent),
        tuple(folds_of(conversation, effective)),
        prefix_only=True,
    )


def _message_of(arranged: Arranged, decoded: Callable[[int], dict[str, Any]]) -> Message:
    """The records of one answer are one message, of the role of the first."""
    first, *more = (message_of(decoded(line)) or {} for line in arranged.lines)
    if not more:
        return first
    return {"role": first["role"], "content": [part for message in (first, *more) for part in _parts(message)]}


def _bare(records: list[Record]) -> Message:
    """As `core.bare_messages` leaves the message that these records say."""
    first = records[0].said or {}
    if len(records) == 1:
        return first
    parts = [part for record in records for part in (record.said or {}).get("content", ())]
    return {"role": first["role"], **({"content": parts} if parts else {})}


LINES = LineFormat(
    name,
    facts_of=_facts_of,
    arrange=_arrange,
    decode=lambda source: json_of(source, strict=True)[0],
    message_of=_message_of,
    size_of=size_of_lines,
)


def _boundary_record(
    uuid: str, last: str, carried: dict[str, str], now: str, metadata: dict[str, Any]
) -> dict[str, Any]:
    return {
        "parentUuid": None,
        "logicalParentUuid": last,
        "isSidechain": False,
        **carried,
        "type": "system",
        "subtype": "compact_boundary",
        "content": "Conversation compacted",
        "isMeta": False,
        "timestamp": now,
        "uuid": uuid,
        "level": "info",
        "compactMetadata": metadata,
    }


def _summary_record(
    uuid: str, parent: str, carried: dict[str, str], now: str, summary: Message, replaced: int
) -> dict[str, Any]:
    return {
        "parentUuid": parent,
        "isSidechain": False,
        **carried,
        "type": "user",
        "message": {"role": "user", "content": _summary_parts(summary)},
        "isCompactSummary": True,
        "summarizeMetadata": {"messagesSummarized": replaced, "direction": "up_to"},
        "uuid": uuid,
        "timestamp": now,
    }


def _is_record(value: dict[str, Any]) -> bool:
    kind = value.get("type")
    if not isinstance(kind, str):
        return False
    if kind in _NOTES:
        return _NOTES[kind] in value
    if kind in SPEAKERS:
        return isinstance(value.get("message"), dict) and any(key in value for key in _MARKS)
    return kind in ("system", "attachment", "progress") and "parentUuid" in value


def _conversation(found: Records) -> tuple[Records, bool]:
    """The records that the conversation is made of: in the file of a subagent those of its sidechain."""
    if found.sidechains and not any(record.type in SPEAKERS for record in found.main.values()):
        return replace(found, main=found.sidechains, sidechains={}), True
    return found, False


def _messages(sequence: Iterable[Record]) -> list[list[Record]]:
    """The records of each message, in order; the records of one answer are one message, also with results of its calls
    among them."""
    placed: list[list[Record]] = []
    answers: dict[str, list[Record]] = {}
    for record in sequence:
        if record.said is None:
            continue
        message_id = record.message_id
        if message_id is not None and message_id in answers:
            answers[message_id].append(record)
            continue
        placed.append([record])
        if message_id is not None:
            answers[message_id] = placed[-1]
        elif record.type == "user" and not record.results:
            answers.clear()
    return placed


def _parts(message: Message) -> list[Any]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _reason(ground: Ground, found: Records, sequence: list[Record], *, is_subagent: bool) -> str | None:
    """Why nothing can be written into this file; None where it can be, and where there is nothing to compact."""
    versions = sorted(found.versions)
    unknown = next((one for one in versions if not is_version_within(one, (1, 0), NEWEST_VERSION)), None)
    if not sequence:
        return None
    if is_subagent:
        return "This is the session of a subagent, and how Claude Code resumes one is not known: it can only be read."
    if ground.mark:
        return (
            "A byte order mark may hide the first record from Claude Code: save the file without it, then compact it."
        )
    if ground.lone_returns:
        return "Lines end in a lone carriage return, which Claude Code does not read: save it with newlines."
    if "sessionId" not in found.carried:
        return "No record names its session (`sessionId`), so a compaction would belong to none: it can only be read."
    if found.beyond is not None:
        told = f"Line {found.beyond.line + 1} is {found.beyond.message}"
        return f"{told}; Claude Code may read it all the same, and would lose it: the file can only be read."
    if not all(record.named for record in sequence):
        return "Some messages have no `uuid`, so a compaction could not name them as kept: it can only be read."
    if unknown is not None:
        return newer_version("Claude Code", unknown, NEWEST_VERSION)
    return None


def _kept(sequence: list[Record], gone: set[int], staying: set[int]) -> list[Record]:
    """The records from the first kept message on, attachments between them too; notes that are not loaded are left."""
    first = next((place for place, record in enumerate(sequence) if record.line in staying), len(sequence))
    return [record for record in sequence[first:] if record.type in LINKED and record.line not in gone]


def _preserved(kept: list[Record], anchor: str) -> dict[str, Any]:
    """What says which messages are kept. An empty list says that none is, also to a reader that looks for one."""
    listed = {"preservedMessages": {"anchorUuid": anchor, "uuids": [record.key for record in kept]}}
    if not kept:
        return listed
    return {"preservedSegment": {"headUuid": kept[0].key, "anchorUuid": anchor, "tailUuid": kept[-1].key}, **listed}


def _summary_parts(summary: Message) -> list[Any]:
    """The summary as text parts; one that is a single string is parted behind its first line."""
    content = summary.get("content")
    if isinstance(content, list):
        return content
    whole = "\n".join(text_parts(summary))
    answer = whole.removeprefix(f"{OUTPUT_PREFIX}\n")
    texts = [whole] if answer == whole else [OUTPUT_PREFIX, answer]
    return [{"type": "text", "text": text} for text in texts]


def _appended(text: str, last: tuple[int, int], records: Iterable[dict[str, Any]]) -> str:
    ending = line_ending(text, last[1])
    escape = text.isascii() and "\\u" in text
    spaced = is_spaced(text, *last)
    lines = [one_line(record, spaced=spaced, escape=escape) + ending for record in records]
    return "".join([text, "" if text.endswith("\n") else ending, *lines])
