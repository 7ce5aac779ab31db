"""Locks between processes: a sidecar file that is never renamed or deleted, taken with a bounded wait."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import portalocker

from lithify.storage import system
from lithify.storage.paths import make_private_folder

POLL_SECONDS = 0.002
_AT_ONCE = portalocker.LockFlags.EXCLUSIVE | portalocker.LockFlags.NON_BLOCKING


class LockUnavailable(OSError):
    """Another process held the lock for the whole wait, or the file system knows no locks."""


class LockTaken(LockUnavailable):
    """Another process held the lock for the whole wait."""


class FileLock:
    """An exclusive lock between processes. The operating system frees it when its holder dies."""

    def __init__(self, path: Path, wait_seconds: float = 10.0) -> None:
        self.path = path
        self.wait_seconds = wait_seconds
        self._descriptor: int | None = None
        self._taken = False

    @contextmanager
    def held(self) -> Iterator[None]:
        """Holds the lock for the block. Raises LockUnavailable after the wait, OSError where it cannot be made."""
        descriptor = self._opened()
        self._acquire(descriptor, self.wait_seconds)
        try:
            yield
        finally:
            self._unlock(descriptor)

    def try_acquire(self, wait_seconds: float = 0.0) -> bool:
        """Takes the lock if it is free, until `release`; whether it was. Not free either when this very object took
        it before. Raises OSError where it cannot be made."""
        if self._taken:
            return False
        descriptor = self._opened()
        try:
            self._acquire(descriptor, wait_seconds)
        except LockTaken:
            return False
        self._taken = True
        return True

    def release(self) -> None:
        """Gives a lock back that `try_acquire` took."""
        if self._taken and self._descriptor is not None:
            self._unlock(self._descriptor)
        self._taken = False

    def is_held(self) -> bool:
        """Whether somebody holds the lock now, in this process or another one."""
        if self._taken or not self.path.exists():
            return self._taken
        other = FileLock(self.path)
        try:
            return not other.try_acquire()
        finally:
            other.close()

    def close(self) -> None:
        """Lets go of the file, and with it of the lock; it can be taken again afterwards."""
        self._taken = False
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _opened(self) -> int:
        if self._descriptor is not None and os.fstat(self._descriptor).st_nlink == 0:
            self.close()
        if self._descriptor is None:
            make_private_folder(self.path.parent)
            self._descriptor = system.open_file(self.path, os.O_RDWR | os.O_CREAT)
        return self._descriptor

    def _unlock(self, descriptor: int) -> None:
        try:
            portalocker.unlock(descriptor)
        except portalocker.exceptions.LockException:
            self.close()  # which gives the lock back too

    def _acquire(self, descriptor: int, wait_seconds: float) -> None:
        deadline = time.monotonic() + wait_seconds
        while True:
            try:
                portalocker.lock(descriptor, _AT_ONCE)
            except portalocker.exceptions.AlreadyLocked as error:
                if time.monotonic() >= deadline:
                    raise LockTaken(f"{self.path} has been locked by another process for {wait_seconds:g} s") from error
                time.sleep(POLL_SECONDS)
            except portalocker.exceptions.LockException as error:
                raise LockUnavailable(f"{self.path} cannot be locked: {error}") from error
            else:
                return
