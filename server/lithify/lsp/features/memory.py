"""Memory: `lithify.extract_now`, `compact_buffer`, and what is known of a project."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Coroutine
from typing import Any, TypeVar

from lithify.core.outcomes import LithifyError
from lithify.lsp import convert, wire
from lithify.lsp.server import LithifyServer

T = TypeVar("T")


def register(server: LithifyServer) -> None:
    """Registers the feature."""

    async def extract_now(params: wire.ProjectParams) -> dict[str, Any]:
        project = server.find_project(params.project_uri)
        done = await _to_the_end(server.parts.extractor.run(project, by_user=True))
        shown: dict[str, Any] = {"extracted": done.extracted, "records": done.records, "remaining": done.remaining}
        if done.method is not None:
            shown["method"] = done.method
        shown |= convert.answerer(done.answerer)
        if done.problem is not None:
            shown["problem"] = done.problem
        elif not done.records:
            shown["reason"] = "nothing_worth_keeping" if done.extracted else "nothing_waiting"
        return shown

    async def compact_buffer(params: wire.ProjectParams) -> dict[str, Any]:
        project = server.find_project(params.project_uri)
        done = await _to_the_end(server.parts.buffer_compactor.run(project, by_user=True))
        shown: dict[str, Any] = {
            "sizeBefore": done.size_before,
            "sizeAfter": done.size_after,
            "entriesBefore": done.entries_before,
            "entriesAfter": done.entries_after,
            "method": done.method,
            **convert.answerer(done.answerer),
        }
        if done.problem is not None:
            shown["problem"] = done.problem
        return shown

    async def search(params: wire.SearchMemory) -> dict[str, Any]:
        project = server.find_project(params.project_uri)
        found = await server.parts.storage.run(
            lambda store: store.memory.search(project.project_id, params.query, params.limit)
        )
        return {"records": [convert.record(one) for one in found]}

    async def list_memory(params: wire.ListMemory) -> dict[str, Any]:
        project = server.find_project(params.project_uri)
        before = _before(params.cursor)
        found = await server.parts.storage.run(
            lambda store: store.memory.recent(project.project_id, params.limit + 1, before)
        )
        shown = found[: params.limit]
        answer: dict[str, Any] = {"records": [convert.record(one) for _, one in shown]}
        if len(found) > len(shown):
            answer["cursor"] = _cursor(shown[-1][0])
        return answer

    async def show(params: wire.RecordParams) -> dict[str, Any]:
        found = await server.parts.storage.run(lambda store: store.memory.find(params.record_id))
        if found is None:
            raise unknown(params.record_id)
        return convert.record(found)

    async def forget(params: wire.RecordParams) -> dict[str, Any]:
        if not await server.parts.storage.run(lambda store: store.forget_record(params.record_id)):
            raise unknown(params.record_id)
        return {"forgotten": True}

    protocol = server.protocol
    protocol.on_command("lithify.extract_now", wire.ProjectParams, extract_now, cancellable=True)
    protocol.on_command("lithify.compact_buffer", wire.ProjectParams, compact_buffer, cancellable=True)
    protocol.on_command("lithify.search_memory", wire.SearchMemory, search)
    protocol.on_command("lithify.list_memory", wire.ListMemory, list_memory)
    protocol.on_command("lithify.show_memory", wire.RecordParams, show)
    protocol.on_command("lithify.forget_memory", wire.RecordParams, forget)


async def _to_the_end(work: Coroutine[Any, Any, T]) -> T:
    """The work's result; a cancel is answered with what is true of work that is kept piece by piece."""
    try:
        return await work
    except asyncio.CancelledError:
        raise LithifyError("cancelled", "the request was cancelled; what was finished before stays") from None


def unknown(record_id: str) -> LithifyError:
    """The failure of naming a record that is not there."""
    return LithifyError(
        "unknown_record", f"there is no memory record {record_id!r}; lithify.list_memory tells those there are"
    )


def _cursor(number: int) -> str:
    return base64.urlsafe_b64encode(str(number).encode()).decode()


def _before(cursor: str | None) -> int | None:
    if cursor is None:
        return None
    try:
        number = int(base64.urlsafe_b64decode(cursor))
    except ValueError:
        number = -1
    if not 0 <= number < 1 << 63 or _cursor(number) != cursor:
        raise LithifyError("invalid_params", "cursor: not one that lithify.list_memory gave; ask again without it")
    return number
