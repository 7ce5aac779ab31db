"""Events in: `lithify/didRecordEvents` and `lithify/recordEvents`."""

from __future__ import annotations

from typing import Any

from lithify.assembly import actor_id, new_id, now
from lithify.lsp import convert, wire
from lithify.lsp.server import LithifyServer
from lithify.workers.ingestion import EventBatch


def register(server: LithifyServer) -> None:
    """Registers the feature."""
    actor = actor_id()

    def batch(params: wire.RecordEvents, *, asked: bool) -> EventBatch:
        at = now()
        return EventBatch(
            [convert.new_event(raw, new_id, actor, server.client_name, at) for raw in params.events], asked
        )

    def did_record(params: wire.RecordEvents) -> None:
        server.parts.storage.put(batch(params, asked=False), len(params.events) or 1)

    async def record(params: wire.RecordEvents) -> dict[str, Any]:
        results = await server.parts.storage.handle(batch(params, asked=True), len(params.events) or 1)
        return {"results": [convert.event_result(result) for result in results]}

    server.protocol.on_notification("lithify/didRecordEvents", wire.RecordEvents, did_record)
    server.protocol.on_request("lithify/recordEvents", wire.RecordEvents, record)
