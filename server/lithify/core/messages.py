"""What one chat message says: its text, its tool calls, the calls it answers.

A message is the user's data, carried verbatim: a JSON object with `role`, `content` (a string, a list of
parts, or null) and any other key. These functions read it and never change it; foreign shapes read as empty.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

Message: TypeAlias = dict[str, Any]
"""One chat message, verbatim: `{ "role": str, "content": str | [part, ...] | None, ...any other key }`."""

BYTES_PER_TOKEN = 2.7
"""Bytes of UTF-8 a token is taken for; characters // 4 undercounts code by 1.5 and Chinese by 4.4."""

_COMPACT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False)

THINK_TYPES = frozenset({"think", "thinking", "redacted_thinking"})
MEDIA_TYPES = frozenset(
    {"image_url", "audio_url", "video_url", "image", "audio", "video", "input_image", "input_audio"}
)


class ToolCall(NamedTuple):
    """One call of a tool. `arguments` is the decoded JSON where it is JSON, else the text as it stood."""

    call_id: str
    name: str
    arguments: Any


def role_of(message: Message) -> str:
    """The role, or an empty string where there is none."""
    role = message.get("role")
    return role if isinstance(role, str) else ""


def text_parts(message: Message) -> list[str]:
    """The texts of a message, in order: a string content is one part; think and media parts hold none.

    A part of an unknown type counts when it has a string under `text`.
    """
    content = message.get("content")
    if isinstance(content, str):
        return [content]
    if not isinstance(content, list):
        return []
    return [text for part in content if (text := _part_text(part)) is not None]


def _part_text(part: Any) -> str | None:
    if isinstance(part, str):
        return part
    if not isinstance(part, dict) or part.get("type") in THINK_TYPES or part.get("type") in MEDIA_TYPES:
        return None
    text = part.get("text")
    return text if isinstance(text, str) else None


def text_of(message: Message) -> str:
    """The text parts joined by newlines."""
    return "\n".join(text_parts(message))


def has_media(message: Message) -> bool:
    """Whether a part of the message is an image, a sound or a film."""
    content = message.get("content")
    return isinstance(content, list) and any(
        isinstance(part, dict) and part.get("type") in MEDIA_TYPES for part in content
    )


def tool_calls(message: Message) -> list[ToolCall]:
    """The calls a message makes: OpenAI's `tool_calls`, and content parts of type `tool_use`."""
    found = []
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else []:
        if isinstance(call, dict):
            function = call.get("function")
            inner = function if isinstance(function, dict) else call
            found.append(
                ToolCall(_string(call.get("id")), _string(inner.get("name")), _decoded(inner.get("arguments")))
            )
    for part in _parts_of_type(message, "tool_use"):
        found.append(ToolCall(_string(part.get("id")), _string(part.get("name")), part.get("input")))
    return found


def call_ids(message: Message) -> list[str]:
    """The ids of the calls a message makes, in the order of `tool_calls`; what they say is not looked at."""
    calls = message.get("tool_calls")
    ids: list[str] = []
    if isinstance(calls, list):
        for call in calls:
            if isinstance(call, dict):
                ids.append(_string(call.get("id")))
    if isinstance(message.get("content"), list):
        ids.extend(_string(part.get("id")) for part in _parts_of_type(message, "tool_use"))
    return ids


def answered_calls(message: Message) -> list[str]:
    """The ids of the calls a message answers: `tool_call_id` or `tool_call_ids` of a tool message, and parts
    of type `tool_result`. A tool message that names none answers the empty id."""
    ids: list[str] = []
    if isinstance(message.get("content"), list):
        ids.extend(_string(part.get("tool_use_id")) for part in _parts_of_type(message, "tool_result"))
    if message.get("role") == "tool":
        many = message.get("tool_call_ids")
        if "tool_call_id" in message:
            ids.append(_string(message["tool_call_id"]))
        elif isinstance(many, list) and many:
            ids.extend(_string(one) for one in many)
        else:
            ids.append("")
    return ids


def result_text(message: Message, call_id: str | None = None) -> str:
    """The text of a tool result: its text parts, and those inside parts of type `tool_result`.

    With `call_id`, where such parts answer that call: the text of these alone.
    """
    parts = _parts_of_type(message, "tool_result")
    answering = [part for part in parts if call_id is not None and _string(part.get("tool_use_id")) == call_id]
    texts = [] if answering else text_parts(message)
    for part in answering or parts:
        texts.extend(text_parts({"content": part.get("content")}))
    return "\n".join(texts)


def estimate_tokens(messages: Iterable[Message]) -> int:
    """Tokens of messages: ceil(UTF-8 bytes / 2.7) over text parts and tool calls (wire contract, section 5)."""
    return tokens_of_bytes(total_bytes(messages))


def counted_bytes(message: Message) -> int:
    """UTF-8 bytes of a message's text parts and tool calls, the calls as compact JSON."""
    content = message.get("content")
    size = utf8_length(content) if isinstance(content, str) else sum(map(utf8_length, _counted_texts(message)))
    calls = message.get("tool_calls")
    if calls:
        size += utf8_length(calls if isinstance(calls, str) else compact_json(calls))
    return size


def total_bytes(messages: Iterable[Message]) -> int:
    """The sum of `counted_bytes`. All calls become JSON together, which takes a fraction of the time."""
    size = 0
    many_calls: list[Any] = []
    for message in messages:
        content = message.get("content")
        if isinstance(content, str):
            size += len(content) if content.isascii() else utf8_length(content)
        elif content:
            size += sum(map(utf8_length, _counted_texts(message)))
        calls = message.get("tool_calls")
        if isinstance(calls, str):
            size += utf8_length(calls)
        elif calls:
            many_calls.append(calls)
    around = len("[]") + len(many_calls) - 1
    return size + (utf8_length(compact_json(many_calls)) - around if many_calls else 0)


def _counted_texts(message: Message) -> Iterator[str]:
    """What counts of a content that is a list: its text parts, the results, and the calls as JSON."""
    yield from text_parts(message)
    yield from (compact_json(part) for part in _parts_of_type(message, "tool_use"))
    for part in _parts_of_type(message, "tool_result"):
        yield from text_parts({"content": part.get("content")})


def tokens_of_bytes(size_bytes: int) -> int:
    """Tokens that many bytes of UTF-8 are taken for, rounded up."""
    return math.ceil(size_bytes / BYTES_PER_TOKEN)


def utf8_length(text: str) -> int:
    """Bytes of a text in UTF-8; a lone surrogate counts as three."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def compact_json(value: Any) -> str:
    """JSON without white space, characters as they are; the one form that is stored and measured."""
    return _COMPACT.encode(value)


def _parts_of_type(message: Message, wanted: str) -> Sequence[dict[str, Any]]:
    content = message.get("content")
    if not isinstance(content, list):
        return ()
    return [part for part in content if isinstance(part, dict) and part.get("type") == wanted]


def _string(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _decoded(arguments: Any) -> Any:
    if not isinstance(arguments, str):
        return arguments
    try:
        return _FINITE.decode(arguments)
    except (ValueError, RecursionError):
        return arguments


def _finite(number: str) -> float:
    """NaN and infinities, however they are written, are no JSON."""
    value = float(number)
    if not math.isfinite(value):
        raise ValueError(number)
    return value


_FINITE = json.JSONDecoder(parse_float=_finite, parse_constant=_finite)
