"""OpenAI messages as one JSON document: an array, or an object that holds the array under `messages` or `history`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice, pairwise

from lithify.core.messages import Message
from lithify.transcripts.columns import Change, MessageColumns, Renewed, piece, renewed
from lithify.transcripts.json_array import CHAT_KEY, Element, Scan
from lithify.transcripts.json_lines import LOOKED_AT
from lithify.transcripts.json_text import Fault, problems_of, skip_mark, skip_space, value_at
from lithify.transcripts.lines import Lines
from lithify.transcripts.model import LOOKED_AT_CHARACTERS, Stamp, Transcript, is_message, replaced_messages
from lithify.transcripts.roles import is_chat_message
from lithify.transcripts.summary_text import spelled_like

name = "openai-json"

_SPACE = " \t\r\n"


def recognise(text: str, name: str) -> bool:  # noqa: ARG001 - any name will do
    """Whether a message is among the first elements of the array; an empty chat tells nothing."""
    begin = skip_space(text, skip_mark(text))
    if not text.startswith("[", begin) and not _is_object_with_chat(text, begin):
        return False
    return any(is_chat_message(element.value) for element in islice(Scan(text).chat(), LOOKED_AT))


def _is_object_with_chat(text: str, begin: int) -> bool:
    """Whether an object begins there that may hold a chat. One that is a line of its own ends there."""
    if not text.startswith("{", begin):
        return False
    end = text.find("\n", begin, begin + LOOKED_AT_CHARACTERS)
    is_line = end >= 0 and isinstance(value_at(text[begin:end], 0), tuple)
    return CHAT_KEY.search(text, begin, end if is_line else len(text)) is not None


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
    messages = _columns([element for element in elements if is_message(element.value)])
    return Transcript(name, messages, problems, writable=reason is None, read_only_reason=reason)


def _columns(elements: Sequence[Element]) -> MessageColumns:
    return MessageColumns(
        [one.start for one in elements], [one.end for one in elements], [one.value for one in elements]
    )


def renew(messages: MessageColumns, before: Lines, after: Lines, change: Change) -> Renewed | None:
    """The messages after a change of a text without problems, where it stays one: the elements that it touched are read
    again. None where more of the text has to be read for it."""
    touched = messages.touched(change)
    first, behind = touched.start, touched.stop
    if not messages or change.start < messages.starts[0]:
        return None
    begin = messages.ends[first - 1] if first else messages.starts[0]
    if behind < len(messages):
        source = piece(after, begin, messages.starts[behind] + change.shift)
        made = _elements_in(source, begin, in_front=first > 0)
    else:
        source = piece(after, begin, after.length)
        made = _last_elements_in(source, begin, piece(before, messages.ends[-1], before.length), in_front=first > 0)
    if made is None or len(messages) - len(touched) + len(made) == 0:
        return None
    return renewed(messages, touched, _columns(made), change.shift)


def _elements_in(source: str, offset: int, *, in_front: bool) -> list[Element] | None:
    """The messages in what stands between two elements, or in front of one; None where it is anything else."""
    found = _read_elements(source, offset, in_front=in_front)
    return found[0] if found is not None and found[1] == len(source) else None


def _last_elements_in(source: str, offset: int, old_end: str, *, in_front: bool) -> list[Element] | None:
    """The messages in what stands behind an element; None where the end of the array and of the text is another one
    than it was."""
    found = _read_elements(source, offset, in_front=in_front)
    if found is None or not source.startswith("]", found[1]):
        return None
    return found[0] if source[found[1] :] == old_end.lstrip(_SPACE) else None


def _read_elements(source: str, offset: int, *, in_front: bool) -> tuple[list[Element], int] | None:
    """Messages, each with a comma behind it but the last one before the end of the array, and where they end; None
    where anything else stands there. `in_front`: a message stands in front of the source."""
    at = skip_space(source, 0)
    made: list[Element] = []
    while True:
        if in_front or made:
            if source.startswith("]", at):
                return made, at
            if not source.startswith(",", at):
                return None
            at = skip_space(source, at + 1)
        if at == len(source):
            return made, at
        value = value_at(source, at)
        if isinstance(value, Fault) or not is_message(value[0]):
            return None
        made.append(Element(offset + at, offset + value[1], value[0]))
        at = skip_space(source, value[1])


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
