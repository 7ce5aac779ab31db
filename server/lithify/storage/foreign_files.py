"""Files of others, which may be anything: read whole, without waiting, and only up to a size that is worked with."""

from __future__ import annotations

import errno
from pathlib import Path

from lithify.storage import system
from lithify.storage.paths import require_file

LARGEST_BYTES = 256 << 20
"""The largest session or chat file that is read."""


class TooLarge(OSError):
    """It is larger than what is read."""

    def __init__(self) -> None:
        super().__init__(errno.EFBIG, f"it is larger than {LARGEST_BYTES >> 20} MiB, the most that is read")


def read(path: Path) -> bytes:
    """All bytes of a regular file. Raises OSError; TooLarge before anything is read, NotAFile before anything is
    opened."""
    require_file(path)
    check_size(path.stat().st_size)
    return system.read(path)


def check_size(size_bytes: int) -> None:
    """Raises TooLarge for a size that is not read."""
    if size_bytes > LARGEST_BYTES:
        raise TooLarge
