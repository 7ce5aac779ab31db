"""Locks between processes: a sidecar file that we never rename or delete, taken with a bounded wait.

Somebody else may: with the file moved away or deleted, two processes could each hold "the" lock, on two files. So a
lock is only had once the file that is locked is the one that bears the name now.
"""

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
WAIT_SECONDS = 2.0
"""Other processes hold a lock for milliseconds. One that holds it longer is stopped, or its disk is."""

SHORT_WAIT_SECONDS = 0.05
"""The wait after one that was in vain, until the lock was had: it must not stall all other work again and again."""

ATTEMPTS = 10
"""How often a lock is taken anew whose file somebody replaces meanwhile."""

_AT_ONCE = portalocker.LockFlags.EXCLUSIVE | portalocker.LockFlags.NON_BLOCKING


class LockUnavailable(OSError):
    """Another process held the lock for the whole wait, or the file system knows no locks."""


class LockTaken(LockUnavailable):
    """Another process held the lock for the whole wait."""


class FileLock:
    """An exclusive lock between processes. The operating system frees it when its holder dies."""

    def __init__(self, path: Path, wait_seconds: float = WAIT_SECONDS) -> None:
        self.path = path
        self.wait_seconds = wait_seconds
        self._descriptor: int | None = None
        self._opened_as: os.stat_result | None = None
        self._taken = False
        self._in_vain = False

    @contextmanager
    def held(self) -> Iterator[None]:
        """Holds the lock for the block. Raises LockUnavailable after the wait, OSError where it cannot be made. After a
        wait that was in vain the next ones are short, until the lock was had."""
        wait_seconds = min(self.wait_seconds, SHORT_WAIT_SECONDS) if self._in_vain else self.wait_seconds
        try:
            descriptor = self._acquired(wait_seconds)
        except LockTaken:
            self._in_vain = True
            raise
        try:
            yield
        finally:
            self._unlock(descriptor)

    def try_acquire(self, wait_seconds: float = 0.0) -> bool:
        """Takes the lock if it is free, until `release`; whether it was. Not free either when this very object took
        it before. Raises OSError where it cannot be made."""
        if self._taken:
            return False
        try:
            self._acquired(wait_seconds)
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
        if self._descriptor is None:
            make_private_folder(self.path.parent)
            self._descriptor = system.open_file(self.path, os.O_RDWR | os.O_CREAT)
            self._opened_as = os.fstat(self._descriptor)
        return self._descriptor

    def _unlock(self, descriptor: int) -> None:
        try:
            portalocker.unlock(descriptor)
        except portalocker.exceptions.LockException:
            self.close()  # which gives the lock back too

    def _acquired(self, wait_seconds: float) -> int:
        """The descriptor of the file that is locked now, and that bears the lock's name."""
        deadline = time.monotonic() + wait_seconds
        for _ in range(ATTEMPTS):
            descriptor = self._opened()
            self._acquire(descriptor, deadline)
            if self._is_named():
                self._in_vain = False
                return descriptor
            self.close()  # which gives the lock back too
        raise LockUnavailable(f"{self.path} is replaced by others as often as it is locked")

    def _is_named(self) -> bool:
        """Whether the file that is open is the one that the path names. Where the path cannot be followed any more, to
        open it anew says why."""
        try:
            return self._opened_as is not None and os.path.samestat(self._opened_as, os.stat(self.path))
        except OSError:
            return False

    def _acquire(self, descriptor: int, deadline: float) -> None:
        while True:
            try:
                portalocker.lock(descriptor, _AT_ONCE)
            except portalocker.exceptions.AlreadyLocked as error:
                if time.monotonic() >= deadline:
                    raise LockTaken(f"{self.path} is held by another process") from error
                time.sleep(POLL_SECONDS)
            except portalocker.exceptions.LockException as error:
                raise LockUnavailable(f"{self.path} cannot be locked: {error}") from error
            else:
                return
