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

from lithify.core.file_writes import FileCut, FileWrite, Held, InUse, NotAsItWas, Written
from lithify.storage import appending, foreign_files, system
from lithify.storage.appending import CHANGED
from lithify.storage.atomic import file_beside, replace_with_backup
from lithify.storage.backup_names import next_backup, next_rotation
from lithify.storage.backups import MOST_BACKUPS, Backups
from lithify.storage.system import sync_folder

logger = logging.getLogger(__name__)

Guard: TypeAlias = Callable[[str, str, bool], AbstractContextManager[str | None]]
"""For a path, the name of its format, and whether nobody but us wrote it last: None while the file may be written, else
one sentence that says why not."""

Writer: TypeAlias = Callable[[str, str, bool], str | None]
"""For the same, who may write behind the end of a file at any moment, though it may be appended to: one sentence that
says so, and what to do; None for nobody."""

_WRITTEN = "Another window or command of Lithify writes it now; try again when that has ended."


class NotKept(OSError):
    """What a file holds could not be kept in the data folder, so the file was not written."""


def unguarded(path: str, format_name: str, ours: bool) -> AbstractContextManager[str | None]:  # noqa: ARG001 - asks nothing
    """A guard that lets everything be written."""
    return nullcontext(None)


def nobody(path: str, format_name: str, ours: bool) -> None:
    """Nobody writes into any file."""


class ChatFiles:
    """The files of the user, each named by its path."""

    def __init__(self, backups: Backups, guard: Guard = unguarded, writer: Writer = nobody) -> None:
        self._backups = backups
        self._guard = guard
        self._writer = writer

    def read(self, path: str) -> bytes:
        """The bytes of a file. Raises OSError; ValueError for what no path can be."""
        return foreign_files.read(Path(path))

    def real(self, path: str) -> str:
        """The path with its links followed, whether something lies there or not."""
        return os.path.realpath(path)

    def held(self, path: str, format_name: str) -> str | None:
        """Why a file must not be written now; None where it may be."""
        real = self.real(path)
        with self._guard(real, format_name, self._backups.wrote_last(Path(real))) as reason:
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
            if system.read(real) != before:
                return CHANGED
            backup = next_rotation(real) if rotates else next_backup(real)
            self._begin_rewrite(real, None if rotates else backup, before)
            made = file_beside(real)
            with self._backups.unfinished.noted(made):
                replace_with_backup(real, after, backup, made)
            if not _is_all(backup, before) and _put_back(backup, real, after):
                return CHANGED
            self._end_rewrite(real, len(after), rotates=rotates)
            return Written(backup.name)

    def append(
        self, path: str, before: bytes, addition: bytes, *, format_name: str, backup_id: str | None
    ) -> FileWrite:
        """Bytes put behind a file that holds `before`, all of them in one write, or none.

        What it holds is kept first, under `backup_id`; None keeps nothing. `Changed` where the file grew meanwhile.
        Raises OSError; then the file is as it was. Raises NotAsItWas where it is not; then its backup stays.
        """
        real = Path(path).resolve(strict=True)
        with self._alone(real) as reason:
            if reason is not None:
                return Held(reason)
            place = None if backup_id is None else self._kept(real, before, backup_id)
            with self._guard(str(real), format_name, self._backups.wrote_last(real)) as reason:
                done = reason is None and _appended(real, before, addition, place)
            if done:
                self._note_write(real, len(before) + len(addition))
            if backup_id is not None:
                self._settle_backup(real, backup_id, done=done)
        return Written(place) if done else CHANGED if reason is None else Held(reason)

    def cut(self, path: str, before: bytes, after: bytes, *, format_name: str, ours: bool = False) -> FileCut:
        """The end of a file that holds `before` cut off, so that it holds `after`, with which it begins. `InUse` where
        somebody may be about to write behind that. Raises OSError."""
        real = Path(path).resolve(strict=True)
        with self._free(real, format_name, ours) as reason:
            if reason is not None:
                return Held(reason)
            writer = self._writer(str(real), format_name, ours or self._backups.wrote_last(real))
            done = appending.cut(real, before, len(after)) if writer is None else InUse(writer)
            if isinstance(done, Written):
                self._note_write(real, len(after))
            return done

    def _begin_rewrite(self, real: Path, backup: Path | None, before: bytes) -> None:
        """What is done before: a backup is noted that is to lie beside it."""
        if backup is not None:
            try:
                self._backups.beside(real).note(backup, before)
            except OSError as error:
                logger.warning("A backup of a chat file could not be noted, so that it stays for good: %s", error)

    def _end_rewrite(self, real: Path, size: int, *, rotates: bool) -> None:
        """What is done afterwards: kimi-cli's own old files stay, of our backups the oldest and the newest."""
        self._note_write(real, size)
        if not rotates:
            try:
                self._backups.beside(real).let_old_go(real.parent, MOST_BACKUPS)
            except OSError as error:
                logger.warning("Old backups of a chat file could not be let go: %s", error)

    def _note_write(self, real: Path, size: int) -> None:
        try:
            self._backups.note_write(real, size)
        except OSError as error:
            logger.warning("It could not be noted that Lithify wrote a chat file: %s", error)

    def _kept(self, real: Path, before: bytes, backup_id: str) -> str:
        try:
            return str(self._backups.keep(real, before, backup_id))
        except OSError as error:
            why = error.strerror or str(error)
            told = f"its backup cannot be kept in the data folder, {self._backups.place(real, backup_id)}: {why}"
            raise NotKept(error.errno, told) from error

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
            with self._guard(str(real), format_name, ours or self._backups.wrote_last(real)) as reason:
                yield reason

    @contextmanager
    def _alone(self, real: Path) -> Iterator[str | None]:
        """Keeps every other Lithify off a file that is to be written; the reason where one is still writing it after a
        while. What killed processes have left, beside whatever file, goes first.

        Where the data folder takes no lock there is nobody to be kept off: whoever shares it could not take one either.
        """
        self._backups.unfinished.sweep()
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


def _appended(real: Path, before: bytes, addition: bytes, backup: str | None) -> bool:
    """`appending.append`, of which an error names the backup."""
    try:
        return appending.append(real, before, addition)
    except NotAsItWas as error:
        kept = "of what it held before there is no backup" if backup is None else f"what it held before is in {backup}"
        raise NotAsItWas(f"{error.told}; {kept}") from error


def _is_all(backup: Path, before: bytes) -> bool:
    """Whether a backup holds just that; else somebody wrote into the file before it made way for the new one."""
    return system.read(backup) == before


def _put_back(backup: Path, real: Path, after: bytes) -> bool:
    """The file that made way in its place again, and not the new one, if nobody has written that yet; whether so."""
    if system.read(real) != after:
        return False
    os.replace(backup, real)
    sync_folder(real.parent)
    return True
