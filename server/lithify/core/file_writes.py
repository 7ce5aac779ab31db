"""What became of a write into a file that belongs to somebody else: an editor's user, or an agent."""

from __future__ import annotations

import errno
from dataclasses import dataclass
from typing import TypeAlias

from lithify.core.typed_edits import Typed


@dataclass(frozen=True, slots=True)
class Written:
    """It was written. `backup` says where the former bytes lie: a name beside the file, or a path; None for none.
    `typed` is what an editor's user had typed elsewhere in the text by then."""

    backup: str | None = None
    typed: tuple[Typed, ...] = ()


@dataclass(frozen=True, slots=True)
class Changed:
    """It is not what was read, or was not let be written; it holds nothing of ours. `reason` says who or what; `tried`,
    whether anybody was asked to write it."""

    reason: str
    tried: bool = True


@dataclass(frozen=True, slots=True)
class Held:
    """Somebody uses it now, and nothing was written. `reason` is one sentence that says who, and what to do."""

    reason: str


@dataclass(frozen=True, slots=True)
class InUse:
    """Somebody may write behind its end at any moment, so that nothing was cut off. `reason` is one sentence that says
    who, and what to do."""

    reason: str


class NotAsItWas(OSError):
    """Something was written, or may have been, that could not be taken back. `told` is a part of a sentence that says
    what stands there, and what to do."""

    def __init__(self, told: str) -> None:
        super().__init__(errno.EIO, told)
        self.told = told


FileWrite: TypeAlias = Written | Changed | Held
FileCut: TypeAlias = Written | Changed | Held | InUse
