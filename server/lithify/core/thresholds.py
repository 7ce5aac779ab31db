"""When a buffer is due for extraction, for compaction, or full (wire contract, section 7; sizes are of the file)."""

from __future__ import annotations

from typing import Literal, TypeAlias

from lithify.core.settings import Settings

Trigger: TypeAlias = Literal["size", "idle"]


def extraction_due(size_bytes: int, unchanged_ms: float, settings: Settings) -> Trigger | None:
    """Why a buffer is to be extracted now: it has reached its size, or nothing was appended for a while."""
    if size_bytes == 0 or not settings.extraction.enabled:
        return None
    if size_bytes >= settings.buffer.extraction_bytes:
        return "size"
    return "idle" if unchanged_ms >= settings.buffer.idle_ms else None


def compaction_due(size_bytes: int, settings: Settings) -> bool:
    """Whether a buffer is to be compacted: it has grown past its size, and compaction is on."""
    return settings.buffer_compaction.enabled and size_bytes > settings.buffer.compaction_bytes


def fits_under_ceiling(size_bytes: int, line_bytes: int, ceiling_bytes: int) -> bool:
    """Whether a line may still be appended."""
    return size_bytes + line_bytes <= ceiling_bytes
