"""Bytes put behind a file that another program owns, in one write that is looked at again, and cut off again.

Such a file only ever grows, and its owner reads it line by line. So all new bytes go in with one write in append mode:
a process that is killed before it leaves the file as it was, one that is killed after it leaves it whole. What came in
between, or stands there in another way than was meant, is found by reading the file again by its name.

Nothing asks the system to cut a file off "if it still ends here". So while an end is cut off, nobody else can open the
file (`storage.leases`). Then what others wrote behind it is moved up, too. Where the system cannot do that, the length
is looked at just before the cut, and what others wrote behind stays, with what stands in front of it.
"""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path

from lithify.core.file_writes import Changed, InUse, NotAsItWas, Written
from lithify.storage import system
from lithify.storage.leases import sole_use, write_from_here_on

CHANGED = Changed("another program wrote the file meanwhile")
_OPEN = InUse("Another program has it open and may write into it; end that, then try again.")
_LOOK = "end that program, look at the session, and undo the compaction if it should not stand there"


def append(path: Path, before: bytes, addition: bytes) -> bool:
    """Puts bytes behind a file that holds `before`; whether it held that, and holds both now.

    False where it holds something else, before or after: then nothing of the addition is left in it. Raises OSError
    where the disk does not take it; then the file is as it was. Raises NotAsItWas where the addition stays in it.
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
        return _looked_at(descriptor, path, before[:length])
    finally:
        os.close(descriptor)


def _looked_at(descriptor: int, path: Path, kept: bytes) -> Written | Changed:
    """Whether a file that was just cut off holds what was to be kept. Raises NotAsItWas where nobody can say."""
    try:
        system.fsync(descriptor)
        stands = _is_same_file(descriptor, path) and system.read(path).startswith(kept)
    except OSError as error:
        raise NotAsItWas(f"it was cut off, but nobody knows whether for good ({error.strerror})") from error
    return Written() if stands else CHANGED


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
    """Takes what an append left out of a file again, whole or in part. Raises NotAsItWas where that cannot be done."""
    end = os.lseek(descriptor, 0, os.SEEK_CUR)  # 0 where not a byte was written
    try:
        if _is_same_file(descriptor, path):
            left, why = _left_after(descriptor, end, before, addition), "another program wrote on behind it"
        else:
            left, why = _taken_over(path, addition), "another program has put the file anew, with all that was in it"
    except OSError as error:
        raise NotAsItWas(f"what was appended may still stand in it ({error.strerror}); {_LOOK}") from error
    if left:
        where = f"bytes {left.start} to {left.stop}"
        raise NotAsItWas(f"what was appended stands in it ({where}) and could not be taken out again: {why}; {_LOOK}")


def _left_after(descriptor: int, end: int, before: bytes, addition: bytes) -> range:
    """Takes what was written of an addition out of a file; where that still stands, where others wrote on behind it and
    may do so now. Raises OSError."""
    with sole_use(descriptor) as alone:
        found = system.read_open(descriptor)
        left = _left_of(found, end, before, addition)
        behind = found[left.stop :]
        if left and behind and alone:
            _move_up(descriptor, behind, left.start)
        elif left and (behind or not _truncated(descriptor, found, left.start)):
            return left
    system.fsync(descriptor)
    return range(0)


def _taken_over(path: Path, addition: bytes) -> range:
    """Where an addition stands in a file that somebody put in the place of ours."""
    try:
        return _place(addition, system.read(path))
    except FileNotFoundError:
        return range(0)


def _left_of(found: bytes, end: int, before: bytes, addition: bytes) -> range:
    """Where what was written of an addition stands in what a file holds now, if it ended at `end`; empty where nothing
    of it is left. Of a part of it nobody can say where it stands, once somebody has written the file anew."""
    there, whole = memoryview(found), memoryview(addition)
    if found.startswith(before):
        for length in range(min(len(addition), max(0, end - len(before))), 0, -1):
            if there[end - length : end] == whole[:length]:
                return range(end - length, end)
    return _place(addition, found)


def _place(addition: bytes, found: bytes) -> range:
    start = found.rfind(addition)
    return range(0) if start < 0 else range(start, start + len(addition))


def _move_up(descriptor: int, behind: bytes, start: int) -> None:
    """Puts what stands at the end of a file in the place of what stands in front of it. Raises OSError."""
    write_from_here_on(descriptor)
    os.lseek(descriptor, start, os.SEEK_SET)
    left = behind
    while left:
        left = left[system.write(descriptor, left) :]
    system.truncate(descriptor, start + len(behind))


def _is_same_file(descriptor: int, path: Path) -> bool:
    ours = os.fstat(descriptor)
    with suppress(FileNotFoundError):
        theirs = path.stat()
        return (ours.st_dev, ours.st_ino) == (theirs.st_dev, theirs.st_ino)
    return False
