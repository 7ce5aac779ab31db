"""Where sentences end."""

from __future__ import annotations

import re

END = re.compile(r"\s(?:(?<=[.!?]\s)\s*|(?<=\n)\n*)")
"""White space behind a full stop or its like, or line breaks. The pattern begins with what alone can stand first there,
so that a search passes over everything else quickly."""

_ANY_END = re.compile(END.pattern + "|(?<=[。！？])")


def split(text: str) -> list[str]:
    """The sentences of a text, some of them blank; a Chinese or Japanese one needs no white space behind it."""
    return (END if text.isascii() else _ANY_END).split(text)
