"""How every command speaks: one line for an error, on standard error."""

from __future__ import annotations

import os
import sys

FAILURE = 1
USAGE = 2
INTERRUPTED = 130
"""Exit codes: something went wrong; the call does not fit; Ctrl-C, as shells count it."""


def fail(message: str) -> int:
    """Says in one line what went wrong and what to do; the exit code for a failure."""
    print(f"lithify: {_one_line(message)}", file=sys.stderr)
    return FAILURE


def usage(message: str) -> int:
    """Says in one line what is wrong with the call; the exit code for that."""
    print(f"lithify: {_one_line(message)}", file=sys.stderr)
    return USAGE


def drop_output() -> None:
    """Sends standard output nowhere: the interpreter would try once more to write what is left when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _one_line(message: str) -> str:
    return " ".join(message.split())
