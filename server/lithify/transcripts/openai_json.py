"""OpenAI messages as one JSON document: an array, or an object that holds the array under `messages` or `history`."""

from __future__ import annotations

from itertools import islice, pairwise

from lithify.core.messages import Message
from lithify.transcripts.json_array import CHAT_KEY, Element, Scan
from lithify.transcripts.json_lines import LOOKED_AT
from lithify.transcripts.json_text import Fault, problems_of, skip_mark, skip_space
from lithify.transcripts.model import Stamp, Transcript, TranscriptMessage, is_message, replaced_messages
from lithify.transcripts.roles import is_chat_message
from lithify.transcripts.summary_text import spelled_like

name = "openai-json"

_SPACE = " \t\r\n"


def recognise(text: str, name: str) -> bool:  # noqa: ARG001 - any name will do
    """Whether a message is among the first elements of the array; an empty chat tells nothing."""
    begin = skip_space(text, skip_mark(text))
    if not text.startswith("[", begin) and not (text.startswith("{", begin) and CHAT_KEY.search(text, begin)):
        return False
    return any(is_chat_message(element.value) for element in islice(Scan(text).chat(), LOOKED_AT))


def parse(text: str) -> Transcript:
    """The messages of the array. A text that is no JSON document is read as far as it goes, and is read-only."""
    scan = Scan(text)
    elements = list(scan.chat())
    strangers = [_stranger(element) for element in elements if not is_message(element.value)]
    problems = problems_of(text, [*scan.faults, *strangers])
    reason = None
    if scan.faults:
        first = problems_of(text, scan.faults)[0]
        reason = f"Line {first.line + 1} is broken JSON ({first.message}): repair the file, then compact it."
    messages = tuple(
        TranscriptMessage(element.value, element.start, element.end)
        for element in elements
        if is_message(element.value)
    )
    return Transcript(name, messages, problems, writable=reason is None, read_only_reason=reason)


def _stranger(element: Element) -> Fault:
    return Fault(element.start, "not a message: no object with a role")


def write(text: str, transcript: Transcript, start: int, end: int, summary: Message, stamp: Stamp) -> str:  # noqa: ARG001 - nothing here bears a time or an id
    """The document with the summary in place of the messages; elements between them that are none follow it."""
    leaving = replaced_messages(transcript, start, end)
    first, last = leaving[0], leaving[-1]
    kept = "".join(_elements_between(text[before.end : after.start]) for before, after in pairwise(leaving))
    return text[: first.start] + spelled_like(text, first.start, first.end, summary) + kept + text[last.end :]


def _elements_between(gap: str) -> str:
    """What stands between two messages, without the last comma and the white space around it."""
    return gap.rstrip(_SPACE).removesuffix(",").rstrip(_SPACE)
