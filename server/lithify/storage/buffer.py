"""The event buffer of one project: `buffer.ndjson`, one entry a line, and its sidecar lock.

Format: UTF-8, one JSON object a line with exactly `event_id`, `namespace`, `kind`, `body`, `timestamp`, `surface`
(a synthetic entry also has `source_event_ids`), each line ended by a newline.
Every writer holds the lock on `buffer.lock`, which is never renamed or deleted, and opens the data file anew under it.
`docs/BUFFER_FORMAT.md` tells it in full, with the reasons.
An append is one write of whole lines; when the last byte of the file is not a newline, because a process died in the
middle of a write, a newline goes first, so that the torn line cannot swallow the next good one. Readers skip it.
"""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, TypeAlias

from lithify.core.entries import Line, read_lines
from lithify.core.projects import BufferSize
from lithify.storage import system
from lithify.storage.locks import FileLock
from lithify.storage.paths import NotAFile, open_private, require_file

logger = logging.getLogger(__name__)

Stamp: TypeAlias = tuple[int, int, int]
"""Inode, bytes and modification time of a buffer's file; zeros where there is none."""

NEWLINE = b"\n"
PROBE_BYTES = 1 << 16
"""What a disk must at least take to be taken for well."""

KEPT_BYTES = 1 << 24
"""The lines of a longer file are not kept from one reading to the next, so that memory stays bounded."""

_PIECE_BYTES = 1 << 20
_NOTHING: tuple[bytes, list[Line]] = (b"", [])


