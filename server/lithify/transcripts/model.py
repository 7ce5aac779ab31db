"""What every chat file format shares: messages with their places in the text, and what a format can do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import eq
from typing import Protocol, overload

from lithify.core.conversation import Range, kept_in_front
from lithify.core.messages import Message, role_of
from lithify.core.outcomes import LithifyError

LOOKED_AT_CHARACTERS = 65536
"""Characters that a format is told by where it is not JSON."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something in the file that could not be used, and where: `line` is 0-based, as an editor counts."""

    line: int
    message: str


@dataclass(frozen=True, slots=True)
class TranscriptMessage:
    """A message, and the characters [start, end) of the text that say it, white space around it left out.

    Where several records say one message, these are the first one's place, and `more` holds those of the others.
    """

    message: Message
    start: int
    end: int
    more: tuple[tuple[int, int], ...] = ()


class PlacedMessages(Sequence[TranscriptMessage]):
    """Messages with their places, each made when it is asked for."""

    def placed(self, index: int) -> TranscriptMessage:
        """One message; the index is one of `range(len(self))`."""
        raise NotImplementedError

    @overload
    def __getitem__(self, index: int) -> TranscriptMessage: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[TranscriptMessage, ...]: ...
    def __getitem__(self, index: int | slice) -> TranscriptMessage | tuple[TranscriptMessage, ...]:
        if isinstance(index, slice):
            return tuple(map(self.placed, range(*index.indices(len(self)))))
        return self.placed(range(len(self))[index])

    def __iter__(self) -> Iterator[TranscriptMessage]:
        return map(self.placed, range(len(self)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and all(map(eq, self, other))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(tuple(self))


@dataclass(frozen=True, slots=True)
class Fold:
    """Characters [start, end) of the text that the tool itself would not send: an earlier branch, or what was compacted
    away. `title` says what it is; `messages` counts what it holds."""

    start: int
    end: int
    title: str
    messages: int


@dataclass(frozen=True, slots=True)
class Transcript:
    """All that was found in a chat file. `messages` are those of the effective conversation, what the tool itself would
    send. `read_only_reason` is one sentence, present when `writable` is false. `prefix_only`: the tool can only take a
    summary in place of the first messages."""

    format: str
    messages: Sequence[TranscriptMessage]
    problems: tuple[Problem, ...]
    writable: bool = True
    read_only_reason: str | None = None
    folds: tuple[Fold, ...] = ()
    prefix_only: bool = False

    @property
    def conversation(self) -> list[Message]:
        """The messages alone, in order."""
        return [placed.message for placed in self.messages]


@dataclass(frozen=True, slots=True)
class Stamp:
    """What new records are marked with: the time (ISO 8601 in UTC with milliseconds, ending in `Z`), and new UUIDs."""

    now: str
    new_uuid: Callable[[], str]


class TranscriptFormat(Protocol):
    """One kind of chat file. A module of this room with these four names is a format. One of JSON lines may also have
    `LINES`, a `line_format.LineFormat`, so that an edit of a long text costs little."""

    @property
    def name(self) -> str:
        """What the format is called in settings, on the command line and in `Transcript.format`."""

    def recognise(self, text: str, name: str) -> bool:
        """Whether the text is of this format; `name` (of the file) decides only where the content does not.

        Of a text whose first line is a JSON object, the first `json_lines.LOOKED_AT` lines and LOOKED_AT_CHARACTERS are
        looked at, and nothing behind both: so a long one need not be recognised anew after each edit.
        """

    def parse(self, text: str) -> Transcript:
        """The messages and the problems of any text whatever; never raises."""

    def write(self, text: str, transcript: Transcript, start: int, end: int, summary: Message, stamp: Stamp) -> str:
        """The text with the messages [start, end) replaced by the summary; a leading system message stays.

        `transcript` is the parse of this very text. Every character outside of the replaced messages stays, and so
        does whatever lies between them and is no message. In an append-only format all of the text stays, and records
        come behind it. Raises LithifyError: `unsupported_document` when the
        transcript is not writable, `invalid_range` when there is nothing to replace.
        """


def is_message(value: object) -> bool:
    """Whether a JSON value is a chat message: an object with a role."""
    return isinstance(value, dict) and bool(role_of(value))


def replaced_messages(transcript: Transcript, start: int, end: int) -> Sequence[TranscriptMessage]:
    """The messages that make way for the summary: those of [start, end) but a leading system message.

    Raises LithifyError as `TranscriptFormat.write` says.
    """
    if not transcript.writable:
        raise LithifyError("unsupported_document", transcript.read_only_reason or "The transcript is read-only.")
    if transcript.prefix_only and start > 0:
        raise LithifyError(
            "invalid_range", f"a {transcript.format} session can only be compacted from its first message on"
        )
    length = len(transcript.messages)
    if not 0 <= start <= end <= length:
        raise LithifyError("invalid_range", f"{start}..{end} does not lie within the {length} messages")
    leaving = transcript.messages[start + _kept_in_front(transcript, start, end) : end]
    if not leaving:
        raise LithifyError("invalid_range", f"{start}..{end} holds no message that a summary could replace")
    return leaving


def _kept_in_front(transcript: Transcript, start: int, end: int) -> int:
    return kept_in_front([placed.message for placed in transcript.messages[:1]], Range(start, end))
