"""A session of an agent as the wire tells it. The command line, which answers alike, needs no more of the wire."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from lithify.core.agent_sessions import AgentSession


def agent_session(session: AgentSession) -> dict[str, Any]:
    """The wire's AgentSession; what is not known is left out, but for `live`, which is then null."""
    shown = {
        "uri": session.file.uri,
        "agent": session.file.agent,
        "sessionId": session.session_id,
        "version": session.version,
        "title": session.title,
        "project": session.project,
        "messages": session.messages,
        "tokens": session.tokens,
        "updatedAt": updated_at(session),
        "live": session.live,
        "writable": session.writable,
        "reason": session.reason,
        "resumeCommand": session.resume_command,
    }
    return {key: value for key, value in shown.items() if value is not None or key == "live"}


def updated_at(session: AgentSession) -> str:
    """When the session was last written: ISO 8601 in UTC with milliseconds."""
    seconds = min(max(session.file.modified_ns / 1e9, 0.0), 253_402_300_799.0)
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
