"""The session file of kimi-cli, `context.jsonl`: messages, and records about them, one a line.

Records: `{"role": "_system_prompt", "content"}` first, `{"role": "_checkpoint", "id"}` before each step,
`{"role": "_usage", "token_count"}` after each answer; all else is a message. Source: kimi-cli 1.52.0, as measured.

A rewritten file is one that kimi-cli loads: the summary stands behind a checkpoint, the checkpoints and token counts
of the replaced messages are gone, and the last record counts the tokens anew, because kimi-cli believes the last
`_usage` it reads. The file ends in a line ending if it did: kimi-cli always writes one, and appends without looking.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, TypeAlias

from lithify.core.bare_messages import bare
from lithify.core.brief import brief
from lithify.core.conversation import Range, with_summary
from lithify.core.messages import Message, counted_bytes, estimate_tokens, role_of
from lithify.transcripts.json_lines import first_objects, json_lines, json_of, lines_between
from lithify.transcripts.json_text import line_ending
from lithify.transcripts.line_format import (
    Arrangement,
    Ground,
    LineFacts,
    LineFormat,
    OneLineEach,
    message_of_line,
    size_of_lines,
)
from lithify.transcripts.line_reading import parse_lines
from lithify.transcripts.model import Problem, Stamp, Transcript, replaced_messages
from lithify.transcripts.roles import is_chat_message
from lithify.transcripts.summary_text import one_line, spelled_like

name = "kimi-context"

MESSAGE_ROLES = frozenset({"system", "user", "assistant", "tool"})
PART_TYPES = frozenset({"text", "think", "image_url", "audio_url", "video_url"})
_RECORDS = {"_system_prompt": ("content", str), "_checkpoint": ("id", int), "_usage": ("token_count", int)}
"""The key each record of kimi-cli's own must hold, and its type; kimi-cli skips a record without it."""

_FILE_NAME = re.compile(r"(?:.*[/\\])?context(?:_\d+)?\.jsonl")
_NEXT_LINE = re.compile(r"[ \t]*(?:\r\n|\n|\r)([^\r\n]+)")


def recognise(text: str, name: str) -> bool:
    """Whether a record of kimi-cli's own is among the first lines; without one, messages in a `context.jsonl`."""
    values = first_objects(text, strict=False)
    if any(map(_record, values)):
        return True
    return _FILE_NAME.fullmatch(name) is not None and (any(map(is_chat_message, values)) or not text.strip())


def parse(text: str) -> Transcript:
    """Every message; also one that kimi-cli could not load, as it is the user's, with a problem that says so."""
    return parse_lines(LINES, text)


_Shape: TypeAlias = Message | tuple[Message, str] | str
"""The bare message of a line, what is wrong with the line, or both."""

_RECORD = ""
"""Nothing is wrong with a record of kimi-cli's own."""


def _facts_of(source: str) -> LineFacts:
    value, fault = json_of(source, strict=False)
    wrong = _wrong_with(value, fault)
    if not _is_message(value):
        return LineFacts(wrong or _RECORD)
    return LineFacts(bare(value) if wrong is None else (bare(value), wrong), counted_bytes(value))


def _arrange(shapes: Sequence[_Shape | None], ground: Ground) -> Arrangement:
    read = [(line, *_said_and_wrong(shape)) for line, shape in enumerate(shapes) if shape is not None]
    messages = OneLineEach([line for line, said, _ in read if said is not None])
    said = [said for _, said, _ in read if said is not None]
    problems = tuple(Problem(line, wrong) for line, _, wrong in read if wrong)
    if not (read and ground.mark):
        return Arrangement(messages, said, problems)
    mark = Problem(0, "a byte order mark, for which kimi-cli skips the first record")
    reason = "A byte order mark hides the first record from kimi-cli: save the file without it, then compact it."
    return Arrangement(messages, said, (mark, *problems), reason)


