"""Backups of files that Lithify only appends to, and the lock that keeps two of it from writing one file at once. They
lie in its own data folder: beside the file, its agent might take one for another session.

`backups/<digest of the path>/<id of the compaction>.<name of the file>` (for a very long name its digest), readable by
the user alone, and `locks/<digest of the path>.lock`. Beside that, `<digest of the path>.written` tells the time and
size of the file as Lithify wrote it last.
"""

from __future__ import annotations

import filecmp
import hashlib
import os
from itertools import pairwise
from pathlib import Path

from lithify.storage import system
from lithify.storage.backups_beside import BackupsBeside
from lithify.storage.locks import FileLock
from lithify.storage.paths import make_private_folder
from lithify.storage.unfinished import Unfinished

MOST_BACKUPS = 8
"""How many are kept of each file; the oldest go. A later one holds what an earlier one does, since the file grows."""

LONGEST_NAME_BYTES = 180
"""The longest name of a file that is a part of its backup's name, which has 255 bytes at most on usual systems."""

FOLDER = "backups"
LOCKS_FOLDER = "locks"


class Backups:
    """The backups in one data folder."""

    def __init__(self, data_dir: Path) -> None:
        self._folder = data_dir / FOLDER
        self._locks = data_dir / LOCKS_FOLDER
        self.unfinished = Unfinished(data_dir)

    def place(self, path: Path, backup_id: str) -> Path:
        """Where the backup of that id lies, if it was made."""
        return self._of(path) / f"{backup_id}.{_short_name(path)}"

    def lock(self, path: Path) -> FileLock:
        """The lock of a file, which whoever writes it holds."""
        return FileLock(self._locks / f"{self._of(path).name}.lock")

    def beside(self, path: Path) -> BackupsBeside:
        """The backups of a file that is rewritten: those lie beside it."""
        return BackupsBeside(self._folder / f"{self._of(path).name}.beside")

    def note_write(self, path: Path, size: int) -> None:
        """Notes that a file is as Lithify has just written it, if it still has that size. Raises OSError."""
        status = path.stat()
        if status.st_size == size:
            make_private_folder(self._locks)
            self._written(path).write_text(_stamp(status), encoding="ascii")

    def wrote_last(self, path: Path) -> bool:
        """Whether a file is just as Lithify wrote it last, in whatever process; False where that cannot be told."""
        try:
            return self._written(path).read_text(encoding="ascii") == _stamp(path.stat())
        except (OSError, ValueError):
            return False

    def keep(self, path: Path, data: bytes, backup_id: str) -> Path:
        """Keeps what a file holds; on the disk when this returns. Ids sort by their time. Raises OSError."""
        place = self.place(path, backup_id)
        make_private_folder(place.parent)
        system.replace_durably(place, data)
        return place

    def let_old_go(self, path: Path) -> None:
        """Lets the oldest backups go, once a write has come about; and what processes that were killed have left: parts
        of backups, and backups that hold the same as the one after them. Raises OSError."""
        found = sorted(self._of(path).iterdir())
        whole = [one for one in found if system.LEFTOVER not in one.name]
        again = {old for old, new in pairwise(whole) if filecmp.cmp(old, new, shallow=False)}
        kept = [one for one in whole if one not in again][-MOST_BACKUPS:]
        for one in found:
            if one not in kept:
                system.unlink(one)

    def forget(self, path: Path, backup_id: str) -> None:
        """Lets a backup go, if there is one. Raises OSError."""
        system.delete_durably(self.place(path, backup_id))

    def _written(self, path: Path) -> Path:
        return self._locks / f"{self._of(path).name}.written"

    def _of(self, path: Path) -> Path:
        digest = hashlib.sha256(str(path).encode(errors="surrogateescape")).hexdigest()[:32]
        return self._folder / digest


def _short_name(path: Path) -> str:
    """The name of a file; a digest stands for one that leaves no room for an id in front of it."""
    if len(os.fsencode(path.name)) <= LONGEST_NAME_BYTES:
        return path.name
    return f"{hashlib.sha256(os.fsencode(path.name)).hexdigest()[:32]}{path.suffix[:8]}"


def _stamp(status: os.stat_result) -> str:
    return f"{status.st_mtime_ns} {status.st_size}"
