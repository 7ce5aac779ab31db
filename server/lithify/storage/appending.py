"""Bytes put behind a file that another program owns, in one write that is looked at again, and cut off again.

Such a file only ever grows, and its owner reads it line by line. So all new bytes go in with one write in append mode:
a process that is killed before it leaves the file as it was, one that is killed after it leaves it whole. What came in
between, or stands there in another way than was meant, is found by reading the file again by its name.

Nothing asks the system to cut a file off "if it still ends here". So while an end is cut off, nobody else can open the
file (`storage.leases`). Where the system cannot do that, its length is looked at just before the cut.
"""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path

from lithify.core.file_writes import Changed, InUse, Written
from lithify.storage import system
from lithify.storage.leases import sole_use

CHANGED = Changed("another program wrote the file meanwhile")
_OPEN = InUse("Another program has it open and may write into it; end that, then try again.")


def append(path: Path, before: bytes, addition: bytes) -> bool:
    """Puts bytes behind a file that holds `before`; whether it held that, and holds both now.

    False where it holds something else, before or after: then nothing of the addition is left in it. Raises OSError
    where the disk does not take it; then the file is as it was, or the error says that it is not.
    """
    descriptor = system.open_file(path, os.O_RDWR | os.O_APPEND)
    try:
        if system.read(path) != before:
            return False
        try:
            _write(descriptor, addition)
            holds_both = _is_same_file(descriptor, path) and system.read(path).startswith(before + addition)
        except OSError:
            _take_back(descriptor, path, before, addition)
            raise
        if not holds_both:
            _take_back(descriptor, path, before, addition)
        return holds_both
    finally:
        os.close(descriptor)


def cut(path: Path, before: bytes, length: int) -> Written | Changed | InUse:
    """Cuts a file that holds `before` off at a length, while nobody else has it open. Raises OSError."""
    descriptor = system.open_file(path, os.O_RDWR)
    try:
        with sole_use(descriptor) as alone:
            if alone is False:
                return _OPEN
            if not _is_same_file(descriptor, path) or not _truncated(descriptor, before, length):
                return CHANGED
        system.fsync(descriptor)
        stands = _is_same_file(descriptor, path) and system.read(path).startswith(before[:length])
        return Written() if stands else CHANGED
    finally:
        os.close(descriptor)


def _truncated(descriptor: int, before: bytes, length: int) -> bool:
    """Cuts a file that is open off at a length, if it holds `before` and nothing more at the very last look."""
    if system.read_open(descriptor) != before or os.fstat(descriptor).st_size != len(before):
        return False
    system.truncate(descriptor, length)
    return True


def _write(descriptor: int, addition: bytes) -> None:
    if system.write(descriptor, addition) < len(addition):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    system.fsync(descriptor)


def _take_back(descriptor: int, path: Path, before: bytes, addition: bytes) -> None:
    """Cuts off what an append left at a file's end, whole or in part. Raises OSError where something follows it."""
    if not _is_same_file(descriptor, path):
        return  # whoever put another file in its place did not take ours over
    with sole_use(descriptor):
        found = system.read_open(descriptor)
        left = _left_of(found, before, addition)
        if left is None or not _truncated(descriptor, found, len(found) - left):
            told = f"another program wrote behind what was appended, {len(addition)} bytes stay in it"
            raise OSError(errno.EBUSY, told)
    system.fsync(descriptor)


def _left_of(found: bytes, before: bytes, addition: bytes) -> int | None:
    """How many bytes of an addition stand at the end of a file; None where they stand further in front."""
    if found.startswith(before) and addition.startswith(found[len(before) :]):
        return len(found) - len(before)
    if found.endswith(addition):
        return len(addition)
    return None if addition in found else 0


def _is_same_file(descriptor: int, path: Path) -> bool:
    ours = os.fstat(descriptor)
    with suppress(FileNotFoundError):
        theirs = path.stat()
        return (ours.st_dev, ours.st_ino) == (theirs.st_dev, theirs.st_ino)
    return False
