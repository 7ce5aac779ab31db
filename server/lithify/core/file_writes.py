"""What became of a write into a file that belongs to somebody else: an editor's user, or an agent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Written:
    """It was written. `backup` says where the former bytes lie: a name beside the file, or a path; None for none."""

    backup: str | None = None


@dataclass(frozen=True, slots=True)
class Changed:
    """It is not what was read, or was not let be written; it holds nothing of ours. `reason` says who or what."""

    reason: str


@dataclass(frozen=True, slots=True)
class Held:
    """Somebody uses it now, and nothing was written. `reason` is one sentence that says who, and what to do."""

    reason: str


@dataclass(frozen=True, slots=True)
class InUse:
    """Somebody may write behind its end at any moment, so that nothing was cut off. `reason` is one sentence that says
    who, and what to do."""

    reason: str


FileWrite: TypeAlias = Written | Changed | Held
FileCut: TypeAlias = Written | Changed | Held | InUse
