"""Code lenses of a transcript: "Compact up to here" above each message of which it would do something."""

from __future__ import annotations

from typing import Any

from lsprotocol import types

from lithify.lsp import document_wire as wire
from lithify.lsp.server import LithifyServer
from lithify.lsp.shown_document import ShownDocument, amount, can_compact, shown, up_to_here


def register(server: LithifyServer) -> None:
    """Registers the feature."""

    async def lenses(params: wire.DocumentParams) -> list[dict[str, Any]]:
        document = await shown(server, params.text_document.uri)
        settings = server.settings.conversation
        if document is None or not can_compact(settings):
            return []
        return _lenses(document, exact=settings.exact_anchor)

    server.protocol.on_request(types.TEXT_DOCUMENT_CODE_LENS, wire.DocumentParams, lenses)
    server.protocol.announce("code_lens_provider", types.CodeLensOptions())


def _lenses(document: ShownDocument, *, exact: bool) -> list[dict[str, Any]]:
    """One lens a line: where several messages lie on one, the last of them has it."""
    by_line = {document.lines.line_of(message.start): index for index, message in enumerate(document.messages)}
    found = []
    for line, index in by_line.items():
        offer = document.outline.up_to(index, exact=exact)
        if offer is not None:
            place = {"line": line, "character": 0}
            command = {"title": f"Compact up to here: {amount(offer)}", **up_to_here(document, index, line)}
            found.append({"range": {"start": place, "end": place}, "command": command})
    return found
