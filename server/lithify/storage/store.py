"""Everything kept on disk, of one data folder, behind one door."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from pathlib import Path

from lithify.core.model_calls import ModelCall
from lithify.storage import system
from lithify.storage.compactions import CompactionStore
from lithify.storage.database import open_database, sound_text, transaction
from lithify.storage.document_compactions import DocumentCompactionStore
from lithify.storage.event_log import EventLog
from lithify.storage.left_behind import note_left_behind
from lithify.storage.memory import MemoryStore
from lithify.storage.paths import database_file
from lithify.storage.pipeline import PipelineStore
from lithify.storage.sessions import SessionStore
from lithify.storage.staging import Staging

BUDGET_SPAN = timedelta(hours=1, minutes=1)
"""From an hour ago to a minute from now: so far a clock may be put back before calls noted earlier count no more."""

PROBE_BYTES = 1 << 20
"""What a disk must take to be taken for well: room for the largest of usual messages."""


class Store:
    """The event log, the sessions and their compactions. Used from one thread; safe between processes."""

    def __init__(self, connection: sqlite3.Connection, data_dir: Path, now: Callable[[], str]) -> None:
        self._connection = connection
        self._path = database_file(data_dir)
        self._inode = os.stat(self._path).st_ino
        connection.execute("PRAGMA secure_delete = ON")  # what is forgotten is overwritten, not only let go
        self.events = EventLog(connection, data_dir, now)
        self.sessions = SessionStore(connection)
        self.compactions = CompactionStore(connection, self.sessions)
        self.document_compactions = DocumentCompactionStore(connection)
        self.memory = MemoryStore(connection)
        self.pipeline = PipelineStore(connection)
        self.staging = Staging(connection, data_dir, self.events, self.memory, self.pipeline)

    def is_current(self) -> bool:
        """Whether the database's file is still the one that was opened, and not one that somebody deleted."""
        try:
            return os.stat(self._path).st_ino == self._inode
        except OSError:
            return False

    def probe(self) -> None:
        """Sees whether the database and the disk take a write, and leaves nothing of it. Raises sqlite3.Error or
        OSError where not, without waiting."""
        (timeout_ms,) = self._connection.execute("PRAGMA busy_timeout").fetchone()
        self._connection.execute("PRAGMA busy_timeout = 0")
        try:
            with self.transaction():
                (version,) = self._connection.execute("PRAGMA user_version").fetchone()
                self._connection.execute(f"PRAGMA user_version = {version}")  # the same one, and written all the same
        finally:
            self._connection.execute(f"PRAGMA busy_timeout = {timeout_ms}")
        system.probe(self._path, PROBE_BYTES)

    def transaction(self) -> AbstractContextManager[None]:
        """A write transaction around the block."""
        return transaction(self._connection)

    def note_model_call(self, call: ModelCall) -> int:
        """Adds a line to the ledger of model calls; its number."""
        added = self._connection.execute(
            "INSERT INTO model_calls (at, purpose, provider, model, host, bytes, tokens, user_initiated, outcome)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                call.at,
                call.purpose,
                call.provider,
                sound_text(call.model),
                call.host,
                call.size_bytes,
                call.tokens,
                int(call.user_initiated),
                call.outcome,
            ),
        )
        return added.lastrowid or 0

    def settle_model_call(self, number: int, call: ModelCall | None) -> None:
        """Says what became of a call that was noted; None takes its line back, since nothing was sent."""
        self._connection.execute("DELETE FROM model_calls WHERE rowid = ?", (number,))
        if call is not None:
            self.note_model_call(call)

    def model_use_since(self, at: str) -> tuple[int, int]:
        """Model calls, and their tokens, of the hour since a time (ISO 8601 in UTC) that no user asked for, those that
        go on now too; the offline model costs nothing. Later ones do not count: they were noted before the clock was
        put back."""
        until = (datetime.fromisoformat(at) + BUDGET_SPAN).isoformat(timespec="milliseconds")
        calls, tokens = self._connection.execute(
            "SELECT count(*), coalesce(sum(tokens), 0) FROM model_calls"
            " WHERE at BETWEEN ? AND ? AND user_initiated = 0 AND provider <> 'offline'",
            (at, until),
        ).fetchone()
        return calls, tokens

    def model_calls(self, limit: int, *, without_provider: str | None = None) -> list[ModelCall]:
        """The lines of the ledger, the newest first; not those of a provider that is named."""
        rows = self._connection.execute(
            "SELECT at, purpose, provider, model, host, bytes, tokens, user_initiated, outcome FROM model_calls"
            " WHERE provider IS NOT ? ORDER BY at DESC, rowid DESC LIMIT ?",
            (without_provider, limit),
        ).fetchall()
        return [
            ModelCall(at, purpose, provider, model, host, size, tokens, bool(by_user), outcome)
            for at, purpose, provider, model, host, size, tokens, by_user, outcome in rows
        ]

    def forget_record(self, record_id: str) -> bool:
        """Deletes a memory record for good, from the index's own pages too; whether there was one."""
        with self.transaction():
            found = self.memory.forget(record_id)
        if found:
            self.memory.purge_index()
        return found

    def close(self) -> None:
        """Closes the database and lets go of the buffers."""
        self.staging.close()
        self.events.close()
        self._connection.close()


def open_store(data_dir: Path, now: Callable[[], str]) -> Store:
    """The store of a data folder, made where it is missing. Raises OSError, sqlite3.Error or DatabaseTooNew."""
    connection = open_database(database_file(data_dir))
    try:
        note_left_behind(connection, data_dir)
        return Store(connection, data_dir, now)
    except BaseException:
        connection.close()
        raise
