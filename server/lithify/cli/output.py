"""How every command speaks: one line for an error, on standard error."""

from __future__ import annotations

import sys

FAILURE = 1
USAGE = 2


def fail(message: str) -> int:
    """Says in one line what went wrong and what to do; the exit code for a failure."""
    print(f"lithify: {_one_line(message)}", file=sys.stderr)
    return FAILURE


def usage(message: str) -> int:
    """Says in one line what is wrong with the call; the exit code for that."""
    print(f"lithify: {_one_line(message)}", file=sys.stderr)
    return USAGE


def _one_line(message: str) -> str:
    return " ".join(message.split())
