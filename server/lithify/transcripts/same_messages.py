"""The messages of one text found again in a later one, in which something else was changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from lithify.core.conversation import Range, kept_in_front
from lithify.transcripts.model import Transcript, TranscriptMessage

_Said: TypeAlias = tuple[Any, ...]
"""A message, and how it is spelled in each of its places."""


def place_of_same(
    before_text: str, before: Transcript, wanted: Range, after_text: str, after: Transcript
) -> Range | None:
    """Where the messages `wanted` of one transcript stand in another, one behind the other and spelled the same.

    Where they stand in several places, it is the one with as many messages in front, else the one with as many behind.
    None where they do not stand there, or it cannot be told which of several they are.
    """
    if before.format != after.format:
        return None
    length = wanted.end - wanted.start
    looked_for = _said(before_text, before.messages[wanted.start : wanted.end])
    there = _said(after_text, after.messages)
    found = [
        start
        for start in range(len(there) - length + 1)
        if there[start] == looked_for[0] and there[start : start + length] == looked_for
    ]
    from_end = len(there) - (len(before.messages) - wanted.start)
    start = next((one for one in (wanted.start, from_end) if one in found), found[0] if len(found) == 1 else None)
    if start is None:
        return None
    place = Range(start, start + length)
    stays = kept_in_front(before.conversation, wanted)
    return place if kept_in_front(after.conversation, place) == stays else None


def _said(text: str, messages: Sequence[TranscriptMessage]) -> list[_Said]:
    return [(one.message, text[one.start : one.end], *(text[start:end] for start, end in one.more)) for one in messages]
