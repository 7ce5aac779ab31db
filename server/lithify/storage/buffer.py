"""The event buffer of one project: `buffer.ndjson`, one entry a line, and its sidecar lock.

Format: UTF-8, one JSON object a line with exactly `event_id`, `namespace`, `kind`, `body`, `timestamp`, `surface`
(a synthetic entry also has `source_event_ids`), each line ended by a newline.
Every writer holds the lock on `buffer.lock`, which is never renamed or deleted, and opens the data file anew under it.
An append is one write of whole lines; when the last byte of the file is not a newline, because a process died in the
middle of a write, a newline goes first, so that the torn line cannot swallow the next good one. Readers skip it.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from lithify.core.projects import BufferSize
from lithify.storage import system
from lithify.storage.locks import FileLock
from lithify.storage.paths import open_private

NEWLINE = b"\n"
_EVENT_ID = re.compile(rb'{"event_id":"([0-9A-Za-z_]+)"')
_HEAD_BYTES = 64  # holds the id of the first entry


class Buffer:
    """The buffer file of one project. Not thread-safe in itself; safe between processes through its lock."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "buffer.ndjson"
        self.lock = FileLock(folder / "buffer.lock")
        self._counted = (0, b"", 0, 0)  # inode, first bytes, bytes counted, lines among them

    def held(self) -> AbstractContextManager[None]:
        """The lock that every other method but `size` must be called under."""
        return self.lock.held()

    def append(self, lines: Iterable[str], ceiling_bytes: int) -> int:
        """Appends as many of the lines, in order, as fit under the ceiling; answers how many. Asks for no more lines
        than one that does not fit.

        Either all of those are in the file afterwards, or none is and OSError is raised (disk full, no permission).
        """
        size, torn = self._end()
        data, count = _fitting(lines, ceiling_bytes - size, NEWLINE if torn else b"")
        if count:
            descriptor = open_private(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
            try:
                _write_all(descriptor, data, size)
            finally:
                os.close(descriptor)
        return count

    def read(self) -> bytes:
        """All bytes of the file; none where there is no file."""
        try:
            return self.path.read_bytes()
        except FileNotFoundError:
            return b""

    def rewrite(self, lines: Sequence[bytes]) -> None:
        """Puts these lines in place of all others, in one rename that a crash cannot cut in two; with none of them
        the file is deleted. What was there stays when OSError is raised."""
        if lines:
            system.replace_durably(self.path, b"".join(line + NEWLINE for line in lines))
        else:
            system.delete_durably(self.path)

    def sweep(self) -> None:
        """Removes what rewrites left that a crash cut short."""
        system.sweep(self.path)

    def event_ids(self) -> set[str]:
        """The ids of the entries in the file; a torn line is none."""
        try:
            return set(_whole_entries(self.path.read_bytes()))
        except FileNotFoundError:
            return set()

    def stamp(self) -> tuple[int, int, int]:
        """Changes whenever the file does."""
        try:
            status = self.path.stat()
        except FileNotFoundError:
            return 0, 0, 0
        return status.st_ino, status.st_size, status.st_mtime_ns

    def size(self) -> BufferSize:
        """Bytes and entries now; counts only what was added since the last call. Needs no lock."""
        try:
            with self.path.open("rb") as file:
                status = os.fstat(file.fileno())
                head = file.read(_HEAD_BYTES)
                inode, head_before, counted, lines = self._counted
                if inode != status.st_ino or counted > status.st_size or not head.startswith(head_before):
                    counted, lines = 0, 0
                file.seek(counted)
                lines += file.read(status.st_size - counted).count(NEWLINE)
                self._counted = (status.st_ino, head, status.st_size, lines)
                return BufferSize(status.st_size, lines)
        except FileNotFoundError:
            return BufferSize(0, 0)

    def close(self) -> None:
        """Lets go of the lock's file."""
        self.lock.close()

    def _end(self) -> tuple[int, bool]:
        """The size of the file, and whether its last line is torn."""
        try:
            with self.path.open("rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(size - 1, 0))
                return size, file.read(1) not in (NEWLINE, b"")
        except FileNotFoundError:
            return 0, False


def _whole_entries(data: bytes) -> Iterator[str]:
    for line in data.split(NEWLINE):
        found = _EVENT_ID.match(line)
        if found is not None and _is_json(line):
            yield found[1].decode()


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _fitting(lines: Iterable[str], room: int, prefix: bytes) -> tuple[bytes, int]:
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
        written = system.write(descriptor, data)
        while written < len(data):
            written += system.write(descriptor, data[written:])
    except OSError:
        os.ftruncate(descriptor, size_before)
        raise