class Buffer:
    """The buffer file of one project. Not thread-safe in itself; safe between processes through its lock."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "buffer.ndjson"
        self.lock = FileLock(folder / "buffer.lock")
        self._counted: tuple[Stamp, int] = ((0, 0, 0), 0)  # what the file was when it was counted, and its lines
        self._read = _NOTHING  # whole lines as they were last seen in the file, and what they say
        self._swept = False
        self._told: set[int] = set()  # hashes of broken lines that a warning told of

    @contextmanager
    def held(self) -> Iterator[None]:
        """The lock that every other method but `size` and `stamp` must be called under. When it is first had, and
        after a rewrite that failed, what cut rewrites left is swept: under the lock nobody's can be under way."""
        with self.lock.held():
            if not self._swept:
                self._swept = system.sweep(self.path)
            yield

    def append(self, lines: Iterable[str], ceiling_bytes: int, *, afresh: bool = False) -> int:
        """Appends as many of the lines, in order, as fit under the ceiling; answers how many. Asks for no more lines
        than one that does not fit. `afresh`: the file holds no entry, so what else is in it does not count, and the
        first line goes in however large it is.

        Either all of those are in the file afterwards, or none is and OSError is raised (disk full, no permission).
        """
        descriptor = self._opened_to_append()
        try:
            size, torn = (0, False) if descriptor is None else _end(descriptor)
            room = ceiling_bytes if afresh else ceiling_bytes - size
            data, count = _fitting(lines, room, NEWLINE if torn else b"", least=1 if afresh else 0)
            if count:
                if descriptor is None:
                    descriptor = system.open_file(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
                _write_all(descriptor, data, size)
        finally:
            if descriptor is not None:
                os.close(descriptor)
        return count

    def read(self) -> bytes:
        """All bytes of the file; none where there is no file."""
        try:
            return system.read(self.path)
        except FileNotFoundError:
            return b""

    def lines(self, *, keep: bool = False) -> list[Line]:
        """The lines of the file, in order. `keep`: what they say is kept until `forget`, and those that still lie where
        they did then, byte for byte, are not read again."""
        data = self.read()
        before, lines = self._read if data.startswith(self._read[0]) else _NOTHING
        found = [*lines, *read_lines(data[len(before) :])]
        if keep:
            self._keep(data, found)
        return found

    def read_on(self, size: int) -> bool:
        """Reads about so many more bytes and keeps what their lines say, so that a long file is read in many short
        moments; whether `lines` has little left to read. It has all where the file was changed meanwhile."""
        data = self.read()
        before, lines = self._read
        end = data.find(NEWLINE, len(before) + size) + 1
        if not end or len(data) > KEPT_BYTES or not data.startswith(before):
            return True
        self._keep(data[:end], [*lines, *read_lines(data[len(before) : end])])
        return False

    @property
    def kept(self) -> bytes:
        """The whole lines of the file whose meaning is kept; none where it is not."""
        return self._read[0]

    def forget(self) -> None:
        """Lets go of what is kept of the lines."""
        self._read = _NOTHING

    def tell_broken(self, lines: Sequence[Line]) -> None:
        """Warns of the lines that are no entries, the first time each of them is seen; never with its content."""
        broken = [(number, hash(line.data)) for number, line in enumerate(lines, 1) if line.entry is None]
        new = [number for number, told in broken if told not in self._told]
        if new:
            logger.warning(
                "%s: lines that are no entries are passed over, and kept: %d of %d, the first is number %d",
                self.path,
                len(new),
                len(lines),
                new[0],
            )
        self._told = {told for _, told in broken}

    def rewrite(self, lines: Sequence[Line], appended: bytes = b"") -> None:
        """Puts these lines in place of all others, and after them what was appended, as it is, in one rename that a
        crash cannot cut in two; with nothing of either the file is deleted. What was there stays when OSError is
        raised. What the lines say is kept where that of those before was."""
        self._swept = False
        data = NEWLINE.join([*[line.data for line in lines], b""])
        if lines or appended:
            system.replace_durably(self.path, data + appended)
        else:
            system.delete_durably(self.path)
        self._swept = True
        if self._read is not _NOTHING:
            self._keep(data, list(lines))

    def stamp(self) -> Stamp:
        """Changes whenever the file does. Raises OSError; NotAFile where something else lies in its place."""
        try:
            status = self.path.stat()
        except FileNotFoundError:
            return 0, 0, 0
        if not stat.S_ISREG(status.st_mode):
            raise NotAFile(self.path, status.st_mode)
        return status.st_ino, status.st_size, status.st_mtime_ns

    def in_the_way(self) -> str | None:
        """What lies in the place of the file or its lock, and is no file; None where nothing does."""
        try:
            require_file(self.path)
            require_file(self.lock.path)
        except NotAFile as error:
            return str(error)
        return None

    def size(self) -> BufferSize:
        """Bytes and lines now, those that are passed over too. Needs no lock.

        A file that changed is counted as a whole: after rewrites another one may have the inode, and begin and end in
        the same way. Counting takes a millisecond for 4 MiB.
        """
        try:
            with self._opened() as file:
                status = os.fstat(file.fileno())
                stamp = (status.st_ino, status.st_size, status.st_mtime_ns)
                if stamp != self._counted[0]:
                    self._counted = (stamp, _count(file, status.st_size))
                return BufferSize(status.st_size, self._counted[1])
        except FileNotFoundError:
            return BufferSize(0, 0)

    def probe(self) -> None:
        """Sees whether the file can be opened for an append, and its folder takes another one of its size. Raises
        OSError where not. Needs the lock."""
        with suppress(FileNotFoundError):
            os.close(system.open_file(self.path, os.O_RDWR | os.O_APPEND))
        system.probe(self.path, max(self.stamp()[1], PROBE_BYTES))

    def close(self) -> None:
        """Lets go of the lock's file."""
        self.lock.close()

    def _keep(self, data: bytes, lines: list[Line]) -> None:
        self._read = (data, lines) if data.endswith(NEWLINE) and len(data) <= KEPT_BYTES else _NOTHING

    def _opened(self) -> BinaryIO:
        return os.fdopen(open_private(self.path, os.O_RDONLY), "rb")

    def _opened_to_append(self) -> int | None:
        """A descriptor on the file; None where there is none."""
        try:
            return system.open_file(self.path, os.O_RDWR | os.O_APPEND)
        except FileNotFoundError:
            return None


def _end(descriptor: int) -> tuple[int, bool]:
    """The size of a file, and whether its last line is torn."""
    size = os.fstat(descriptor).st_size
    if not size:
        return 0, False
    os.lseek(descriptor, size - 1, os.SEEK_SET)
    return size, os.read(descriptor, 1) != NEWLINE


def _count(file: BinaryIO, size: int) -> int:
    """The lines among so many bytes."""
    lines = 0
    while piece := file.read(min(size, _PIECE_BYTES)):
        lines += piece.count(NEWLINE)
        size -= len(piece)
    return lines


def _fitting(lines: Iterable[str], room: int, prefix: bytes, least: int) -> tuple[bytes, int]:
    pieces, size = [prefix], len(prefix)
    for line in lines:
        piece = line.encode() + NEWLINE
        size += len(piece)
        if size > room and len(pieces) > least:
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
        system.truncate(descriptor, size_before)
        raise
