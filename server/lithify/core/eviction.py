"""Eviction: what is let go of a buffer when no model helps. Deterministic, invents nothing, always shrinks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from lithify.core.entries import Entry, instant
from lithify.core.messages import utf8_length
from lithify.core.observations import CUT
from lithify.core.stored_json import storable_json

ITEMS_CUT = "[... {} items left out ...]"
BRIEF_CUT = "…"

_ROOM_FOR_MARK = 120
_DEEPEST = 40
_WHOLE = frozenset({"type", "tool_name", "role"})


@dataclass(frozen=True, slots=True)
class Evicted:
    """The entries let go, and (for a lone entry) the one that takes its place, cut; None where it cannot be cut."""

    dropped: tuple[Entry, ...]
    replacement: Entry | None = None


def evict(entries: Sequence[Entry]) -> Evicted:
    """Keeps the newest ceil(n/2) unchanged and in file order, by timestamp, the later line first on a tie.

    A lone entry is cut in its body to about half its size, head and tail kept and the cut marked in the text; its
    replacement is smaller in bytes, or there is none.
    """
    if len(entries) == 1:
        return Evicted((), _cut_entry(entries[0]))
    ranked = sorted(range(len(entries)), key=lambda index: (instant(entries[index].timestamp), index), reverse=True)
    dropped = sorted(ranked[math.ceil(len(entries) / 2) :])
    return Evicted(tuple(entries[index] for index in dropped))


def _cut_entry(entry: Entry) -> Entry | None:
    try:
        size = _size(entry.body)
        body = _cut_values(entry.body, size // 2, 0)
        return replace(entry, body=body) if _size(body) < size else None
    except RecursionError:
        return None


def _cut(value: Any, room: int, depth: int) -> Any:
    """A value in about so many bytes of JSON, as far as there is anything to cut."""
    if isinstance(value, str):
        return _cut_text(value, room)
    if not isinstance(value, dict | list) or _size(value) <= room:
        return value
    if depth >= _DEEPEST:
        return _cut_text(storable_json(value), room)
    return _cut_object(value, room, depth) if isinstance(value, dict) else _cut_list(value, room, depth)


def _cut_object(value: dict[str, Any], room: int, depth: int) -> dict[str, Any]:
    if sum(map(_size, value)) <= room // 2:
        return _cut_values(value, room, depth)
    names = list(value)
    head, tail = _ends([_size(name) + _size(value[name]) + 2 for name in names], room - _ROOM_FOR_MARK // 2)
    kept = {name: value[name] for name in (*names[:head], *names[len(names) - tail :])}
    return {**kept, BRIEF_CUT: ITEMS_CUT.format(len(names) - head - tail)} if head + tail < len(names) else value


def _cut_values(value: dict[str, Any], room: int, depth: int) -> dict[str, Any]:
    """An object with all its keys, its values cut; what says what it is stays whole."""
    cut = [name for name in value if name not in _WHOLE]
    kept = sum(_size(value[name]) for name in value if name in _WHOLE)
    frame = sum(_size(name) + 2 for name in value) + 2
    parts = _cut_each([value[name] for name in cut], room - kept - frame, depth)
    return {**value, **dict(zip(cut, parts, strict=True))}


def _cut_list(value: list[Any], room: int, depth: int) -> list[Any]:
    if len(value) <= max(4, room // 200):
        return _cut_each(value, room - len(value) - 1, depth)
    head, tail = _ends([_size(one) + 1 for one in value], room - _ROOM_FOR_MARK // 2)
    left_out = len(value) - head - tail
    return [*value[:head], ITEMS_CUT.format(left_out), *value[len(value) - tail :]] if left_out else value


def _cut_each(values: list[Any], room: int, depth: int) -> list[Any]:
    """Values cut to the room together: the smaller ones stay whole, the larger ones share what is left."""
    sizes = [_size(value) for value in values]
    shares: dict[int, int] = {}
    for place, index in enumerate(sorted(range(len(values)), key=lambda each: sizes[each])):
        shares[index] = min(sizes[index], max(room, 0) // (len(values) - place))
        room -= shares[index]
    return [
        value if sizes[index] <= shares[index] else _cut(value, shares[index], depth + 1)
        for index, value in enumerate(values)
    ]


def _ends(sizes: list[int], room: int) -> tuple[int, int]:
    """How many of the first and of the last items fit the room, two of the first for each of the last."""
    head = tail = 0
    while head + tail < len(sizes):
        from_tail = head >= 2 * (tail + 1)
        room -= sizes[len(sizes) - 1 - tail] if from_tail else sizes[head]
        if room < 0:
            break
        head, tail = (head, tail + 1) if from_tail else (head + 1, tail)
    return head, tail


def _cut_text(text: str, room: int) -> str:
    """The head and the tail of a text in about so many bytes of JSON, the cut marked; the text where that is not
    shorter."""
    size, limit, found = _size(text), len(text), text
    mark = CUT if room >= _ROOM_FOR_MARK else BRIEF_CUT
    while _size(found) > room and limit > 2:
        limit = max(min(limit * max(room, 1) // _size(found), limit - 1), 2)
        head = max(limit * 2 // 3, 1)
        found = text[:head] + mark.format(len(text) - limit) + text[len(text) - (limit - head) :]
    return found if _size(found) < size else text


def _size(value: Any) -> int:
    return utf8_length(storable_json(value))
