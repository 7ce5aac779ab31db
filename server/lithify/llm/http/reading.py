"""Reads the body of an answer, whatever it turns out to be: a stream of events, one JSON value, or neither."""

from __future__ import annotations

import re
from typing import Any, Literal, Protocol, TypeAlias

from lithify.core.model_calls import ModelRequest
from lithify.llm.http import anthropic, openai
from lithify.llm.http.answer import Answer
from lithify.llm.http.endpoint import Wire
from lithify.llm.http.events import Event, EventReader, EventTooLongError
from lithify.llm.http.refusals import Refusal, parsed

MOST_BODY_BYTES = 16 << 20
"""JSON in one piece: the text in it may take twice its size."""

_EVENT_LINE = re.compile(rb"(data|event|id|retry|error)?:")
_LONGEST_FIELD = len(b"retry:")

BodyKind: TypeAlias = Literal["events", "json", "other"]


class WireFormat(Protocol):
    """What the modules `openai` and `anthropic` hold."""

    NEEDS_MODEL: bool

    def headers(self, key: str | None) -> dict[str, str]: ...
    def body(self, request: ModelRequest, model: Any) -> dict[str, Any]: ...
    def amended(self, sent: dict[str, Any], refusal: Refusal) -> dict[str, Any] | None: ...
    def read_event(self, answer: Answer, event: Event) -> None: ...
    def read_answer(self, answer: Answer, value: Any) -> None: ...


WIRE_FORMATS: dict[Wire, WireFormat] = {"openai": openai, "anthropic": anthropic}


def body_kind(content_type: str, start: bytes) -> BodyKind | None:
    """What a body is, by its first bytes before its content type; None where more of it is needed to tell."""
    start = start.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not start:
        return None
    if start[:1] in (b"{", b"["):
        return "json"
    if "event-stream" in content_type.lower() or _EVENT_LINE.match(start):
        return "events"
    return "other" if len(start) >= _LONGEST_FIELD else None


class AnswerReader:
    """Reads a body piece by piece into an answer."""

    def __init__(self, wire_format: WireFormat, content_type: str) -> None:
        self.answer = Answer()
        self._format = wire_format
        self._content_type = content_type
        self._kind: BodyKind | None = None
        self._body = bytearray()
        self._events = EventReader()

    def feed(self, piece: bytes) -> None:
        """Takes a piece; when `answer.is_over` the rest need not be read."""
        if self._kind is None or self._kind == "json":
            self._body += piece
        if self._kind is None:
            self._kind = body_kind(self._content_type, piece := bytes(self._body))
        if self._kind == "events":
            self._read_events(piece)
        elif self._kind == "other":
            self.answer.is_foreign = self.answer.is_over = True
        elif len(self._body) > MOST_BODY_BYTES:
            self.answer.give_up()

    def finish(self) -> Answer:
        """The answer after the last piece of a body that came to its proper end."""
        if self.answer.is_over:
            return self.answer
        if self._kind == "events":
            self._read_last_event()
        elif self._kind == "json" and (value := parsed(bytes(self._body))) is not None:
            self._format.read_answer(self.answer, value)
        else:
            self.answer.is_foreign = True
        return self.answer

    def _read_events(self, piece: bytes) -> None:
        try:
            found = self._events.feed(piece)
        except EventTooLongError:
            self.answer.give_up()
            return
        for event in found:
            if not self.answer.is_over:
                self._format.read_event(self.answer, event)

    def _read_last_event(self) -> None:
        """Takes an event that no empty line ended; one that was cut off is no event, and no answer either."""
        try:
            found = self._events.finish()
        except EventTooLongError:
            self.answer.give_up()
            return
        for event in found:
            if parsed(event.data) is not None or event.data.strip() == "[DONE]":
                self._format.read_event(self.answer, event)
