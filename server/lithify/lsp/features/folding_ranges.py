"""Folding ranges of a transcript: one for each message, one for each part that the tool would not send."""

from __future__ import annotations

from typing import Any

from lsprotocol import types

from lithify.lsp import document_wire as wire
from lithify.lsp.documents import MOST_SHOWN, beside_the_loop
from lithify.lsp.server import LithifyServer
from lithify.lsp.shown_document import ShownDocument, shown


def register(server: LithifyServer) -> None:
    """Registers the feature."""

    async def ranges(params: wire.DocumentParams) -> list[dict[str, Any]]:
        document = await shown(server, params.text_document.uri)
        if document is None:
            return []
        limit = server.capability("textDocument", "foldingRange", "rangeLimit")
        found = await beside_the_loop(document.lines, lambda: _ranges(document))
        return found[:limit] if isinstance(limit, int) else found

    server.protocol.on_request(types.TEXT_DOCUMENT_FOLDING_RANGE, wire.DocumentParams, ranges)


def _ranges(document: ShownDocument) -> list[dict[str, Any]]:
    """Whole lines: many editors fold nothing else. Where an editor takes only so many, it gets the first ones; of very
    many messages only the last ones are folded."""
    line_of = document.lines.line_of
    spans = document.outline.spans(max(0, len(document.messages) - MOST_SHOWN))
    spans += [(fold.start, fold.end) for fold in document.folds[-MOST_SHOWN:]]
    lines = [{"startLine": line_of(start), "endLine": line_of(max(end - 1, start))} for start, end in sorted(spans)]
    return [{**one, "kind": types.FoldingRangeKind.Region.value} for one in lines]
