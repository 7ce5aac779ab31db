"""The two compactions of a live session or a document, at once or as a draft, and their undoing."""

from __future__ import annotations

from typing import Any

from lithify.assembly import new_id
from lithify.core.conversation import Noop
from lithify.core.outcomes import LithifyError
from lithify.lsp import convert, wire
from lithify.lsp.document_commands import apply_document_draft, compact_document, undo_in_document
from lithify.lsp.progress import Progress
from lithify.lsp.server import LithifyServer
from lithify.lsp.session_uris import session_of
from lithify.lsp.told_warnings import tell_warnings
from lithify.workers.session_compaction import Compacted


def register(server: LithifyServer) -> None:
    """Registers the feature."""

    async def compact_conversation(params: wire.CompactConversation) -> dict[str, Any]:
        title = "Compacting conversation"
        if (uri := _document(params)) is not None:
            return tell_warnings(server, await compact_document(server, params, uri, title))
        return tell_warnings(server, await _compact(server, params, _session(params), title))

    async def compact_up_to_here(params: wire.CompactUpToHere) -> dict[str, Any]:
        if (uri := _document(params)) is not None:
            return tell_warnings(server, await compact_document(server, params, uri, "Compacting up to here"))
        session_id = _session(params)
        if params.line is not None:
            raise LithifyError("invalid_params", "line names a place in a document; a session takes messageId or index")
        if (params.message_id is None) == (params.index is None):
            raise LithifyError("invalid_params", "give one anchor: either messageId or index")
        return tell_warnings(server, await _compact(server, params, session_id, "Compacting up to here"))

    async def apply_draft(params: wire.ApplyCompaction) -> dict[str, Any]:
        if (draft := server.parts.compactor.drafts.of_document(params.draft_id)) is not None:
            return tell_warnings(server, await apply_document_draft(server, draft, params.summary_text))
        applied = await server.parts.compactor.apply_draft(params.draft_id, params.summary_text)
        return tell_warnings(server, _applied(server, applied))

    async def discard_draft(params: wire.DiscardDraft) -> dict[str, Any]:
        if (draft := server.parts.compactor.drafts.of_document(params.draft_id)) is not None:
            server.parts.document_compactor.discard_draft(draft)
        else:
            server.parts.compactor.discard_draft(params.draft_id)
        return {"discarded": True}

    async def undo(params: wire.UndoCompaction) -> dict[str, Any]:
        if (uri := _document(params)) is not None:
            return await undo_in_document(server, uri, params.compaction_id)
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
    command("lithify.apply_compaction", wire.ApplyCompaction, apply_draft)
    command("lithify.discard_draft", wire.DiscardDraft, discard_draft)
    command("lithify.undo_compaction", wire.UndoCompaction, undo)


async def _compact(
    server: LithifyServer, params: wire.CompactConversation | wire.CompactUpToHere, session_id: str, title: str
) -> dict[str, Any]:
    command = convert.compaction_command(params)
    compactor = server.parts.compactor
    if params.dry_run:
        previewed = await compactor.preview(session_id, command)
        return convert.noop(previewed) if isinstance(previewed, Noop) else convert.preview(previewed)
    async with Progress(server.protocol, title, server.can_create_progress, new_id()) as progress:
        if params.draft:
            drafted = await compactor.draft(session_id, command, progress.report)
            return convert.noop(drafted) if isinstance(drafted, Noop) else convert.draft(drafted)
        result = await compactor.compact(session_id, command, progress.report)
    return convert.noop(result) if isinstance(result, Noop) else _applied(server, result)


def _applied(server: LithifyServer, result: Compacted) -> dict[str, Any]:
    _tell_changed(server, result.session_id, result.changed.revision, "compacted", result.changed.messages)
    return convert.compacted(result)


def _document(params: wire.CompactConversation | wire.CompactUpToHere | wire.UndoCompaction) -> str | None:
    """The URI of the document, None where a session is named, by its id or by the URI of its document."""
    if (params.session_id is None) == (params.uri is None):
        raise LithifyError("invalid_params", "give either sessionId or uri")
    return params.uri if params.uri is None or session_of(params.uri) is None else None


def _session(params: wire.CompactConversation | wire.CompactUpToHere | wire.UndoCompaction) -> str:
    session_id = params.session_id if params.uri is None else session_of(params.uri)
    if session_id is None:
        raise LithifyError("invalid_params", "give either sessionId or uri")
    return session_id


def _tell_changed(
    server: LithifyServer, session_id: str, revision: int, reason: str, messages: list[dict[str, Any]]
) -> None:
    server.on_sessions_changed()
    if server.client.session_changed:
        changed = {"sessionId": session_id, "revision": revision, "reason": reason, "messages": messages}
        server.protocol.tell("lithify/sessionChanged", changed)
