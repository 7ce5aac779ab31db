"""The two workers and the watcher on a real data folder, with a model, a clock and a sleep of the test's own."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from lithify.core.events import buffer_line, project_id_of
from lithify.core.markup import escaped
from lithify.core.messages import utf8_length
from lithify.core.model_calls import ModelFailure, ModelReply, ModelRequest
from lithify.core.pipeline import Purpose, RunState
from lithify.core.projects import Project
from lithify.core.settings import Settings
from lithify.prompt_files.templates import find_template
from lithify.storage.store import open_store
from lithify.workers.buffer_compaction import BufferCompactor
from lithify.workers.extraction import Extractor
from lithify.workers.model_use import ModelUse
from lithify.workers.ports import Model, Models
from lithify.workers.storage_thread import StorageThread
from lithify.workers.watcher import Watcher
from tests.support.clock import Clock, Ids
from tests.support.scripted_model import ScriptedModel
from tests.support.stores import buffer_entries, buffered_ids, event, rows, states

SKIP = '<skip reason="nothing of note"/>'
NO_CONSENT = ModelFailure("model_unavailable", "no consent", counts=False)
BROKEN = ModelFailure("model_error", "the model broke")
TOO_LONG = ModelFailure("context_too_long", "too long for the model")


def within(max_bytes: int, answer: Callable[[ModelRequest], str]) -> Callable[[ModelRequest], str | ModelFailure]:
    """Answers of a model whose window holds observations of so many bytes at most."""
    return lambda request: TOO_LONG if utf8_length(request.parts[1]) > max_bytes else answer(request)


def one_record(request: ModelRequest) -> str:
    """An answer with one record, named after the first event, that came from the whole batch."""
    first = request.entries[0].covered_ids[0]
    return f"<memory_record><title>About {first}</title><summary>What {first} says.</summary></memory_record>"


def record_each(request: ModelRequest) -> str:
    """An answer with a record of its own for every entry."""
    return "\n".join(
        f"<memory_record type='decision'><title>About {one.event_id}</title><summary>{_summary(one.body)}</summary>"
        f"<source_event_ids><id>{one.event_id}</id></source_event_ids></memory_record>"
        for one in request.entries
    )


def compacted(*texts: str) -> str:
    """An answer to a buffer compaction."""
    return "\n".join(f"<compacted_entry>{text}</compacted_entry>" for text in texts)


def _summary(body: dict[str, Any]) -> str:
    return escaped(str(body.get("content"))[:80])


class GatedModel:
    """A model whose every call waits until the test lets one go; `asked` says when a call came in."""

    name = "scripted"
    host = None
    default_model = None

    def __init__(self, answer: Callable[[ModelRequest], str | ModelFailure]) -> None:
        self._answer = answer
        self._waiting: deque[asyncio.Event] = deque()
        self.asked: asyncio.Queue[ModelRequest] = asyncio.Queue()
        self.cancelled = 0

    async def ask(self, request: ModelRequest) -> ModelReply | ModelFailure:
        gate = asyncio.Event()
        self._waiting.append(gate)
        self.asked.put_nowait(request)
        try:
            await gate.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        answer = self._answer(request)
        return answer if isinstance(answer, ModelFailure) else ModelReply(answer, provider=self.name)

    @property
    def waiting(self) -> int:
        """Calls that wait now."""
        return sum(not gate.is_set() for gate in self._waiting)

    def let_go(self) -> None:
        """Lets the oldest call that waits be answered."""
        self._waiting.popleft().set()


class Rig:
    """One server's workers on a data folder; a second rig on the same folder is a second process, as far as locks,
    claims and the database go."""

    def __init__(self, data_dir: Path, maker_of_ids: int = 0) -> None:
        self.data_dir = data_dir
        self.model: Model | ModelFailure = ScriptedModel(one_record)
        self.at_ms = 1_000_000
        self.slept: list[float] = []
        self.on_sleep: Callable[[], None] = lambda: None
        self.changed: list[str] = []
        self.on_change: Callable[[Project], None] = lambda _: None
        self.project = self.project_of("/nowhere/one")
        self._given: dict[str, Any] = {}
        self._settings = Settings()
        self._ids, self._clock = Ids(maker_of_ids), Clock()
        self.hour_ago = "2026-01-02T02:30:00.000+00:00"
        self.thread: StorageThread[Any, Any] = StorageThread(
            lambda: open_store(data_dir, self._clock), lambda store, items: [None for _ in items]
        )
        use = ModelUse(self.thread.run, self.settings, self._chosen, self._clock, lambda: self.hour_ago)
        self.extractor = Extractor(
            use,
            self.settings,
            lambda: find_template("extraction"),
            self._ids,
            lambda: self.at_ms,
            self._sleep,
            self._changed,
        )
        self.compactor = BufferCompactor(
            use,
            self.settings,
            lambda: find_template("buffer_compaction"),
            self._ids,
            lambda: self.at_ms,
            self._sleep,
            self.extractor.first_claim,
            self._changed,
        )
        self.watcher = Watcher(
            self.thread.run, self.settings, self.extractor, self.compactor, lambda: float(self.at_ms), self._changed
        )

    async def close(self) -> None:
        await self.watcher.stop()
        await asyncio.to_thread(self.thread.close, 10)

    def settings(self) -> Settings:
        return self._settings

    def configure(self, **sections: dict[str, Any]) -> None:
        """Changes settings, by their names on the wire."""
        for section, values in sections.items():
            self._given[section] = {**self._given.get(section, {}), **values}
        self._settings = Settings.model_validate(self._given, by_alias=True, by_name=False)

    def _chosen(self) -> Models | ModelFailure:
        return self.model if isinstance(self.model, ModelFailure) else (self.model,)

    async def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.on_sleep()
        await asyncio.sleep(0)

    def _changed(self, project: Project) -> None:
        self.changed.append(project.project_id)
        self.on_change(project)

    # --- what happens ---

    @staticmethod
    def project_of(root: str) -> Project:
        return Project(project_id_of(root), root)

    async def record(self, *texts: str, project: Project | None = None, **more: Any) -> list[str]:
        """Records one event for each text; their ids."""
        project = project or self.project
        events = [replace(event(self._ids(), text, project.project_id), **more) for text in texts]
        ceiling = self._settings.buffer.ceiling_bytes

        def accept(store: Any) -> None:
            store.events.note_project(project)
            store.events.accept(events, ceiling)

        await self.thread.run(accept)
        return [one.event_id for one in events]

    async def record_line(self, size_bytes: int) -> None:
        """Records one event whose line in the buffer has that size exactly."""
        bare = event(self._ids(), "", self.project.project_id)
        line = buffer_line(bare.event_id, bare.namespace, bare.kind, bare.body_json, bare.valid_time, bare.surface)
        await self.record("x" * (size_bytes - len(line) - 1))

    async def extract(self, *, by_user: bool = False, project: Project | None = None) -> Any:
        return await self.extractor.run(project or self.project, by_user=by_user)

    async def compact(self, *, by_user: bool = False, project: Project | None = None) -> Any:
        return await self.compactor.run(project or self.project, by_user=by_user)

    async def settle(self) -> None:
        """Lets the loop and the storage thread go on until nothing moves but what waits for a model."""
        for _ in range(60):
            await self.thread.run(lambda _: None)
            for _ in range(3):
                await asyncio.sleep(0)

    async def look(self) -> None:
        """A look of the watcher, and all that comes of it without a model that waits."""
        await self.watcher.look()
        await self.settle()

    # --- what is there ---

    def buffered(self, project: Project | None = None) -> list[str]:
        return buffered_ids(self.data_dir, (project or self.project).project_id)

    def entries(self) -> list[dict[str, Any]]:
        return buffer_entries(self.data_dir, self.project.project_id)

    @property
    def size(self) -> int:
        file = self.data_dir / "buffers" / self.project.project_id / "buffer.ndjson"
        return file.stat().st_size if file.exists() else 0

    def states(self) -> dict[str, str]:
        return states(self.data_dir)

    def records(self) -> list[tuple[str, str]]:
        """Title and method of every record, in order."""
        return rows(self.data_dir, "SELECT title, method FROM memory_records ORDER BY number")

    def sources(self) -> dict[str, set[str]]:
        """The events each record came from, by its title."""
        found: dict[str, set[str]] = {}
        for title, event_id in rows(
            self.data_dir, "SELECT title, event_id FROM record_events JOIN memory_records USING (record_id)"
        ):
            found.setdefault(title, set()).add(event_id)
        return found

    async def state(self, purpose: Purpose = "extraction") -> RunState:
        return await self.thread.run(lambda store: store.pipeline.run_state(self.project.project_id, purpose))

    async def failures(self, purpose: Purpose = "extraction") -> int:
        return (await self.state(purpose)).breaker.failures

    async def ledger(self) -> list[tuple[Any, ...]]:
        """The lines of the ledger, those of calls that ended settled: that is done behind the call, in two steps."""
        for _ in range(3):
            await self.thread.run(lambda _: None)
        return rows(
            self.data_dir,
            "SELECT purpose, provider, model, user_initiated, outcome, tokens FROM model_calls ORDER BY rowid",
        )
