"""Document symbols of a transcript: one for each message, one for each part that the tool would not send."""

from __future__ import annotations

from typing import Any

from lsprotocol import types

from lithify.lsp import document_wire as wire
from lithify.lsp.documents import MOST_SHOWN, beside_the_loop
from lithify.lsp.server import LithifyServer
from lithify.lsp.shown_document import JsonRange, ShownDocument, shown, tokens

KINDS = {
    "system": types.SymbolKind.Namespace,
    "user": types.SymbolKind.String,
    "assistant": types.SymbolKind.Method,
    "tool": types.SymbolKind.Event,
}
OTHER = types.SymbolKind.Object
FOLDED = types.SymbolKind.Package


def register(server: LithifyServer) -> None:
    """Registers the feature."""

    async def symbols(params: wire.DocumentParams) -> list[dict[str, Any]]:
        document = await shown(server, params.text_document.uri)
        if document is None:
            return []
        tree = server.capable("textDocument", "documentSymbol", "hierarchicalDocumentSymbolSupport")

        def answer() -> list[dict[str, Any]]:
            return [_in_tree(*one) if tree else _in_list(document.uri, *one) for one in _symbols(document)]

        return await beside_the_loop(document.lines, answer)

    server.protocol.on_request(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL, wire.DocumentParams, symbols)


def _symbols(document: ShownDocument) -> list[tuple[str, str, types.SymbolKind, JsonRange]]:
    """Name, detail, kind and range of each symbol, in the order of the text. Of very many messages the first ones are
    one symbol, which says how many there are; so are very many folds."""
    outline = document.outline
    first = max(0, len(document.messages) - MOST_SHOWN)
    found = [
        (span, outline.title(index), tokens(outline.tokens(index)), KINDS.get(outline.role(index), OTHER))
        for index, span in enumerate(outline.spans(first), start=first)
    ]
    found += [((fold.start, fold.end), fold.title or "Not sent", "", FOLDED) for fold in document.folds[-MOST_SHOWN:]]
    if first:
        above = (document.messages[0].start, document.messages[first - 1].end)
        found.append((above, f"{first} earlier messages, not listed one by one", "", FOLDED))
    found.sort(key=lambda one: one[0][0])
    ranges = document.ranges(span for span, _, _, _ in found)
    return [(name, detail, kind, place) for (_, name, detail, kind), place in zip(found, ranges, strict=True)]


def _in_tree(name: str, detail: str, kind: types.SymbolKind, place: JsonRange) -> dict[str, Any]:
    symbol = {"name": name, "kind": kind.value, "range": place, "selectionRange": place}
    return {**symbol, "detail": detail} if detail else symbol


def _in_list(uri: str, name: str, _detail: str, kind: types.SymbolKind, place: JsonRange) -> dict[str, Any]:
    return {"name": name, "kind": kind.value, "location": {"uri": uri, "range": place}}
