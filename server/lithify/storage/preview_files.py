"""Previews of compactions as files that an editor can show: private, read-only, and gone with their server.

`<dataDir>/previews/<id>/` belongs to one server process; its sidecar `<id>.lock` is held as long as that lives. A
folder whose lock is free was left by a server that was killed, and is swept by the next one.
"""

from __future__ import annotations

import logging
import os
import secrets
import shutil
import threading
from pathlib import Path

from lithify.storage.locks import FileLock
from lithify.storage.paths import make_private_folder

logger = logging.getLogger(__name__)

MOST_FILES = 16
"""How many previews one server keeps; the oldest make room."""

_READ_ONLY = 0o400
_DELETABLE = 0o600
"""Some systems delete no file that is read-only."""

_FLAGS = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


class PreviewFiles:
    """The previews of one server process."""

    def __init__(self, folder: Path) -> None:
        self._base = folder
        self._folder = folder / secrets.token_hex(8)
        self._lock = FileLock(_lock_path(self._folder))
        self._written = 0
        self._one_at_a_time = threading.Lock()

    def write(self, text: str) -> Path:
        """A new file with that text, readable by the user alone; the oldest makes room for it. Raises OSError."""
        with self._one_at_a_time:
            if not self._folder.is_dir():
                self.sweep()
                self._lock.try_acquire()
                make_private_folder(self._folder)
            self._written += 1
            path = self._file(self._written)
            with os.fdopen(os.open(path, _FLAGS, _READ_ONLY), "wb") as file:
                file.write(text.encode("utf-8", "replace"))
            if (oldest := self._file(self._written - MOST_FILES)).exists():
                oldest.chmod(_DELETABLE)
                oldest.unlink()
            return path

    def clear(self) -> None:
        """Takes all previews of this process away; one that cannot be taken away is told in the log."""
        _remove(self._folder)
        _lock_path(self._folder).unlink(missing_ok=True)
        self._lock.close()

    def sweep(self) -> None:
        """Takes away what servers left that are gone. Raises OSError where the folder cannot be looked at."""
        if not self._base.is_dir():
            return
        names = {one.stem if one.suffix == ".lock" else one.name for one in self._base.iterdir()}
        for name in names - {self._folder.name}:
            folder = self._base / name
            lock = FileLock(_lock_path(folder))
            if lock.try_acquire():
                _remove(folder)
                lock.path.unlink(missing_ok=True)
            lock.close()

    def _file(self, number: int) -> Path:
        return self._folder / f"compaction-preview-{number}.md"


def _lock_path(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.lock")


def _remove(folder: Path) -> None:
    """Takes a folder away with all that is in it."""
    if not folder.is_dir() or folder.is_symlink():
        return
    for path in folder.iterdir():
        path.chmod(_DELETABLE)
    shutil.rmtree(folder, onerror=lambda _function, path, _error: logger.warning("Cannot be deleted: %s", path))
