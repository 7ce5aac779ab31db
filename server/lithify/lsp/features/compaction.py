"""The two compactions of a live session, and their undoing."""

from __future__ import annotations

from typing import Any

from lithify.assembly import new_id
from lithify.core.conversation import Noop
from lithify.core.outcomes import LithifyError
from lithify.lsp import convert, wire
from lithify.lsp.progress import Progress
from lithify.lsp.server import LithifyServer


def register(server: LithifyServer) -> None:
    """Registers the feature."""

    async def compact_conversation(params: wire.CompactConversation) -> dict[str, Any]:
        return await _compact(server, params, _session(params), "Compacting conversation")

    async def compact_up_to_here(params: wire.CompactUpToHere) -> dict[str, Any]:
        session_id = _session(params)
        if params.line is not None:
            raise LithifyError("invalid_params", "line names a place in a document; a session takes messageId or index")
        if (params.message_id is None) == (params.index is None):
            raise LithifyError("invalid_params", "give one anchor: either messageId or index")
        return await _compact(server, params, session_id, "Compacting up to here")

    async def undo(params: wire.UndoCompaction) -> dict[str, Any]:
        session_id = _session(params)
        undone = await server.parts.compactor.undo(session_id, params.compaction_id)
        _tell_changed(server, session_id, undone.revision, "undone", undone.messages)
        return {
            "sessionId": session_id,
            "compactionId": undone.compaction_id,
            "revision": undone.revision,
            "messages": undone.messages,
        }

    command = server.protocol.on_command
    command("lithify.compact_conversation", wire.CompactConversation, compact_conversation, cancellable=True)
    command("lithify.compact_up_to_here", wire.CompactUpToHere, compact_up_to_here, cancellable=True)
    command("lithify.undo_compaction", wire.UndoCompaction, undo)


async def _compact(
    server: LithifyServer, params: wire.CompactConversation | wire.CompactUpToHere, session_id: str, title: str
) -> dict[str, Any]:
    if params.draft:
        raise LithifyError("not_built", "drafts are not supported by this version; use dryRun for a preview")
    command = convert.compaction_command(params)
    compactor = server.parts.compactor
    if params.dry_run:
        previewed = await compactor.preview(session_id, command)
        return convert.noop(previewed) if isinstance(previewed, Noop) else convert.preview(previewed)
    async with Progress(server.protocol, title, server.can_create_progress, new_id()) as progress:
        result = await compactor.compact(session_id, command, progress.report)
    if isinstance(result, Noop):
        return convert.noop(result)
    _tell_changed(server, session_id, result.changed.revision, "compacted", result.changed.messages)
    return convert.compacted(session_id, result)


def _session(params: wire.CompactConversation | wire.CompactUpToHere | wire.UndoCompaction) -> str:
    if (params.session_id is None) == (params.uri is None):
        raise LithifyError("invalid_params", "give either sessionId or uri")
    if params.session_id is None:
        raise LithifyError("not_built", "documents (uri) are not supported by this version; open the chat as a session")
    return params.session_id


def _tell_changed(
    server: LithifyServer, session_id: str, revision: int, reason: str, messages: list[dict[str, Any]]
) -> None:
    if server.client.session_changed:
        changed = {"sessionId": session_id, "revision": revision, "reason": reason, "messages": messages}
        server.protocol.tell("lithify/sessionChanged", changed)
