"""How a conversation too long for one request is folded: in chunks, each summary carried into the next request.

Every request stays within `max_request_tokens` where the prompt leaves room at all; a message longer than a chunk
is sent in slices under the same role. Folding never fails because a conversation is long.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

from lithify.core.kimi import sendable_texts, summary_message
from lithify.core.messages import BYTES_PER_TOKEN, Message, role_of, tokens_of_bytes, utf8_length

HEADER_BYTES = 48
"""What a message's header takes at most, its number included, its role not."""

LEAST_CHUNK_BYTES = 512
"""Room for new text that every request has, even when the prompt alone is over the limit."""

EXPECTED_SUMMARY_BYTES = 12_000
"""What a summary carried over is taken for, before it is known."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Messages that are still to be sent, each measured once: what a request takes of them up to the `n`-th one is
    `ends[n] - ends[0]` bytes."""

    messages: Sequence[Message]
    ends: Sequence[int]

    @property
    def sent_bytes(self) -> int:
        """What all of them take in one request."""
        return self.ends[-1] - self.ends[0]

    def behind(self, index: int, left: Message | None = None) -> Measured:
        """The messages from an index on, and before them what was `left` of one that was cut."""
        messages, ends = self.messages[index:], self.ends[index:]
        if left is None:
            return Measured(messages, ends)
        return Measured([left, *messages], [ends[0] - _sent_bytes(left), *ends])


@dataclass(frozen=True, slots=True)
class Chunk:
    """The messages of one request, and those still to come after it."""

    messages: tuple[Message, ...]
    rest: Measured


def measured(messages: Sequence[Message]) -> Measured:
    """The messages with their sizes."""
    return Measured(messages, list(accumulate(_sizes(messages), initial=0)))


def room_bytes(max_request_tokens: int, fixed_bytes: int) -> int:
    """Bytes a request has for messages, beside `fixed_bytes` of prompt and system prompt."""
    return max(int(max_request_tokens * BYTES_PER_TOKEN) - fixed_bytes, LEAST_CHUNK_BYTES)


def fits(messages: Measured, max_request_tokens: int, fixed_bytes: int) -> bool:
    """Whether one request holds all the messages; a limit of 0 means that everything fits."""
    return max_request_tokens == 0 or messages.sent_bytes <= room_bytes(max_request_tokens, fixed_bytes)


def sent_tokens(messages: Measured, fixed_bytes: int) -> int:
    """Tokens of one request that holds all the messages, beside `fixed_bytes` of prompt and system prompt."""
    return tokens_of_bytes(fixed_bytes + messages.sent_bytes)


def most_carried(room: int) -> int:
    """Bytes of a summary that are carried into the next chunk: half the room, its own wrapping aside."""
    return max(room, LEAST_CHUNK_BYTES) // 2 - _sent_bytes(summary_message((), ""))


def carried(summary: str, room: int) -> Message:
    """The summary of what came before as the first message of the next chunk, cut in its middle to half the room."""
    limit = most_carried(room)
    if utf8_length(summary) > limit:
        head, _ = _cut(summary, limit * 2 // 3)
        tail = summary[-(limit // 4) :]
        while utf8_length(head) + utf8_length(tail) + 7 > limit and tail:
            tail = tail[len(tail) // 8 + 1 :]
        summary = f"{head}\n[...]\n{tail}"
    return summary_message((), summary)


def next_chunk(messages: Measured, room: int, carry: Message | None) -> Chunk:
    """The longest prefix of the messages that fits beside `carry`; at least one slice of a message."""
    free = room - (_sent_bytes(carry) if carry is not None else 0)
    free = max(free, LEAST_CHUNK_BYTES // 2)
    taken: list[Message] = [carry] if carry is not None else []
    first = len(taken)
    end = bisect_right(messages.ends, messages.ends[0] + free) - 1
    taken.extend(messages.messages[:end])
    if end == len(messages.messages):
        return Chunk(tuple(taken), messages.behind(end))
    if len(taken) > first and messages.ends[end + 1] - messages.ends[end] <= room // 2:
        return Chunk(tuple(taken), messages.behind(end))
    message = messages.messages[end]
    free -= messages.ends[end] - messages.ends[0]
    head, left = _split(message, free - _header_bytes(role_of(message)))
    if head is None and len(taken) == first:
        head, left = _split(message, LEAST_CHUNK_BYTES // 4)
    taken.extend([head] if head is not None else [])
    return Chunk(tuple(taken), messages.behind(end + 1, left))


def count_requests(messages: Measured, max_request_tokens: int, fixed_bytes: int) -> int:
    """How many requests the conversation will take, with summaries of the expected size in between."""
    if fits(messages, max_request_tokens, fixed_bytes):
        return 1
    room = room_bytes(max_request_tokens, fixed_bytes)
    expected = carried("x" * min(EXPECTED_SUMMARY_BYTES, room // 3), room)
    count, rest, carry = 0, messages, None
    while rest.messages:
        chunk = next_chunk(rest, room, carry)
        count, rest, carry = count + 1, chunk.rest, expected
    return count


@lru_cache(maxsize=64)
def _header_bytes(role: str) -> int:
    return HEADER_BYTES + utf8_length(role)


def _sent_bytes(message: Message) -> int:
    return sum(_sizes([message]))


def _sizes(messages: Iterable[Message]) -> Iterator[int]:
    """Bytes that each message takes in a request, its header included."""
    for message in messages:
        content = message.get("content")
        header = _header_bytes(role_of(message))
        if not isinstance(content, str):
            yield header + sum(map(utf8_length, sendable_texts(message)))
        elif content.isspace():
            yield header
        else:
            yield header + (len(content) if content.isascii() else utf8_length(content))


def _split(message: Message, size_bytes: int) -> tuple[Message | None, Message | None]:
    if size_bytes < LEAST_CHUNK_BYTES // 8:
        return None, message
    head, rest = _cut("".join(sendable_texts(message)), size_bytes)
    role = role_of(message)
    return {"role": role, "content": head}, ({"role": role, "content": rest} if rest.strip() else None)


def _cut(text: str, size_bytes: int) -> tuple[str, str]:
    """A text in two, the first at most that many bytes, never inside a character."""
    if utf8_length(text) <= size_bytes:
        return text, ""
    head = text[:size_bytes]
    while (over := utf8_length(head) - size_bytes) > 0:
        head = head[: len(head) - max(over // 4, 1)]
    return head, text[len(head) :]
