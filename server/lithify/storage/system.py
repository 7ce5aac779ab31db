"""The operating system's calls behind the buffer's durability; the one place where tests let the disk fail.

A rewrite is: a temporary file in the same folder, its bytes, fsync, rename over the old file, fsync of the folder.
The rename is what counts: when only the fsync of the folder fails, the change stands for every process, and a power
cut may undo it as a whole, which is healed like a rewrite that never came. It is logged and raises nothing.
"""

from __future__ import annotations

import errno
import logging
import os
import secrets
from contextlib import suppress
from pathlib import Path

from lithify.storage.paths import open_private

logger = logging.getLogger(__name__)

LEFTOVER = ".rewrite-"

PROBE = f"{LEFTOVER}probe"
"""The ending of a file that is written and removed at once, to see whether the disk takes it. One name, so that what a
killed process left of it is overwritten by the next."""

_PIECE_BYTES = 1 << 16


def replace_durably(path: Path, data: bytes) -> None:
    """These bytes in place of the file's; at any instant the old or the new ones. Raises OSError; then the old stay."""
    temporary = path.with_name(f"{path.name}{LEFTOVER}{secrets.token_hex(6)}")
    try:
        descriptor = open_file(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        try:
            written = 0
            while written < len(data):
                written += write(descriptor, data[written:])
            fsync(descriptor)
        finally:
            os.close(descriptor)
        rename(temporary, path)
    except OSError:
        with suppress(OSError):
            unlink(temporary)
        raise
    _sync_or_tell(path.parent)


def delete_durably(path: Path) -> None:
    """The file gone, if there was one. Raises OSError; then it stays."""
    with suppress(FileNotFoundError):
        unlink(path)
        _sync_or_tell(path.parent)


def probe(path: Path, size: int) -> None:
    """Sees whether the folder takes a new file of that many bytes, named after the path. Raises OSError where not."""
    temporary = path.with_name(path.name + PROBE)
    descriptor = open_file(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    try:
        left = size
        while left > 0:
            left -= write(descriptor, bytes(min(left, _PIECE_BYTES)))
    finally:
        os.close(descriptor)
        with suppress(FileNotFoundError):  # another process probes too
            unlink(temporary)


def sweep(path: Path) -> bool:
    """Removes the temporary files of rewrites that a crash cut short; only while the buffer's lock is held. Whether
    none is left."""
    clean = True
    for leftover in path.parent.glob(f"{path.name}{LEFTOVER}*"):
        try:
            unlink(leftover)
        except OSError:
            clean = False
    return clean


def sync_folder(folder: Path) -> None:
    """Makes new names in the folder survive a power cut; Windows has no way to ask for that. Raises OSError."""
    if os.name == "nt":
        return
    descriptor = open_folder(folder)
    try:
        fsync(descriptor)
    finally:
        os.close(descriptor)


def _sync_or_tell(folder: Path) -> None:
    try:
        sync_folder(folder)
    except OSError as error:
        logger.warning("%s could not be synced, a power cut now may undo its last change: %s", folder, error)


def open_file(path: Path, flags: int) -> int:
    """`os.open` of a regular file, for the user alone."""
    return open_private(path, flags)


def open_folder(folder: Path) -> int:
    """`os.open` of a folder, to sync it."""
    return os.open(folder, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))


def read(path: Path, most: int = -1) -> bytes:
    """The first bytes of a regular file; all of them by default. Never waits: what poses as a file and has nothing to
    read now, as some of what lies in `/proc` does, raises BlockingIOError."""
    with os.fdopen(open_private(path, os.O_RDONLY), "rb", buffering=0) as file:
        data = file.read(most)
    if data is None:
        raise BlockingIOError(errno.EAGAIN, "it has nothing to read now, so it is no file", str(path))
    return data


def read_open(descriptor: int) -> bytes:
    """All bytes of a file that is open."""
    os.lseek(descriptor, 0, os.SEEK_SET)
    with os.fdopen(descriptor, "rb", closefd=False) as file:
        return file.read()


def write(descriptor: int, data: bytes) -> int:
    """`os.write`."""
    return os.write(descriptor, data)


def truncate(descriptor: int, size: int) -> None:
    """`os.ftruncate`."""
    os.ftruncate(descriptor, size)


def fsync(descriptor: int) -> None:
    """`os.fsync`."""
    os.fsync(descriptor)


def rename(source: Path, target: Path) -> None:
    """`os.replace`."""
    os.replace(source, target)


def unlink(path: Path) -> None:
    """`os.unlink`."""
    os.unlink(path)
