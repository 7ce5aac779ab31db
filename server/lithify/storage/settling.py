"""What the lines of a buffer and the rows of its events say of each other, and what is done where they differ.

`judge` decides, `Settler` acts. Everything happens under the buffer's lock; every change names the state that it
takes an event out of, so that what another process made of the event meanwhile stays.
"""

from __future__ import annotations

import logging
import re
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from lithify.core.entries import Entry, Line, entry_line
from lithify.core.privacy import may_hold_tag, scrub_body
from lithify.core.stored_json import storable_json
from lithify.storage.buffer import Stamp
from lithify.storage.database import transaction
from lithify.storage.event_rows import EventRows

logger = logging.getLogger(__name__)

_NAMESPACE = re.compile(r"/actor/(?P<actor>.*)/project/(?P<project>[^/]*)/", re.DOTALL)
_ID = re.compile(r"[0-9A-Za-z_-]{1,64}")
_ULID_IN_ANY_CASE = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}", re.IGNORECASE)
_TOLD_ELSEWHERE = '{"type":"text","content":"This event is known only from a summary that stood for it."}'


@dataclass(frozen=True, slots=True)
class Adopted:
    """An event that the database does not know, out of a line that names the project."""

    event_id: str
    actor_id: str
    entry: Entry
    body_json: str


@dataclass(frozen=True, slots=True)
class Settlement:
    """How a buffer's lines stand to the database. In `lines` a line that is no entry of the project has no entry, and
    a summary names only such sources as are events of the project. No entry holds a private span."""

    lines: list[Line]
    gone: frozenset[str]
    """Events in the lines that were extracted or evicted."""
    appended: tuple[str, ...]
    """Waiting events that have a line: a process died before it marked them."""
    lost: tuple[str, ...]
    """Buffered events that no line stands for."""
    adopted: tuple[Adopted, ...]
    scrubbed: bool
    """Whether a line is another one than in the file, where it holds a private span: somebody wrote it there."""


def shrank(before: Stamp, now: Stamp) -> bool:
    """Whether a file lost bytes or was changed in its place, which nothing of ours does: an append lets it grow, a
    rewrite puts another file there."""
    return now[0] == before[0] and now[1] <= before[1] and now != before


def judge(
    project_id: str, lines: Sequence[Line], known: Mapping[str, tuple[str, str]], buffered: Iterable[str]
) -> Settlement:
    """What the lines of a project's buffer say. `known`: project and state of the events they name, as far as the
    database has them; `buffered`: the events of the project that should be in the buffer."""
    as_it_should_be = (project_id, "buffered")
    judged: list[Line] = []
    adopted: dict[str, Adopted] = {}
    any_scrubbed = False
    states: dict[str, str] = {}
    for line in lines:
        if (entry := line.entry) is not None and line.free_of_tags and not entry.source_event_ids:
            state = known.get(entry.event_id)
            if state == as_it_should_be and project_named(entry.namespace) in (None, project_id):
                judged.append(line)  # as nearly all are; the rest says the same of it, and takes longer
                states[entry.event_id] = "buffered"
                continue
        ids, new = _stands_for(line.entry, project_id, known) if line.entry is not None else ((), ())
        scrubbed = _scrubbed(line) if ids else line
        any_scrubbed = any_scrubbed or scrubbed.data is not line.data
        judged.append(_with_sources(scrubbed, ids))
        states.update((one, known[one][1] if one in known else "buffered") for one in ids)
        for one in new:
            adopted.setdefault(one.event_id, one)
    return Settlement(
        lines=judged,
        gone=frozenset(one for one, state in states.items() if state in {"extracted", "evicted"}),
        appended=tuple(one for one, state in states.items() if state == "waiting"),
        lost=tuple(one for one in buffered if one not in states),
        adopted=tuple(adopted.values()),
        scrubbed=any_scrubbed,
    )


def _scrubbed(line: Line) -> Line:
    """A line without its private spans, where it has any: our own lines have none, but one may be copied in."""
    if line.free_of_tags or line.entry is None or not may_hold_tag(line.data.decode(errors="replace")):
        return line
    try:
        body = scrub_body(line.entry.body)
        if body is line.entry.body or body == line.entry.body:
            return line
        entry = replace(line.entry, body=body)
        return Line(entry_line(entry).encode(), entry)
    except RecursionError:  # it cannot be written again, so it is none of ours
        return replace(line, entry=None)


