"""Ingestion: events are checked, scrubbed, stored and staged; what was rejected is told."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from lithify.core.events import EventResult, NewEvent, StoredEvent, stored_event
from lithify.core.exclusion import Exclusion
from lithify.core.outcomes import LithifyError, Rejected
from lithify.core.projects import Project
from lithify.core.settings import Settings
from lithify.workers.ports import FindProject, Store

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class EventBatch:
    """The events of one message, those already refused by their shape among them. `asked`: somebody waits."""

    events: Sequence[NewEvent | EventResult]
    asked: bool


class Ingestion:
    """What the storage thread does with events. Used from that thread alone."""

    def __init__(
        self,
        settings: Callable[[], Settings],
        find_project: FindProject,
        on_change: Callable[[Project], None],
        is_own_run: Callable[[str], bool] = lambda _: False,
    ) -> None:
        self._settings = settings
        self._find_project = find_project
        self._on_change = on_change
        self._is_own_run = is_own_run
        self._exclusion = Exclusion(())
        self._exclude: tuple[str, ...] = ()

    def handle(self, store: Store, batches: list[EventBatch]) -> list[list[EventResult]]:
        """Stores and stages the events of all batches; the results of each, in order."""
        ceiling_bytes = self._settings().buffer.ceiling_bytes
        projects: dict[str, Project] = {}
        recording = cache(store.events.recording)
        flat = [self._prepared(store, event, projects, recording) for batch in batches for event in batch.events]
        accepted = iter(store.events.accept([one for one in flat if isinstance(one, StoredEvent)], ceiling_bytes))
        results = iter([next(accepted) if isinstance(one, StoredEvent) else one for one in flat])
        answers = [[next(results) for _ in batch.events] for batch in batches]
        for batch, answer in zip(batches, answers, strict=True):
            if not batch.asked:
                _tell_rejected(answer)
        for project in projects.values():
            self._on_change(project)
        return answers

    def refusal(
        self, recording: Callable[[str], bool], kind: str, body: dict[str, object], project: Project
    ) -> str | None:
        """Why an event of a project is not recorded at all; None when it is. `recording`: whether the project of an id
        is recorded now."""
        settings = self._settings()
        if not settings.recording.enabled:
            return "recording.enabled is off"
        if not recording(project.project_id):
            return "recording is paused for this project (lithify.set_recording)"
        if self._exclude != settings.recording.exclude:
            self._exclusion, self._exclude = Exclusion(settings.recording.exclude), settings.recording.exclude
        if self._exclusion.excluded_path(kind, body) is None:
            return None
        return "body: it names a path that recording.exclude excludes"  # not the path: reasons are logged

    def _prepared(
        self,
        store: Store,
        event: NewEvent | EventResult,
        projects: dict[str, Project],
        recording: Callable[[str], bool],
    ) -> StoredEvent | EventResult:
        if isinstance(event, EventResult):
            return event
        if event.source.project_path is not None and self._is_own_run(event.source.project_path):
            return _rejected(event, "source.projectPath: an agent that Lithify itself runs is not recorded")
        try:
            project = self._find_project(event.source.project_path)
        except LithifyError as error:
            return _rejected(event, f"source.projectPath: {error.message}")
        reason = self.refusal(recording, event.kind, event.body, project)
        if reason is not None:
            return _rejected(event, reason)
        stored = stored_event(event, project.project_id)
        if isinstance(stored, Rejected):
            return _rejected(event, stored.reason)
        if project.project_id not in projects:
            projects[project.project_id] = project
            store.events.note_project(project)
        return stored


def _rejected(event: NewEvent, reason: str) -> EventResult:
    return EventResult(event.event_id if event.id_given else None, "rejected", reason)


def _tell_rejected(results: Sequence[EventResult]) -> None:
    for result in results:
        if result.status == "rejected":
            logger.warning("Event %s was rejected: %s", result.event_id or "without an id", result.reason)
