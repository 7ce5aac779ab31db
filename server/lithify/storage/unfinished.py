"""What is being made beside files of others, noted in the data folder, so that nothing of it stays when its maker dies.

`unfinished/<id>` holds the path of one file or folder, and its sidecar `<id>.lock` is held as long as that is being
made. A note whose lock is free was left by a process that was killed: what it names goes, if it is named as we name
such things, and so does the note.
"""

from __future__ import annotations

import logging
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lithify.storage.locks import FileLock

logger = logging.getLogger(__name__)

FOLDER = "unfinished"

_FILE = re.compile(r"\.lithify-[0-9a-f]{16}\.tmp")
_FOLDER = re.compile(r"\.lithify-[0-9a-f]{16}")
_NOTE = re.compile(r"([0-9a-f]{16})(?:\.lock)?")


def folder_beside(path: Path) -> Path:
    """A new name for a folder that is being made beside a file or folder (`atomic.file_beside` names files)."""
    return path.parent / f".lithify-{secrets.token_hex(8)}"


class Unfinished:
    """The notes in one data folder."""

    def __init__(self, data_dir: Path) -> None:
        self._folder = data_dir / FOLDER

    @contextmanager
    def noted(self, place: Path) -> Iterator[None]:
        """Notes what the block makes, and takes away or renames again. A data folder that cannot be used stops
        nothing: then what a killed process left stays."""
        note = self._folder / secrets.token_hex(8)
        lock = FileLock(_lock_path(note))
        try:
            if lock.try_acquire(lock.wait_seconds):
                note.write_bytes(os.fsencode(place))
        except OSError as error:
            logger.warning("What is being written beside a chat file could not be noted: %s", error)
        try:
            yield
        finally:
            lock.close()
            try:
                _forget(note)
            except OSError as error:
                logger.warning("A note of what was written beside a chat file stays: %s", error)

    def sweep(self) -> None:
        """Takes away what processes have left that were killed. What cannot be looked at or taken away stays, and is
        told in the log."""
        try:
            names = {found[1] for name in os.listdir(self._folder) if (found := _NOTE.fullmatch(name))}
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            logger.warning("What killed processes have left cannot be looked for: %s", error)
            return
        for note in (self._folder / name for name in names):
            lock = FileLock(_lock_path(note))
            try:
                left = lock.try_acquire()
                if left and note.exists():
                    _remove(Path(os.fsdecode(note.read_bytes())))
                lock.close()
                if left:
                    _forget(note)
            except (OSError, ValueError) as error:
                logger.warning("What a killed process has left stays: %s", error)
            finally:
                lock.close()


def _lock_path(note: Path) -> Path:
    return note.with_name(f"{note.name}.lock")


def _forget(note: Path) -> None:
    """Takes a note away, the lock last: a lock without a note says nothing. Raises OSError."""
    for one in (note, _lock_path(note)):
        one.unlink(missing_ok=True)


def _remove(place: Path) -> None:
    """Takes away what bears a name of ours, and is what that name says. Raises OSError."""
    if _FILE.fullmatch(place.name) and place.is_file() and not place.is_symlink():
        place.unlink()
    elif _FOLDER.fullmatch(place.name) and place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