def _with_sources(line: Line, ids: tuple[str, ...]) -> Line:
    if line.entry is None or line.entry.covered_ids == ids:
        return line
    return replace(line, entry=replace(line.entry, source_event_ids=ids) if ids else None)


@lru_cache(maxsize=256)
def _named(namespace: str) -> tuple[str, str] | None:
    """The actor and the project of a namespace; None for one of another form."""
    found = _NAMESPACE.fullmatch(namespace)
    return None if found is None else (found["actor"], found["project"])


def project_named(namespace: str) -> str | None:
    """The project of a namespace; None for one of another form."""
    named = _named(namespace)
    return None if named is None else named[1]


def _stands_for(
    entry: Entry, project_id: str, known: Mapping[str, tuple[str, str]]
) -> tuple[tuple[str, ...], tuple[Adopted, ...]]:
    """The events of the project that an entry stands for, none for an entry that is not the project's; and those of
    them that are to be adopted: ids that nobody knows count where no other is known."""
    named = _named(entry.namespace)
    if named is not None and named[1] != project_id:
        return (), ()
    ids = tuple(dict.fromkeys(entry.covered_ids)) if entry.source_event_ids else (entry.event_id,)
    if any(one in known for one in ids):
        return tuple(one for one in ids if one in known and known[one][0] == project_id), ()
    if named is None:
        return (), ()
    adopted = _adopted(entry, named[0], tuple(filter(_is_id, ids)))
    return tuple(one.event_id for one in adopted), adopted


def _adopted(entry: Entry, actor_id: str, ids: Sequence[str]) -> tuple[Adopted, ...]:
    """The first event gets the body. Further ones, of a summary, get a word on where it is: else a text would be in
    the database, and be fed in again, once for each of them."""
    try:
        body_json = storable_json(scrub_body(entry.body))
    except RecursionError:
        return ()
    bodies = (body_json, *[_TOLD_ELSEWHERE] * len(ids))
    return tuple(Adopted(one, actor_id, entry, body) for one, body in zip(ids, bodies, strict=False))


def _is_id(text: str) -> bool:
    """Whether a text can be an event's id: a ULID only in the capitals that it is always written in, so that a copy in
    other letters is no second event."""
    if _ID.fullmatch(text) is None:
        return False
    return _ULID_IN_ANY_CASE.fullmatch(text) is None or text == text.upper()


class Settler:
    """Brings the database in line with what a buffer holds. `now` gives the time that is noted of adopted events."""

    def __init__(self, connection: sqlite3.Connection, rows: EventRows, now: Callable[[], str]) -> None:
        self._connection = connection
        self._rows = rows
        self._now = now

    def settle(self, project_id: str, path: Path, lines: Sequence[Line], *, are_all: bool = True) -> Settlement:
        """Judges the lines of a buffer and puts the rows right: what has a line is `buffered`, what has none waits
        again, and what nobody knew is adopted. `are_all`: whether these are all lines; else nothing is known of events
        that have none among them. Needs the buffer's lock, and no transaction under way."""
        buffered = self._rows.buffered(project_id) if are_all else ()
        known = dict.fromkeys(buffered, (project_id, "buffered"))
        ids = (one for line in lines if line.entry is not None for one in line.entry.covered_ids if one not in known)
        known |= self._rows.known(list(ids))
        found = judge(project_id, lines, known, buffered)
        if found.appended or found.lost or found.adopted:
            with transaction(self._connection):
                self._rows.move(found.appended, "waiting", "buffered")
                self._rows.move(found.lost, "buffered", "waiting")
                for one in found.adopted:
                    self._rows.adopt(one.event_id, project_id, one.actor_id, one.entry, one.body_json, self._now())
            _tell(path, found)
        return found


def _tell(path: Path, found: Settlement) -> None:
    if found.lost:
        logger.warning(
            "%s: events whose lines are gone or cannot be read, and are fed in again: %d", path, len(found.lost)
        )
    if found.adopted:
        logger.warning("%s: events that the database did not know, and now does: %d", path, len(found.adopted))
