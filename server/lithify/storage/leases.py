"""Sole use of a file for a moment: whoever else opens it meanwhile waits until that is over, so that nothing is written
into it between a look and a cut. Only Linux has it, on most of its file systems (`fcntl(2)`, F_SETLEASE)."""

from __future__ import annotations

import errno
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

GLANCES = 41
GLANCE_SECONDS = 0.005
"""How often and how long one waits for others who have the file open: they may just be reading it."""

_IN_USE = (errno.EAGAIN, errno.EBUSY)


@contextmanager
def sole_use(descriptor: int) -> Iterator[bool | None]:
    """Keeps everybody else from opening a file for the block, which must be short, and must not open it itself.

    The value is False where somebody has it open, and keeps it open; None where the system cannot say or do that.
    """
    taken = _taken(descriptor)
    try:
        yield taken
    finally:
        if taken:
            _release(descriptor)


def _taken(descriptor: int) -> bool | None:
    for glance in range(GLANCES):
        if glance:
            time.sleep(GLANCE_SECONDS)
        taken = _tried(descriptor)
        if taken is not False:
            return taken
    return False


if sys.platform == "linux":
    import fcntl

    def _tried(descriptor: int) -> bool | None:
        """Whether the lease was had; None where there are none. Who waits for it is told of by a signal that means
        nothing: the usual one would end the process."""
        try:
            fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)
            fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        except OSError as error:
            return False if error.errno in _IN_USE else None
        return True

    def _release(descriptor: int) -> None:
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)

    def write_from_here_on(descriptor: int) -> None:
        """Lets what is written into a file that was opened to append stand where it is put. Raises OSError."""
        fcntl.fcntl(descriptor, fcntl.F_SETFL, fcntl.fcntl(descriptor, fcntl.F_GETFL) & ~os.O_APPEND)

else:

    def _tried(descriptor: int) -> bool | None:  # noqa: ARG001 - there are no leases
        """None: there are no leases."""
        return None

    def _release(descriptor: int) -> None:
        """Nothing is ever taken."""

    def write_from_here_on(descriptor: int) -> None:  # noqa: ARG001 - nobody has sole use of a file
        """Cannot be done. Raises OSError."""
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))
