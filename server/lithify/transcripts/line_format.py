"""What a format of JSON lines is made of, so that an edit costs no more than the lines it touches.

Each line is read by itself: its *shape* is all of it that decides which messages there are and where they stand. All
shapes together are *arranged*; where an edit leaves them as they were, the arrangement holds on.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias, overload

from lithify.core.anchors import Plans
from lithify.core.messages import Message
from lithify.transcripts.model import Problem

Part: TypeAlias = tuple[int, int]
"""A line, and which of the things that it says."""


class LineFacts(NamedTuple):
    """What a line says, wherever it stands. `size` is the counted bytes of what it says, as its format counts them; it
    decides nothing."""

    shape: Any
    size: Any = 0


@dataclass(frozen=True, slots=True)
class Ground:
    """What an arrangement also depends on: a byte order mark in front, a line that ends in a carriage return alone."""

    mark: bool = False
    lone_returns: bool = False


@dataclass(frozen=True, slots=True)
class Arranged:
    """A message: the lines at which it stands, the first one's first, and the parts of lines that say it. Without
    parts, these are all that its lines say."""

    lines: tuple[int, ...]
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True, slots=True)
class LineFold:
    """As `model.Fold`, from the begin of a line to the end of another."""

    first: int
    last: int
    title: str
    messages: int


class OneLineEach(Sequence[tuple[int, ...]]):
    """The lines of messages that are one line each, in the order of the text: a number for each message, and nothing
    that the garbage collector would have to look at."""

    def __init__(self, lines: list[int]) -> None:
        self.lines = lines

    def __len__(self) -> int:
        return len(self.lines)

    @overload
    def __getitem__(self, index: int) -> tuple[int, ...]: ...
    @overload
    def __getitem__(self, index: slice) -> OneLineEach: ...
    def __getitem__(self, index: int | slice) -> tuple[int, ...] | OneLineEach:
        return OneLineEach(self.lines[index]) if isinstance(index, slice) else (self.lines[index],)


@dataclass(frozen=True)
class Arrangement:
    """What the shapes of a text's lines make. `messages` are the `Arranged.lines` of each message, `parts` the
    `Arranged.parts` of those that have any; they are kept apart, because plain tuples of numbers cost little, and
    `OneLineEach` the least.
    `bare` are the messages as `core.bare_messages` leaves them."""

    messages: Sequence[tuple[int, ...]]
    bare: Sequence[Message]
    problems: tuple[Problem, ...]
    read_only_reason: str | None = None
    folds: tuple[LineFold, ...] = ()
    prefix_only: bool = False
    parts: Mapping[int, tuple[Part, ...]] = field(default_factory=dict)

    def arranged(self, index: int) -> Arranged:
        """One message."""
        return Arranged(self.messages[index], self.parts.get(index, ()))

    @cached_property
    def plans(self) -> Plans:
        """All plans of the conversation."""
        return Plans(self.bare)

    @cached_property
    def places(self) -> tuple[Sequence[int], Sequence[int]]:
        """All places of messages, in the order of the text: their lines, and the indices of the messages."""
        if isinstance(self.messages, OneLineEach):
            return self.messages.lines, range(len(self.messages))
        found = sorted((line, index) for index, lines in enumerate(self.messages) for line in lines)
        return [line for line, _ in found], [index for _, index in found]

    @cached_property
    def said_elsewhere(self) -> dict[int, list[int]]:
        """For lines that say parts of messages which do not stand there: these messages."""
        found: dict[int, list[int]] = {}
        for index, parts in self.parts.items():
            for line in {line for line, _ in parts}:
                if line not in self.messages[index]:
                    found.setdefault(line, []).append(index)
        return found

    def said_by(self, line: int) -> list[int]:
        """The messages that a line says, whole or in part."""
        lines, messages = self.places
        here = messages[bisect_left(lines, line) : bisect_right(lines, line)]
        return [*here, *self.said_elsewhere.get(line, ())]


@dataclass(frozen=True, slots=True)
class LineFormat:
    """How one format reads lines. Every function is pure, and takes whatever a line may hold.

    `facts_of` gives `LineFacts`, or the same as a plain pair, which is made faster; it and `decode` get a line without
    the white space around it. `decode` gives the things that a line says, `message_of` a message from those of its
    lines; `size_of` is the message's counted bytes, from those of its lines.
    """

    name: str
    facts_of: Callable[[str], tuple[Any, Any]]
    arrange: Callable[[Sequence[Any], Ground], Arrangement]
    decode: Callable[[str], Any]
    message_of: Callable[[Arranged, Callable[[int], Any]], Message]
    size_of: Callable[[Arranged, Callable[[int], Any]], int]


def message_of_line(arranged: Arranged, decoded: Callable[[int], Any]) -> Message:
    """The message of a format in which a line is a message."""
    message: Message = decoded(arranged.lines[0])
    return message


def size_of_lines(arranged: Arranged, size_at: Callable[[int], int]) -> int:
    """The size of a message whose lines say nothing else."""
    return sum(map(size_at, arranged.lines))
