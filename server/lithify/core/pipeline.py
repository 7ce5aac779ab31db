"""What runs of the two workers report, and how their work on a project stands."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from lithify.core.breaker import Breaker

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


@dataclass(frozen=True, slots=True)
class Extraction:
    """A run of the extraction: events extracted, records made of them, entries and waiting events that are left."""

    extracted: int
    records: int
    remaining: int
    method: Method | None = None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class BufferCompaction:
    """A run of the buffer compaction."""

    size_before: int
    size_after: int
    entries_before: int
    entries_after: int
    method: Method | None
    problem: str | None = None


NEW_INPUT_SHARE = 4
"""A buffer is compacted again once this part of `buffer.compactionBytes` came on top of what the last run left."""


def enough_new_input(size_bytes: int, size_after_bytes: int | None, compaction_bytes: int) -> bool:
    """The progress rule: no second compaction before enough new input came."""
    return size_after_bytes is None or size_bytes >= size_after_bytes + compaction_bytes // NEW_INPUT_SHARE
