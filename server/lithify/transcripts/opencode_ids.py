"""Ids as opencode makes them: the kind, twelve digits of the time, what makes it unique. Source: opencode 1.18."""

from __future__ import annotations

from collections.abc import Callable

_TIME_BITS = (1 << 48) - 1


def rising_id(prefix: str, now_ms: int, new_uuid: Callable[[], str]) -> str:
    """An id that sorts behind those of earlier times, as messages (`msg`) and parts (`prt`) have it."""
    return f"{prefix}_{_time(now_ms):012x}{_unique(new_uuid)}"


def falling_id(prefix: str, now_ms: int, new_uuid: Callable[[], str]) -> str:
    """An id that sorts before those of earlier times, as sessions (`ses`) have it."""
    return f"{prefix}_{_TIME_BITS ^ _time(now_ms):012x}{_unique(new_uuid)}"


def renewed(old: str, new_uuid: Callable[[], str]) -> str:
    """Another id of the same kind and time."""
    prefix, _, rest = old.partition("_")
    return f"{prefix}_{rest[:12]}{_unique(new_uuid)}"


def behind(last: str, wanted: str) -> str:
    """The wanted id where it sorts behind the last one; else one that follows the last one directly."""
    return wanted if wanted > last else f"{last}0"


def _time(now_ms: int) -> int:
    """The low bits of the time, as opencode counts it."""
    return (now_ms << 12 | 1) & _TIME_BITS


def _unique(new_uuid: Callable[[], str]) -> str:
    return new_uuid().replace("-", "")[-14:]
