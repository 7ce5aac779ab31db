"""The session file of kimi-code, `wire.jsonl`: what kind of file it is, then records of all that happens, one a line.

A few kinds of records make the context that kimi-code sends (see kimi_code_context); the others are its own. From time
to time kimi-code writes how many messages the context has, by which it is told whether the same was read here. Behind
a line that is no JSON kimi-code reads nothing. Source: kimi-code 2.1.0 (protocol 1.5), as measured.

A compaction is one `context.apply_compaction` behind the last line; no line changes. It counts the messages of the
context that the summary stands for, from the first one on.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from lithify.core.brief import brief
from lithify.core.messages import Message, text_of
from lithify.core.outcomes import LithifyError
from lithify.transcripts.appended import is_beyond_us, with_record
from lithify.transcripts.chat_messages import whole
from lithify.transcripts.folds import Said, folds_over
from lithify.transcripts.json_lines import JsonLine, first_objects, json_lines
from lithify.transcripts.json_text import Fault, problems_of
from lithify.transcripts.kimi_code_context import ROLES, Context, Entry
from lithify.transcripts.model import Stamp, Transcript, TranscriptMessage, replaced_messages
from lithify.transcripts.summary_text import one_line

name = "kimi-code"

PROTOCOL = "1.5"
"""The version of the file that is known; kimi-code makes it of older ones when it resumes them."""

_FILE_NAME = re.compile(r"(?:.*[/\\])?agents[/\\][^/\\]+[/\\]wire\.jsonl", re.DOTALL)
_ONLY_BLANKS = re.compile(r"(?:\A|\n)(?!\r?(?:\n|\Z))[ \t\r]+(?:\n|\Z)")
_COUNTED = "token_counting."
_AGAIN = "resume it once in kimi-code and say something, then it can be compacted here."


def recognise(text: str, name: str) -> bool:
    """Whether a record of kimi-code is among the first lines; an empty text by its place in the folder of an agent."""
    return any(map(_is_telling, first_objects(text))) or (_FILE_NAME.fullmatch(name) is not None and not text.strip())


def parse(text: str) -> Transcript:
    """The context that kimi-code would send; a summary can only take the place of the first messages."""
    reading = _read(text)
    reason = _reason(text, reading)
    reading.context.settle()
    entries = reading.context.entries
    messages = tuple(_placed(entry) for entry in entries)
    said = (Said(one.places[0][0], one.places[-1][1], 1, one.left) for one in [*reading.context.gone, *entries])
    problems = problems_of(text, reading.faults)
    return Transcript(name, messages, problems, reason is None, reason, folds_over(said), prefix_only=True)


def write(text: str, transcript: Transcript, start: int, end: int, summary: Message, stamp: Stamp) -> str:
    """The whole text, and behind it the record of a compaction of the messages in front of `end`."""
    replaced_messages(transcript, start, end)
    reading = _read(text)
    if end > reading.counted:
        raise LithifyError(
            "invalid_range", f"kimi-code has counted the first {reading.counted} messages only: compact no more of them"
        )
    record = {
        "type": "context.apply_compaction",
        "agentId": reading.agent,
        "summary": text_of(summary),
        "compactedCount": end,
        "legacyTail": True,
        "time": round(datetime.fromisoformat(stamp.now).timestamp() * 1000),
    }
    return with_record(text, one_line(record, spaced=False))


@dataclass(slots=True)
class _Reading:
    """A walk over the lines. `protocol` is that of the file, `agent` whose context it is, `counted` how many messages
    kimi-code counted last. `doubts` are why the context may be another one. Behind `broken` kimi-code reads nothing,
    and `beyond` is what only it can read."""

    context: Context = field(default_factory=Context)
    protocol: str | None = None
    agent: str = "main"
    counted: int = 0
    lines: int = 0
    faults: list[Fault] = field(default_factory=list)
    doubts: list[Fault] = field(default_factory=list)
    broken: Fault | None = None
    beyond: Fault | None = None

    def take(self, line: JsonLine) -> None:
        """One record."""
        record = line.value if isinstance(line.value, dict) else {}
        kind = record.get("type")
        self.lines += 1
        if not isinstance(kind, str):
            self.faults.append(Fault(line.start, line.fault or "not a record: no object with a type"))
        elif kind == "metadata":
            self._take_metadata(record)
        elif kind.startswith(_COUNTED):
            self._count(line, kind, record.get("length"))
        elif kind.startswith("context."):
            self._take_context(line, kind, record)
        elif kind == "swarm_mode.exit":
            self.context.leave_swarm()
        elif kind == "agent.switched":
            self._doubt(line, "begins a branch")

    def _take_metadata(self, record: dict[str, Any]) -> None:
        version = record.get("protocol_version")
        if self.lines == 1 and isinstance(version, str) and isinstance(record.get("created_at"), int | float):
            self.protocol = version

    def _take_context(self, line: JsonLine, kind: str, record: dict[str, Any]) -> None:
        if (wrong := _wrong_with(kind, record)) is not None:
            self.faults.append(Fault(line.start, wrong))
            self._doubt(line, f"holds what kimi-code may read otherwise ({wrong})")
            return
        place, context = (line.start, line.end), self.context
        self.agent = record["agentId"]
        if kind == "context.append_message":
            context.append(record["message"], place)
        elif kind == "context.append_loop_event":
            context.take_event(record["event"], place)
        elif kind == "context.apply_compaction":
            context.compact(record, place)
            if "keptHeadUserMessageCount" in record:
                self._doubt(line, "left messages of the user out")
        elif kind == "context.undo":
            context.undo(record.get("count"))
        elif kind == "context.clear":
            context.clear()

    def _count(self, line: JsonLine, kind: str, length: Any) -> None:
        """What kimi-code counted: where it fits, there is no doubt about what lies before."""
        if (counted := whole(length)) is None:
            return
        self.counted = counted
        if kind in ("token_counting.measured", "token_counting.rebased"):
            read = len(self.context.entries)
            self.doubts = []
            if read != counted:
                self._doubt(line, f"counts {counted} messages where {read} were read")

    def _doubt(self, line: JsonLine, why: str) -> None:
        self.doubts.append(Fault(line.start, why))


def _read(text: str) -> _Reading:
    reading = _Reading()
    for line in json_lines(text):
        if is_beyond_us(line.fault):
            reading.beyond = Fault(line.start, f"is {line.fault}")
        elif line.fault is not None:
            reading.broken = Fault(line.start, f"is {line.fault}")
            reading.faults.append(Fault(line.start, line.fault))
            break
        reading.take(line)
    return reading


def _reason(text: str, reading: _Reading) -> str | None:
    """Why nothing can be written into this file; None where it can be."""
    if reading.protocol is None:
        return "Its first line does not say what file it is (`protocol_version`), so it can only be read."
    if reading.protocol != PROTOCOL:
        return (
            f"It has the protocol {reading.protocol}, and only {PROTOCOL} (kimi-code 2.1) is known: an older one "
            "becomes that when kimi-code 2.1 resumes it, a newer one can only be read."
        )
    if reading.agent != "main":
        return "This is the session of a subagent, and how kimi-code resumes one is not known: it can only be read."
    if reading.beyond:
        return f"{_named(text, reading.beyond)}: the file can only be read."
    if reading.broken:
        return f"{_named(text, reading.broken)}, and kimi-code reads nothing behind it: {_AGAIN}"
    if blank := _ONLY_BLANKS.search(text):
        return f"{_named(text, Fault(blank.end() - 1, 'is blank'))}, and kimi-code reads nothing behind it: {_AGAIN}"
    if reading.context.unanswered or reading.context.waiting:
        return f"Its last turn was interrupted while tools worked: {_AGAIN}"
    return f"{_named(text, reading.doubts[0])}: {_AGAIN}" if reading.doubts else None


def _named(text: str, fault: Fault) -> str:
    """The line of a fault, and what it does."""
    (found,) = problems_of(text, [fault])
    return f"Line {found.line + 1} {found.message}"


def _is_telling(record: dict[str, Any]) -> bool:
    """Whether nobody but kimi-code writes such a record."""
    kind = record.get("type")
    if kind == "metadata":
        return isinstance(record.get("protocol_version"), str)
    return isinstance(kind, str) and kind.startswith("context.") and isinstance(record.get("agentId"), str)


def _wrong_with(kind: str, record: dict[str, Any]) -> str | None:
    """Why a record about the context is none that is known."""
    if not isinstance(record.get("agentId"), str):
        return "not a record of kimi-code: no agent is named"
    if kind == "context.append_message":
        message = record.get("message")
        sound = isinstance(message, dict) and isinstance(message.get("content"), list) and message.get("role") in ROLES
        return None if sound else "not a message of kimi-code"
    if kind == "context.append_loop_event":
        return None if isinstance(record.get("event"), dict) else "not an event of kimi-code"
    if kind == "context.apply_compaction":
        count = whole(record.get("compactedCount", record.get("count")))
        told = isinstance(record.get("summary"), str | dict) or isinstance(record.get("contextSummary"), str)
        sound = count is not None and told and _is_count(record.get("keptUserMessageCount"))
        return None if sound else "not a compaction of kimi-code"
    return None if kind in ("context.undo", "context.clear") else f"not a record that is known: {brief(kind)}"


def _is_count(value: Any) -> bool:
    return value is None or whole(value) is not None


def _placed(entry: Entry) -> TranscriptMessage:
    (start, end), *more = entry.places
    return TranscriptMessage(entry.message, start, end, tuple(more))
