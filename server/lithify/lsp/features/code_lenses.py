"""Code lenses of a transcript: "Compact up to here" above each message of which it would do something."""

from __future__ import annotations

from typing import Any

from lsprotocol import types

from lithify.lsp import document_wire as wire
from lithify.lsp.documents import MOST_SHOWN, beside_the_loop
from lithify.lsp.server import LithifyServer
from lithify.lsp.shown_document import ShownDocument, amount, shown


def register(server: LithifyServer) -> None:
    """Registers the feature."""

    async def lenses(params: wire.DocumentParams) -> list[dict[str, Any]]:
        document = await shown(server, params.text_document.uri)
        return [] if document is None else await beside_the_loop(document.lines, lambda: _lenses(document))

    server.protocol.on_request(types.TEXT_DOCUMENT_CODE_LENS, wire.DocumentParams, lenses)
    server.protocol.announce("code_lens_provider", types.CodeLensOptions())


def _lenses(document: ShownDocument) -> list[dict[str, Any]]:
    """One lens a line: where several messages lie on one, the last of them has it. Of very many messages only the last
    ones have lenses; one in front of the first of these says so."""
    first = max(0, len(document.messages) - MOST_SHOWN)
    spans = enumerate(document.outline.spans(first), start=first)
    by_line = {document.lines.line_of(start): index for index, (start, _) in spans}
    found = []
    if first and by_line:
        found.append(_lens(min(by_line), _label(f"The {first} messages above have code actions instead of lenses")))
    for line, index in by_line.items():
        offered = document.compactions.up_to(index, line)
        if offered is not None:
            title = f"Compact up to here: {amount(offered.offer)}"
            command = {"title": title, "command": "lithify.compact_up_to_here", "arguments": [offered.argument]}
            found.append(_lens(line, command))
    return found


def _lens(line: int, command: dict[str, Any]) -> dict[str, Any]:
    place = {"line": line, "character": 0}
    return {"range": {"start": place, "end": place}, "command": command}


def _label(title: str) -> dict[str, Any]:
    """A command that does nothing: editors show its title as text."""
    return {"title": title, "command": ""}
