"""The two compactions of a document, as commands."""

from __future__ import annotations

from typing import Any

from lithify.assembly import new_id
from lithify.core.conversation import Noop
from lithify.core.outcomes import LithifyError
from lithify.lsp import convert, wire
from lithify.lsp.progress import Progress
from lithify.lsp.server import LithifyServer


async def compact_document(
    server: LithifyServer, params: wire.CompactConversation | wire.CompactUpToHere, uri: str, title: str
) -> dict[str, Any]:
    """Compacts the document of that URI; the command's result. Raises LithifyError."""
    line = _line(params)
    if params.draft and not params.dry_run:
        raise LithifyError("not_built", "drafts of documents are not supported by this version; leave draft out")
    command, compactor = convert.compaction_command(params), server.parts.document_compactor
    if params.dry_run:
        previewed = await compactor.preview(uri, command, line)
        return convert.noop(previewed) if isinstance(previewed, Noop) else convert.preview(previewed)
    async with Progress(server.protocol, title, server.can_create_progress, new_id()) as progress:
        result = await compactor.compact(uri, command, progress.report, line)
    return convert.noop(result) if isinstance(result, Noop) else convert.compacted_document(result)


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
