"""The session file of Gemini CLI, `session-*.jsonl`: what the session is, then records, one a line.

A record with an `id` is a message; the last one of an id counts, in the place of the first. `$set` changes what the
session is, and with `messages` what was said so far; `$rewindTo` takes back a message and all behind it. What is read
is what Gemini CLI would send. Files name no version: one in which every record is of a kind that Gemini CLI 0.61 writes
can be written. Source: Gemini CLI 0.61, as measured.

A compaction is one `$set` behind the last line; no line changes. It holds the summary, and every other message as it
is spelled in the file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from lithify.core.brief import brief
from lithify.core.messages import Message, text_parts
from lithify.core.outcomes import LithifyError
from lithify.transcripts.appended import is_beyond_us, with_record
from lithify.transcripts.folds import Said, folds_over
from lithify.transcripts.gemini_messages import KINDS, messages_of
from lithify.transcripts.json_lines import JsonLine, first_objects, json_lines
from lithify.transcripts.json_places import elements, member
from lithify.transcripts.json_text import Fault, problems_of, skip_mark, value_at
from lithify.transcripts.model import Fold, Stamp, Transcript, TranscriptMessage, replaced_messages
from lithify.transcripts.summary_text import one_line

name = "gemini"

_FILE_NAME = re.compile(r"(?:.*[/\\])?\.gemini[/\\]tmp[/\\].*[/\\]session-[^/\\]*\.jsonl?", re.DOTALL)
_LOOKED_AT = 2000
_MARK = "a byte order mark, for which Gemini CLI cannot read its first record"
_UNKNOWN = "which Gemini CLI 0.61 does not write"
_OLD = (
    "It is a session of an older Gemini CLI, one JSON document: resume it once in Gemini CLI, "
    "which makes a .jsonl file of it, and compact that."
)


def recognise(text: str, name: str) -> bool:
    """Whether a record of Gemini CLI is among the first lines; an empty text by its place in `.gemini/tmp`."""
    if any(map(_is_telling, first_objects(text))) or _document(text):
        return True
    return _FILE_NAME.fullmatch(name) is not None and not text.strip()


def parse(text: str) -> Transcript:
    """The conversation that Gemini CLI would take up again."""
    if document := _document(text):
        return _parse_document(text, document)
    reading = _read(text)
    mark = [Fault(0, _MARK)] if skip_mark(text) else []
    reason = _reason(text, reading)
    problems = problems_of(text, [*reading.faults, *mark])
    return Transcript(name, reading.messages, problems, reason is None, reason, reading.folds())


def write(text: str, transcript: Transcript, start: int, end: int, summary: Message, stamp: Stamp) -> str:
    """The whole text, and behind it the record of a compaction, in any range that parts no call from its results."""
    leaving = replaced_messages(transcript, start, end)
    reading = _read(text)
    placed = list(reading.held.values())
    owners = reading.owners
    first, last = owners[end - len(leaving)], owners[end - 1]
    if owners[: end - len(leaving)].count(first) or owners[end:].count(last):
        raise LithifyError("invalid_range", "a call and its results are one record of Gemini CLI: compact both or none")
    kept = [[text[one.start : one.end] for one in some] for some in (placed[:first], placed[last + 1 :])]
    messages = ",".join([*kept[0], one_line(_summary_record(summary, stamp), spaced=False), *kept[1]])
    now = one_line(stamp.now, spaced=False)
    return with_record(text, f'{{"$set":{{"messages":[{messages}],"lastUpdated":{now}}}}}')


@dataclass(frozen=True, slots=True)
class _Placed:
    """A message record, and the characters [start, end) that spell it."""

    record: dict[str, Any]
    start: int
    end: int


@dataclass(slots=True)
class _Reading:
    """A walk over the lines. `held` is what Gemini CLI holds by id, in order; `gone` what it held before, and why no
    more; `doubts` are why nothing should be written."""

    text: str
    held: dict[str, _Placed] = field(default_factory=dict)
    gone: list[tuple[_Placed, str]] = field(default_factory=list)
    session: dict[str, Any] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    doubts: list[Fault] = field(default_factory=list)

    def take(self, line: JsonLine) -> None:
        """One line, told apart in the order in which Gemini CLI does."""
        record = line.value if isinstance(line.value, dict) else {}
        if isinstance(record.get("$rewindTo"), str):
            self._take_back(record["$rewindTo"])
        elif isinstance(record.get("id"), str):
            self._hold(_Placed(record, line.start, line.end))
        elif isinstance(record.get("$set"), dict | list):
            self._set(line, record["$set"])
        elif _is_session(record):
            self.session.update(record)
            self._hold_all(line.start, "messages")
        else:
            self._refuse(line, record)

    def folds(self) -> tuple[Fold, ...]:
        """What was compacted away, and what was taken back. A message that a compaction kept is spelled anew: it counts
        once, where it was spelled last."""
        last: dict[str, tuple[_Placed, str | None]] = {one.record["id"]: (one, why) for one, why in self.gone}
        last |= {key: (one, None) for key, one in self.held.items()}
        return folds_over(Said(one.start, one.end, len(messages_of(one.record)), why) for one, why in last.values())

    @property
    def messages(self) -> tuple[TranscriptMessage, ...]:
        """What is sent; the messages of one record have one place."""
        return tuple(
            TranscriptMessage(message, one.start, one.end)
            for one in self.held.values()
            for message in messages_of(one.record)
        )

    @property
    def owners(self) -> list[int]:
        """For each message which record of `held` says it."""
        return [index for index, one in enumerate(self.held.values()) for _ in messages_of(one.record)]

    def _hold(self, placed: _Placed) -> None:
        self.held[placed.record["id"]] = placed
        kind = placed.record.get("type")
        if not (isinstance(kind, str) and kind in KINDS):
            self.doubts.append(Fault(placed.start, f"holds a message of the type `{brief(kind)}`, {_UNKNOWN}"))

    def _hold_all(self, start: int, *path: str) -> None:
        """The messages of a list within the record that begins at `start`."""
        for key in path:
            found = member(self.text, start, key)
            start = found.start if found else len(self.text)
        for element in elements(self.text, start):
            if isinstance(element.value, dict) and isinstance(element.value.get("id"), str):
                self._hold(_Placed(element.value, element.start, element.end))

    def _set(self, line: JsonLine, changed: Any) -> None:
        if not isinstance(changed, dict):
            return
        self.session.update(changed)
        if isinstance(changed.get("messages"), list):
            self.gone += ((one, "Compacted away") for one in self.held.values())
            self.held, self.doubts = {}, []
            self._hold_all(line.start, "$set", "messages")

    def _take_back(self, message_id: str) -> None:
        """The message and all behind it leave; all of them where there is none of that id."""
        while self.held:
            key, placed = self.held.popitem()
            self.gone.append((placed, "Taken back"))
            if key == message_id:
                return

    def _refuse(self, line: JsonLine, record: dict[str, Any]) -> None:
        self.faults.append(Fault(line.start, line.fault or "not a record of Gemini CLI"))
        if is_beyond_us(line.fault):
            self.doubts.append(Fault(line.start, f"is {line.fault}"))
        elif unknown := next((key for key in record if key.startswith("$")), None):
            self.doubts.append(Fault(line.start, f"is a `{brief(unknown)}`, {_UNKNOWN}"))


def _read(text: str) -> _Reading:
    reading = _Reading(text)
    for line in json_lines(text):
        reading.take(line)
    return reading


def _reason(text: str, reading: _Reading) -> str | None:
    """Why nothing can be written into this file; None where it can be."""
    if skip_mark(text):
        return f"Line 1 has {_MARK}: save the file without it, then compact it."
    if not _is_session(reading.session):
        return "No line says which session it is (`sessionId`, `projectHash`), so Gemini CLI cannot resume it."
    if reading.session.get("kind") == "subagent":
        return "This is the session of a subagent, and how Gemini CLI resumes one is not known: it can only be read."
    if not reading.doubts:
        return None
    (doubt, *_) = problems_of(text, reading.doubts)
    return f"Line {doubt.line + 1} {doubt.message}: the file can only be read."


def _summary_record(summary: Message, stamp: Stamp) -> dict[str, Any]:
    content = [{"text": text} for text in text_parts(summary)]
    return {"id": stamp.new_uuid(), "timestamp": stamp.now, "type": "user", "content": content}


def _is_session(record: dict[str, Any]) -> bool:
    return isinstance(record.get("sessionId"), str) and isinstance(record.get("projectHash"), str)


def _is_telling(record: dict[str, Any]) -> bool:
    """Whether nobody but Gemini CLI writes such a record."""
    if _is_session(record) or isinstance(record.get("$set"), dict) or isinstance(record.get("$rewindTo"), str):
        return True
    return record.get("type") == "gemini" and isinstance(record.get("id"), str)


def _document(text: str) -> dict[str, Any] | None:
    """The session of an older Gemini CLI: one JSON document on many lines."""
    begin = skip_mark(text)
    head = text[begin : begin + _LOOKED_AT]
    if not head.startswith("{") or "\n" not in head or '"projectHash"' not in head or first_objects(text):
        return None
    read = value_at(text, begin)
    return read[0] if not isinstance(read, Fault) and isinstance(read[0], dict) and _is_session(read[0]) else None


def _parse_document(text: str, document: dict[str, Any]) -> Transcript:
    reading = _Reading(text, session=document)
    reading._hold_all(skip_mark(text), "messages")
    return Transcript(name, reading.messages, (), writable=False, read_only_reason=_OLD)
