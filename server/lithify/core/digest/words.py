"""The words of a text, found many times faster than by a pattern."""

from __future__ import annotations

import string

_WORD_BYTES = frozenset((string.ascii_letters + string.digits + "_").encode())
_OTHERS_BLANK = bytes(each if each in _WORD_BYTES else ord(" ") for each in range(256))


def words(text: str) -> list[bytes]:
    """The runs of ASCII letters, digits and underscores in a text; whatever else stands in it parts them."""
    return text.encode("utf-8", "replace").translate(_OTHERS_BLANK).split()
