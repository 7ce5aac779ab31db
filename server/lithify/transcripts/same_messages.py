"""The messages of one text found again in a later one, in which something else was changed."""

from __future__ import annotations

from typing import TypeAlias

from lithify.core.conversation import Range, kept_in_front
from lithify.core.messages import Message
from lithify.transcripts.line_reading import places_of_messages
from lithify.transcripts.model import Transcript

_Spelled: TypeAlias = tuple[str, ...]
"""How a message is spelled in each of its places."""


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
    looked_for = _spelled(before_text, before, wanted.start, wanted.end)
    said = _said(before, wanted.start, wanted.end)
    there = _spelled(after_text, after, 0, len(after.messages))
    found = [
        start
        for start in range(len(there) - length + 1)
        if there[start] == looked_for[0]
        and there[start : start + length] == looked_for
        and _said(after, start, start + length) == said
    ]
    from_end = len(there) - (len(before.messages) - wanted.start)
    start = next((one for one in (wanted.start, from_end) if one in found), found[0] if len(found) == 1 else None)
    if start is None:
        return None
    place = Range(start, start + length)
    stays = kept_in_front(before.conversation, wanted)
    return place if kept_in_front(after.conversation, place) == stays else None


def _spelled(text: str, transcript: Transcript, start: int, end: int) -> list[_Spelled]:
    places = places_of_messages(transcript.messages, start, end)
    return [tuple(text[first:behind] for first, behind in some) for some in places]


def _said(transcript: Transcript, start: int, end: int) -> list[Message]:
    return [placed.message for placed in transcript.messages[start:end]]
