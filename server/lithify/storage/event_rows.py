"""The table of events: its rows are added and moved from state to state, never deleted.

Methods that write work inside the caller's transaction.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Generator, Iterable, Sequence
from contextlib import closing

from lithify.core.entries import Entry
from lithify.core.events import EventState, StoredEvent, buffer_line
from lithify.core.stored_json import storable_json
from lithify.storage.database import sound_text

_NEXT = "(SELECT coalesce(max(sequence), 0) + 1 FROM events)"
_UNKNOWN = "unknown"


class EventRows:
    """The events of all projects of one data folder, in the database alone."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def insert(self, event: StoredEvent, recorded_at: str) -> bool:
        """Adds an event, which waits; False when its id is there already."""
        cursor = self._connection.execute(
            "INSERT INTO events (event_id, sequence, project_id, state, session_id, actor_id, parent_event_id, kind,"
            " body, valid_time, recorded_at, namespace, surface, source, content_hash)"
            f" VALUES (?, {_NEXT}, ?, 'waiting', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (event_id) DO NOTHING",
            (
                event.event_id,
                event.project_id,
                event.session_id,
                sound_text(event.actor_id),
                event.parent_event_id,
                event.kind,
                event.body_json,
                event.valid_time,
                recorded_at,
                sound_text(event.namespace),
                sound_text(event.surface),
                event.source_json,
                event.content_hash,
            ),
        )
        return cursor.rowcount == 1

    def adopt(self, event_id: str, project_id: str, actor_id: str, entry: Entry, body_json: str, now: str) -> None:
        """Adds an event of which there is a line in the buffer and nothing else."""
        self._connection.execute(
            "INSERT INTO events (event_id, sequence, project_id, state, session_id, actor_id, kind, body, valid_time,"
            " recorded_at, namespace, surface, source)"
            f" VALUES (?, {_NEXT}, ?, 'buffered', ?, ?, ?, ?, ?, ?, ?, ?, '{{}}') ON CONFLICT (event_id) DO NOTHING",
            (
                event_id,
                project_id,
                _UNKNOWN,
                sound_text(actor_id),
                sound_text(entry.kind),
                body_json,
                sound_text(entry.timestamp),
                now,
                sound_text(entry.namespace),
                sound_text(entry.surface),
            ),
        )

    def move(self, event_ids: Iterable[str], before: EventState, after: EventState) -> None:
        """Takes events from one state to another; those that are in any other state by now stay there."""
        self._connection.executemany(
            "UPDATE events SET state = ? WHERE event_id = ? AND state = ?",
            [(after, event_id, before) for event_id in event_ids],
        )

    def known(self, event_ids: Sequence[str]) -> dict[str, tuple[str, str]]:
        """Project and state of those of the events that have a row."""
        if not event_ids:
            return {}
        rows = self._connection.execute(
            "SELECT event_id, project_id, state FROM events WHERE event_id IN (SELECT value FROM json_each(?))",
            (storable_json(event_ids),),
        )
        return {event_id: (project_id, state) for event_id, project_id, state in rows}

    def buffered(self, project_id: str) -> list[str]:
        """The events of a project that should be in its buffer."""
        (event_ids,) = self._connection.execute(
            "SELECT json_group_array(event_id) FROM events WHERE project_id = ? AND state = 'buffered'", (project_id,)
        ).fetchone()  # many in one row: for each row SQLite hands the interpreter to another thread
        return list(json.loads(event_ids))

    def any_buffered(self, project_id: str) -> bool:
        """Whether any event of a project should be in its buffer."""
        found = "SELECT EXISTS (SELECT 1 FROM events WHERE project_id = ? AND state = 'buffered')"
        return bool(self._connection.execute(found, (project_id,)).fetchone()[0])

    def projects_buffered(self) -> list[str]:
        """The known projects that have events which should be in their buffer."""
        rows = self._connection.execute(
            "SELECT project_id FROM projects p WHERE EXISTS"
            " (SELECT 1 FROM events e WHERE e.project_id = p.project_id AND e.state = 'buffered')"
        )
        return [row[0] for row in rows]

    def projects_waiting(self) -> list[str]:
        """The projects that have events outside their buffer."""
        rows = self._connection.execute("SELECT DISTINCT project_id FROM events WHERE state = 'waiting'")
        return [row[0] for row in rows]

    def waiting(self, project_id: str) -> set[str]:
        """The events of a project that are outside its buffer."""
        rows = self._connection.execute(
            "SELECT event_id FROM events WHERE project_id = ? AND state = 'waiting'", (project_id,)
        )
        return {row[0] for row in rows}

    def first_waiting(self, project_id: str) -> str | None:
        """The event that is fed in next; None where none waits."""
        row = self._connection.execute(
            "SELECT event_id FROM events WHERE project_id = ? AND state = 'waiting' ORDER BY sequence LIMIT 1",
            (project_id,),
        ).fetchone()
        return row[0] if row else None

    def move_first_waiting(self, project_id: str, last_sequence: int) -> None:
        """Takes the waiting events of a project up to a place in their order to `buffered`. Needs the lock of the
        project's buffer: no other event may come to wait before that place."""
        self._connection.execute(
            "UPDATE events SET state = 'buffered' WHERE project_id = ? AND state = 'waiting' AND sequence <= ?",
            (project_id, last_sequence),
        )

    def waiting_lines(self, project_id: str, offered: list[tuple[str, int]]) -> Generator[str, None, None]:
        """The lines of waiting events in their order, read as they are asked for; `offered` receives their ids and
        their places in the order."""
        with closing(
            self._connection.execute(
                "SELECT sequence, event_id, namespace, kind, body, valid_time, surface FROM events"
                " WHERE project_id = ? AND state = 'waiting' ORDER BY sequence",
                (project_id,),
            )
        ) as waiting:
            for sequence, event_id, *row in waiting:
                offered.append((event_id, sequence))
                yield buffer_line(event_id, *row)
