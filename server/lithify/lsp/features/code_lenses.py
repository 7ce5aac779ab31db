"""Code lenses of a transcript: "Compact up to here" above each message of which it would do something."""

from __future__ import annotations

from typing import Any

from lsprotocol import types

from lithify.core.stored_json import storable_json
from lithify.lsp import document_wire as wire
from lithify.lsp.documents import MOST_SHOWN, beside_the_loop
from lithify.lsp.running import JsonText
from lithify.lsp.server import LithifyServer
from lithify.lsp.shown_document import ShownDocument, amount, shown


def register(server: LithifyServer) -> None:
    """Registers the feature."""

    async def lenses(params: wire.DocumentParams) -> JsonText:
        document = await shown(server, params.text_document.uri)
        if document is None:
            return JsonText("[]")
        return await beside_the_loop(document.lines, lambda: JsonText(f"[{','.join(_lenses(document))}]"))

    server.protocol.on_request(types.TEXT_DOCUMENT_CODE_LENS, wire.DocumentParams, lenses)


def _lenses(document: ShownDocument) -> list[str]:
    """One lens a line: where several messages lie on one, the last of them has it. Of very many messages only the last
    ones have lenses; one in front of the first of these says so.

    Each as JSON: made as objects first, ten thousand of them would take several times as long."""
    first = max(0, len(document.messages) - MOST_SHOWN)
    by_line = {line: index for index, line in enumerate(document.outline.first_lines(document.lines, first), first)}
    found = []
    if first and by_line:
        title = f"The {first} messages above have code actions instead of lenses"
        found.append(_lens(min(by_line), f'{{"title":"{title}","command":""}}'))  # editors show its title as text
    for line, index in by_line.items():
        offered = document.compactions.up_to(index, line)
        if offered is not None:
            title = f"Compact up to here: {amount(offered.offer)}"
            told = f'"command":"lithify.compact_up_to_here","arguments":[{_object(offered.argument)}]'
            found.append(_lens(line, f'{{"title":"{title}",{told}}}'))
    return found


def _lens(line: int, command: str) -> str:
    place = f'{{"line":{line},"character":0}}'
    return f'{{"range":{{"start":{place},"end":{place}}},"command":{command}}}'


def _object(members: dict[str, Any]) -> str:
    told = [f'"{name}":{value if type(value) is int else storable_json(value)}' for name, value in members.items()]
    return f"{{{','.join(told)}}}"
