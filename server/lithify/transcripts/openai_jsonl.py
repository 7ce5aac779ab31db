"""OpenAI messages as JSON lines, one message a line."""

from __future__ import annotations

from collections.abc import Sequence

from lithify.core.bare_messages import bare
from lithify.core.messages import Message, counted_bytes
from lithify.transcripts.json_lines import first_objects, json_of, lines_between
from lithify.transcripts.line_format import (
    Arrangement,
    Ground,
    LineFormat,
    OneLineEach,
    message_of_line,
    size_of_lines,
)
from lithify.transcripts.line_reading import parse_lines
from lithify.transcripts.model import Problem, Stamp, Transcript, is_message, replaced_messages
from lithify.transcripts.roles import is_chat_message
from lithify.transcripts.summary_text import spelled_like

name = "openai-jsonl"


def recognise(text: str, name: str) -> bool:  # noqa: ARG001 - any name will do
    """Whether a message is among the first lines."""
    return any(map(is_chat_message, first_objects(text)))


def parse(text: str) -> Transcript:
    """Every line that is a message. The others are problems, and hide nothing."""
    return parse_lines(LINES, text)


def _facts_of(source: str) -> tuple[Message | str, int]:
    """The shape is the bare message, or what is wrong with the line."""
    value, fault = json_of(source, strict=True)
    if is_message(value):
        return bare(value), counted_bytes(value)
    return fault or "not a message: no object with a role", 0


def _arrange(shapes: Sequence[Message | str | None], _ground: Ground) -> Arrangement:
    lines = [line for line, shape in enumerate(shapes) if isinstance(shape, dict)]
    problems = (Problem(line, shape) for line, shape in enumerate(shapes) if isinstance(shape, str))
    return Arrangement(OneLineEach(lines), [shape for shape in shapes if isinstance(shape, dict)], tuple(problems))


LINES = LineFormat(
    name,
    facts_of=_facts_of,
    arrange=_arrange,
    decode=lambda source: json_of(source, strict=True)[0],
    message_of=message_of_line,
    size_of=size_of_lines,
)


def write(text: str, transcript: Transcript, start: int, end: int, summary: Message, stamp: Stamp) -> str:  # noqa: ARG001 - nothing here bears a time or an id
    """The lines with the summary in place of the messages; lines between them that are none follow it."""
    leaving = replaced_messages(transcript, start, end)
    first, last = leaving[0], leaving[-1]
    kept = lines_between(text, leaving)
    return text[: first.start] + spelled_like(text, first.start, first.end, summary) + kept + text[last.end :]
