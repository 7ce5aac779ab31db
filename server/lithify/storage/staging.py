"""What the two workers do to a project's buffer: look, claim, take out, replace.

Everything happens under the buffer's lock, in the order that a crash at any point can be healed from: what became of
events is committed to the database first, their lines leave the file second. `_healed` makes up for a second step
that never came, and for what was done to the file by hand. A summary and the lines it covers change places in one
rename.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from lithify.core.entries import Entry, Line, entry_line, read_line, read_lines
from lithify.core.eviction import Evicted
from lithify.core.pipeline import Purpose
from lithify.core.projects import BufferLook, Project
from lithify.core.records import RecordDraft
from lithify.storage.buffer import NEWLINE, Buffer
from lithify.storage.database import foreign_commits, transaction
from lithify.storage.event_log import EventLog
from lithify.storage.locks import FileLock
from lithify.storage.memory import MemoryStore
from lithify.storage.paths import buffer_folder, require_file
from lithify.storage.pipeline import PipelineStore

PROBE_SECONDS = 0.05
"""A lock that is still taken after so long is held for work, and not by somebody who looks whether it is."""

READ_BYTES = 1 << 18
"""What one piece of a buffer is read by: some 5 ms, in which nothing else can be stored."""

Choose = Callable[[list[Entry]], list[Entry]]


@dataclass(frozen=True, slots=True)
class _Settled:
    """The lines of a buffer as they were settled: the bytes that they are in the file, and the commits that the
    database had seen of others. They hold as long as the file begins with them and nobody else commits anything: what
    this process itself makes of events, it does to their lines too."""

    data: bytes
    lines: list[Line]
    foreign_commits: int


class Staging:
    """The buffers of one data folder as the workers see them. Used from one thread; safe between processes."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        data_dir: Path,
        events: EventLog,
        memory: MemoryStore,
        pipeline: PipelineStore,
    ) -> None:
        self._connection = connection
        self._data_dir = data_dir
        self._events = events
        self._memory = memory
        self._pipeline = pipeline
        self._extraction_locks: dict[str, FileLock] = {}
        self._compaction_lock = FileLock(data_dir / "compaction.lock")
        self._rights: set[FileLock] = set()  # as long as there is any, what the lines of buffers say is kept
        self._settled: dict[str, _Settled] = {}

    # --- the locks of the two kinds of work ---

    def begin_extraction(self, project_id: str) -> bool:
        """Takes the right to extract a project, for all processes; whether it was free."""
        return self._begin(self._extraction_lock(project_id), lambda: self._pipeline.release(project_id, "extraction"))

    def end_extraction(self, project_id: str) -> None:
        """Gives the right and the claims back."""
        self._end(self._extraction_lock(project_id), lambda: self._pipeline.release(project_id, "extraction"))

    def begin_compaction(self) -> bool:
        """Takes the right to compact a buffer, the only one on this machine; whether it was free."""
        return self._begin(self._compaction_lock, lambda: self._pipeline.release_all("compaction"))

    def end_compaction(self) -> None:
        """Gives the right and the claims back."""
        self._end(self._compaction_lock, lambda: self._pipeline.release_all("compaction"))

    def is_working(self, project_id: str, purpose: Purpose) -> bool:
        """Whether any process does that work on the project now. A lock that cannot be asked is the project's disk
        error as long as that lasts, and nobody's."""
        claimless = purpose == "compaction" and not self._pipeline.claimed(project_id, purpose)
        try:
            require_file(self._lock(project_id, purpose).path)
            working = not claimless and self._alive(project_id, purpose)
        except OSError as error:
            self._events.troubles.note(project_id, purpose, self._lock(project_id, purpose).path, error)
            return False
        self._events.troubles.over(project_id, purpose)
        return working

    def _begin(self, lock: FileLock, release_claims: Callable[[], None]) -> bool:
        """Takes a lock and clears the claims that a dead process left; the lock is free again when that fails."""
        taken = lock.try_acquire(PROBE_SECONDS)
        if taken:
            try:
                self._in_transaction(release_claims)
            except BaseException:
                lock.release()
                raise
            self._rights.add(lock)
        return taken

    def _end(self, lock: FileLock, release_claims: Callable[[], None]) -> None:
        """Claims that cannot be released now are void all the same, once the lock is free."""
        try:
            self._in_transaction(release_claims)
        finally:
            lock.release()
            self._rights.discard(lock)
            if not self._rights:
                self.forget()

    def _in_transaction(self, work: Callable[[], None]) -> None:
        with transaction(self._connection):
            work()

    # --- the buffer ---

    def look(self) -> list[BufferLook]:
        """How the buffer of every known project stands now; takes no lock. One that cannot be looked at is left out,
        and costs the others nothing."""
        looks = []
        for project_id, root, size_after in self._connection.execute(
            "SELECT p.project_id, p.root, r.size_after_bytes FROM projects p LEFT JOIN runs r"
            " ON r.project_id = p.project_id AND r.purpose = 'compaction'"
        ).fetchall():
            with suppress(OSError):
                _, size_bytes, modified_ns = self._events.buffer(project_id).stamp()
                looks.append(BufferLook(Project(project_id, root), size_bytes, modified_ns, size_after))
        return looks

    def read_on(self, project_id: str) -> bool:
        """Reads a piece of a buffer for the work that the caller has the right to, which then has less to read at once;
        whether little is left. Raises OSError."""
        with self._events.working(project_id) as buffer:
            return buffer.read_on(READ_BYTES)

    def entries(self, project_id: str) -> list[Entry]:
        """The entries of a buffer, in file order; what was extracted or evicted already is gone. Raises OSError."""
        with self._events.working(project_id) as buffer:
            return _entries(self._lines(project_id, buffer))

    def claim(self, project_id: str, purpose: Purpose, choose: Choose) -> list[Entry]:
        """Claims those of the entries nobody else works on that `choose` picks; needs the purpose's lock.

        Raises OSError; then nothing more is claimed than before.
        """
        other: Purpose = "compaction" if purpose == "extraction" else "extraction"
        with self._events.working(project_id) as buffer:
            taken = self._pipeline.claimed(project_id, other)
            if taken and not self._alive(project_id, other):
                with transaction(self._connection):
                    self._pipeline.release(project_id, other)
                taken = set()
            free = [one for one in _entries(self._lines(project_id, buffer)) if one.event_id not in taken]
            chosen = choose(free)
            with transaction(self._connection):
                self._pipeline.claim(project_id, purpose, [one.event_id for one in chosen])
            return chosen

    def extract(
        self,
        project_id: str,
        batch: Sequence[Entry],
        drafts: Sequence[RecordDraft],
        method: str,
        new_id: Callable[[], str],
        now: str,
    ) -> int:
        """Keeps the records of a batch and marks its events, in one transaction; then its lines leave the buffer.

        Answers how many events became extracted now. Those that were gone already are no record's source, and a draft
        that names only such makes none: nothing is extracted twice. Raises sqlite3.Error, then nothing happened, or
        OSError, then only the lines are left, for the next snapshot to drop.
        """
        covered = [event_id for entry in batch for event_id in entry.covered_ids]
        with self._durable_transaction():
            fresh = self._pipeline.there(project_id, covered)
            for draft in drafts:
                sources = tuple(event_id for event_id in draft.source_event_ids if event_id in fresh)
                if sources:
                    self._memory.keep(project_id, replace(draft, source_event_ids=sources), new_id(), now, method)
            self._pipeline.mark(fresh, "extracted")
        with self._lines_of_marked(project_id):
            self._drop_gone(project_id, covered)
        return len(fresh)

    def replace(self, project_id: str, covered: Collection[str], summaries: Sequence[Entry]) -> bool:
        """Puts summaries first and takes the lines they cover out, all others kept as they are, byte for byte.

        False, and nothing happens, when a line they cover is no longer there. Raises OSError; then nothing happened.
        """
        with self._events.working(project_id) as buffer:
            settled, appended = self._settled_and_appended(project_id, buffer)
            there = {line.entry.event_id for line in settled.lines if line.entry is not None}
            if not there.issuperset(covered):
                return False
            made = [read_line(entry_line(entry).encode()) for entry in summaries]
            kept = [line for line in settled.lines if line.entry is None or line.entry.event_id not in covered]
            self._rewrite(project_id, buffer, replace(settled, lines=[*made, *kept]), appended)
        return True

    def evict(self, project_id: str, evicted: Evicted) -> None:
        """Lets entries go: listed as evicted in the database first, then out of the file; a lone one is cut there.

        Raises sqlite3.Error, then nothing happened, or OSError, then only the lines are left, for the next snapshot.
        """
        covered = [one for entry in evicted.dropped for one in entry.covered_ids]
        with self._durable_transaction():
            self._pipeline.mark(self._pipeline.there(project_id, covered), "evicted")
        with self._lines_of_marked(project_id):
            if evicted.replacement is not None:
                self._substitute(project_id, evicted.replacement)
            self._drop_gone(project_id, covered)

    def forget(self) -> None:
        """Lets go of what is known of the lines of buffers; they are read and held against the database anew."""
        self._settled.clear()
        self._events.forget_lines()

    def close(self) -> None:
        """Lets go of the locks' files."""
        for lock in (*self._extraction_locks.values(), self._compaction_lock):
            lock.close()

    @contextmanager
    def _lines_of_marked(self, project_id: str) -> Iterator[None]:
        """The block takes lines out whose events were marked. Where it does not come to that, what is known of the
        buffer's lines is let go of: it does not hold any more."""
        try:
            yield
        except BaseException:
            self._settled.pop(project_id, None)
            raise

    def _drop_gone(self, project_id: str, covered: Sequence[str]) -> None:
        """Takes the lines out whose events were all marked."""
        with self._events.working(project_id) as buffer:
            settled, appended = self._settled_and_appended(project_id, buffer)
            gone = frozenset(covered).difference(self._pipeline.there(project_id, covered))
            kept = _without(settled.lines, gone)
            if len(kept) < len(settled.lines):
                self._rewrite(project_id, buffer, replace(settled, lines=kept), appended)

    def _substitute(self, project_id: str, entry: Entry) -> None:
        with self._events.working(project_id) as buffer:
            settled, appended = self._settled_and_appended(project_id, buffer)
            made = read_line(entry_line(entry).encode())
            changed = [
                made if line.entry is not None and line.entry.event_id == entry.event_id else line
                for line in settled.lines
            ]
            self._rewrite(project_id, buffer, replace(settled, lines=changed), appended)

    def _lines(self, project_id: str, buffer: Buffer) -> list[Line]:
        """All lines of a buffer, in line with the database, without those whose events are all gone."""
        settled, appended = self._settled_and_appended(project_id, buffer)
        if not appended:
            return settled.lines
        found = self._events.settle_appended(project_id, buffer, read_lines(appended))
        if found.gone or found.scrubbed:
            return self._healed(project_id, buffer).lines
        lines = [*settled.lines, *found.lines]
        buffer.tell_broken(lines)
        self._keep(project_id, _Settled(settled.data + appended, lines, settled.foreign_commits))
        return lines

    def _settled_and_appended(self, project_id: str, buffer: Buffer) -> tuple[_Settled, bytes]:
        """The lines of a buffer as `_lines` has them, and those that were appended since they were settled last, which
        nobody has looked at."""
        settled = self._settled.get(project_id)
        if (
            settled is not None
            and settled.foreign_commits == foreign_commits(self._connection)
            and self._events.only_grew(project_id, buffer.stamp())
        ):
            data = buffer.read()
            if data.startswith(settled.data) and data.endswith(NEWLINE):
                return settled, data[len(settled.data) :]
        return self._healed(project_id, buffer), b""

    def _healed(self, project_id: str, buffer: Buffer) -> _Settled:
        """The lines of a buffer, all of them held against the database."""
        commits = foreign_commits(self._connection)
        found = self._events.settle(project_id, buffer, keep=bool(self._rights))
        settled = _Settled(buffer.kept, _without(found.lines, found.gone), commits)
        if found.scrubbed or len(settled.lines) < len(found.lines):
            self._rewrite(project_id, buffer, settled)
        else:
            self._keep(project_id, settled)
        return settled

    def _rewrite(self, project_id: str, buffer: Buffer, settled: _Settled, appended: bytes = b"") -> None:
        """Puts the lines of what is settled in place of the buffer's, and what was appended after them."""
        self._settled.pop(project_id, None)
        buffer.rewrite(settled.lines, appended)
        self._events.note_rewritten(project_id)
        self._keep(project_id, replace(settled, data=buffer.kept))
        self._pipeline.lower_size_after(project_id, buffer.stamp()[1])

    def _keep(self, project_id: str, settled: _Settled) -> None:
        """Keeps what the lines are as long as there is work."""
        if settled.data and self._rights:
            self._settled[project_id] = settled

    @contextmanager
    def _durable_transaction(self) -> Iterator[None]:
        """A transaction that also survives a power cut: without it the file's fsync could outlive what became of the
        events that left the file, and they would be nowhere."""
        self._connection.execute("PRAGMA synchronous = FULL")
        try:
            with transaction(self._connection):
                yield
        finally:
            self._connection.execute("PRAGMA synchronous = NORMAL")

    def _alive(self, project_id: str, purpose: Purpose) -> bool:
        return self._lock(project_id, purpose).is_held()

    def _lock(self, project_id: str, purpose: Purpose) -> FileLock:
        return self._compaction_lock if purpose == "compaction" else self._extraction_lock(project_id)

    def _extraction_lock(self, project_id: str) -> FileLock:
        if project_id not in self._extraction_locks:
            folder = buffer_folder(self._data_dir, project_id)
            self._extraction_locks[project_id] = FileLock(folder / "extraction.lock")
        return self._extraction_locks[project_id]


def _without(lines: list[Line], gone: frozenset[str]) -> list[Line]:
    """The lines without those whose events are all gone."""
    if not gone:
        return lines
    return [line for line in lines if line.entry is None or not gone.issuperset(line.entry.covered_ids)]


def _entries(lines: Sequence[Line]) -> list[Entry]:
    """The entries of lines, each id once: somebody may have copied a line by hand."""
    found: dict[str, Entry] = {}
    for line in lines:
        if line.entry is not None:
            found.setdefault(line.entry.event_id, line.entry)
    return list(found.values())
