"""Live sessions: the notifications that keep them up to date, and the requests that read them."""

from __future__ import annotations

import base64
import json
import logging
from typing import Any

from lithify.core.agents import compaction_enabled
from lithify.core.outcomes import LithifyError
from lithify.core.projects import Project
from lithify.core.sessions import CompactionRecord, SessionInfo
from lithify.lsp import convert, wire
from lithify.lsp.server import LithifyServer
from lithify.lsp.wire_base import is_unicode, project_uri
from lithify.workers.ports import Store
from lithify.workers.sessions import Opening

logger = logging.getLogger(__name__)

ACTIONS = (
    {"command": "lithify.compact_conversation", "title": "Compact conversation", "target": "session"},
    {"command": "lithify.compact_up_to_here", "title": "Compact up to here", "target": "message"},
)


def register(server: LithifyServer) -> None:
    """Registers the feature."""
    _register_notifications(server)
    _register_requests(server)


def _register_notifications(server: LithifyServer) -> None:
    protocol = server.protocol

    def queue(job: Any) -> None:
        server.parts.storage.put_job(job)
        server.on_sessions_changed()  # who looks comes behind the job

    def did_open(params: wire.DidOpenSession) -> None:
        surface = params.source.surface if params.source is not None else None
        opening = Opening(
            session_id=params.session_id,
            title=params.title,
            agent=params.agent,
            compaction_model=params.compaction_model,
            record=params.record,
            surface=surface or server.client_name,
            project=_project(server, params.project_uri),
            messages=params.messages,
        )
        queue(lambda store: server.parts.sessions.open(store, opening))

    def did_append(params: wire.DidAppendMessages) -> None:
        queue(lambda store: server.parts.sessions.append(store, params.session_id, params.messages))

    def did_splice(params: wire.DidSpliceMessages) -> None:
        queue(
            lambda store: server.parts.sessions.splice(
                store, params.session_id, params.start, params.delete_count, params.messages
            )
        )

    def did_change(params: wire.DidChangeSession) -> None:
        changes = {name: getattr(params, name) for name in params.model_fields_set if name != "session_id"}
        queue(lambda store: server.parts.sessions.change(store, params.session_id, changes))

    def did_close(params: wire.SessionParams) -> None:
        queue(lambda store: server.parts.sessions.close(store, params.session_id))

    protocol.on_notification("lithify/didOpenSession", wire.DidOpenSession, did_open)
    protocol.on_notification("lithify/didAppendMessages", wire.DidAppendMessages, did_append)
    protocol.on_notification("lithify/didSpliceMessages", wire.DidSpliceMessages, did_splice)
    protocol.on_notification("lithify/didChangeSession", wire.DidChangeSession, did_change)
    protocol.on_notification("lithify/didCloseSession", wire.SessionParams, did_close)


def _project(server: LithifyServer, named: Any) -> Project:
    """The project of a session that is opened; the default one, with a warning, where none is named as it should be."""
    try:
        return server.find_project(None if named is None else project_uri(named))
    except (ValueError, LithifyError) as error:
        logger.warning("lithify/didOpenSession: projectUri: %s; the session is kept in the default project", error)
        return server.find_project(None)


def _register_requests(server: LithifyServer) -> None:
    protocol = server.protocol

    async def get(params: wire.SessionParams) -> dict[str, Any]:
        def read(store: Store) -> dict[str, Any]:
            info = server.parts.sessions.found(store, params.session_id)
            return {
                **_head(info),
                "revision": info.revision,
                "messages": store.sessions.messages(info.session_id),
                "compactions": [_compaction(one) for one in store.compactions.of_session(info.session_id)],
                "agent": info.agent,
                "record": info.record or server.settings.sessions.record,
                "closed": info.closed,
                "createdAt": info.created_at,
            }

        return await server.parts.storage.run(read)

    async def list_sessions(params: wire.ListSessions) -> dict[str, Any]:
        project = server.find_project(params.project_uri).project_id if params.project_uri is not None else None
        after = _after(params.cursor)
        found = await server.parts.storage.run(lambda store: store.sessions.recent(project, params.limit + 1, after))
        shown = found[: params.limit]
        answer: dict[str, Any] = {"sessions": [_listed(info) for info in shown]}
        if len(found) > len(shown):
            answer["cursor"] = _cursor(shown[-1])
        return answer

    async def delete(params: wire.SessionParams) -> None:
        await server.parts.storage.run(lambda store: server.parts.sessions.delete(store, params.session_id))
        server.on_sessions_changed()

    async def status(params: wire.SessionParams) -> dict[str, Any]:
        return _status(await server.parts.storage.run(lambda s: server.parts.sessions.found(s, params.session_id)))

    async def actions(params: wire.SessionActions) -> dict[str, Any]:
        offered = params.agent is None or compaction_enabled(params.agent.get("compaction"))
        return {"actions": list(ACTIONS) if offered else []}

    protocol.on_request("lithify/getSession", wire.SessionParams, get)
    protocol.on_request("lithify/listSessions", wire.ListSessions, list_sessions)
    protocol.on_request("lithify/deleteSession", wire.SessionParams, delete)
    protocol.on_request("lithify/sessionStatus", wire.SessionParams, status)
    protocol.on_request("lithify/sessionActions", wire.SessionActions, actions)


def _head(info: SessionInfo) -> dict[str, Any]:
    shown: dict[str, Any] = {"sessionId": info.session_id, "updatedAt": info.updated_at}
    if info.title is not None:
        shown["title"] = info.title
    if info.compaction_model is not None:
        shown["compactionModel"] = info.compaction_model
    if info.project_root:
        shown["projectUri"] = convert.root_uri(info.project_root)
    return shown


def _listed(info: SessionInfo) -> dict[str, Any]:
    shown = {**_head(info), "messages": info.message_count, "tokens": info.tokens}
    shown.pop("compactionModel", None)
    return shown


def _status(info: SessionInfo) -> dict[str, Any]:
    shown: dict[str, Any] = {"messages": info.message_count, "tokens": info.tokens}
    window = info.agent.get("contextWindow") if info.agent is not None else None
    if isinstance(window, int) and window > 0:
        shown |= {"window": window, "share": info.tokens / window}
    return shown


def _compaction(one: CompactionRecord) -> dict[str, Any]:
    return {
        "compactionId": one.compaction_id,
        "at": one.at,
        "range": {"start": one.range.start, "end": one.range.end},
        "stats": {convert.camel(name): value for name, value in one.stats.items()},
        "undone": one.undone,
    }


def _cursor(info: SessionInfo) -> str:
    return base64.urlsafe_b64encode(json.dumps([info.updated_at, info.session_id]).encode()).decode()


def _after(cursor: str | None) -> tuple[str, str] | None:
    if cursor is None:
        return None
    try:
        found = json.loads(base64.urlsafe_b64decode(cursor))
    except (ValueError, RecursionError):
        found = None
    match found:
        case [str(at), str(session_id)] if is_unicode(at + session_id):
            return at, session_id
    raise LithifyError("invalid_params", "cursor: not one that lithify/listSessions gave; ask again without it")
