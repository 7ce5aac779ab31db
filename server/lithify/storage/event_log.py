"""The event log: every accepted event in the database, and the order in which it enters its project's buffer.

Order of operations, all under the project's buffer lock: the events are committed as `waiting`; the lines that fit
are appended to the buffer in one write; those events are committed as `buffered`. A process that dies between the
last two leaves events that are both `waiting` and in the file: whoever holds the lock next marks them first. Events
whose lines somebody took away are `buffered` and nowhere: they wait again (`settling`).
Where the disk refuses the lock or the buffer, the events are committed all the same, and wait.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Literal, TypeAlias

from lithify.core.entries import Line
from lithify.core.events import EventResult, StoredEvent
from lithify.core.projects import BufferSize, Project, ProjectCounts
from lithify.storage.buffer import Buffer, Stamp
from lithify.storage.database import sound_text, transaction
from lithify.storage.event_rows import EventRows
from lithify.storage.locks import LockUnavailable
from lithify.storage.paths import NotAFile, buffer_folder
from lithify.storage.settling import Settlement, Settler, shrank
from lithify.storage.troubles import Trouble, Troubles

Insert = Callable[[StoredEvent], bool]
"""Puts one event into the log within the transaction; False when its id is there already."""

Care: TypeAlias = Literal["append", "look", "feed"]
"""For what a buffer is taken, from the least care in looking for lost lines to the most (see `EventLog._in_doubt`)."""

OPEN_BUFFERS = 64
"""Buffers whose lock file is kept open; the one that was not used for longest is let go."""


class EventLog:
    """The events of all projects of one data folder. Used from one thread; safe between processes."""

    def __init__(self, connection: sqlite3.Connection, data_dir: Path, now: Callable[[], str]) -> None:
        self._connection = connection
        self._data_dir = data_dir
        self._now = now
        self._rows = EventRows(connection)
        self._settler = Settler(connection, self._rows, now)
        self._buffers: dict[str, Buffer] = {}
        self._settled: dict[str, Stamp] = {}  # what a file was when its lines and the database last agreed
        self._left_waiting: dict[str, tuple[str, Stamp]] = {}
        self.troubles = Troubles()

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
        with self._buffer_held(project_id, "append") as buffer:
            with transaction(self._connection):
                now = self._now()
                yield lambda event: self._rows.insert(event, now)
            if buffer is not None:
                fed = self._feed(project_id, buffer, ceiling_bytes)
                if staged is not None:
                    staged.update(fed)

    def known(self, event_ids: Sequence[str]) -> set[str]:
        """Those of the events that are in the log already, and would be duplicates."""
        return set(self._rows.known(event_ids))

    def feed(self, project_id: str, ceiling_bytes: int) -> None:
        """Stages waiting events of a project as far as there is room; those first whose lines somebody took away.

        Into a buffer that holds no entry the first one goes however large it is, and lines that are no entries do not
        count: else what can never fit would hold up all that comes after it.
        """
        with self._buffer_held(project_id, "feed") as buffer:
            if buffer is not None:
                self._feed(project_id, buffer, ceiling_bytes, afresh=not self._rows.any_buffered(project_id))

    def waiting_projects(self) -> list[str]:
        """The projects that have events outside their buffer, or events whose lines may have been taken away."""
        self._recheck()
        waiting = self._rows.projects_waiting()
        others = set(self._rows.projects_buffered()).difference(waiting)
        return [*waiting, *(project_id for project_id in sorted(others) if self._may_lack_lines(project_id))]

    def _recheck(self) -> None:
        """Forgets trouble that is over. Work of its kind may not come for long, or another window may have done it."""
        for project_id in self.troubles.projects("lock", "append", "rewrite"):
            buffer = self.buffer(project_id)
            try:
                if not buffer.lock.try_acquire():
                    continue
                try:
                    self.troubles.over(project_id, "lock")
                    buffer.probe()
                finally:
                    buffer.lock.release()
            except OSError:  # the trouble that is noted goes on
                continue
            self.troubles.over(project_id, "append", "rewrite")

    def waiting_ids(self, project_id: str) -> set[str]:
        """The events of a project that are outside its buffer."""
        return self._rows.waiting(project_id)

    def buffer(self, project_id: str) -> Buffer:
        """The buffer of a project."""
        buffer = self._buffers.pop(project_id, None) or Buffer(buffer_folder(self._data_dir, project_id))
        self._buffers[project_id] = buffer  # the last one used is the last one in the dict
        if len(self._buffers) > OPEN_BUFFERS:
            self._buffers.pop(next(iter(self._buffers))).close()
        return buffer

    def forget_lines(self) -> None:
        """Lets go of what is kept of the lines of buffers."""
        for buffer in self._buffers.values():
            buffer.forget()

    def size(self, project_id: str) -> BufferSize:
        """What the project's buffer holds now; nothing, and a disk error, where it cannot be read."""
        buffer = self.buffer(project_id)
        try:
            found = buffer.size()
        except OSError as error:
            self._note(project_id, "size", buffer, error)
            return BufferSize(0, 0)
        self.troubles.over(project_id, "size")
        return found

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
        """What the disk said when it last refused something of the project's, until it takes that again; or what lies
        in the buffer's place now. None when nothing is wrong."""
        return self.troubles.of(project_id) or self.buffer(project_id).in_the_way()

    @contextmanager
    def working(self, project_id: str) -> Iterator[Buffer]:
        """The project's buffer, locked, for the work of a worker, which settles it. Raises OSError, which is the
        project's disk error from then on: a lock not had until it is had, a rewrite refused until one succeeds."""
        buffer = self.buffer(project_id)
        try:
            with buffer.held():
                self.troubles.over(project_id, "lock")
                yield buffer
        except OSError as error:
            self._note(project_id, "lock" if isinstance(error, LockUnavailable) else "rewrite", buffer, error)
            raise

    def only_grew(self, project_id: str, stamp: Stamp) -> bool:
        """Whether a buffer's file was settled, and neither replaced nor made shorter since."""
        settled = self._settled.get(project_id)
        return settled is not None and settled[0] == stamp[0] and not shrank(settled, stamp)

    def settle_appended(self, project_id: str, buffer: Buffer, lines: Sequence[Line]) -> Settlement:
        """What lines are that were appended to those that are settled, once the database says the same as they do.
        Needs the buffer's lock."""
        return self._settler.settle(project_id, buffer.path, lines, are_all=False)

    def settle(self, project_id: str, buffer: Buffer, *, keep: bool = False) -> Settlement:
        """What the buffer's lines are, once the database says the same as they do. Needs the buffer's lock. `keep`:
        what the lines say is kept until `forget_lines`."""
        stamp = buffer.stamp()
        found = self._settler.settle(project_id, buffer.path, buffer.lines(keep=keep))
        buffer.tell_broken(found.lines)
        self._settled[project_id] = stamp
        return found

    def note_rewritten(self, project_id: str) -> None:
        """The disk took a rewrite of the project's buffer."""
        self.troubles.over(project_id, "rewrite")
        self._settled[project_id] = self.buffer(project_id).stamp()

    def note_project(self, project: Project) -> None:
        """Remembers where a project's root lies; its id is made from that, so only one that was unknown changes."""
        noted = (project.project_id, sound_text(project.root))
        found = "SELECT 1 FROM projects WHERE project_id = ? AND root = ?"
        if self._connection.execute(found, noted).fetchone() is None:  # as it is: to write takes turns with others
            self._connection.execute(
                "INSERT INTO projects (project_id, root) VALUES (?, ?) ON CONFLICT (project_id)"
                " DO UPDATE SET root = excluded.root WHERE root <> excluded.root",
                noted,
            )

    def set_recording(self, project: Project, enabled: bool) -> None:
        """Switches recording for a project, in every window."""
        self._connection.execute(
            "INSERT INTO projects (project_id, root, recording) VALUES (?, ?, ?)"
            " ON CONFLICT (project_id) DO UPDATE SET recording = excluded.recording, root = excluded.root",
            (project.project_id, sound_text(project.root), int(enabled)),
        )

    def close(self) -> None:
        """Lets go of the buffers."""
        for buffer in self._buffers.values():
            buffer.close()

    @contextmanager
    def _buffer_held(self, project_id: str, care: Care) -> Iterator[Buffer | None]:
        """The project's buffer, locked and healed, for the block; None where the disk refuses that."""
        buffer = self.buffer(project_id)
        with ExitStack() as stack:
            yield buffer if self._taken(project_id, buffer, stack, care) else None

    def _taken(self, project_id: str, buffer: Buffer, stack: ExitStack, care: Care) -> bool:
        try:
            stack.enter_context(buffer.held())
            self.troubles.over(project_id, "lock")
            self._heal(project_id, buffer, care)
        except OSError as error:
            self._note(project_id, "lock" if isinstance(error, LockUnavailable) else "append", buffer, error)
            return False
        return True

    def _heal(self, project_id: str, buffer: Buffer, care: Care) -> None:
        """Settles the buffer where a process may have died after an append, or where lines may have been taken away
        by hand. Needs the buffer's lock."""
        stamp = buffer.stamp()
        first = self._rows.first_waiting(project_id)
        undecided = first is not None and self._left_waiting.get(project_id) != (first, stamp)
        if undecided or self._in_doubt(project_id, stamp, care):
            self.settle(project_id, buffer)

    def _in_doubt(self, project_id: str, stamp: Stamp, care: Care) -> bool:
        """Whether events may lack their lines: at the first use; with no bytes there, when they all do; when the file
        shrank in its place. A look also doubts a file that is another one than before, which may be a rewrite of
        another process, and a feed any change; an append must not read the file after each append of others."""
        settled = self._settled.get(project_id)
        if settled is None or stamp[1] == 0 or shrank(settled, stamp):
            return True
        return (care == "feed" and stamp != settled) or (care == "look" and stamp[0] != settled[0])

    def _may_lack_lines(self, project_id: str) -> bool:
        try:
            stamp = self.buffer(project_id).stamp()
        except OSError:  # the status tells of it as long as it lasts
            return False
        doubt = self._in_doubt(project_id, stamp, "look")
        if not doubt:
            self._note_grown(project_id, stamp, stamp)
        return doubt

    def _note_grown(self, project_id: str, before: Stamp, after: Stamp) -> None:
        """What was appended, by this process or by others, cannot be cut off unseen any more. A file that is not the
        one that was settled stays in doubt."""
        if self._settled[project_id][0] == before[0]:
            self._settled[project_id] = after

    def _feed(self, project_id: str, buffer: Buffer, ceiling_bytes: int, *, afresh: bool = False) -> list[str]:
        """Appends waiting events as far as they fit; the ids of those that did."""
        offered: list[tuple[str, int]] = []
        try:
            before = buffer.stamp()
            with closing(self._rows.waiting_lines(project_id, offered)) as lines:
                count = buffer.append(lines, ceiling_bytes, afresh=afresh)
            if count:
                with transaction(self._connection):
                    self._rows.move_first_waiting(project_id, offered[count - 1][1])
                self._note_grown(project_id, before, buffer.stamp())
            if len(offered) > count:
                self._left_waiting[project_id] = (offered[count][0], buffer.stamp())
        except (OSError, sqlite3.Error) as error:
            self._note(project_id, "append", buffer, error)
            return []
        self.troubles.over(project_id, "append")
        return [event_id for event_id, _ in offered[:count]]

    def _note(self, project_id: str, kind: Trouble, buffer: Buffer, error: Exception) -> None:
        if not isinstance(error, NotAFile):  # what is in the way is told as long as it lies there
            self.troubles.note(project_id, kind, buffer.path, error)


def _result(event: StoredEvent, duplicate: bool, staged: set[str]) -> EventResult:
    if duplicate:
        return EventResult(event.event_id, "duplicate")
    return EventResult(event.event_id, "buffered" if event.event_id in staged else "stored")
