"""The watcher: looks at the buffers of all projects and starts what is due.

It looks at the files themselves, so that every process sees the same, also what another one wrote. A trigger that
comes while a run goes on starts nothing; when a run ends, in any process, size and idle time are judged anew.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from lithify.core.outcomes import LithifyError
from lithify.core.pipeline import enough_new_input
from lithify.core.projects import BufferLook, Project
from lithify.core.settings import Settings
from lithify.core.thresholds import compaction_due, extraction_due
from lithify.workers.buffer_compaction import BufferCompactor
from lithify.workers.extraction import Extractor
from lithify.workers.ports import Store

logger = logging.getLogger(__name__)

LOOK_EVERY_SECONDS = 1.0

Look: TypeAlias = tuple[int, int]
"""Bytes of a buffer file, and its modification time in nanoseconds."""

Ended: TypeAlias = Literal["progress", "nothing", "problem"]
"""How work ended: on to the next; it found nothing free to work on; something is in its way."""

Work: TypeAlias = Callable[[Project], Awaitable[Ended]]


@dataclass(frozen=True, slots=True)
class _Rest:
    """A time in which work that got nowhere is left alone: for `buffer.idleMs`, as long as the settings stay as they
    are and (where it found nothing to do) the buffer too."""

    until_ms: float
    settings: Settings
    look: Look | None


@dataclass(slots=True)
class _Watched:
    project: Project
    seen: Look = (0, 0)
    changed_at_ms: float = 0.0
    running: set[str] = field(default_factory=set)
    resting: dict[str, _Rest] = field(default_factory=dict)


class Watcher:
    """Watches the buffers of one data folder. `clock_ms` is monotonic; `look` is called about every second."""

    def __init__(
        self,
        run: Callable[[Callable[[Store], Any]], Awaitable[Any]],
        settings: Callable[[], Settings],
        extractor: Extractor,
        compactor: BufferCompactor,
        clock_ms: Callable[[], float],
        on_change: Callable[[Project], None],
    ) -> None:
        self._run = run
        self._settings = settings
        self._extractor = extractor
        self._compactor = compactor
        self._clock_ms = clock_ms
        self._on_change = on_change
        self._watched: dict[str, _Watched] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._stopped = False

    async def look(self) -> None:
        """Looks at every buffer once: tells what changed, and starts what is due. A disk that fails is looked at again
        the next time; the storage thread tells of it."""
        try:
            looks = await self._run(self._fed)
        except LithifyError:
            return
        for look in looks:
            watched = self._watched.setdefault(look.project.project_id, _Watched(look.project))
            watched.project = look.project  # its root may have become known
            seen = (look.size_bytes, look.modified_ns)
            if watched.seen != seen:
                watched.seen = seen
                watched.changed_at_ms = self._clock_ms()
                self._on_change(look.project)
            if not self._stopped:
                self._judge(watched, look)

    async def stop(self) -> None:
        """Ends what was started, and starts nothing more."""
        self._stopped = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _fed(self, store: Store) -> list[BufferLook]:
        """How the buffers stand, after what waits was fed in as far as there is room: a setting or a disk may have
        made some."""
        for project_id in store.events.waiting_projects():
            store.events.feed(project_id, self._settings().buffer.ceiling_bytes)
        return store.staging.look()

    def _judge(self, watched: _Watched, look: BufferLook) -> None:
        settings = self._settings()
        unchanged_ms = self._clock_ms() - watched.changed_at_ms
        if extraction_due(look.size_bytes, unchanged_ms, settings) is not None:
            self._start(watched, "extraction", self._extract)
        if compaction_due(look.size_bytes, settings) and enough_new_input(
            look.size_bytes, look.size_after_bytes, settings.buffer.compaction_bytes
        ):
            self._start(watched, "compaction", self._compact)

    def _start(self, watched: _Watched, kind: str, work: Work) -> None:
        """Starts work that is neither going on nor resting."""
        if kind in watched.running or self._rests(watched, watched.resting.get(kind)):
            return
        watched.resting.pop(kind, None)
        watched.running.add(kind)
        task = asyncio.ensure_future(self._work(watched, kind, work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _rests(self, watched: _Watched, rest: _Rest | None) -> bool:
        return (
            rest is not None
            and self._clock_ms() < rest.until_ms
            and self._settings() == rest.settings
            and rest.look in (None, watched.seen)
        )

    async def _work(self, watched: _Watched, kind: str, work: Work) -> None:
        ended: Ended = "problem"
        settings = self._settings()
        try:
            ended = await work(watched.project)
        except LithifyError as error:
            ended = "nothing" if error.type == "busy" else "problem"
            logger.info("%s of %s was not done: %s", kind, watched.project.root, error.message)
        except Exception as error:  # whatever it is, the other buffers are watched on
            details = error if logger.isEnabledFor(logging.DEBUG) else None
            name = type(error).__name__
            logger.error("%s of %s failed: %s", kind, watched.project.root, name, exc_info=details)  # noqa: TRY400
        finally:
            watched.running.discard(kind)
            if ended != "progress":
                until_ms = self._clock_ms() + settings.buffer.idle_ms
                watched.resting[kind] = _Rest(until_ms, settings, watched.seen if ended == "nothing" else None)

    async def _extract(self, project: Project) -> Ended:
        done = await self._extractor.run(project, by_user=False)
        return "problem" if done.problem is not None else "progress" if done.extracted else "nothing"

    async def _compact(self, project: Project) -> Ended:
        done = await self._compactor.run(project, by_user=False)
        return "progress" if done.method is not None else "nothing" if done.problem is None else "problem"
