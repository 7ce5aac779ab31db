"""The state of a project's buffer, as the editor shows it (wire contract, section 2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from lithify.core.projects import BufferSize, Project, ProjectCounts
from lithify.core.settings import Settings

BufferState: TypeAlias = Literal["idle", "extracting", "compacting", "full", "degraded"]


@dataclass(frozen=True, slots=True)
class BufferStatus:
    """What is in a project's buffer and around it, and what is wrong, if anything is."""

    project: Project
    size: BufferSize
    counts: ProjectCounts
    state: BufferState
    problem: str | None
    model_calls_last_hour: int
    tokens_last_hour: int
    paused: bool


def buffer_status(
    project: Project,
    size: BufferSize,
    counts: ProjectCounts,
    use: tuple[int, int],
    problem: str | None,
    settings: Settings,
) -> BufferStatus:
    """The status from its parts; `state` is the strongest that holds. `use`: model calls, tokens of the last hour."""
    calls, tokens = use
    state: BufferState = "degraded" if problem is not None else "full" if counts.waiting else "idle"
    limits = settings.background
    return BufferStatus(
        project=project,
        size=size,
        counts=ProjectCounts(counts.waiting, counts.records, counts.recording and settings.recording.enabled),
        state=state,
        problem=problem,
        model_calls_last_hour=calls,
        tokens_last_hour=tokens,
        paused=calls >= limits.max_model_calls_per_hour or tokens >= limits.max_tokens_per_hour,
    )
