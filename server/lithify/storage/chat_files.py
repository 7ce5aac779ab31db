"""Chat files that no editor has open: read whole, rewritten with a backup, or appended to as their agent does.

Nothing is written while somebody holds the file (`Guard`), and nothing over what was not read.
"""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TypeAlias

from lithify.core.file_writes import Changed, FileWrite, Held, Written
from lithify.storage import appending
from lithify.storage.atomic import replace_with_backup
from lithify.storage.backup_names import next_backup, next_rotation
from lithify.storage.backups import Backups
from lithify.storage.paths import require_file
from lithify.storage.system import sync_folder

logger = logging.getLogger(__name__)

Guard: TypeAlias = Callable[[str, str, bool], AbstractContextManager[str | None]]
"""For a path, the name of its format, and whether nobody but us wrote it last: None while the file may be written, else
one sentence that says why not."""

_WRITTEN = "Another window or command of Lithify writes it now; try again when that has ended."
_CHANGED = Changed("another program wrote the file meanwhile")


def unguarded(path: str, format_name: str, ours: bool) -> AbstractContextManager[str | None]:  # noqa: ARG001 - asks nothing
    """A guard that lets everything be written."""
    return nullcontext(None)


class ChatFiles:
    """The files of the user, each named by its path."""

    def __init__(self, backups: Backups, guard: Guard = unguarded) -> None:
        self._backups = backups
        self._guard = guard

    def read(self, path: str) -> bytes:
        """The bytes of a file. Raises OSError; ValueError for what no path can be."""
        require_file(Path(path))
        return Path(path).read_bytes()

    def real(self, path: str) -> str:
        """The path with its links followed, whether something lies there or not."""
        return os.path.realpath(path)

    def held(self, path: str, format_name: str) -> str | None:
        """Why a file must not be written now; None where it may be."""
        with self._guard(self.real(path), format_name, False) as reason:
            return reason

    def backup(self, path: str, backup_id: str) -> str | None:
        """Where the backup of that id lies; None where there is none, or no longer."""
        place = self._backups.place(Path(self.real(path)), backup_id)
        return str(place) if place.is_file() else None

    def rewrite(
        self, path: str, before: bytes, after: bytes, *, format_name: str, rotates: bool, ours: bool = False
    ) -> FileWrite:
        """The file rewritten as a whole if it still holds `before`, what it held beside it under a free name.

        `rotates`: it is a session of kimi-cli, whose old files are numbered as kimi-cli does. `ours`: nobody wrote it
        since we did. Raises OSError, also for a file that one may not write; then the file is as it was.
        """
        real = Path(path).resolve(strict=True)
        if not os.access(real, os.W_OK):  # a folder that one may write would let the file be replaced all the same
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(real))
        with self._free(real, format_name, ours) as reason:
            if reason is not None:
                return Held(reason)
            if real.read_bytes() != before:
                return _CHANGED
            backup = next_rotation(real) if rotates else next_backup(real)
            replace_with_backup(real, after, backup)
            return Written(backup.name) if _is_all(backup, before) or not _put_back(backup, real, after) else _CHANGED

    def append(
        self, path: str, before: bytes, addition: bytes, *, format_name: str, backup_id: str | None
    ) -> FileWrite:
        """Bytes put behind a file that holds `before`, all of them in one write, or none.

        What it holds is kept first, under `backup_id`; None keeps nothing. `Changed` where the file grew meanwhile.
        Raises OSError; then the file is as it was, or the error says that it is not.
        """
        real = Path(path).resolve(strict=True)
        with self._alone(real) as reason:
            if reason is not None:
                return Held(reason)
            place = None if backup_id is None else str(self._backups.keep(real, before, backup_id))
            with self._guard(str(real), format_name, False) as reason:
                done = reason is None and appending.append(real, before, addition)
            if backup_id is not None:
                self._settle_backup(real, backup_id, done=done)
        return Written(place) if done else _CHANGED if reason is None else Held(reason)

    def cut(self, path: str, before: bytes, after: bytes, *, format_name: str, ours: bool = False) -> FileWrite:
        """The end of a file that holds `before` cut off, so that it holds `after`, with which it begins. Raises
        OSError."""
        real = Path(path).resolve(strict=True)
        with self._free(real, format_name, ours) as reason:
            if reason is not None:
                return Held(reason)
            return Written() if appending.cut(real, before, len(after)) else _CHANGED

    def _settle_backup(self, real: Path, backup_id: str, *, done: bool) -> None:
        """Of a write that did not come about nothing is kept; of one that did, the older ones go by and by."""
        if not done:
            self._backups.forget(real, backup_id)
            return
        try:
            self._backups.let_old_go(real)
        except OSError as error:
            logger.warning("Old backups of a chat file could not be let go: %s", error)

    @contextmanager
    def _free(self, real: Path, format_name: str, ours: bool) -> Iterator[str | None]:
        """Keeps its agent and every other Lithify off a file; the reason where that cannot be done."""
        with self._alone(real) as busy:
            if busy is not None:
                yield busy
                return
            with self._guard(str(real), format_name, ours) as reason:
                yield reason

    @contextmanager
    def _alone(self, real: Path) -> Iterator[str | None]:
        """Keeps every other Lithify off a file; the reason where one is still writing it after a while.

        Where the data folder takes no lock there is nobody to be kept off: whoever shares it could not take one either.
        """
        lock = self._backups.lock(real)
        try:
            taken = lock.try_acquire(lock.wait_seconds)
        except OSError as error:
            logger.warning("Nothing keeps another Lithify from writing a chat file at this time: %s", error)
            taken = True
        try:
            yield None if taken else _WRITTEN
        finally:
            lock.close()


def _is_all(backup: Path, before: bytes) -> bool:
    """Whether a backup holds just that; else somebody wrote into the file before it made way for the new one."""
    return backup.read_bytes() == before


def _put_back(backup: Path, real: Path, after: bytes) -> bool:
    """The file that made way in its place again, and not the new one, if nobody has written that yet; whether so."""
    if real.read_bytes() != after:
        return False
    os.replace(backup, real)
    sync_folder(real.parent)
    return True
