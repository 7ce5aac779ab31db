"""The state of a project's buffer, as the editor shows it (wire contract, section 2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from lithify.core.breaker import BreakerPhase
from lithify.core.pipeline import RunState
from lithify.core.projects import BufferSize, Project, ProjectCounts
from lithify.core.settings import Settings

BufferState: TypeAlias = Literal["idle", "extracting", "compacting", "full", "degraded"]


@dataclass(frozen=True, slots=True)
class WorkStatus:
    """How one kind of work on a buffer stands, in whatever process it runs."""

    in_flight: bool
    phase: BreakerPhase
    run: RunState

    @property
    def troubled(self) -> bool:
        """Whether the breaker is not closed, or the last run failed."""
        return self.phase != "closed" or self.run.last_error is not None


NO_WORK = WorkStatus(in_flight=False, phase="closed", run=RunState())


@dataclass(frozen=True, slots=True)
class BufferStatus:
    """What is in a project's buffer and around it, and what is wrong, if anything is."""

    project: Project
    size: BufferSize
    counts: ProjectCounts
    state: BufferState
    extraction: WorkStatus
    compaction: WorkStatus
    problem: str | None
    model_calls_last_hour: int
    tokens_last_hour: int
    paused: bool


def buffer_status(
    project: Project,
    size: BufferSize,
    counts: ProjectCounts,
    settings: Settings,
    *,
    extraction: WorkStatus = NO_WORK,
    compaction: WorkStatus = NO_WORK,
    use: tuple[int, int] = (0, 0),
    problem: str | None = None,
) -> BufferStatus:
    """The status from its parts; `state` is the strongest that holds. `use`: model calls, tokens of the last hour;
    `problem`: what the disk or the database said."""
    calls, tokens = use
    limits = settings.background
    return BufferStatus(
        project=project,
        size=size,
        counts=ProjectCounts(counts.waiting, counts.records, counts.recording and settings.recording.enabled),
        state=_state(counts, extraction, compaction, problem),
        extraction=extraction,
        compaction=compaction,
        problem=problem,
        model_calls_last_hour=calls,
        tokens_last_hour=tokens,
        paused=calls >= limits.max_model_calls_per_hour or tokens >= limits.max_tokens_per_hour,
    )


def _state(counts: ProjectCounts, extraction: WorkStatus, compaction: WorkStatus, problem: str | None) -> BufferState:
    if problem is not None or extraction.troubled or compaction.troubled:
        return "degraded"
    if counts.waiting:
        return "full"
    if compaction.in_flight:
        return "compacting"
    return "extracting" if extraction.in_flight else "idle"
