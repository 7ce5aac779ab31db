"""What `lithify doctor` looks at in the data folder, without changing anything there."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from lithify.cli.doctor_database import Contents, Projects, Unusable, read_database
from lithify.cli.doctor_report import Check, as_bytes, counted, shell_path
from lithify.storage.database import MIGRATIONS
from lithify.storage.paths import DATA_DIR_VARIABLE, FOLDER_MODE, database_file

LEAST_FREE_BYTES = 100 * 1024 * 1024
MOST_BUFFERS_SHOWN = 5

TRIAL_PREFIX = ".lithify-doctor-"
"""How the names of folders begin that are made for a trial and removed at once."""

ELSEWHERE = f"set {DATA_DIR_VARIABLE} (in an editor: the setting lithify.dataDir) to a folder of yours on a local disk"
UNREADABLE = "not looked at, since the data folder cannot be read"


def readable(folder: Path) -> bool:
    """Whether one can tell what is in a folder; so it is when the folder is not there."""
    try:
        os.listdir(folder)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def look_at_folder(folder: Path) -> Iterator[Check]:
    """Whether the folder is there or can be made, is private and writable, and has room."""
    details = {"path": str(folder), "exists": os.path.lexists(folder)}
    try:
        status = folder.stat()
        os.listdir(folder)
    except FileNotFoundError:
        yield _missing_folder(folder, details)
    except NotADirectoryError:
        yield Check("Data folder", "fails", f"{folder} is not a folder", ELSEWHERE, details)
    except OSError as error:
        step = f"make it readable for yourself (chmod 700 {shell_path(folder)}), or {ELSEWHERE}"
        yield Check("Data folder", "fails", f"{folder} cannot be read ({error.strerror or error})", step, details)
    else:
        yield _folder(folder, status, details)


def look_at_contents(folder: Path) -> Iterator[Check]:
    """Whether the database can be used and what is in it; the buffers, and how many events wait for room in them."""
    if not readable(folder):
        yield Check("Database", "note", UNREADABLE)
        yield Check("Buffers", "note", UNREADABLE)
        return
    path = database_file(folder)
    if os.path.lexists(path):
        found = read_database(path)
        yield _database(path, found)
        yield _buffers(folder, found.projects if isinstance(found, Contents) else None)
    else:
        yield Check("Database", "note", "not there yet; it is made on first use", None, {"exists": False})
        yield _buffers(folder, Projects())


def _missing_folder(folder: Path, details: Mapping[str, Any]) -> Check:
    if os.path.lexists(folder):
        return Check("Data folder", "fails", f"{folder} is a link that leads nowhere", ELSEWHERE, details)
    above = next(one for one in folder.parents if os.path.lexists(one))
    refused = _refusal(above)
    if refused is not None:
        return Check("Data folder", "fails", f"{folder} cannot be made in {above}{refused}", ELSEWHERE, details)
    return Check("Data folder", "ok", f"{folder} is not there yet; it is made on first use", None, details)


def _refusal(above: Path) -> str | None:
    """Why no folder can be made in one that exists, None where it can: one is made for a trial, and removed at once.

    Access rights do not tell everything: there are file systems, such as /proc, that refuse all the same.
    """
    if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
        return ""
    try:
        with tempfile.TemporaryDirectory(prefix=TRIAL_PREFIX, dir=above, ignore_cleanup_errors=True):
            return None
    except FileNotFoundError:
        return ", which takes no folders"
    except OSError as error:
        return f" ({error.strerror or error})"


def _folder(folder: Path, status: os.stat_result, details: Mapping[str, Any]) -> Check:
    free_bytes = shutil.disk_usage(folder).free
    writable = os.access(folder, os.W_OK | os.X_OK)
    posix = os.name == "posix"
    mode = stat.S_IMODE(status.st_mode)
    private = not posix or mode & ~FOLDER_MODE == 0
    details = {**details, "private": private, "writable": writable, "freeBytes": free_bytes}
    text = f"{folder}, {as_bytes(free_bytes)} free"
    if not writable:
        step = f"make it writable for yourself (chmod 700 {shell_path(folder)}), or {ELSEWHERE}"
        return Check("Data folder", "fails", f"{text}; you cannot write in it", step, details)
    if posix and status.st_uid != os.geteuid():
        step = "run Lithify as that user, or give the folder to yourself with chown"
        return Check("Data folder", "attention", f"{text}; it belongs to another user", step, details)
    if not private:
        step = f"run: chmod 700 {shell_path(folder)}"
        return Check("Data folder", "attention", f"{text}; others may look into it (mode {mode:o})", step, details)
    if free_bytes < LEAST_FREE_BYTES:
        return Check("Data folder", "attention", text, f"make room on the disk, or {ELSEWHERE}", details)
    return Check("Data folder", "ok", f"{text}, writable, private", None, details)


def _database(path: Path, found: Contents | Unusable) -> Check:
    if isinstance(found, Unusable):
        return Check("Database", "fails", f"{path} {found.why}", found.next_step, {"exists": True})
    size_bytes = sum(_size(path.with_name(path.name + end)) for end in ("", "-wal"))
    counts = {"sessions": found.sessions, "events": found.events, "records": found.records}
    details = {"exists": True, "sizeBytes": size_bytes, "schema": found.version, **counts}
    if not os.access(path, os.W_OK):
        step = f"make it writable for yourself (chmod 600 {shell_path(path)})"
        return Check("Database", "fails", f"{path} cannot be written", step, details)
    return Check("Database", "ok", _contents_text(found, size_bytes), None, details)


def _contents_text(found: Contents, size_bytes: int) -> str:
    if found.version == 0:
        return "empty; its tables are made when a server starts"
    counts = f"{counted(found.sessions, 'session')}, {counted(found.events, 'event')}, {as_bytes(size_bytes)}"
    if not found.whole:
        counts = f"{as_bytes(size_bytes)}; too large to be looked through in a few seconds"
    if found.version < len(MIGRATIONS):
        return f"{counts}; of an older Lithify, brought up to date when a server starts"
    return counts


def _buffers(folder: Path, projects: Projects | None) -> Check:
    """`projects` is None where the database cannot tell."""
    known = projects or Projects()
    sizes = {file.parent.name: _size(file) for file in sorted((folder / "buffers").glob("*/buffer.ndjson"))}
    ids = sorted({*sizes, *known.waiting}, key=lambda one: (-sizes.get(one, 0), known.roots.get(one, one)))
    names = {one: known.roots.get(one, one) for one in ids}
    details = {
        "buffers": [
            {"projectId": one, "root": known.roots.get(one), "sizeBytes": sizes.get(one, 0)}
            | ({"waiting": known.waiting.get(one, 0)} if projects else {})
            for one in ids
        ]
    }
    if not ids:
        return Check("Buffers", "note", "none: no event waits to become memory", None, details)
    listed = ", ".join(f"{names[one]} {as_bytes(sizes.get(one, 0))}" for one in ids[:MOST_BUFFERS_SHOWN])
    more = f" and {len(ids) - MOST_BUFFERS_SHOWN} more" if len(ids) > MOST_BUFFERS_SHOWN else ""
    text = f"{counted(len(ids), 'buffer')}, {as_bytes(sum(sizes.values()))} in all: {listed}{more}"
    if projects is None:
        return Check("Buffers", "note", f"{text}; the database cannot tell what waits outside", None, details)
    waiting = sum(known.waiting.values())
    if waiting:
        step = "nothing is lost: they are in the database and follow, in order, when there is room and a server runs"
        return Check("Buffers", "attention", f"{text}; {counted(waiting, 'event')} waiting outside", step, details)
    return Check("Buffers", "ok", f"{text}; no event waits outside", None, details)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
