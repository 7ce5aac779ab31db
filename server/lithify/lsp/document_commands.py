"""The commands for documents: both compactions, at once or as a draft, and their undoing."""

from __future__ import annotations

from typing import Any

from lithify.assembly import new_id
from lithify.core.conversation import Noop
from lithify.core.outcomes import LithifyError
from lithify.lsp import convert, wire
from lithify.lsp.progress import Progress
from lithify.lsp.server import LithifyServer
from lithify.workers.document_compaction import DocumentCommand
from lithify.workers.document_writing import DocumentDraft


async def compact_document(
    server: LithifyServer, params: wire.CompactConversation | wire.CompactUpToHere, uri: str, title: str
) -> dict[str, Any]:
    """Compacts the document of that URI; the command's result. Raises LithifyError."""
    label = "Compact conversation" if isinstance(params, wire.CompactConversation) else "Compact up to here"
    asked = DocumentCommand(uri, convert.compaction_command(params), _line(params), label)
    compactor = server.parts.document_compactor
    if params.dry_run:
        previewed = await compactor.preview(asked)
        return convert.noop(previewed) if isinstance(previewed, Noop) else convert.preview(previewed)
    async with Progress(server.protocol, title, server.can_create_progress, new_id()) as progress:
        if params.draft:
            drafted = await compactor.draft(asked, progress.report)
            return convert.noop(drafted) if isinstance(drafted, Noop) else convert.document_draft(drafted)
        result = await compactor.compact(asked, progress.report)
    return convert.noop(result) if isinstance(result, Noop) else convert.compacted_document(result)


async def apply_document_draft(server: LithifyServer, draft: DocumentDraft, text: str | None) -> dict[str, Any]:
    """Applies a draft of a document; the command's result. Raises LithifyError."""
    return convert.compacted_document(await server.parts.document_compactor.apply_draft(draft, text))


async def undo_in_document(server: LithifyServer, uri: str, compaction_id: str | None) -> dict[str, Any]:
    """Takes a compaction of a document back; the command's result. Raises LithifyError."""
    undone = await server.parts.document_compactor.undo(uri, compaction_id)
    answer = {"uri": undone.uri, "compactionId": undone.compaction_id}
    return answer if undone.restored is None else {**answer, "restoredUri": undone.restored}


def _line(params: wire.CompactConversation | wire.CompactUpToHere) -> int | None:
    """The anchor as a line, where it is one."""
    if isinstance(params, wire.CompactConversation):
        return None
    given = [one for one in (params.message_id, params.index, params.line) if one is not None]
    if len(given) != 1:
        raise LithifyError("invalid_params", "give one anchor: either line, index or messageId")
    if params.line is not None and params.line < 0:
        raise LithifyError("invalid_params", "line: must be 0 or more; the first line of a document is 0")
    return params.line
