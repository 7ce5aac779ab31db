"""How deeply JSON is nested: as a text, and as the value that was read of it."""

from __future__ import annotations

from typing import Any


def opens_more_than(limit: int, text: str, start: int, end: int) -> bool:
    """Whether the characters [start, end) of a text hold more opening brackets than that, those in strings included:
    only then can they be nested deeper. As good as free in a text with few of them, however long it is."""
    for bracket in "[{":
        at = text.find(bracket, start, end)
        while at >= 0:
            limit -= 1
            if limit < 0:
                return True
            at = text.find(bracket, at + 1, end)
    return False


def is_nested_deeper(limit: int, value: Any) -> bool:
    """Whether a value read of JSON has more levels of objects and arrays than that; in time linear in it, without
    recursion."""
    level = [value] if isinstance(value, (dict, list)) else []
    for _ in range(limit):
        below = []
        for parent in level:
            for child in parent.values() if type(parent) is dict else parent:
                kind = type(child)  # every message of a transcript passes here: this is the fastest way to ask
                if kind is dict or kind is list:
                    below.append(child)
        if not below:
            return False
        level = below
    return bool(level)
