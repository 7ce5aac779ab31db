"""A live session as a readable Markdown document, with the place of each message in it.

Each message has a heading with its number and role, then what it says: texts as they stand, thoughts as quotations,
calls and results of tools as blocks of code. A text may hold anything, headings like these included: where a message
lies is known from the writing of the document, and never read out of it. The first messages of a session are written
the same whatever comes behind them, so a session that grew begins with the document it was.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from lithify.core.kimi import is_summary
from lithify.core.messages import MEDIA_TYPES, THINK_TYPES, Message, answered_calls, role_of, text_parts, tool_calls

_LINE_ENDING = re.compile(r"\r\n|\r|\n")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_BACKTICKS = re.compile(r"`+")

LONGEST_ADDRESS = 200
"""A longer address of a picture or a sound is the thing itself, and is left out."""


@dataclass(frozen=True, slots=True)
class SessionText:
    """The document, and the characters [start, end) of each message: from its heading to the end of what it says."""

    text: str
    places: tuple[tuple[int, int], ...]

    def end_of(self, count: int) -> int:
        """Where the document of a session ends that has only the first messages, so many of them."""
        return len(self.text) if count == len(self.places) else self.places[count][0] - 1


def write_session(title: str, messages: Sequence[Message]) -> SessionText:
    """The document of a session. Lone halves of surrogate pairs, which no editor can hold, are replaced."""
    pieces = [f"# {_on_one_line(title)}\n"]
    length = len(pieces[0])
    places = []
    for number, message in enumerate(messages, start=1):
        said = _LONE_SURROGATE.sub("\ufffd", _message(number, message))
        places.append((length + 1, length + 1 + len(said)))
        pieces.append(f"\n{said}\n")
        length += len(said) + 2
    return SessionText("".join(pieces), tuple(places))


def fenced(text: str, language: str = "") -> str:
    """A text as a block of code that nothing in it can end; it stands there as it is."""
    longest = max((len(run) for run in _BACKTICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}{'' if text.endswith(_ENDINGS) else chr(10)}{fence}"


_ENDINGS = ("\n", "\r")


def _message(number: int, message: Message) -> str:
    role = _on_one_line(role_of(message)) or "message"
    what = " (the summary of a compaction)" if is_summary(message) else ""
    return "\n\n".join([f"## {number}. {role}{what}", *_blocks(message)])


def _blocks(message: Message) -> Iterator[str]:
    if role_of(message) == "tool":
        calls = ", ".join(_code(one) for one in answered_calls(message) if one)
        yield f"**Result** of {calls}" if calls else "**Result**"
        yield from map(fenced, text_parts(message))
        yield from _other_parts(message)
    else:
        yield from _said(message)
    for call in tool_calls({"tool_calls": message.get("tool_calls")}):
        yield _call(call.name, call.call_id)
        yield _value(call.arguments)


def _said(message: Message) -> Iterator[str]:
    """Texts and other parts in the order of the message."""
    content = message.get("content")
    for part in [content] if isinstance(content, str) else content if isinstance(content, list) else ():
        if texts := text_parts({"content": [part]}):
            yield from (_closed(text) for text in texts)
        elif isinstance(part, dict):
            yield from _part(part)


def _other_parts(message: Message) -> Iterator[str]:
    content = message.get("content")
    for part in content if isinstance(content, list) else ():
        if isinstance(part, dict) and not text_parts({"content": [part]}):
            yield from _part(part)


def _part(part: dict[str, Any]) -> Iterator[str]:
    kind = part.get("type")
    if isinstance(kind, str) and kind in THINK_TYPES:
        yield _quoted(_thought(part))
    elif isinstance(kind, str) and kind in MEDIA_TYPES:
        yield _media(kind, part)
    elif kind == "tool_use":
        yield _call(part.get("name"), part.get("id"))
        yield _value(part.get("input"))
    elif kind == "tool_result":
        called = part.get("tool_use_id")
        yield f"**Result** of {_code(called)}" if isinstance(called, str) and called else "**Result**"
        yield from map(fenced, text_parts({"content": part.get("content")}))
    else:
        yield _value(part)


def _call(name: Any, call_id: Any) -> str:
    named = _code(name) if isinstance(name, str) and name else "a tool without a name"
    return f"**Call** of {named} ({_code(call_id)})" if isinstance(call_id, str) and call_id else f"**Call** of {named}"


def _value(value: Any) -> str:
    if isinstance(value, str):
        return fenced(value)
    try:
        return fenced(json.dumps(value, ensure_ascii=False, indent=2), "json")
    except RecursionError:
        return "*(nested too deeply to be shown)*"


def _thought(part: dict[str, Any]) -> str:
    found = next((part[key] for key in ("think", "thinking", "text") if isinstance(part.get(key), str)), None)
    return "(not shown by its model)" if found is None else str(found)


def _quoted(thought: str) -> str:
    lines = _LINE_ENDING.split(thought)
    return "\n".join(["> **Thinking**", ">", *(f"> {line}" if line else ">" for line in lines)])


def _media(kind: str, part: dict[str, Any]) -> str:
    """What it is, and where it lies unless that is the thing itself."""
    inner = part.get(kind)
    place = inner.get("url") if isinstance(inner, dict) else inner
    if not isinstance(place, str) or len(place) > LONGEST_ADDRESS or place.startswith("data:"):
        return f"*({_on_one_line(kind)})*"
    return f"*({_on_one_line(kind)}: {_on_one_line(place)})*"


def _closed(text: str) -> str:
    """A text, and the end of a block of code that it leaves open, which would swallow all that comes behind it."""
    if "```" not in text and "~~~" not in text:
        return text
    fence = ""
    for line in _LINE_ENDING.split(text):
        found = _FENCE.match(line)
        if found is None:
            continue
        mark, rest = found[1], found[2]
        if not fence and not (mark[0] == "`" and "`" in rest):
            fence = mark
        elif fence and mark[0] == fence[0] and len(mark) >= len(fence) and not rest.strip():
            fence = ""
    return f"{text}{'' if text.endswith(_ENDINGS) else chr(10)}{fence}" if fence else text


def _code(text: str) -> str:
    """A name in a sentence, as code that nothing in it can end."""
    shown = _on_one_line(text)
    longest = max((len(run) for run in _BACKTICKS.findall(shown)), default=0)
    mark = "`" * (longest + 1)
    space = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{mark}{space}{shown}{space}{mark}"


def _on_one_line(text: str) -> str:
    return " ".join(text.split())
