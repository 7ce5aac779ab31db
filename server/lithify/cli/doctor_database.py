"""Reads a data folder's database for `lithify doctor` without changing anything in it."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from lithify.storage.database import MIGRATIONS

WAIT_SECONDS = 1.0
CHECK_SECONDS = 3.0
"""How long a lock is waited for, and how long a large file is read."""

_INSTRUCTIONS_BETWEEN_LOOKS = 10_000
_WAL_VERSION = b"\x02\x02"
_FORMAT_BYTES = slice(18, 20)


Limited: TypeAlias = Callable[[Callable[[], Any]], Any]
"""Runs a query and answers what it answers, or None where the time for all queries is over."""


@dataclass(frozen=True, slots=True)
class Projects:
    """Roots of projects by id, and how many events of each wait outside its buffer."""

    roots: dict[str, str] = field(default_factory=dict)
    waiting: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Contents:
    """What a sound database holds. `whole` says whether it could be read to its end in time."""

    version: int
    sessions: int
    events: int
    records: int
    projects: Projects
    whole: bool


@dataclass(frozen=True, slots=True)
class Unusable:
    """Why a database cannot be used, and what to do."""

    why: str
    next_step: str


def read_database(path: Path) -> Contents | Unusable:
    """What the database at `path`, which exists, holds. Takes a few seconds at most; never raises on what it finds.

    Nothing is written: a file that nobody has open is read as it stands, and the write lock that is tried on one that
    is open leaves no trace.
    """
    try:
        with path.open("rb") as file:
            head = file.read(100)
        if not head:
            return Contents(0, 0, 0, 0, Projects(), whole=True)
        return _read(path, head[_FORMAT_BYTES] == _WAL_VERSION)
    except sqlite3.Error as error:
        return _unusable(error, path)
    except OSError as error:
        step = "make it readable and writable for yourself (chmod 600), or run as the user it belongs to"
        return Unusable(f"cannot be read ({error.strerror or error})", step)


def _read(path: Path, in_wal_mode: bool) -> Contents | Unusable:
    in_use = path.with_name(f"{path.name}-wal").exists() or not in_wal_mode
    with closing(_connected(path, "mode=ro" if in_use else "mode=ro&immutable=1")) as connection:
        version = int(connection.execute("PRAGMA user_version").fetchone()[0])
        if version > len(MIGRATIONS):
            why = f"was written by a newer Lithify (schema {version}; this one knows {len(MIGRATIONS)})"
            return Unusable(why, "update Lithify (pip install --upgrade lithify), or set LITHIFY_DATA_DIR elsewhere")
        with _limited(connection) as limited:
            problem = limited(lambda: connection.execute("PRAGMA quick_check(1)").fetchone()[0])
            if problem not in (None, "ok"):
                return _damaged(path, str(problem))
            contents = _contents(connection, version, limited)
        if in_use:
            _try_write_lock(path)
    return contents


def _contents(connection: sqlite3.Connection, version: int, limited: Limited) -> Contents:
    if version == 0:
        return Contents(0, 0, 0, 0, Projects(), whole=True)

    def rows(query: str) -> Any:
        return limited(lambda: connection.execute(query).fetchall())

    counts = [rows(f"SELECT count(*) FROM {table}") for table in ("sessions", "events", "memory_records")]
    roots = rows("SELECT project_id, root FROM projects")
    waiting = rows("SELECT project_id, count(*) FROM events WHERE state = 'waiting' GROUP BY project_id")
    sessions, events, records = (found[0][0] if found else 0 for found in counts)
    projects = Projects(dict(roots or ()), dict(waiting or ()))
    return Contents(version, sessions, events, records, projects, whole=None not in (*counts, roots, waiting))


def _try_write_lock(path: Path) -> None:
    """Takes the write lock, as every write does, and gives it back. Raises sqlite3.Error where that cannot be.

    To be called while a reading connection is open, which keeps this one from tidying up when it closes.
    """
    with closing(_connected(path, "mode=rw")) as writing:
        writing.execute("BEGIN IMMEDIATE")
        writing.execute("ROLLBACK")


def _connected(path: Path, how: str) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.as_uri()}?{how}", uri=True, timeout=WAIT_SECONDS, isolation_level=None)


@contextmanager
def _limited(connection: sqlite3.Connection) -> Iterator[Limited]:
    deadline = time.monotonic() + CHECK_SECONDS

    def run(query: Callable[[], Any]) -> Any:
        try:
            return query()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorname != "SQLITE_INTERRUPT":
                raise
            return None

    connection.set_progress_handler(lambda: time.monotonic() > deadline, _INSTRUCTIONS_BETWEEN_LOOKS)
    try:
        yield run
    finally:
        connection.set_progress_handler(None, 0)


def _unusable(error: sqlite3.Error, path: Path) -> Unusable:
    name = getattr(error, "sqlite_errorname", "")
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        step = "end the program that holds it, such as a database tool or a backup; until then nothing can be stored"
        return Unusable("is locked by another program", step)
    if name.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")) or "no such " in str(error):
        return _damaged(path, str(error))
    step = "see to it that the file, its folder and the disk can be read and written, then try again"
    return Unusable(f"cannot be used ({error})", step)


def _damaged(path: Path, what: str) -> Unusable:
    step = (
        f"move {path.name}, {path.name}-wal and {path.name}-shm to another folder and keep them; "
        "Lithify then begins with an empty database"
    )
    return Unusable(f"is damaged ({' '.join(what.split())})", step)
