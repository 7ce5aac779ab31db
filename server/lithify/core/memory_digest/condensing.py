"""Fills the room of a compaction with lines, and writes them down as compacted entries."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from lithify.core.digest.shortening import shortened
from lithify.core.entries import Entry, entry_line
from lithify.core.markup import escaped
from lithify.core.memory_digest.lines import Line, lines
from lithify.core.memory_digest.reading import Reading
from lithify.core.messages import utf8_length
from lithify.core.repetition import runs_away, windows

ENTRY_BYTES = 4096
"""About so much text goes into one compacted entry."""

_LEAST_BYTES = 160
_LEAST_LINE = 24
_FRAME_BYTES = len('<compacted_entry sources=""></compacted_entry>\n')
_RECENCY = 10
_WORTHY = 25
_ROUNDS = ((0, _WORTHY), (400, _WORTHY), (1200, _WORTHY), (0, 0))
"""Bytes a line may take (0: told briefly), and from which worth on; routine comes last."""

_ROUTINE_SHARE = 5
_LOOP_BYTES = 300
_ABOUT = re.compile(r":\s")


def condensed(reading: Reading, target_bytes: int) -> str:
    """Compacted entries of a reading in at most so many bytes, and at most about half of what its entries take."""
    size = sum(_line_bytes(entry) for entry in reading.entries)
    room = max(min(target_bytes, size // 2), _LEAST_BYTES)
    sources = sum(len(entry.event_id) + 1 for entry in reading.entries)
    named = sources <= room // 3
    most = max(1, (room - sources) // ENTRY_BYTES) if named else 1
    chosen = _chosen(lines(reading), len(reading.entries), room - most * _FRAME_BYTES - (sources if named else 0))
    chosen = _without_repeats(chosen)
    parts = min(most, math.ceil(sum(_cost(text) for _, text in chosen) / ENTRY_BYTES))
    return "\n".join(_written(part, named) for part in _parts(chosen, reading.entries, max(parts, 1)))


def _chosen(found: Sequence[Line], count: int, room: int) -> list[tuple[Line, str]]:
    """Lines with the text they are told by: by worth and recency, briefly first, then longer while there is room."""
    ranked = sorted(
        range(len(found)), key=lambda each: -(found[each].worth + _RECENCY * found[each].place[0] / max(count, 1))
    )
    told: dict[int, str] = {}
    for growth, least_worth in _ROUNDS:
        worthy = [each for each in ranked if found[each].worth >= least_worth]
        share = room // _ROUTINE_SHARE if told and not least_worth else room
        room -= share - _fill(told, worthy, found, growth, share)
    return [(found[index], told[index]) for index in sorted(told)]


def _fill(told: dict[int, str], ranked: Sequence[int], found: Sequence[Line], growth: int, room: int) -> int:
    """Tells the lines briefly, or in so many bytes, as far as there is room; the room that is left."""
    for index in ranked:
        line, before = found[index], told.get(index)
        if before is not None and not growth:
            continue
        text = _text(line, shortened(line.full, growth) if growth else line.brief)
        if before is None and not told:
            text = _fitting(text, room)
        cost = _cost(text) - (_cost(before) if before is not None else 0)
        if text and cost <= room and (before is None or cost > 0):
            told[index] = text
            room -= cost
        elif room < _LEAST_LINE:
            break
    return room


def _without_repeats(chosen: list[tuple[Line, str]]) -> list[tuple[Line, str]]:
    """The lines, those that run in a loop cut, and where the whole would read as one, those that mostly repeat others
    cut to what they are about."""
    chosen = [(line, shortened(text, _LOOP_BYTES) if runs_away(text) else text) for line, text in chosen]
    if not runs_away("\n".join(text for _, text in chosen)):
        return chosen
    seen: set[str] = set()
    told: dict[str, Line] = {}
    for line, text in chosen:
        found = windows(text)
        if sum(each in seen for each in found) * 2 > len(found):
            text = shortened(_ABOUT.split(text, maxsplit=1)[0], _LOOP_BYTES // 2)
        seen.update(found)
        told.setdefault(text, line)
    return [(line, text) for text, line in told.items()]


def _text(line: Line, text: str) -> str:
    return f"- {text} (× {line.count})" if line.count > 1 else f"- {text}"


def _fitting(text: str, room: int) -> str:
    """The first line of all is cut to the room, so that something is told."""
    while text and _cost(text) > room:
        text = shortened(text, min(room, len(text.encode("utf-8", "replace"))) * 3 // 4)
        room = room * 9 // 10 if _cost(text) > room else room
    return text


def _cost(text: str) -> int:
    return utf8_length(escaped(text)) + 1


def _parts(
    chosen: Sequence[tuple[Line, str]], entries: Sequence[Entry], count: int
) -> list[tuple[list[str], Sequence[Entry]]]:
    """The texts in that many parts of about the same size, each with the entries it reaches over."""
    total = sum(_cost(text) for _, text in chosen)
    parts: list[tuple[list[str], Sequence[Entry]]] = []
    texts: list[str] = []
    start = used = 0
    for nth, (line, text) in enumerate(chosen):
        texts.append(text)
        used += _cost(text)
        end = line.place[0] + 1
        following = chosen[nth + 1][0].place[0] if nth + 1 < len(chosen) else -1
        if used * count >= total * (len(parts) + 1) and len(parts) < count - 1 and following >= end > start:
            parts.append((texts, entries[start:end]))
            texts, start = [], end
    if texts or not parts:
        parts.append((texts, entries[start:]))
    elif start < len(entries):
        parts[-1] = (parts[-1][0], entries[start - len(parts[-1][1]) :])
    return parts


def _written(part: tuple[list[str], Sequence[Entry]], named: bool) -> str:
    texts, entries = part
    sources = f' sources="{" ".join(escaped(entry.event_id) for entry in entries)}"' if named else ""
    return f"<compacted_entry{sources}>{escaped(chr(10).join(texts))}</compacted_entry>"


def _line_bytes(entry: Entry) -> int:
    try:
        return utf8_length(entry_line(entry)) + 1
    except (ValueError, RecursionError):
        return 0
