"""What runs of the two workers report, and how their work on a project stands."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from lithify.core.breaker import Breaker
from lithify.core.eviction import Evicted
from lithify.core.model_calls import Answerer

Method: TypeAlias = Literal["model", "eviction", "offline"]
Purpose: TypeAlias = Literal["extraction", "compaction"]


@dataclass(frozen=True, slots=True)
class RunState:
    """How one kind of work on a project stands: its breaker, and the last run. Kept in the database."""

    breaker: Breaker = field(default_factory=Breaker)
    last_run_at: str | None = None
    last_error: str | None = None
    last_method: str | None = None
    size_after_bytes: int | None = None
    """Bytes the file held when the last compaction ended; None: there was none since the buffer was empty."""
    last_answerer: Answerer | None = None
    """Who gave the last answer that was of use."""


def method_of(answerer: Answerer) -> Method:
    """What a run did that this one's answers were of use to."""
    return "offline" if answerer.provider == "offline" else "model"


def answered(at: str, answerer: Answerer) -> RunState:
    """How work stands once an answer was of use: the breaker is closed."""
    return RunState(last_run_at=at, last_method=method_of(answerer), last_answerer=answerer)


@dataclass(frozen=True, slots=True)
class Extraction:
    """A run of the extraction: events extracted, records made of them, entries and waiting events that are left."""

    extracted: int
    records: int
    remaining: int
    method: Method | None = None
    problem: str | None = None
    answerer: Answerer | None = None
    """Who gave the last answer that was of use."""


@dataclass(frozen=True, slots=True)
class BufferCompaction:
    """A run of the buffer compaction."""

    size_before: int
    size_after: int
    entries_before: int
    entries_after: int
    method: Method | None
    problem: str | None = None
    answerer: Answerer | None = None
    """Who gave the last answer that was of use."""


BACKOFF_SECONDS = (0.5, 2.0)
"""Waits before the second and the third attempt at a batch, and before each one after that."""


def backoff_seconds(failed_attempts: int) -> float:
    """How long to wait after so many attempts that failed, 1 at least."""
    return BACKOFF_SECONDS[min(failed_attempts, len(BACKOFF_SECONDS)) - 1]


NEW_INPUT_SHARE = 4
"""A buffer is compacted again once this part of `buffer.compactionBytes` came on top of what the last run left."""


def enough_new_input(size_bytes: int, size_after_bytes: int | None, compaction_bytes: int) -> bool:
    """The progress rule: no second compaction before enough new input came."""
    return size_after_bytes is None or size_bytes >= size_after_bytes + compaction_bytes // NEW_INPUT_SHARE


def counted_from(size_bytes: int, compaction_bytes: int, ceiling_bytes: int) -> int:
    """The size that new input counts from after a run that left so much; low enough for a buffer at its ceiling to have
    had enough of it."""
    return max(min(size_bytes, ceiling_bytes - 2 * (compaction_bytes // NEW_INPUT_SHARE)), 0)


def why_left(
    wanted: AbstractSet[str], in_buffer: AbstractSet[str], waiting: AbstractSet[str], disk_error: str | None
) -> str | None:
    """Why events are left by a user's extraction that no model failed: those it wanted, or such as came later. None
    where none is left."""
    if not in_buffer and not waiting:
        return None
    if disk_error is not None and not wanted.isdisjoint(in_buffer | waiting):
        return f"{_events(wanted & (in_buffer | waiting))} left: the disk refuses the buffer ({disk_error})"
    if held := wanted & in_buffer:
        return f"{_events(held)} left in the hands of a buffer compaction; ask again when it has ended"
    if stuck := wanted & waiting:
        return (
            f"{_events(stuck)} left waiting for room in the buffer, where nothing is left to extract that would make "
            "any; raise buffer.ceilingBytes, or take the lines that are no entries out of the buffer's file"
        )
    return f"{_events(in_buffer | waiting)} left that came after the call; ask again to extract them too"


def why_untouched(lines: int, entries: int) -> str:
    """Why a user's compaction found nothing to work on in a buffer of so many lines, so many of them entries."""
    if lines == 0:
        return "the buffer is empty: there is nothing to compact"
    if entries == 0:
        return "no line of the buffer is an entry that can be read: there is nothing to compact"
    return "an extraction has all entries of the buffer in hand; ask again when it has ended"


def told_of_eviction(reason: str, evicted: Evicted, entries: int) -> str:
    """Why entries were let go of, and what became of them; `entries` is how many there were to choose from."""
    if evicted.dropped:
        share = f"{len(evicted.dropped)} of {entries}"
        return (
            f"{reason}; so the oldest half of the entries ({share}) left the buffer without a summary; "
            "their events can still be found in the database, where their state is 'evicted'"
        )
    if evicted.replacement is not None:
        return f"{reason}; so the only entry was cut to about half; what it was made of stays whole in the database"
    return f"{reason}; no entry could be let go of, so the buffer stays as it was"


def still_too_long(reason: str, setting: str) -> str:
    """Why a run failed whose model finds every request too long; `setting` names the model that is asked for."""
    return f"{reason}; the shortest request was too long as well: choose a model with a larger window ({setting})"


def _events(events: AbstractSet[str]) -> str:
    return "1 event is" if len(events) == 1 else f"{len(events)} events are"
