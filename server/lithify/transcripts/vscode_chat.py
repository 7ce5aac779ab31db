"""A chat of VS Code as "Export Chat..." writes it: an object with `requests`, each a question and what was answered.

The messages of one request have one place. Nothing reads such a file back into a chat, so it is not written. Source:
exports of Copilot Chat, as their shape is described in public.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from lithify.core.messages import Message
from lithify.core.outcomes import LithifyError
from lithify.transcripts.chat_messages import (
    Part,
    assistant,
    call,
    listed,
    mapped,
    result,
    string,
    text_part,
    think_part,
    user,
)
from lithify.transcripts.json_array import Element
from lithify.transcripts.json_places import elements, members
from lithify.transcripts.json_text import Fault, problems_of, skip_mark, skip_space, value_at
from lithify.transcripts.model import Stamp, Transcript, TranscriptMessage

name = "vscode-chat"

_TELLING = re.compile(r'"responderUsername"\s*:')
_LOOKED_AT = 4000
_REASON = "It is an export, and VS Code reads none back into a chat: it can only be read."


def recognise(text: str, name: str) -> bool:  # noqa: ARG001 - any name will do
    """Whether the object names who answered, and holds requests."""
    begin = skip_space(text, skip_mark(text))
    if not text.startswith("{", begin) or not _TELLING.search(text, begin, begin + _LOOKED_AT):
        return False
    return any(key == "requests" and text.startswith("[", found.start) for key, found in members(text, begin))


def parse(text: str) -> Transcript:
    """What was asked and answered, in order."""
    begin = skip_space(text, skip_mark(text))
    whole = value_at(text, begin)
    found = dict(members(text, begin)).get("requests")
    requests = list(elements(text, found.start)) if found else []
    faults = [whole] if isinstance(whole, Fault) else []
    faults += [Fault(one.start, "not a request: no object") for one in requests if not isinstance(one.value, dict)]
    messages = tuple(placed for one in requests if isinstance(one.value, dict) for placed in _placed(one))
    return Transcript(name, messages, problems_of(text, faults), writable=False, read_only_reason=_REASON)


def write(text: str, transcript: Transcript, start: int, end: int, summary: Message, stamp: Stamp) -> str:  # noqa: ARG001 - read-only
    """Never done."""
    raise LithifyError("unsupported_document", _REASON)


def _placed(request: Element) -> Iterator[TranscriptMessage]:
    for message in _messages(mapped(request.value)):
        yield TranscriptMessage(message, request.start, request.end)


def _messages(request: dict[str, Any]) -> Iterator[Message]:
    asked = request.get("message")
    if words := asked if isinstance(asked, str) else string(mapped(asked).get("text")):
        yield user([text_part(words)])
    told = mapped(mapped(request.get("result")).get("metadata"))
    rounds = [mapped(one) for one in listed(told.get("toolCallRounds"))]
    if rounds:
        results = mapped(told.get("toolCallResults"))
        for one in rounds:
            yield from _round(one, results)
    elif parts := list(_shown(listed(request.get("response")))):
        yield assistant(parts)


def _round(one: dict[str, Any], results: dict[str, Any]) -> Iterator[Message]:
    """One step of the model, and what the tools answered."""
    said, called = string(one.get("response")), [mapped(each) for each in listed(one.get("toolCalls"))]
    calls = [call(each.get("id"), each.get("name"), each.get("arguments")) for each in called]
    if said or calls:
        yield assistant([text_part(said)] if said else [], calls)
    for each in called:
        if (call_id := string(each.get("id"))) in results:
            parts = listed(mapped(results[call_id]).get("content"))
            yield result(call_id, [text_part(text) for part in parts if (text := _value(part))])


def _shown(response: list[Any]) -> Iterator[Part]:
    """What an answer shows in words; the pieces of a text in one part."""
    words = ""
    for piece in map(mapped, response):
        kind, said = piece.get("kind"), _value(piece) or _value(piece.get("content"))
        if kind == "thinking" and said:
            yield think_part(said)
        elif kind in (None, "markdownContent"):
            words += said
    if words:
        yield text_part(words)


def _value(holder: Any) -> str:
    """A text under `value`, where it may be wrapped once more."""
    held = mapped(holder).get("value")
    return held if isinstance(held, str) else string(mapped(held).get("value"))
