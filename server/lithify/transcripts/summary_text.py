"""How a summary is spelled in JSON: the way of the messages around it."""

from __future__ import annotations

import json
import re

from lithify.core.messages import Message
from lithify.transcripts.json_text import line_ending, skip_mark

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_FIRST_KEY_ON_ITS_OWN_LINE = re.compile(r"\{[ \t]*(?:\r\n|\n|\r)([ \t]*)\"")
_SPACE_AFTER_COLON = re.compile(r"\{\s*\"(?:[^\"\\]|\\.)*\"\s*:\s")
_INDENTATION = re.compile(r"[ \t]*")


def spelled_like(text: str, start: int, end: int, summary: Message, *, escape: bool | None = None) -> str:
    """The summary as JSON, spelled like the message at [start, end): its indentation, its spaces, its line ending.

    `escape`: whether characters outside of ASCII are escaped. By default they are when the text holds none and escapes
    some.
    """
    if escape is None:
        ascii_only = text.isascii() if not skip_mark(text) else text[1:].isascii()
        escape = ascii_only and "\\u" in text
    pretty = _FIRST_KEY_ON_ITS_OWN_LINE.match(text, start, end)
    if pretty is None:
        return one_line(summary, spaced=is_spaced(text, start, end), escape=escape)
    outer = _indentation_of_line(text, start)
    inner = pretty.group(1)
    unit = inner[len(outer) :] if inner.startswith(outer) else inner
    spelled = json.dumps(summary, ensure_ascii=escape, indent=unit)
    return _encodable(spelled.replace("\n", line_ending(text, start) + outer))


def one_line(value: object, *, spaced: bool, escape: bool = False) -> str:
    """A value as JSON on one line; `spaced` puts a space behind each comma and colon."""
    separators = (", ", ": ") if spaced else (",", ":")
    return _encodable(json.dumps(value, ensure_ascii=escape, separators=separators))


def is_spaced(text: str, start: int, end: int) -> bool:
    """Whether the object at [start, end) has white space behind its first colon."""
    return _SPACE_AFTER_COLON.match(text, start, end) is not None


def _indentation_of_line(text: str, offset: int) -> str:
    begin = max(text.rfind("\n", 0, offset), text.rfind("\r", 0, offset)) + 1
    found = _INDENTATION.match(text, max(begin, skip_mark(text)), offset)
    return found.group() if found else ""


def _encodable(spelled: str) -> str:
    """Lone surrogates escaped, for they cannot be written as UTF-8."""
    return _LONE_SURROGATE.sub(lambda found: f"\\u{ord(found.group()):04x}", spelled)
