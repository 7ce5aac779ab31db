"""The state of a project's buffer: the strongest that holds, and when background work pauses."""

from __future__ import annotations

from typing import Any

import pytest

from lithify.core.pipeline import RunState
from lithify.core.projects import BufferSize, Project, ProjectCounts
from lithify.core.settings import Settings
from lithify.core.status import NO_WORK, BufferStatus, WorkStatus, buffer_status


def status(
    *,
    waiting: int = 0,
    recording: bool = True,
    use: tuple[int, int] = (0, 0),
    problem: str | None = None,
    settings: dict[str, Any] | None = None,
    extraction: WorkStatus = NO_WORK,
    compaction: WorkStatus = NO_WORK,
) -> BufferStatus:
    counts = ProjectCounts(waiting, 3, recording)
    return buffer_status(
        Project("p", "/p"),
        BufferSize(10, 1),
        counts,
        Settings.model_validate(settings or {}),
        extraction=extraction,
        compaction=compaction,
        use=use,
        problem=problem,
    )


@pytest.mark.parametrize(
    ("waiting", "problem", "state"),
    [(0, None, "idle"), (1, None, "full"), (0, "disk full", "degraded"), (1, "disk full", "degraded")],
)
def test_the_strongest_state_that_holds_is_shown(waiting: int, problem: str | None, state: str) -> None:
    assert status(waiting=waiting, problem=problem).state == state


@pytest.mark.parametrize(
    ("of_project", "of_settings", "recording"),
    [(True, True, True), (True, False, False), (False, True, False), (False, False, False)],
)
def test_a_project_is_recorded_when_neither_it_nor_the_settings_say_no(
    of_project: bool, of_settings: bool, recording: bool
) -> None:
    found = status(recording=of_project, settings={"recording": {"enabled": of_settings}})
    assert found.counts.recording is recording


@pytest.mark.parametrize(("calls", "tokens", "paused"), [(4, 99, False), (5, 0, True), (0, 100, True), (6, 101, True)])
def test_background_work_pauses_at_either_limit(calls: int, tokens: int, paused: bool) -> None:
    limits = {"background": {"maxModelCallsPerHour": 5, "maxTokensPerHour": 100}}
    assert status(use=(calls, tokens), settings=limits).paused is paused


AT_WORK = WorkStatus(in_flight=True, phase="closed", run=RunState())


def test_work_that_goes_on_is_shown_and_compaction_before_extraction() -> None:
    assert status(extraction=AT_WORK).state == "extracting"
    assert status(extraction=AT_WORK, compaction=AT_WORK).state == "compacting"


def test_waiting_events_are_stronger_than_work_that_goes_on() -> None:
    assert status(extraction=AT_WORK, compaction=AT_WORK, waiting=1).state == "full"


@pytest.mark.parametrize(
    "trouble",
    [
        WorkStatus(in_flight=False, phase="open", run=RunState()),
        WorkStatus(in_flight=False, phase="half_open", run=RunState()),
        WorkStatus(in_flight=True, phase="closed", run=RunState(last_error="no answer")),
    ],
)
def test_a_breaker_that_is_not_closed_or_a_last_run_that_failed_is_stronger_than_all(trouble: WorkStatus) -> None:
    assert status(extraction=trouble, waiting=1).state == "degraded"
    assert status(compaction=trouble, waiting=1).state == "degraded"
