"""The event log: every accepted event in the database, and the order in which it enters its project's buffer.

Order of operations, all under the project's buffer lock: the events are committed as `waiting`; the lines that fit
are appended to the buffer in one write; those events are committed as `buffered`. A process that dies between the
last two leaves events that are both `waiting` and in the file: whoever holds the lock next marks them first.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from lithify.core.events import EventResult, StoredEvent, buffer_line
from lithify.core.projects import BufferSize, Project, ProjectCounts
from lithify.storage.buffer import Buffer
from lithify.storage.database import transaction
from lithify.storage.paths import buffer_folder

Insert = Callable[[StoredEvent], bool]
"""Puts one event into the log within the transaction; False when its id is there already."""


class EventLog:
    """The events of all projects of one data folder. Used from one thread; safe between processes."""

    def __init__(self, connection: sqlite3.Connection, data_dir: Path, now: Callable[[], str]) -> None:
        self._connection = connection
        self._data_dir = data_dir
        self._now = now
        self._buffers: dict[str, Buffer] = {}
        self._left_waiting: dict[str, str] = {}
        self._disk_errors: dict[str, str] = {}

    def accept(self, events: Sequence[StoredEvent], ceiling_bytes: int) -> list[EventResult]:
        """Stores the events and stages them in their buffers, in order; what became of each, in the same order.

        Raises sqlite3.Error or OSError when the database cannot take them; then none of that project is accepted.
        """
        duplicates: set[int] = set()
        unbuffered: set[str] = set()
        for project_id in dict.fromkeys(event.project_id for event in events):
            with self.accepting(project_id, ceiling_bytes, unbuffered) as insert:
                for index, event in enumerate(events):
                    if event.project_id == project_id and not insert(event):
                        duplicates.add(index)
        return [_result(event, index in duplicates, unbuffered) for index, event in enumerate(events)]

    @contextmanager
    def accepting(self, project_id: str, ceiling_bytes: int, unbuffered: set[str] | None = None) -> Iterator[Insert]:
        """A transaction on the database that can insert events of one project, which are staged after its commit.

        `unbuffered` receives the ids that could not be staged: the ceiling is reached or the disk refuses.
        """
        buffer = self.buffer(project_id)
        with buffer.held():
            self._heal(project_id, buffer)
            with transaction(self._connection):
                inserter = _Inserter(self._connection, self._now())
                yield inserter.insert
            left = self._feed(project_id, buffer, ceiling_bytes)
            if unbuffered is not None:
                unbuffered.update(left)

    def feed(self, project_id: str, ceiling_bytes: int) -> None:
        """Stages waiting events of a project as far as there is room."""
        buffer = self.buffer(project_id)
        with buffer.held():
            self._heal(project_id, buffer)
            self._feed(project_id, buffer, ceiling_bytes)

    def waiting_projects(self) -> list[str]:
        """The projects that have events outside their buffer."""
        rows = self._connection.execute("SELECT DISTINCT project_id FROM events WHERE state = 'waiting'")
        return [row[0] for row in rows]

    def buffer(self, project_id: str) -> Buffer:
        """The buffer of a project."""
        if project_id not in self._buffers:
            self._buffers[project_id] = Buffer(buffer_folder(self._data_dir, project_id))
        return self._buffers[project_id]

    def size(self, project_id: str) -> BufferSize:
        """What the project's buffer holds now."""
        return self.buffer(project_id).size()

    def counts(self, project_id: str) -> ProjectCounts:
        """What the database holds of a project."""
        waiting, records, recording = self._connection.execute(
            "SELECT (SELECT count(*) FROM events WHERE project_id = :p AND state = 'waiting'),"
            " (SELECT count(*) FROM memory_records WHERE project_id = :p),"
            " coalesce((SELECT recording FROM projects WHERE project_id = :p), 1)",
            {"p": project_id},
        ).fetchone()
        return ProjectCounts(waiting, records, bool(recording))

    def disk_error(self, project_id: str) -> str | None:
        """What the disk said when it last refused the project's buffer; None when it took it."""
        return self._disk_errors.get(project_id)

    def note_project(self, project: Project) -> None:
        """Remembers where a project's root lies."""
        self._connection.execute(
            "INSERT INTO projects (project_id, root) VALUES (?, ?) ON CONFLICT DO NOTHING",
            (project.project_id, project.root),
        )

    def set_recording(self, project: Project, enabled: bool) -> None:
        """Switches recording for a project, in every window."""
        self._connection.execute(
            "INSERT INTO projects (project_id, root, recording) VALUES (?, ?, ?)"
            " ON CONFLICT (project_id) DO UPDATE SET recording = excluded.recording",
            (project.project_id, project.root, int(enabled)),
        )

    def close(self) -> None:
        """Lets go of the buffers."""
        for buffer in self._buffers.values():
            buffer.close()

    def _waiting(self, project_id: str) -> list[tuple[str, ...]]:
        return self._connection.execute(
            "SELECT event_id, namespace, kind, body, valid_time, surface FROM events"
            " WHERE project_id = ? AND state = 'waiting' ORDER BY sequence",
            (project_id,),
        ).fetchall()

    def _heal(self, project_id: str, buffer: Buffer) -> None:
        """Marks waiting events that a process appended before it died; they are a prefix of those waiting."""
        first = self._connection.execute(
            "SELECT event_id FROM events WHERE project_id = ? AND state = 'waiting' ORDER BY sequence LIMIT 1",
            (project_id,),
        ).fetchone()
        if first is None or self._left_waiting.get(project_id) == first[0]:
            return
        in_file = buffer.event_ids()
        appended = [row[0] for row in self._waiting(project_id) if row[0] in in_file]
        if appended:
            with transaction(self._connection):
                self._mark_buffered(appended)

    def _feed(self, project_id: str, buffer: Buffer, ceiling_bytes: int) -> list[str]:
        """Appends waiting events as far as they fit; the ids of those left."""
        waiting = self._waiting(project_id)
        try:
            count = buffer.append([buffer_line(*row) for row in waiting], ceiling_bytes)
        except OSError as error:
            self._disk_errors[project_id] = f"{buffer.path}: {error.strerror or error}"
            return [row[0] for row in waiting]
        self._disk_errors.pop(project_id, None)
        if count:
            with transaction(self._connection):
                self._mark_buffered([row[0] for row in waiting[:count]])
        left = [row[0] for row in waiting[count:]]
        if left:
            self._left_waiting[project_id] = left[0]
        return left

    def _mark_buffered(self, event_ids: Sequence[str]) -> None:
        self._connection.executemany(
            "UPDATE events SET state = 'buffered' WHERE event_id = ?", [(event_id,) for event_id in event_ids]
        )


