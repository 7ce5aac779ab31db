"""Fenced code blocks in Markdown text, found in one pass."""

from __future__ import annotations

import re
from dataclasses import dataclass

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})([^\n`]*)$", re.M)


@dataclass(frozen=True, slots=True)
class Fenced:
    """One fenced block: what stands behind its opening fence, its content, and the text before it."""

    info: str
    content: str
    before: str


def stand_in(text: str) -> bool:
    """Whether a text may hold a fenced block at all."""
    return "```" in text or "~~~" in text


def split(text: str) -> tuple[list[Fenced], str]:
    """The fenced blocks of a text, each with the words between it and the one before, and the words after the last.

    A block that is never closed goes to the end of the text.
    """
    found: list[Fenced] = []
    opened: re.Match[str] | None = None
    at = 0
    for mark in _FENCE.finditer(text) if stand_in(text) else ():
        if opened is None:
            opened = mark
        elif mark[1].startswith(opened[1]) and not mark[2].strip():
            found.append(_fenced(text, at, opened, mark.start()))
            opened, at = None, mark.end()
    if opened is not None:
        found.append(_fenced(text, at, opened, len(text)))
        at = len(text)
    return found, text[at:]


def _fenced(text: str, at: int, opened: re.Match[str], end: int) -> Fenced:
    content = text[opened.end() + 1 : end].rstrip("\n")
    return Fenced(opened[2].strip(), content, text[at : opened.start()])
