"""The sessions of coding agents on this machine: `lithify/listAgentSessions`, `lithify/getAgentSession`."""

from __future__ import annotations

import asyncio
import os
from typing import Any

from lithify.lsp.agent_session_wire import agent_session
from lithify.lsp.server import LithifyServer
from lithify.lsp.shown_conversation import about_transcript, document_compaction, shown_conversation
from lithify.lsp.wire import GetAgentSession, ListAgentSessions
from lithify.storage.projects import path_of


def register(server: LithifyServer) -> None:
    """Registers the feature."""

    async def list_agent_sessions(params: ListAgentSessions) -> dict[str, Any]:
        listing = await server.parts.agent_sessions.listed(_folder(params), params.agent, params.limit)
        shown: dict[str, Any] = {"sessions": [agent_session(one) for one in listing.sessions]}
        if listing.more:
            shown["more"] = True
        return shown

    async def get_agent_session(params: GetAgentSession) -> dict[str, Any]:
        compactor = server.parts.document_compactor
        found = await compactor.look(params.uri)
        session = await server.parts.agent_sessions.known(params.uri)
        kept = await compactor.compactions(params.uri)
        reason = await compactor.read_only_reason(found) if session is None else session.reason
        about = about_transcript(params.uri, reason) if session is None else agent_session(session)
        exact = server.settings.conversation.exact_anchor
        shown = await asyncio.to_thread(shown_conversation, found.reading.outline, exact=exact, writable=reason is None)
        return {**about, **shown, "compactions": [document_compaction(one) for one in kept]}

    server.protocol.on_request("lithify/listAgentSessions", ListAgentSessions, list_agent_sessions)
    server.protocol.on_request("lithify/getAgentSession", GetAgentSession, get_agent_session)


def _folder(params: ListAgentSessions) -> str | None:
    return None if params.project_uri is None else os.path.expanduser(path_of(params.project_uri))