class _Inserter:
    def __init__(self, connection: sqlite3.Connection, recorded_at: str) -> None:
        self._connection = connection
        self._recorded_at = recorded_at
        self._sequence: int = connection.execute("SELECT coalesce(max(sequence), 0) FROM events").fetchone()[0]

    def insert(self, event: StoredEvent) -> bool:
        cursor = self._connection.execute(
            "INSERT INTO events (event_id, sequence, project_id, state, session_id, actor_id, parent_event_id, kind,"
            " body, valid_time, recorded_at, namespace, surface, source, content_hash)"
            " VALUES (?, ?, ?, 'waiting', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (event_id) DO NOTHING",
            (
                event.event_id,
                self._sequence + 1,
                event.project_id,
                event.session_id,
                event.actor_id,
                event.parent_event_id,
                event.kind,
                event.body_json,
                event.valid_time,
                self._recorded_at,
                event.namespace,
                event.surface,
                event.source_json,
                event.content_hash,
            ),
        )
        inserted = cursor.rowcount == 1
        self._sequence += inserted
        return inserted


def _result(event: StoredEvent, duplicate: bool, unbuffered: set[str]) -> EventResult:
    if duplicate:
        return EventResult(event.event_id, "duplicate")
    return EventResult(event.event_id, "stored" if event.event_id in unbuffered else "buffered")
