"""The event log: every accepted event in the database, and the order in which it enters its project's buffer.

Order of operations, all under the project's buffer lock: the events are committed as `waiting`; the lines that fit
are appended to the buffer in one write; those events are committed as `buffered`. A process that dies between the
last two leaves events that are both `waiting` and in the file: whoever holds the lock next marks them first.
Where the disk refuses the lock or the buffer, the events are committed all the same, and wait.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from itertools import takewhile
from pathlib import Path

from lithify.core.events import EventResult, StoredEvent, buffer_line
from lithify.core.projects import BufferSize, Project, ProjectCounts
from lithify.storage.buffer import Buffer
from lithify.storage.database import sound_text, transaction
from lithify.storage.locks import LockUnavailable
from lithify.storage.paths import buffer_folder

Insert = Callable[[StoredEvent], bool]
"""Puts one event into the log within the transaction; False when its id is there already."""


OPEN_BUFFERS = 64
"""Buffers whose lock file is kept open; the one that was not used for longest is let go."""


class EventLog:
    """The events of all projects of one data folder. Used from one thread; safe between processes."""

    def __init__(self, connection: sqlite3.Connection, data_dir: Path, now: Callable[[], str]) -> None:
        self._connection = connection
        self._data_dir = data_dir
        self._now = now
        self._buffers: dict[str, Buffer] = {}
        self._left_waiting: dict[str, tuple[str, object]] = {}
        self._disk_errors: dict[str, str] = {}
        self._rewrite_errors: dict[str, str] = {}

    def accept(self, events: Sequence[StoredEvent], ceiling_bytes: int) -> list[EventResult]:
        """Stores the events and stages them in their buffers, in order; what became of each, in the same order.

        Raises sqlite3.Error when the database cannot take them; then none of that project is accepted.
        """
        duplicates: set[int] = set()
        staged: set[str] = set()
        for project_id in dict.fromkeys(event.project_id for event in events):
            with self.accepting(project_id, ceiling_bytes, staged) as insert:
                for index, event in enumerate(events):
                    if event.project_id == project_id and not insert(event):
                        duplicates.add(index)
        return [_result(event, index in duplicates, staged) for index, event in enumerate(events)]

    @contextmanager
    def accepting(self, project_id: str, ceiling_bytes: int, staged: set[str] | None = None) -> Iterator[Insert]:
        """A transaction on the database that can insert events of one project, which are staged after its commit.

        `staged` receives the ids that were; the others wait, because the ceiling is reached or the disk refuses.
        Raises only what the block or the transaction raises: after the commit nothing can fail any more.
        """
        with self._buffer_held(project_id) as buffer:
            with transaction(self._connection):
                inserter = _Inserter(self._connection, self._now())
                yield inserter.insert
            if buffer is not None:
                fed = self._feed(project_id, buffer, ceiling_bytes)
                if staged is not None:
                    staged.update(fed)

    def feed(self, project_id: str, ceiling_bytes: int) -> None:
        """Stages waiting events of a project as far as there is room."""
        with self._buffer_held(project_id) as buffer:
            if buffer is not None:
                self._feed(project_id, buffer, ceiling_bytes)

    def waiting_projects(self) -> list[str]:
        """The projects that have events outside their buffer."""
        rows = self._connection.execute("SELECT DISTINCT project_id FROM events WHERE state = 'waiting'")
        return [row[0] for row in rows]

    def waiting_ids(self, project_id: str) -> set[str]:
        """The events of a project that are outside its buffer."""
        rows = self._connection.execute(
            "SELECT event_id FROM events WHERE project_id = ? AND state = 'waiting'", (project_id,)
        )
        return {row[0] for row in rows}

    def buffer(self, project_id: str) -> Buffer:
        """The buffer of a project."""
        buffer = self._buffers.pop(project_id, None) or Buffer(buffer_folder(self._data_dir, project_id))
        self._buffers[project_id] = buffer  # the last one used is the last one in the dict
        if len(self._buffers) > OPEN_BUFFERS:
            self._buffers.pop(next(iter(self._buffers))).close()
        return buffer

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

    def recording(self, project_id: str) -> bool:
        """Whether a project is recorded."""
        row = self._connection.execute("SELECT recording FROM projects WHERE project_id = ?", (project_id,)).fetchone()
        return row is None or bool(row[0])

    def disk_error(self, project_id: str) -> str | None:
        """What the disk said when it last refused the project's buffer; None when it took it."""
        return self._disk_errors.get(project_id) or self._rewrite_errors.get(project_id)

    @contextmanager
    def working(self, project_id: str) -> Iterator[Buffer]:
        """The project's buffer, locked and healed, for the work of a worker. Raises OSError, which is the project's
        disk error from then on: a lock not had until it is had, a rewrite refused until one succeeds."""
        buffer = self.buffer(project_id)
        try:
            with buffer.held():
                self.heal(project_id, buffer)
                yield buffer
        except LockUnavailable as error:
            self._disk_errors[project_id] = _told(buffer, error)
            raise
        except OSError as error:
            self._rewrite_errors[project_id] = _told(buffer, error)
            raise

    def note_rewritten(self, project_id: str) -> None:
        """The disk took a rewrite of the project's buffer."""
        self._rewrite_errors.pop(project_id, None)

    def note_project(self, project: Project) -> None:
        """Remembers where a project's root lies."""
        self._connection.execute(
            "INSERT INTO projects (project_id, root) VALUES (?, ?) ON CONFLICT DO NOTHING",
            (project.project_id, sound_text(project.root)),
        )

    def set_recording(self, project: Project, enabled: bool) -> None:
        """Switches recording for a project, in every window."""
        self._connection.execute(
            "INSERT INTO projects (project_id, root, recording) VALUES (?, ?, ?)"
            " ON CONFLICT (project_id) DO UPDATE SET recording = excluded.recording",
            (project.project_id, sound_text(project.root), int(enabled)),
        )

    def close(self) -> None:
        """Lets go of the buffers."""
        for buffer in self._buffers.values():
            buffer.close()

    @contextmanager
    def _buffer_held(self, project_id: str) -> Iterator[Buffer | None]:
        """The project's buffer, locked and healed, for the block; None where the disk refuses that."""
        buffer = self.buffer(project_id)
        with ExitStack() as stack:
            yield buffer if self._taken(project_id, buffer, stack) else None

    def _taken(self, project_id: str, buffer: Buffer, stack: ExitStack) -> bool:
        try:
            stack.enter_context(buffer.held())
            self.heal(project_id, buffer)
        except OSError as error:
            self._disk_errors[project_id] = _told(buffer, error)
            return False
        return True

    def _first_waiting(self, project_id: str) -> str | None:
        row = self._connection.execute(
            "SELECT event_id FROM events WHERE project_id = ? AND state = 'waiting' ORDER BY sequence LIMIT 1",
            (project_id,),
        ).fetchone()
        return row[0] if row else None

    def heal(self, project_id: str, buffer: Buffer) -> None:
        """Marks waiting events that a process appended before it died; they are a prefix of those waiting. Needs the
        buffer's lock."""
        first = self._first_waiting(project_id)
        if first is None or self._left_waiting.get(project_id) == (first, buffer.stamp()):
            return
        in_file = buffer.event_ids()
        waiting = self._connection.execute(
            "SELECT event_id FROM events WHERE project_id = ? AND state = 'waiting' ORDER BY sequence", (project_id,)
        )
        appended = list(takewhile(in_file.__contains__, (row[0] for row in waiting)))
        waiting.close()
        self._mark_buffered(appended)

    def _feed(self, project_id: str, buffer: Buffer, ceiling_bytes: int) -> list[str]:
        """Appends waiting events as far as they fit; the ids of those that did."""
        offered: list[str] = []
        try:
            with closing(self._waiting_lines(project_id, offered)) as lines:
                count = buffer.append(lines, ceiling_bytes)
            self._mark_buffered(offered[:count])
            if len(offered) > count:
                self._left_waiting[project_id] = (offered[count], buffer.stamp())
        except (OSError, sqlite3.Error) as error:
            self._disk_errors[project_id] = _told(buffer, error)
            return []
        self._disk_errors.pop(project_id, None)
        return offered[:count]

    def _waiting_lines(self, project_id: str, offered: list[str]) -> Generator[str, None, None]:
        """The lines of waiting events, read as they are asked for; `offered` receives their ids."""
        with closing(
            self._connection.execute(
                "SELECT event_id, namespace, kind, body, valid_time, surface FROM events"
                " WHERE project_id = ? AND state = 'waiting' ORDER BY sequence",
                (project_id,),
            )
        ) as waiting:
            for row in waiting:
                offered.append(row[0])
                yield buffer_line(*row)

    def _mark_buffered(self, event_ids: Sequence[str]) -> None:
        if not event_ids:
            return
        with transaction(self._connection):
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
                sound_text(event.actor_id),
                event.parent_event_id,
                event.kind,
                event.body_json,
                event.valid_time,
                self._recorded_at,
                sound_text(event.namespace),
                sound_text(event.surface),
                event.source_json,
                event.content_hash,
            ),
        )
        inserted = cursor.rowcount == 1
        self._sequence += inserted
        return inserted


def _result(event: StoredEvent, duplicate: bool, staged: set[str]) -> EventResult:
    if duplicate:
        return EventResult(event.event_id, "duplicate")
    return EventResult(event.event_id, "buffered" if event.event_id in staged else "stored")


def _told(buffer: Buffer, error: Exception) -> str:
    return f"{buffer.path}: {getattr(error, 'strerror', None) or error}"
