"""What a scripted model server can be told to answer: one value for each way in which models answer and fail."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Usage: TypeAlias = tuple[int, int]
"""Tokens in, tokens out."""


@dataclass(frozen=True, slots=True)
class Text:
    """An answer in words.

    `stop` is `end`, `max_tokens`, `tool_use` or `refusal`, which each wire names in its own way; any other word goes
    over the wire as it is, and None says nothing about why the answer ended. `usage` None leaves the numbers out. A
    stream brings the text in `pieces` parts. `thinking` comes before the text, as reasoning models send it.
    """

    text: str
    stop: str | None = "end"
    usage: Usage | None = (12, 3)
    pieces: int = 1
    thinking: str = ""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """The model calls a tool, after `text` if there is any. A stream brings the arguments in `pieces` parts.

    `more` are calls in the same answer, of which name and arguments count.
    """

    name: str
    arguments: Mapping[str, Any]
    text: str = ""
    usage: Usage | None = (12, 3)
    pieces: int = 1
    more: tuple[ToolCall, ...] = ()

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """All calls of the answer."""
        return (self, *self.more)


@dataclass(frozen=True, slots=True)
class Error:
    """An HTTP error with a body in the shape of the wire that asked; `body` is sent instead, if given."""

    status: int
    type: str
    message: str
    code: str | int | None = None
    param: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None


@dataclass(frozen=True, slots=True)
class ByWire:
    """One answer for each wire."""

    openai: Answer
    anthropic: Answer


@dataclass(frozen=True, slots=True)
class Slow:
    """Nothing is sent, not even the status, until the test sets `first_byte_gate`."""

    answer: Answer
    first_byte_gate: asyncio.Event


@dataclass(frozen=True, slots=True)
class Drip:
    """The status at once, then one part at each `gate.release()`.

    A stream has an opening part, one for each of the text's pieces, and a closing part; any other answer is one part.
    """

    answer: Answer
    gate: asyncio.Semaphore


@dataclass(frozen=True, slots=True)
class Shredded:
    """The answer in HTTP chunks of `size` bytes, which end in the middle of lines and of characters."""

    answer: Answer
    size: int = 1


@dataclass(frozen=True, slots=True)
class Commented:
    """A stream with a comment before each part, as OpenRouter keeps connections open."""

    answer: Answer
    comment: str = "OPENROUTER PROCESSING"


@dataclass(frozen=True, slots=True)
class Hang:
    """A status of 200 and nothing more, until the client leaves."""


@dataclass(frozen=True, slots=True)
class Silent:
    """Nothing at all, until the client leaves."""


@dataclass(frozen=True, slots=True)
class Dropped:
    """The connection is closed without a byte of an answer."""


@dataclass(frozen=True, slots=True)
class CutOff:
    """The connection is closed in the middle: a stream after so many of the text's pieces, a body half-way."""

    text: str
    after_pieces: int = 1
    pieces: int = 2


@dataclass(frozen=True, slots=True)
class ErrorInStream:
    """A stream with status 200 that brings `text` and then an error. Without streaming, the error with status 200.

    `event` is sent as the error's data instead of the wire's own shape, if given.
    """

    text: str
    message: str
    type: str | None = None
    code: str | int | None = None
    pieces: int = 1
    event: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Garbage:
    """Bytes that are no answer of a model: a web page, broken JSON, nothing."""

    data: bytes
    content_type: str = "application/json"
    status: int = 200


@dataclass(frozen=True, slots=True)
class Redirect:
    """The client is sent elsewhere."""

    url: str
    status: int = 307


Answer: TypeAlias = (
    Text
    | ToolCall
    | Error
    | ByWire
    | Slow
    | Drip
    | Shredded
    | Commented
    | Hang
    | Silent
    | Dropped
    | CutOff
    | ErrorInStream
    | Garbage
    | Redirect
)
