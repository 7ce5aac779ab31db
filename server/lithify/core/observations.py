"""Entries as a model is shown them: `<tool_observation>` elements, all text escaped (wire contract, section 9)."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from lithify.core.entries import Entry
from lithify.core.markup import escaped, quoted
from lithify.core.messages import BYTES_PER_TOKEN, tokens_of_bytes, utf8_length
from lithify.core.stored_json import storable_json

CUT = "\n[... {} characters left out ...]\n"

MOST_HALVINGS = 8
"""How often a batch is halved for a model that it is too long for: enough for one entry of some hundred."""

_LEAST_TEXT_BYTES = 200
_FRAME_BYTES = 400
"""What an observation takes besides its texts: its tags, an id, a tool name, a timestamp."""
_MAX_NAME_CHARACTERS = 100
_UNSHOWABLE = "[... nested too deeply to be shown ...]"


@dataclass(frozen=True, slots=True)
class Budget:
    """What one request of a run shows at most, and how often that was halved since a model last took one."""

    tokens: int
    halvings: int = 0

    def halved(self, batch: Sequence[Entry]) -> Budget | None:
        """Half of what it shows of a batch that is too long for a model: fewer entries, or less of a lone one. None
        where that is no less, or was done too often."""
        limit = max_text(self.tokens)
        half = Budget(sum(_tokens(entry, limit) for entry in batch) // 2, self.halvings + 1)
        no_less = len(batch) == 1 and shown(batch, half.tokens) == shown(batch, self.tokens)
        return None if no_less or half.halvings > MOST_HALVINGS else half

    def taken(self) -> Budget:
        """The budget after a model took a request of it: it stays, and may be halved again."""
        return Budget(self.tokens)


def shown(batch: Sequence[Entry], budget_tokens: int) -> str:
    """A batch as one request shows it: an element for each entry, each within the budget."""
    limit = max_text(budget_tokens)
    return "\n".join(observation(entry, limit) for entry in batch)


def observation(entry: Entry, max_text_bytes: int) -> str:
    """One entry as an element. Input and output together take at most that many bytes, as they are escaped; what is
    longer keeps its head and tail, the cut is marked."""
    tool_name, given, output = contents(entry)
    given, output = _within(escaped(given), None if output is None else escaped(output), max_text_bytes)
    lines = [
        f"<tool_observation id={quoted(entry.event_id)} kind={quoted(entry.kind[:_MAX_NAME_CHARACTERS])}>",
        f"<tool_name>{escaped(tool_name[:_MAX_NAME_CHARACTERS])}</tool_name>",
        f"<timestamp>{escaped(entry.timestamp[:_MAX_NAME_CHARACTERS])}</timestamp>",
        f"<input>{given}</input>",
    ]
    if output is not None:
        lines.append(f"<output>{output}</output>")
    return "\n".join([*lines, "</tool_observation>"])


def batches(entries: Sequence[Entry], budget_tokens: int) -> Iterator[list[Entry]]:
    """The entries in order, in runs whose observations, a newline between each two, fit the budget; an entry over it
    is a run of its own."""
    run: list[Entry] = []
    used = 0
    for entry in entries:
        size = _tokens(entry, sys.maxsize)
        if run and used + size > budget_tokens:
            yield run
            run, used = [], 0
        run.append(entry)
        used += size
    if run:
        yield run


def _tokens(entry: Entry, max_text_bytes: int) -> int:
    """What an observation takes of a budget, with the newline after it."""
    return tokens_of_bytes(utf8_length(observation(entry, max_text_bytes)) + 1)


def max_text(budget_tokens: int) -> int:
    """Bytes the texts of one observation may have, so that it stays within the budget of a batch; 200 at least."""
    return max(math.floor(budget_tokens * BYTES_PER_TOKEN) - _FRAME_BYTES, _LEAST_TEXT_BYTES)


def contents(entry: Entry) -> tuple[str, str, str | None]:
    """Tool name, input and output of an entry; the output is None where there is none."""
    body = entry.body
    data = body.get("data")
    if body.get("type") == "json" and isinstance(data, dict) and ("tool_name" in data or "tool_input" in data):
        output = _text(data["tool_response"]) if data.get("tool_response") is not None else None
        name = data.get("tool_name")
        return name if isinstance(name, str) else entry.kind, _text(data.get("tool_input")), output
    if body.get("type") == "json":
        return entry.kind, _text(data), None
    if body.get("type") == "message" and isinstance(body.get("turns"), list):
        return entry.kind, "\n".join(_turn(turn) for turn in body["turns"]), None
    return entry.kind, _text(body.get("content", body)), None


def _within(given: str, output: str | None, max_bytes: int) -> tuple[str, str | None]:
    """Both texts, already escaped, cut to the limit together: each may have half, and what the other leaves free."""
    first, second = utf8_length(given), utf8_length(output or "")
    if first + second <= max_bytes:
        return given, output
    half = max_bytes // 2
    if output is None or first > half:
        given = _cut(given, max(max_bytes - second, half))
    if output is not None and second > half:
        output = _cut(output, max(max_bytes - first, half))
    return given, output


def _cut(text: str, max_bytes: int) -> str:
    """An escaped text cut to the limit, no entity parted."""
    size, limit = utf8_length(text), len(text)
    found = text
    while size > max_bytes and limit > 0:
        limit = min(limit * max_bytes // size, limit - 1)
        head, tail = limit * 2 // 3, limit // 3
        found = _cut_between(text, head, len(text) - tail)
        size = utf8_length(found)
    return found


def _cut_between(text: str, head_end: int, tail_start: int) -> str:
    """An escaped text without what stands between two places; the mark counts the characters it had unescaped."""
    entity = text.rfind("&", max(head_end - 5, 0), head_end)
    if entity >= 0 and ";" not in text[entity:head_end]:
        head_end = entity
    entity = text.rfind("&", max(tail_start - 5, 0), tail_start)
    if entity >= 0 and ";" not in text[entity:tail_start]:
        tail_start = text.find(";", tail_start) + 1
    removed = text[head_end:tail_start]
    characters = len(removed) - 4 * removed.count("&amp;") - 3 * (removed.count("&lt;") + removed.count("&gt;"))
    return text[:head_end] + CUT.format(characters) + text[tail_start:]


def _turn(turn: Any) -> str:
    if isinstance(turn, dict):
        return f"{_text(turn.get('role'))}: {_text(turn.get('content'))}"
    return _text(turn)


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    try:
        return storable_json(value)
    except (ValueError, RecursionError):
        return _UNSHOWABLE
