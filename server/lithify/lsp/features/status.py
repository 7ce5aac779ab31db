"""The buffer's state: `lithify/bufferStatus`, its notification, and `lithify.set_recording`."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from lithify.core.outcomes import LithifyError
from lithify.core.projects import Project
from lithify.lsp import convert, wire
from lithify.lsp.server import LithifyServer

INTERVAL_SECONDS = 0.1


class StatusNotifier:
    """Sends `lithify/bufferStatusChanged`, at most ten a second for a project, the last state always, none twice."""

    def __init__(self, server: LithifyServer) -> None:
        self._server = server
        self._told: dict[str, Project] = {}
        self._last: dict[str, dict[str, Any]] = {}
        self._changed: set[str] = set()
        self._sending: dict[str, asyncio.Task[None]] = {}

    def changed(self, project: Project) -> None:
        """Something changed in a project's buffer."""
        if not self._server.client.buffer_status:
            return
        self._told[project.project_id] = project
        self._changed.add(project.project_id)
        if project.project_id not in self._sending:
            self._sending[project.project_id] = asyncio.ensure_future(self._send(project))

    def all_changed(self) -> None:
        """Something changed that is part of every status: a setting, or whether the data folder can be used."""
        for project in list(self._told.values()):
            self.changed(project)

    def look(self) -> None:
        """Tells what changed without a word of this process: another window did something or ended, time passed."""
        server = self._server
        if server.client.buffer_status:
            for folder in server.folders or (None,):
                with suppress(LithifyError):
                    self.changed(server.find_project(folder))
            self.all_changed()

    async def _send(self, project: Project) -> None:
        """Sends until nothing has changed since, the pause after each one included: what comes then finds no task."""
        server = self._server
        try:
            while project.project_id in self._changed:
                self._changed.discard(project.project_id)
                status = convert.buffer_status(await server.parts.status(project), server.settings)
                if self._last.get(project.project_id) != status:
                    self._last[project.project_id] = status
                    server.protocol.tell("lithify/bufferStatusChanged", status)
                await asyncio.sleep(INTERVAL_SECONDS)
        finally:
            del self._sending[project.project_id]


def register(server: LithifyServer) -> None:
    """Registers the feature."""
    notifier = StatusNotifier(server)
    server.on_project_changed = notifier.changed
    server.on_all_changed = notifier.all_changed
    server.on_look = notifier.look

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
