"""The database: one SQLite file in WAL mode, its schema, and its migrations."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from lithify.storage.paths import FILE_MODE, make_private_folder, require_file

BUSY_TIMEOUT_SECONDS = 5.0
POLL_SECONDS = 0.005

Value = TypeVar("Value")

MIGRATIONS = (
    """
    CREATE TABLE projects (
        project_id TEXT PRIMARY KEY, root TEXT NOT NULL, recording INTEGER NOT NULL DEFAULT 1
    );
    CREATE TABLE events (
        event_id TEXT PRIMARY KEY, sequence INTEGER NOT NULL UNIQUE, project_id TEXT NOT NULL, state TEXT NOT NULL
            CHECK (state IN ('waiting', 'buffered', 'extracted', 'evicted')),
        session_id TEXT NOT NULL, actor_id TEXT NOT NULL, parent_event_id TEXT, kind TEXT NOT NULL, body TEXT NOT NULL,
        valid_time TEXT NOT NULL, recorded_at TEXT NOT NULL, namespace TEXT NOT NULL, surface TEXT NOT NULL,
        source TEXT NOT NULL, content_hash TEXT, schema_version INTEGER NOT NULL DEFAULT 1
    );
    CREATE INDEX events_waiting ON events (project_id, sequence) WHERE state = 'waiting';
    CREATE TABLE memory_records (
        record_id TEXT PRIMARY KEY, project_id TEXT NOT NULL, type TEXT NOT NULL, title TEXT NOT NULL,
        summary TEXT NOT NULL, facts TEXT NOT NULL DEFAULT '[]', concepts TEXT NOT NULL DEFAULT '[]',
        files TEXT NOT NULL DEFAULT '[]', method TEXT NOT NULL, created_at TEXT NOT NULL,
        schema_version INTEGER NOT NULL DEFAULT 1
    );
    CREATE INDEX memory_records_of_project ON memory_records (project_id, created_at);
    CREATE TABLE record_events (
        record_id TEXT NOT NULL, event_id TEXT NOT NULL, PRIMARY KEY (record_id, event_id)
    ) WITHOUT ROWID;
    CREATE TABLE model_calls (
        at TEXT NOT NULL, purpose TEXT NOT NULL, provider TEXT NOT NULL, model TEXT, host TEXT, bytes INTEGER NOT NULL,
        tokens INTEGER NOT NULL, user_initiated INTEGER NOT NULL, outcome TEXT NOT NULL
    );
    CREATE INDEX model_calls_in_time ON model_calls (at);
    CREATE TABLE sessions (
        session_id TEXT PRIMARY KEY, title TEXT, project_id TEXT NOT NULL, agent TEXT NOT NULL,
        compaction_model TEXT, record TEXT, surface TEXT NOT NULL, revision INTEGER NOT NULL,
        message_count INTEGER NOT NULL, counted_bytes INTEGER NOT NULL, created_at TEXT NOT NULL,
        updated_at TEXT NOT NULL, closed INTEGER NOT NULL DEFAULT 0
    );
    CREATE INDEX sessions_by_use ON sessions (updated_at, session_id);
    CREATE TABLE session_messages (
        session_id TEXT NOT NULL, position INTEGER NOT NULL, message TEXT NOT NULL, counted_bytes INTEGER NOT NULL,
        compaction_id TEXT, PRIMARY KEY (session_id, position)
    ) WITHOUT ROWID;
    CREATE TABLE compactions (
        compaction_id TEXT PRIMARY KEY, session_id TEXT NOT NULL, sequence INTEGER NOT NULL, at TEXT NOT NULL,
        range_start INTEGER NOT NULL, range_end INTEGER NOT NULL, stats TEXT NOT NULL, summary TEXT NOT NULL,
        originals_kept INTEGER NOT NULL, undone INTEGER NOT NULL DEFAULT 0
    );
    CREATE INDEX compactions_of_session ON compactions (session_id, sequence);
    CREATE TABLE compaction_originals (
        compaction_id TEXT NOT NULL, position INTEGER NOT NULL, message TEXT NOT NULL, counted_bytes INTEGER NOT NULL,
        inner_compaction_id TEXT, PRIMARY KEY (compaction_id, position)
    ) WITHOUT ROWID;
    CREATE TABLE utterances (
        session_id TEXT NOT NULL, fingerprint TEXT NOT NULL, present INTEGER NOT NULL, event_ids TEXT NOT NULL,
        PRIMARY KEY (session_id, fingerprint)
    ) WITHOUT ROWID;
    """,
    """
    DROP TABLE memory_records;
    CREATE TABLE memory_records (
        record_id TEXT PRIMARY KEY, number INTEGER NOT NULL UNIQUE, project_id TEXT NOT NULL, type TEXT NOT NULL,
        exact_key TEXT NOT NULL, title TEXT NOT NULL, summary TEXT NOT NULL, facts TEXT NOT NULL,
        concepts TEXT NOT NULL, files TEXT NOT NULL, method TEXT NOT NULL, created_at TEXT NOT NULL,
        updated_at TEXT NOT NULL, schema_version INTEGER NOT NULL DEFAULT 1
    );
    CREATE INDEX memory_records_of_project ON memory_records (project_id, number);
    CREATE INDEX memory_records_alike ON memory_records (project_id, exact_key);
    CREATE INDEX record_events_by_event ON record_events (event_id);
    CREATE VIRTUAL TABLE memory_index USING fts5 (
        title, summary, facts, concepts, files, content = '',
        tokenize = 'unicode61 remove_diacritics 2'
    );
    CREATE TABLE claims (
        project_id TEXT NOT NULL, purpose TEXT NOT NULL, entry_id TEXT NOT NULL,
        PRIMARY KEY (project_id, purpose, entry_id)
    ) WITHOUT ROWID;
    CREATE TABLE runs (
        project_id TEXT NOT NULL, purpose TEXT NOT NULL, failures INTEGER NOT NULL, opened_at_ms INTEGER,
        last_run_at TEXT, last_error TEXT, last_method TEXT, size_after_bytes INTEGER,
        PRIMARY KEY (project_id, purpose)
    ) WITHOUT ROWID;
    """,
    """
    CREATE INDEX events_buffered ON events (project_id) WHERE state = 'buffered';
    """,
    """
    ALTER TABLE runs ADD COLUMN last_provider TEXT;
    ALTER TABLE runs ADD COLUMN last_model TEXT;
    """,
    """
    CREATE TABLE document_compactions (
        compaction_id TEXT PRIMARY KEY, sequence INTEGER NOT NULL UNIQUE, document TEXT NOT NULL, format TEXT NOT NULL,
        at TEXT NOT NULL, length INTEGER NOT NULL, changes TEXT NOT NULL, appended INTEGER NOT NULL,
        kept INTEGER NOT NULL, backup TEXT, certain INTEGER NOT NULL, undone INTEGER NOT NULL
    );
    CREATE INDEX document_compactions_of_document ON document_compactions (document, sequence);
    """,
)
"""The schema, step by step; `PRAGMA user_version` counts the steps taken. A step is never changed once released."""


class DatabaseTooNew(Exception):
    """The database was written by a newer Lithify."""


def open_database(path: Path) -> sqlite3.Connection:
    """A connection on an up-to-date database. Raises OSError, sqlite3.Error or DatabaseTooNew where there is none.

    Commits survive the end of the process at any instruction; a power cut may take the last ones, never the file.
    """
    make_private_folder(path.parent)
    require_file(path)  # by its name: to open and close it would give up locks that SQLite has on it in this process
    path.touch(mode=FILE_MODE)
    connection = sqlite3.connect(path, timeout=BUSY_TIMEOUT_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        _use_wal(connection)
        connection.execute("PRAGMA synchronous = NORMAL")
        _migrate(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """A write transaction: committed at the end of the block, rolled back when it raises."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def foreign_commits(connection: sqlite3.Connection) -> int:
    """Another number whenever another connection, of this process or of others, committed something."""
    return int(connection.execute("PRAGMA data_version").fetchone()[0])


def sound_text(value: Value) -> Value | str:
    """A value for a text column: lone surrogates, which SQLite refuses, become question marks."""
    if not isinstance(value, str) or value.isascii():
        return value
    return value.encode(errors="replace").decode()


def _use_wal(connection: sqlite3.Connection) -> None:
    """Switches to WAL mode; SQLite itself does not wait when another process does the same at this moment."""
    deadline = time.monotonic() + BUSY_TIMEOUT_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() >= deadline:
                raise
            time.sleep(POLL_SECONDS)
        else:
            return


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    if _version(connection, path) == len(MIGRATIONS):
        return
    with transaction(connection):
        for number in range(_version(connection, path), len(MIGRATIONS)):
            for statement in MIGRATIONS[number].split(";"):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {number + 1}")


def _version(connection: sqlite3.Connection, path: Path) -> int:
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if version > len(MIGRATIONS):
        raise DatabaseTooNew(
            f"{path} was written by a newer Lithify (schema {version}, this one knows {len(MIGRATIONS)}); "
            "update Lithify, or set dataDir to another folder"
        )
    return version
