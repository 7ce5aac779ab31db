"""The watcher: looks at the buffers of all projects and starts what is due.

It looks at the files themselves, so that every process sees the same, also what another one wrote. A trigger that
comes while a run goes on starts nothing; when a run ends, in any process, size and idle time are judged anew.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from lithify.core.outcomes import LithifyError
from lithify.core.pipeline import enough_new_input
from lithify.core.projects import Project
from lithify.core.settings import Settings
from lithify.core.thresholds import compaction_due, extraction_due
from lithify.workers.buffer_compaction import BufferCompactor
from lithify.workers.extraction import Extractor
from lithify.workers.ports import Store

logger = logging.getLogger(__name__)

LOOK_EVERY_SECONDS = 1.0

RETRY_MS = 30_000
"""How long work that got nowhere is left alone, unless the buffer changes: it rests, waits for a budget or consent, or
another process does it."""

Look = tuple[int, int]
"""Bytes of a buffer file, and its modification time in nanoseconds."""


@dataclass(slots=True)
class _Watched:
    project: Project
    seen: Look = (0, 0)
    changed_at_ms: float = 0.0
    running: set[str] = field(default_factory=set)
    resting: dict[str, tuple[Look, float]] = field(default_factory=dict)


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

    async def look(self) -> None:
        """Looks at every buffer once: tells what changed, and starts what is due."""
        for look in await self._run(lambda store: store.staging.look()):
            watched = self._watched.setdefault(look.project.project_id, _Watched(look.project))
            seen = (look.size_bytes, look.modified_ns)
            if watched.seen != seen:
                watched.seen = seen
                watched.changed_at_ms = self._clock_ms()
                self._on_change(look.project)
            self._judge(watched, look.size_after_bytes)

    async def stop(self) -> None:
        """Ends what was started."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _judge(self, watched: _Watched, size_after_bytes: int | None) -> None:
        settings = self._settings()
        size_bytes = watched.seen[0]
        unchanged_ms = self._clock_ms() - watched.changed_at_ms
        if extraction_due(size_bytes, unchanged_ms, settings) is not None and self._may(watched, "extraction"):
            self._start(watched, "extraction", self._extract(watched))
        if (
            compaction_due(size_bytes, settings)
            and enough_new_input(size_bytes, size_after_bytes, settings.buffer.compaction_bytes)
            and self._may(watched, "compaction")
        ):
            self._start(watched, "compaction", self._compact(watched))

    def _may(self, watched: _Watched, kind: str) -> bool:
        """Whether that work is neither going on nor resting with nothing new to do."""
        if kind in watched.running:
            return False
        rest = watched.resting.get(kind)
        if rest is None:
            return True
        look, until_ms = rest
        if look == watched.seen and self._clock_ms() < until_ms:
            return False
        del watched.resting[kind]
        return True

    def _start(self, watched: _Watched, kind: str, work: Coroutine[Any, Any, bool]) -> None:
        watched.running.add(kind)
        task = asyncio.ensure_future(self._work(watched, kind, work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _work(self, watched: _Watched, kind: str, work: Coroutine[Any, Any, bool]) -> None:
        progressed = False
        try:
            progressed = await work
        except LithifyError as error:
            logger.info("%s of %s was not done: %s", kind, watched.project.root, error.message)
        except Exception:
            logger.exception("%s of %s failed", kind, watched.project.root)
        finally:
            watched.running.discard(kind)
            if not progressed:
                watched.resting[kind] = (watched.seen, self._clock_ms() + RETRY_MS)

    async def _extract(self, watched: _Watched) -> bool:
        done = await self._extractor.run(watched.project, by_user=False)
        return done.extracted > 0 and done.problem is None

    async def _compact(self, watched: _Watched) -> bool:
        done = await self._compactor.run(watched.project, by_user=False)
        return done.size_after < done.size_before
