"""Reading a data folder without changing anything in it, whether a server uses it or not.

Nothing is made, and nothing is opened for writing. A database that somebody has open is read through SQLite with its
write-ahead log; one that nobody has open is read as the file stands, and read anew if somebody opens it meanwhile.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TypeVar

import portalocker

from lithify.core.pipeline import Purpose
from lithify.core.projects import BufferSize
from lithify.storage.buffer import Buffer
from lithify.storage.database import BUSY_TIMEOUT_SECONDS, MIGRATIONS, DatabaseTooNew
from lithify.storage.paths import buffer_folder, database_file, open_private
from lithify.storage.store import Store, open_store

ATTEMPTS = 5
"""How often a file is read as it stands while others keep opening and closing it."""

_PROBE = portalocker.LockFlags.SHARED | portalocker.LockFlags.NON_BLOCKING

Value = TypeVar("Value")


class Unusable(Exception):
    """A data folder cannot be used: why, and what to do, in one line."""


def read_store(data_dir: Path, read: Callable[[Store], Value]) -> Value | None:
    """What `read` finds in the store, which it must not change; None where nothing was recorded yet.

    `read` may run more than once. Raises Unusable.
    """
    path = database_file(data_dir)
    with _told(path):
        for attempt in range(ATTEMPTS):
            before = _stamp(path)
            if before is None:
                return None
            at_rest = not _is_open(path)
            try:
                found = _read(path, data_dir, read, at_rest=at_rest)
            except sqlite3.DatabaseError:
                if _stamp(path) == before or attempt == ATTEMPTS - 1:
                    raise
            else:
                if not at_rest or _stamp(path) == before:
                    return found
        raise sqlite3.OperationalError("others opened and closed it at every try")


def has_store(data_dir: Path) -> bool:
    """Whether there is a database in a data folder. Raises Unusable."""
    path = database_file(data_dir)
    with _told(path):
        return _stamp(path) is not None


@contextmanager
def store_to_change(data_dir: Path, now: Callable[[], str] | None = None) -> Iterator[Store]:
    """The store of a data folder, made where there is none, open for a block; one that adds nothing needs no clock.
    Raises Unusable, also for what fails in the block."""
    with _told(database_file(data_dir)), closing(open_store(data_dir, now or _no_time)) as store:
        yield store


def read_buffer(data_dir: Path, project_id: str) -> bytes:
    """The bytes of a project's buffer; none where there is no file. Raises Unusable."""
    buffer = Buffer(buffer_folder(data_dir, project_id))
    with _told(buffer.path):
        return buffer.read()


def buffer_size(data_dir: Path, project_id: str) -> BufferSize:
    """What a project's buffer holds now. Raises Unusable."""
    buffer = Buffer(buffer_folder(data_dir, project_id))
    with _told(buffer.path):
        return buffer.size()


def is_working(store: Store, data_dir: Path, project_id: str, purpose: Purpose) -> bool:
    """Whether any process does that work on the project now; false where that cannot be told."""
    if purpose == "extraction":
        return _is_locked(buffer_folder(data_dir, project_id) / "extraction.lock")
    return bool(store.pipeline.claimed(project_id, purpose)) and _is_locked(data_dir / "compaction.lock")


def _read(path: Path, data_dir: Path, read: Callable[[Store], Value], *, at_rest: bool) -> Value | None:
    with closing(_connected(path, at_rest=at_rest)) as connection:
        version = int(connection.execute("PRAGMA user_version").fetchone()[0])
        if version > len(MIGRATIONS):
            raise DatabaseTooNew(f"is of a newer Lithify (schema {version}; this one knows {len(MIGRATIONS)})")
        if version == 0 and connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0] == 0:
            return None
        if version < len(MIGRATIONS):
            raise Unusable(f"{path} is of an older Lithify; a server brings it up to date: open your editor once")
        connection.execute("BEGIN")  # one state of the database for all that is read
        store = Store(connection, data_dir, _no_time)
        found = read(store)
        connection.execute("COMMIT")
        return found


def _connected(path: Path, *, at_rest: bool) -> sqlite3.Connection:
    how = "immutable=1" if at_rest else "readonly_shm=1" if _beside(path, "-shm").exists() else "cache=private"
    address = f"{path.as_uri()}?mode=ro&{how}"
    return sqlite3.connect(address, uri=True, timeout=BUSY_TIMEOUT_SECONDS, isolation_level=None)


def _no_time() -> str:
    raise AssertionError("only what is added bears a time")


def _is_open(path: Path) -> bool:
    """Whether somebody has the database open, or died while they had."""
    return _beside(path, "-wal").exists()


def _beside(path: Path, ending: str) -> Path:
    return path.with_name(path.name + ending)


def _stamp(path: Path) -> tuple[bool, int, int, int] | None:
    """Changes whenever somebody opens or changes the database; None where there is none. Raises OSError."""
    try:
        with os.fdopen(open_private(path, os.O_RDONLY), "rb") as file:
            status = os.fstat(file.fileno())
    except FileNotFoundError:
        return None
    return _is_open(path), status.st_ino, status.st_size, status.st_mtime_ns


def _is_locked(path: Path) -> bool:
    try:
        with os.fdopen(open_private(path, os.O_RDONLY), "rb") as file:
            portalocker.lock(file, _PROBE)
    except portalocker.exceptions.AlreadyLocked:
        return True
    except (OSError, portalocker.exceptions.LockException):
        return False
    return False


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """Says in one line, for people, why the database at `path` cannot be used."""
    try:
        yield
    except DatabaseTooNew as error:
        raise Unusable(
            f"{path} {str(error).removeprefix(f'{path} ')}; update Lithify, or name another folder with --data-dir"
        ) from error
    except sqlite3.Error as error:
        raise Unusable(f"{path} {_reason(error)}") from error
    except OSError as error:
        why = f"{error.filename or path} cannot be read or written ({error.strerror or error})"
        raise Unusable(f"{why}; see 'lithify doctor' for what to do") from error


def _reason(error: sqlite3.Error) -> str:
    name = getattr(error, "sqlite_errorname", "")
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return "is locked by another program; end that program, or try again when it is done"
    if name.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")) or "no such " in str(error):
        return f"is damaged ({error}); see 'lithify doctor' for what to do"
    return f"cannot be used ({error}); see 'lithify doctor' for what to do"
