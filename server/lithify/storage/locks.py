"""Locks between processes: a sidecar file that is never renamed or deleted, taken with a bounded wait."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import portalocker

from lithify.storage.paths import make_private_folder, open_private

POLL_SECONDS = 0.002
_AT_ONCE = portalocker.LockFlags.EXCLUSIVE | portalocker.LockFlags.NON_BLOCKING


class LockUnavailable(OSError):
    """Another process held the lock for the whole wait, or the file system knows no locks."""


class FileLock:
    """An exclusive lock between processes. The operating system frees it when its holder dies."""

    def __init__(self, path: Path, wait_seconds: float = 10.0) -> None:
        self._path = path
        self.wait_seconds = wait_seconds
        self._descriptor: int | None = None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Holds the lock for the block. Raises LockUnavailable after the wait, OSError where it cannot be made."""
        descriptor = self._opened()
        self._acquire(descriptor)
        try:
            yield
        finally:
            try:
                portalocker.unlock(descriptor)
            except portalocker.exceptions.LockException:
                self.close()  # which gives the lock back too

    def try_acquire(self) -> bool:
        """Takes the lock if it is free, until `release`; whether it was. Raises OSError where it cannot be made."""
        try:
            portalocker.lock(self._opened(), _AT_ONCE)
        except portalocker.exceptions.AlreadyLocked:
            return False
        return True

    def release(self) -> None:
        """Gives a lock back that `try_acquire` took."""
        if self._descriptor is not None:
            portalocker.unlock(self._descriptor)

    def is_held(self) -> bool:
        """Whether somebody holds the lock now, in this process or another one."""
        other = FileLock(self._path)
        try:
            free = other.try_acquire()
            if free:
                other.release()
            return not free
        finally:
            other.close()

    def close(self) -> None:
        """Lets go of the file; the lock can be taken again afterwards."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _opened(self) -> int:
        if self._descriptor is not None and os.fstat(self._descriptor).st_nlink == 0:
            self.close()
        if self._descriptor is None:
            make_private_folder(self._path.parent)
            self._descriptor = open_private(self._path, os.O_RDWR | os.O_CREAT)
        return self._descriptor

    def _acquire(self, descriptor: int) -> None:
        deadline = time.monotonic() + self.wait_seconds
        while True:
            try:
                portalocker.lock(descriptor, _AT_ONCE)
            except portalocker.exceptions.AlreadyLocked as error:
                if time.monotonic() >= deadline:
                    message = f"{self._path} has been locked by another process for {self.wait_seconds:g} s"
                    raise LockUnavailable(message) from error
                time.sleep(POLL_SECONDS)
            except portalocker.exceptions.LockException as error:
                raise LockUnavailable(f"{self._path} cannot be locked: {error}") from error
            else:
                return
