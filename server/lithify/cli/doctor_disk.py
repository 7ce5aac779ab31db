"""What `lithify doctor` tries on the disk that the data lies on, in a folder of its own that is removed at once."""

from __future__ import annotations

import os
import sqlite3
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

from lithify.cli.doctor_folder import ELSEWHERE, TRIAL_PREFIX, readable
from lithify.cli.doctor_report import Check
from lithify.storage.database import open_database
from lithify.storage.locks import FileLock, LockUnavailable

HELD_SECONDS = 0.2
FREE_SECONDS = 2.0
"""How long a lock is waited for that is held, and one that is free."""

TRIAL_SECONDS = 6.0


def look_at_disk(folder: Path) -> Iterator[Check]:
    """Whether locks and SQLite's WAL work in the data folder; where there is none yet, in that for temporary files."""
    there = folder.is_dir() if readable(folder) else True
    if there and not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        yield Check("Locks", "note", "not tried, since the data folder cannot be used")
        yield Check("SQLite WAL", "note", "not tried, since the data folder cannot be used")
        return
    where = "in the data folder" if there else "in the folder for temporary files (there is no data folder yet)"
    with tempfile.TemporaryDirectory(
        prefix=TRIAL_PREFIX, dir=folder if there else None, ignore_cleanup_errors=True
    ) as made:
        yield _tried("Locks", f"work {where}", _within(TRIAL_SECONDS, _try_locks, Path(made)))
        yield _tried("SQLite WAL", f"works {where}", _within(TRIAL_SECONDS, _try_wal, Path(made)))


def _tried(name: str, works: str, problem: str | None) -> Check:
    return Check(name, "ok", works) if problem is None else Check(name, "fails", problem, ELSEWHERE)


def _try_locks(folder: Path) -> str | None:
    """What is wrong with locks in a folder; None when nothing is."""
    path = folder / "trial.lock"
    first, second = FileLock(path, FREE_SECONDS), FileLock(path, HELD_SECONDS)
    try:
        with closing(first), closing(second):
            with first.held():
                if _can_be_taken(second):
                    return "do not hold: a lock that is taken can be taken again"
            if not _can_be_taken(second):
                return "are not given back: a lock that was freed cannot be taken again"
    except LockUnavailable as error:
        return f"cannot be taken ({_cause(error)})"
    except OSError as error:
        return f"cannot be taken ({error.strerror or error})"
    return None


def _can_be_taken(lock: FileLock) -> bool:
    try:
        with lock.held():
            return True
    except LockUnavailable:
        return False


def _cause(error: LockUnavailable) -> str:
    """What the operating system said about a lock."""
    inner = error.__cause__
    said = inner.args[0] if inner is not None and inner.args else error
    return (said.strerror or str(said)) if isinstance(said, OSError) else str(said)


def _try_wal(folder: Path) -> str | None:
    """What is wrong with a database in a folder; None when nothing is."""
    try:
        with closing(open_database(folder / "trial.db")) as connection:
            mode = connection.execute("PRAGMA journal_mode").fetchone()[0]
    except (sqlite3.Error, OSError) as error:
        return f"does not work ({error})"
    return None if mode == "wal" else f"does not work (SQLite fell back to the mode '{mode}')"


def _within(seconds: float, trial: Callable[[Path], str | None], folder: Path) -> str | None:
    """The outcome of a trial, which may hang on a broken network disk: then it is left to itself."""
    outcome: list[str | None] = []
    thread = threading.Thread(target=lambda: outcome.append(trial(folder)), daemon=True)
    thread.start()
    thread.join(seconds)
    return outcome[0] if outcome else f"gave no answer within {seconds:g} s"
