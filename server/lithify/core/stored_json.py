"""JSON as it is stored and sent: compact, and sound UTF-8 whatever a user's data hold."""

from __future__ import annotations

import json
from typing import Any

_COMPACT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def storable_json(value: Any) -> str:
    """Compact JSON that is sound UTF-8: characters as they are, all escaped where a lone surrogate is among them.

    Raises ValueError for NaN and infinities, RecursionError for nesting beyond the interpreter's limit.
    """
    text = _COMPACT.encode(value)
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":"))
    return text


def same_json(one: str, other: str) -> bool:
    """Whether two JSON texts say the same; the order of an object's keys says nothing."""
    return one == other or _sorted(one) == _sorted(other)


def _sorted(text: str) -> str:
    return json.dumps(json.loads(text), sort_keys=True)
