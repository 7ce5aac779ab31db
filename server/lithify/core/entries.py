"""The lines of a buffer file: entries, and what is no entry and is kept all the same."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NoReturn

from lithify.core.events import buffer_line
from lithify.core.privacy import may_hold_tag
from lithify.core.stored_json import storable_json

SUMMARY_PREFIX = "compact_"
SUMMARY_KIND = "session_summary"

_TEXTS = ("event_id", "namespace", "kind", "timestamp", "surface")


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a buffer. `source_event_ids` is empty but for a summary, which covers those events."""

    event_id: str
    namespace: str
    kind: str
    body: dict[str, Any]
    timestamp: str
    surface: str
    source_event_ids: tuple[str, ...] = ()

    @property
    def covered_ids(self) -> tuple[str, ...]:
        """The original events this entry stands for: its own, or those its summary covers."""
        return self.source_event_ids or (self.event_id,)


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a buffer file as its bytes, without the newline; `entry` is None for one that cannot be read."""

    data: bytes
    entry: Entry | None
    free_of_tags: bool = False
    """Whether it was seen that no private tag can be in it."""


def read_lines(data: bytes) -> list[Line]:
    """The lines of a buffer file, in order; empty ones are passed over. Never raises on what stands in them."""
    return [read_line(raw) for raw in data.split(b"\n") if raw.strip()]


def read_line(raw: bytes) -> Line:
    """A line from its bytes, without the newline."""
    return Line(raw, read_entry(raw), not may_hold_tag(raw.decode(errors="replace")))


def read_entry(raw: bytes) -> Entry | None:
    """An entry from its line; None where the line is torn, no JSON, no object, or lacks what an entry has."""
    try:
        found = _DECODER.decode(raw.decode(json.detect_encoding(raw), "surrogatepass"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    event_id, namespace, kind, timestamp, surface = map(found.get, _TEXTS)
    body, sources = found.get("body"), found.get("source_event_ids", ())
    if not (
        isinstance(event_id, str)
        and event_id
        and isinstance(namespace, str)
        and isinstance(kind, str)
        and isinstance(timestamp, str)
        and isinstance(surface, str)
        and isinstance(body, dict)
    ):
        return None
    if sources != () and not (isinstance(sources, list) and all(isinstance(one, str) for one in sources)):
        return None
    return Entry(event_id, namespace, kind, body, timestamp, surface, tuple(sources))


def entry_line(entry: Entry) -> str:
    """An entry as its line, without the newline."""
    line = buffer_line(
        entry.event_id, entry.namespace, entry.kind, storable_json(entry.body), entry.timestamp, entry.surface
    )
    if not entry.source_event_ids:
        return line
    return f'{line[:-1]},"source_event_ids":{storable_json(entry.source_event_ids)}}}'


def newest(entries: Iterable[Entry]) -> Entry:
    """The entry with the latest timestamp, the later one on a tie. There must be one."""
    return max(enumerate(entries), key=lambda pair: (instant(pair[1].timestamp), pair[0]))[1]


def instant(timestamp: str) -> float:
    """A timestamp as seconds since the epoch, to sort by, whatever its offset; without one it is taken for UTC.

    One that cannot be read comes before all others.
    """
    try:
        found = datetime.fromisoformat(timestamp)
        return (found if found.tzinfo is not None else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return float("-inf")


def summary_entry(event_id: str, covered: Sequence[Entry], text: str, source_event_ids: Sequence[str]) -> Entry:
    """The entry that stands for others: text, the namespace and surface of the newest, the latest timestamp."""
    latest = newest(covered)
    return Entry(
        event_id=SUMMARY_PREFIX + event_id,
        namespace=latest.namespace,
        kind=SUMMARY_KIND,
        body={"type": "text", "content": text},
        timestamp=latest.timestamp,
        surface=latest.surface,
        source_event_ids=tuple(source_event_ids),
    )


def _refused(constant: str) -> NoReturn:
    """NaN and the infinities are no JSON, and could not be written again."""
    raise ValueError(constant)


def _finite(number: str) -> float:
    found = float(number)
    if found in {float("inf"), float("-inf")}:
        raise ValueError(number)
    return found


_DECODER = json.JSONDecoder(parse_constant=_refused, parse_float=_finite)