def _said_and_wrong(shape: _Shape) -> tuple[Message | None, str]:
    if isinstance(shape, tuple):
        return shape
    return (shape, "") if isinstance(shape, dict) else (None, shape)


LINES = LineFormat(
    name,
    facts_of=_facts_of,
    arrange=_arrange,
    decode=lambda source: json_of(source, strict=False)[0],
    message_of=message_of_line,
    size_of=size_of_lines,
)


def write(text: str, transcript: Transcript, start: int, end: int, summary: Message, stamp: Stamp) -> str:  # noqa: ARG001 - nothing here bears a time or an id
    """The session with the summary in place of the messages; broken lines between them follow it."""
    leaving = replaced_messages(transcript, start, end)
    first, last = leaving[0], leaving[-1]
    ending = line_ending(text, first.end)
    kept = lines_between(text, leaving, lambda line: _record_of_line(line) not in ("_checkpoint", "_usage"))
    left = with_summary(transcript.conversation, Range(start, end), summary)
    before, after = text[: first.start], text[_behind_usage(text, last.end) :]
    said = _checkpoint_line(text, first.start, last.end, ending) + spelled_like(text, first.start, first.end, summary)
    return _ended(before + said + kept + after, ending) + _usage_line(left) + (ending if _is_ended(text) else "")


def _record(value: Any) -> str | None:
    """The role of a sound record of kimi-cli's own, None for anything else."""
    role = role_of(value) if isinstance(value, dict) else ""
    key, wanted = _RECORDS.get(role, ("", object))
    return role if key and isinstance(value.get(key), wanted) else None


def _record_of_line(line: str) -> str | None:
    return _record(json_of(line.strip(" \t"), strict=False)[0])


def _is_message(value: Any) -> bool:
    return isinstance(value, dict) and role_of(value) in MESSAGE_ROLES


def _wrong_with(value: Any, fault: str | None) -> str | None:
    if fault is not None or _record(value):
        return fault
    if _is_message(value):
        return _wrong_with_message(value)
    role = role_of(value) if isinstance(value, dict) else ""
    if role in _RECORDS:
        return f"not a record: {role} without a proper `{_RECORDS[role][0]}`"
    return f"not a message: kimi-cli knows no role `{brief(role)}`" if role else "not a message: no object with a role"


def _wrong_with_message(message: Message) -> str | None:
    if "content" not in message:
        return "kimi-cli cannot load a session with this message: it has no `content`"
    parts = message["content"] if isinstance(message["content"], list) else []
    types = [part.get("type") for part in parts if isinstance(part, dict)]
    unknown = [kind for kind in types if isinstance(kind, str) and kind not in PART_TYPES]
    return f"kimi-cli cannot load a session with this message: it knows no part `{unknown[0]}`" if unknown else None


def _behind_usage(text: str, end: int) -> int:
    """The end of the token counts that directly follow the message which ends here, for they count it."""
    while (line := _NEXT_LINE.match(text, end)) and _record_of_line(line.group(1)) == "_usage":
        end = line.start(1) + len(line.group(1).rstrip(" \t"))
    return end


def _checkpoint_line(text: str, start: int, end: int, ending: str) -> str:
    """The checkpoint that has to go in front of the summary: none where one stands before the replaced text."""
    found = [line for line in json_lines(text, strict=False) if _record(line.value) == "_checkpoint"]
    replaced = [line.value["id"] for line in found if start < line.start < end]
    if len(replaced) < len(found) and (found[0].start < start or not replaced):
        return ""
    number = replaced[0] if replaced else 0
    return one_line({"role": "_checkpoint", "id": number}, spaced=True) + ending


def _usage_line(messages: list[Message]) -> str:
    return one_line({"role": "_usage", "token_count": estimate_tokens(messages)}, spaced=True)


def _ended(text: str, ending: str) -> str:
    return text if _is_ended(text) else text + ending


def _is_ended(text: str) -> bool:
    return text.endswith(("\n", "\r"))
