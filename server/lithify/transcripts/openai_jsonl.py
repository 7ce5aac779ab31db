"""OpenAI messages as JSON lines, one message a line."""

from __future__ import annotations

from lithify.core.messages import Message
from lithify.transcripts.json_lines import JsonLine, first_objects, json_lines, lines_between
from lithify.transcripts.json_text import Fault, problems_of
from lithify.transcripts.model import Stamp, Transcript, TranscriptMessage, is_message, replaced_messages
from lithify.transcripts.roles import is_chat_message
from lithify.transcripts.summary_text import spelled_like

name = "openai-jsonl"


def recognise(text: str, name: str) -> bool:  # noqa: ARG001 - any name will do
    """Whether a message is among the first lines."""
    return any(map(is_chat_message, first_objects(text)))


def parse(text: str) -> Transcript:
    """Every line that is a message. The others are problems, and hide nothing."""
    lines = list(json_lines(text))
    messages = tuple(TranscriptMessage(line.value, line.start, line.end) for line in lines if is_message(line.value))
    faults = [Fault(line.start, _wrong_with(line)) for line in lines if not is_message(line.value)]
    return Transcript(name, messages, problems_of(text, faults))


def _wrong_with(line: JsonLine) -> str:
    return line.fault or "not a message: no object with a role"


def write(text: str, transcript: Transcript, start: int, end: int, summary: Message, stamp: Stamp) -> str:  # noqa: ARG001 - nothing here bears a time or an id
    """The lines with the summary in place of the messages; lines between them that are none follow it."""
    leaving = replaced_messages(transcript, start, end)
    first, last = leaving[0], leaving[-1]
    kept = lines_between(text, leaving)
    return text[: first.start] + spelled_like(text, first.start, first.end, summary) + kept + text[last.end :]
