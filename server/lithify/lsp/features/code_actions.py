"""Code actions of a conversation: the compactions that would do something where the cursor is, at once, with
instructions, or only looked at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lsprotocol import types

from lithify.lsp import document_wire as wire
from lithify.lsp.announced import COMPACT_KIND
from lithify.lsp.server import LithifyServer
from lithify.lsp.shown_document import Offered, ShownDocument, amount, shown

UP_TO_HERE = "lithify.compact_up_to_here"
CONVERSATION = "lithify.compact_conversation"


def register(server: LithifyServer) -> None:
    """Registers the feature."""

    async def actions(params: wire.CodeActionParams) -> list[dict[str, Any]]:
        if not _wanted(params.context.only):
            return []
        document = await shown(server, params.text_document.uri, as_asked=True)
        if document is None:
            return []
        commands = _commands(document, params.range, asks=server.instructions.can_be_asked)
        if server.capability("textDocument", "codeAction", "codeActionLiteralSupport") is None:
            return commands  # an editor of before LSP 3.8 takes commands alone
        return [{"title": one["title"], "kind": COMPACT_KIND, "command": one} for one in commands]

    server.protocol.on_request(types.TEXT_DOCUMENT_CODE_ACTION, wire.CodeActionParams, actions)


def _wanted(only: Sequence[str] | None) -> bool:
    """Whether the editor asked for actions of our kind, by its name or that of a wider one."""
    return not only or any(one in ("", COMPACT_KIND) or COMPACT_KIND.startswith(f"{one}.") for one in only)


def _commands(document: ShownDocument, asked: wire.Range, *, asks: bool) -> list[dict[str, Any]]:
    """What compacts comes first. With instructions, and to look at, is only the likeliest of them offered: up to here,
    else the conversation; each of all three would drown the others."""
    start, end = document.offsets(asked)
    here = _up_to_here(document, end if start == end else end - 1)
    selected = _selection(document, start, end)
    whole = document.compactions.whole()
    found = []
    if here is not None:
        found.append(_command(f"Compact up to here ({amount(here.offer)})", UP_TO_HERE, here.argument))
    if selected is not None:
        found.append(_command("Compact selection", CONVERSATION, selected.argument))
    if whole is not None:
        found.append(_command("Compact conversation", CONVERSATION, whole.argument))
    if here is not None:
        found += _more("up to here", "up to here", UP_TO_HERE, here, asks=asks)
    elif whole is not None:
        found += _more("conversation", "of the conversation", CONVERSATION, whole, asks=asks)
    return found


def _more(what: str, of_what: str, command: str, offered: Offered, *, asks: bool) -> list[dict[str, Any]]:
    found = []
    if asks:
        argument = {"command": command, "arguments": [offered.argument]}
        found.append(_command(f"Compact {what} with instructions…", "lithify.compact_with_instructions", argument))
    title = f"Preview compaction {of_what} ({amount(offered.offer)})"
    return [*found, _command(title, "lithify.preview_compaction", offered.argument)]


def _up_to_here(document: ShownDocument, offset: int) -> Offered | None:
    index = document.message_at(offset)
    return None if index is None else document.compactions.up_to(index, document.lines.line_of(offset))


def _selection(document: ShownDocument, start: int, end: int) -> Offered | None:
    selected = document.outline.within(start, end)
    if selected is None or selected[0] == selected[1]:
        return None
    return document.compactions.between(selected[0], selected[1] + 1)


def _command(title: str, name: str, argument: dict[str, Any]) -> dict[str, Any]:
    return {"title": title, "command": name, "arguments": [argument]}
