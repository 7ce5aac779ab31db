"""Hover over a message of a transcript: who says it, where it stands, how long it is, which tools it calls."""

from __future__ import annotations

from typing import Any

from lsprotocol import types

from lithify.core.messages import role_of
from lithify.lsp import document_wire as wire
from lithify.lsp.positions import offset_of
from lithify.lsp.read_only import read_only_reason
from lithify.lsp.server import LithifyServer
from lithify.lsp.shown_document import ShownDocument, shown, tokens

CALLS_SHOWN = 10


def register(server: LithifyServer) -> None:
    """Registers the feature."""

    async def hover(params: wire.HoverParams) -> dict[str, Any] | None:
        document = await shown(server, params.text_document.uri, as_asked=True)
        if document is None:
            return None
        at = params.position
        return _hover(document, offset_of(document.lines, at.line, at.character, document.encoding))

    server.protocol.on_request(types.TEXT_DOCUMENT_HOVER, wire.HoverParams, hover)


def _hover(document: ShownDocument, offset: int) -> dict[str, Any] | None:
    found = document.outline.within(offset, offset + 1) or document.outline.within(max(offset - 1, 0), offset)
    if found is None:
        folds = document.folds
        fold = next((one for one in folds if one.start <= offset < one.end), None)
        return None if fold is None else _said(document, fold.title, fold.start, fold.end)
    index = found[1]
    message = document.messages[index]
    return _said(document, _words(document, index), message.start, message.end)


def _said(document: ShownDocument, words: str, start: int, end: int) -> dict[str, Any]:
    """Plain text, because the names of tools are foreign text."""
    (place,) = document.ranges([(start, end)])
    return {"contents": {"kind": types.MarkupKind.PlainText.value, "value": words}, "range": place}


def _words(document: ShownDocument, index: int) -> str:
    outline = document.outline
    role = role_of(outline.conversation[index]) or "message"
    lines = [f"{role}, message {index + 1} of {len(outline.conversation)}, {tokens(outline.tokens(index))}"]
    if calls := outline.calls(index):
        more = f" and {len(calls) - CALLS_SHOWN} more" if len(calls) > CALLS_SHOWN else ""
        lines.append(f"Calls {', '.join(calls[:CALLS_SHOWN])}{more}")
    if (reason := read_only_reason(document)) is not None:
        lines.append(reason)
    return "\n".join(lines)
