"""The event buffer of one project: `buffer.ndjson`, one entry a line, and its sidecar lock.

Format: UTF-8, one JSON object a line with exactly `event_id`, `namespace`, `kind`, `body`, `timestamp`, `surface`
(a synthetic entry also has `source_event_ids`), each line ended by a newline.
Every writer holds the lock on `buffer.lock`, which is never renamed or deleted, and opens the data file anew under it.
An append is one write of whole lines; when the last byte of the file is not a newline, because a process died in the
middle of a write, a newline goes first, so that the torn line cannot swallow the next good one. Readers skip it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from lithify.core.projects import BufferSize
from lithify.storage.locks import FileLock
from lithify.storage.paths import open_private

NEWLINE = b"\n"
_EVENT_ID = re.compile(rb'^{"event_id":"([0-9A-Za-z_]+)"', re.MULTILINE)


class Buffer:
    """The buffer file of one project. Not thread-safe in itself; safe between processes through its lock."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "buffer.ndjson"
        self._lock = FileLock(folder / "buffer.lock")
        self._counted = (0, 0, 0)  # inode, bytes counted, lines among them

    def held(self) -> AbstractContextManager[None]:
        """The lock that every other method but `size` must be called under."""
        return self._lock.held()

    def append(self, lines: Sequence[str], ceiling_bytes: int) -> int:
        """Appends as many of the lines, in order, as fit under the ceiling; answers how many.

        Either all of those are in the file afterwards, or none is and OSError is raised (disk full, no permission).
        """
        if not lines:
            return 0
        descriptor = open_private(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
        try:
            size = os.fstat(descriptor).st_size
            torn = size > 0 and _last_byte(descriptor, size) != NEWLINE
            data, count = _fitting(lines, ceiling_bytes - size, NEWLINE if torn else b"")
            if count:
                _write_all(descriptor, data, size)
            return count
        finally:
            os.close(descriptor)

    def event_ids(self) -> set[str]:
        """The ids of the entries in the file."""
        try:
            return {found.decode() for found in _EVENT_ID.findall(self.path.read_bytes())}
        except FileNotFoundError:
            return set()

    def size(self) -> BufferSize:
        """Bytes and entries now; counts only what was added since the last call. Needs no lock."""
        try:
            with self.path.open("rb") as file:
                status = os.fstat(file.fileno())
                inode, counted, lines = self._counted
                if inode != status.st_ino or counted > status.st_size:
                    counted, lines = 0, 0
                file.seek(counted)
                lines += file.read(status.st_size - counted).count(NEWLINE)
                self._counted = (status.st_ino, status.st_size, lines)
                return BufferSize(status.st_size, lines)
        except FileNotFoundError:
            return BufferSize(0, 0)

    def close(self) -> None:
        """Lets go of the lock's file."""
        self._lock.close()


def _last_byte(descriptor: int, size: int) -> bytes:
    os.lseek(descriptor, size - 1, os.SEEK_SET)
    return os.read(descriptor, 1)


def _fitting(lines: Sequence[str], room: int, prefix: bytes) -> tuple[bytes, int]:
    pieces, size = [prefix], len(prefix)
    for line in lines:
        piece = line.encode() + NEWLINE
        size += len(piece)
        if size > room:
            break
        pieces.append(piece)
    return b"".join(pieces), len(pieces) - 1


def _write_all(descriptor: int, data: bytes, size_before: int) -> None:
    """Writes all of the data, or takes back what was written and raises."""
    try:
        written = os.write(descriptor, data)
        while written < len(data):
            written += os.write(descriptor, data[written:])
    except OSError:
        os.ftruncate(descriptor, size_before)
        raise
