"""The session file of Codex, `rollout-*.jsonl`: records `{timestamp, ordinal?, type, payload}`, one a line.

The conversation is what Codex takes up again: the last `replacement_history` and the `response_item`s behind it,
without those that a compaction itself produced. What Codex puts in front at each start is no part of it. Source:
Codex 0.171, as measured.

A compaction is one `compacted` record behind the last line; no line changes. Its history holds the summary and every
other item as it stands; items that only Codex can read stay, in front of the summary.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from lithify.core.messages import Message, text_of
from lithify.transcripts.appended import is_version_within, newer_version
from lithify.transcripts.codex_history import History, RecordShape, record_of, walk
from lithify.transcripts.codex_items import (
    bare_of,
    is_sealed,
    message_of,
    size_of,
    sizes_of,
    steps,
    summary_item,
)
from lithify.transcripts.json_lines import first_objects
from lithify.transcripts.json_text import line_ending
from lithify.transcripts.line_format import Arranged, Arrangement, Ground, LineFacts, LineFormat
from lithify.transcripts.line_reading import parse_lines, read_lines
from lithify.transcripts.lines import Lines
from lithify.transcripts.model import Problem, Stamp, Transcript, replaced_messages
from lithify.transcripts.summary_text import one_line

name = "codex"

NEWEST_VERSION = (0, 171)
"""The newest version of Codex, major and minor, whose records are known; files of a newer one are read-only. What lies
among Codex' own sessions must be of a version that was seen to go on (`storage.agent_sessions`)."""

T = TypeVar("T")

RECORD_TYPES = frozenset({"session_meta", "response_item", "compacted", "turn_context", "event_msg"})
_MARK = "a byte order mark, for which Codex cannot read its first record"
_FILE_NAME = re.compile(r"(?:.*[/\\])?rollout-[^/\\]*\.jsonl")
_AGAIN = "compact the session once in Codex itself (/compact), then it can be compacted here."


def recognise(text: str, name: str) -> bool:
    """Whether a record of Codex is among the first lines; without any line, a `rollout-*.jsonl`."""
    values = first_objects(text)
    if any(map(_is_record, values)):
        return True
    return _FILE_NAME.fullmatch(name) is not None and not text.strip()


def _is_record(value: dict[str, Any]) -> bool:
    kind = value.get("type")
    return isinstance(kind, str) and kind in RECORD_TYPES and isinstance(value.get("payload"), dict)


def parse(text: str) -> Transcript:
    """The conversation that Codex would take up again; it is read-only where that is not certain, or not safe."""
    return parse_lines(LINES, text)


def write(text: str, transcript: Transcript, start: int, end: int, summary: Message, stamp: Stamp) -> str:
    """The whole text, and behind it the record of a compaction, in any range of the conversation."""
    leaving = len(replaced_messages(transcript, start, end))
    reading = read_lines(LINES, Lines(text))
    history = walk(reading.shapes)
    placed = history.placed
    items = [reading.decoded(one.part[0])[one.part[1]] for one in placed]
    found = steps([one.shape for one in placed])
    first, last = found[end - leaving].first, found[end - 1].end
    sealed = [item for item in items[first:last] if is_sealed(item)]
    replacement = [*items[:first], *sealed, summary_item(summary), *items[last:]]
    ordinal = {} if history.last_ordinal is None else {"ordinal": history.last_ordinal + 1}
    payload = {"message": text_of(summary), "replacement_history": replacement}
    record = {"timestamp": stamp.now, **ordinal, "type": "compacted", "payload": payload}
    ending = _ending(text)
    return text + ("" if text.endswith("\n") else ending) + one_line(record, spaced=False) + ending


def _facts_of(source: str) -> LineFacts:
    shape, items = record_of(source)
    usable = (item if one.wrong is None else None for one, item in zip(shape.items, items, strict=True))
    return LineFacts(shape, tuple(sizes_of(item) if item else (0, None) for item in usable))


def _arrange(shapes: Sequence[RecordShape | None], ground: Ground) -> Arrangement:
    history = walk(shapes)
    mark = [Problem(0, _MARK)] if ground.mark else []
    made = [history.placed[step.first : step.end] for step in steps([one.shape for one in history.placed])]
    return Arrangement(
        [tuple(dict.fromkeys(one.line for one in placed)) for placed in made],
        [bare_of([one.shape for one in placed]) for placed in made],
        (*mark, *history.faults),
        _reason(ground, history),
        history.folds(),
        parts={
            index: tuple(one.part for one in placed)
            for index, placed in enumerate(made)
            if not all(one.is_all_of_line for one in placed)
        },
    )


def _reason(ground: Ground, history: History) -> str | None:
    """Why nothing can be written into this file; None where it can be."""
    if ground.mark:
        return f"Line 1 has {_MARK}: save the file without it, then compact it."
    if history.version is not None and not is_version_within(history.version, (0, 0), NEWEST_VERSION):
        return newer_version("Codex", history.version, NEWEST_VERSION)
    if not history.doubts:
        return None
    doubt = min(history.doubts, key=lambda one: one.line)
    return f"Line {doubt.line + 1} {doubt.message}: {_AGAIN}"


def _message_of(arranged: Arranged, decoded: Callable[[int], list[Any]]) -> Message:
    return message_of(_of_parts(arranged, decoded))


def _size_of(arranged: Arranged, size_at: Callable[[int], Sequence[tuple[int, int | None]]]) -> int:
    return size_of(_of_parts(arranged, size_at))


def _of_parts(arranged: Arranged, items_at: Callable[[int], Sequence[T]]) -> list[T]:
    """What there is of each item of a message."""
    if arranged.parts:
        return [items_at(line)[index] for line, index in arranged.parts]
    return [item for line in arranged.lines for item in items_at(line)]


LINES = LineFormat(
    name,
    facts_of=_facts_of,
    arrange=_arrange,
    decode=lambda source: record_of(source)[1],
    message_of=_message_of,
    size_of=_size_of,
)


def _ending(text: str) -> str:
    """The line ending of the file; a carriage return alone ends no line for Codex."""
    ending = line_ending(text, 0)
    return ending if ending.endswith("\n") else "\n"
