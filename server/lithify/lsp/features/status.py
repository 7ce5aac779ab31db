"""The buffer's state: `lithify/bufferStatus`, its notification, and `lithify.set_recording`."""

from __future__ import annotations

import asyncio
from typing import Any

from lithify.core.projects import Project
from lithify.lsp import convert, wire
from lithify.lsp.server import LithifyServer

INTERVAL_SECONDS = 0.1


class StatusNotifier:
    """Sends `lithify/bufferStatusChanged`, at most ten a second for a project, the last state always."""

    def __init__(self, server: LithifyServer) -> None:
        self._server = server
        self._loop = asyncio.get_running_loop()
        self._scheduled: set[str] = set()
        self._last: dict[str, float] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def changed(self, project: Project) -> None:
        """Something changed in a project's buffer."""
        if not self._server.client.buffer_status or project.project_id in self._scheduled:
            return
        self._scheduled.add(project.project_id)
        earliest = self._last.get(project.project_id, 0.0) + INTERVAL_SECONDS
        self._loop.call_at(max(earliest, self._loop.time()), self._start, project)

    def _start(self, project: Project) -> None:
        self._scheduled.discard(project.project_id)
        self._last[project.project_id] = self._loop.time()
        task = asyncio.ensure_future(self._send(project))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _send(self, project: Project) -> None:
        status = await self._server.parts.status(project)
        self._server.protocol.tell("lithify/bufferStatusChanged", convert.buffer_status(status, self._server.settings))


def register(server: LithifyServer) -> None:
    """Registers the feature."""
    notifier = StatusNotifier(server)
    server.on_project_changed = notifier.changed

    async def buffer_status(params: wire.BufferStatusParams) -> dict[str, Any]:
        status = await server.parts.status(server.find_project(params.project_uri))
        return convert.buffer_status(status, server.settings)

    async def set_recording(params: wire.SetRecording) -> dict[str, Any]:
        project = server.find_project(params.project_uri)
        await server.parts.storage.run(lambda store: store.events.set_recording(project, params.enabled))
        notifier.changed(project)
        status = await server.parts.status(project)
        return {"recording": status.counts.recording, "projectUri": convert.project_uri(project)}

    server.protocol.on_request("lithify/bufferStatus", wire.BufferStatusParams, buffer_status)
    server.protocol.on_command("lithify.set_recording", wire.SetRecording, set_recording)
