"""The circuit breaker: after some failed runs in a row nothing is tried until a cooldown is over.

Pure: the time comes in as milliseconds since the epoch, the state goes out as a value that is kept in the database.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

BreakerPhase: TypeAlias = Literal["closed", "open", "half_open"]


@dataclass(frozen=True, slots=True)
class Breaker:
    """Failed runs in a row, and when the breaker opened; None: it is closed."""

    failures: int = 0
    opened_at_ms: int | None = None


def phase(breaker: Breaker, now_ms: int, cooldown_ms: int) -> BreakerPhase:
    """Closed: runs go on. Open: none is started. Half-open: the cooldown is over, one run may try.

    A cooldown of 0 never ends by itself. A clock that was put back by more than the cooldown ends it as well.
    """
    if breaker.opened_at_ms is None:
        return "closed"
    if cooldown_ms == 0 or abs(now_ms - breaker.opened_at_ms) < cooldown_ms:
        return "open"
    return "half_open"


def allows(breaker: Breaker, now_ms: int, cooldown_ms: int, *, by_user: bool) -> bool:
    """Whether a run may start; a user's own call always may."""
    return by_user or phase(breaker, now_ms, cooldown_ms) != "open"


def failed(breaker: Breaker, now_ms: int, max_failures: int) -> Breaker:
    """The breaker after a failed run: it opens at the limit, and again after a failed try while half-open."""
    failures = breaker.failures + 1
    return Breaker(failures, now_ms if failures >= max_failures else None)


def succeeded(breaker: Breaker) -> Breaker:
    """The breaker after a run that worked: closed, nothing counted."""
    return replace(breaker, failures=0, opened_at_ms=None)
