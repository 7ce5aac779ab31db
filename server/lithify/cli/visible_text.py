"""Text from outside, as it may stand on a terminal: what could steer one is spelled out."""

from __future__ import annotations

import re

INDENT = 4

_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters, those that turn the direction of writing, and halves of characters."""

_LINE_END = re.compile(r"\r\n|\n|\r")


def visible(text: str) -> str:
    """A text on one line, in which what could steer a terminal is spelled out."""
    return escaped(" ".join(text.split()))


def visible_lines(text: str) -> list[str]:
    """A text line by line, in which what could steer a terminal is spelled out."""
    return [escaped(line.expandtabs(INDENT).rstrip()) for line in _LINE_END.split(text)]


def escaped(text: str) -> str:
    """A text in which what could steer a terminal stands as an escape, as JSON and Python write it."""
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def escaped_lines(text: str) -> str:
    """The same of a text of several lines, whose line ends and tabs stay."""
    return "\n".join("\t".join(map(escaped, line.split("\t"))) for line in _LINE_END.split(text))
