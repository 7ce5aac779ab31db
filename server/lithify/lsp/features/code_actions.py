"""Code actions of a transcript: the compactions that would do something where the cursor is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lsprotocol import types

from lithify.core.settings import Conversation
from lithify.lsp import document_wire as wire
from lithify.lsp.server import LithifyServer
from lithify.lsp.shown_document import ShownDocument, amount, can_compact, shown, up_to_here

KIND = "refactor.rewrite.compact"


def register(server: LithifyServer) -> None:
    """Registers the feature."""

    async def actions(params: wire.CodeActionParams) -> list[dict[str, Any]]:
        settings = server.settings.conversation
        if not _wanted(params.context.only) or not can_compact(settings):
            return []
        document = await shown(server, params.text_document.uri)
        if document is None:
            return []
        commands = _commands(document, params.range, settings)
        if server.capability("textDocument", "codeAction", "codeActionLiteralSupport") is None:
            return commands  # an editor of before LSP 3.8 takes commands alone
        return [{"title": one["title"], "kind": KIND, "command": one} for one in commands]

    server.protocol.on_request(types.TEXT_DOCUMENT_CODE_ACTION, wire.CodeActionParams, actions)
    server.protocol.announce("code_action_provider", types.CodeActionOptions(code_action_kinds=[KIND]))


def _wanted(only: Sequence[str] | None) -> bool:
    """Whether the editor asked for actions of our kind, by its name or that of a wider one."""
    return not only or any(one in ("", KIND) or KIND.startswith(f"{one}.") for one in only)


def _commands(document: ShownDocument, asked: wire.Range, settings: Conversation) -> list[dict[str, Any]]:
    start, end = document.offsets(asked)
    found = [
        _up_to_here(document, end if start == end else end - 1, settings),
        _selection(document, start, end, settings),
        _conversation(document, settings),
    ]
    return [one for one in found if one is not None]


def _up_to_here(document: ShownDocument, offset: int, settings: Conversation) -> dict[str, Any] | None:
    index = document.message_at(offset)
    offer = None if index is None else document.outline.up_to(index, exact=settings.exact_anchor)
    if index is None or offer is None:
        return None
    title = f"Compact up to here ({amount(offer)})"
    return {"title": title, **up_to_here(document, index, document.lines.line_of(offset))}


def _selection(document: ShownDocument, start: int, end: int, settings: Conversation) -> dict[str, Any] | None:
    selected = document.outline.within(start, end)
    if selected is None or selected[0] == selected[1]:
        return None
    first, last = selected
    if document.outline.between(first, last + 1, exact=settings.exact_anchor) is None:
        return None
    return _command("Compact selection", {"uri": document.uri, "start": first, "end": last + 1})


def _conversation(document: ShownDocument, settings: Conversation) -> dict[str, Any] | None:
    preserved = settings.compaction.max_preserved_messages
    if document.outline.whole(preserved, exact=settings.exact_anchor) is None:
        return None
    return _command("Compact conversation", {"uri": document.uri})


def _command(title: str, argument: dict[str, Any]) -> dict[str, Any]:
    return {"title": title, "command": "lithify.compact_conversation", "arguments": [argument]}
