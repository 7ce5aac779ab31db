"""Files that are not UTF-8 throughout: an agent that died while it wrote leaves a line that ends within a character.

Such bytes stand in the text as characters that no sound text has, and become the same bytes again. A line that is no
JSON says nothing anyway; where a message holds such bytes, nobody knows what it says.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from lithify.transcripts.model import TranscriptMessage

_BYTE = re.compile("[\udc80-\udcff]")


def decoded(data: bytes) -> str:
    """The text of a file, whatever bytes it holds."""
    return data.decode("utf-8", "surrogateescape")


def encoded(text: str) -> bytes:
    """The bytes of a text that came out of `decoded`, or of any other."""
    return text.encode("utf-8", "surrogateescape")


def unreadable_line(text: str, messages: Sequence[TranscriptMessage]) -> int | None:
    """The first line, counted from 1, of a message with bytes in it that are not UTF-8; where there are no messages, of
    any such bytes. None where there are none."""
    try:
        text.encode("utf-8")  # much faster than to look at each character
    except UnicodeEncodeError:
        return _unreadable_line(text, messages)
    return None


def _unreadable_line(text: str, messages: Sequence[TranscriptMessage]) -> int | None:
    found = [one.start() for one in _BYTE.finditer(text)]
    places = [place for one in messages for place in ((one.start, one.end), *one.more)]
    told = [at for at in found if not messages or any(start <= at < end for start, end in places)]
    return text.count("\n", 0, told[0]) + 1 if told else None
