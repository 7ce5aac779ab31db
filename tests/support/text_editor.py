"""An editor's text documents: what it tells the server of them, and the edits that it makes when it is asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.support.raw_client import RawClient
from tests.support.text_positions import offset, span

Json = dict[str, Any]

EDITS: Json = {
    "workspace": {"applyEdit": True, "workspaceEdit": {"documentChanges": True}},
    "textDocument": {
        "codeAction": {"codeActionLiteralSupport": {"codeActionKind": {"valueSet": []}}},
        "documentSymbol": {"hierarchicalDocumentSymbolSupport": True},
    },
}
"""The capabilities of an editor that makes edits, and shows what it can."""


class TextEditor:
    """The open documents of an editor. `asked` holds the params of each `workspace/applyEdit`."""

    def __init__(self, client: RawClient, name: str = "") -> None:
        self.client = client
        self.name = name
        self.encoding: str = client.initialize_result["capabilities"]["positionEncoding"]
        self.texts: dict[str, str] = {}
        self.versions: dict[str, int] = {}
        self.asked: list[Json] = []
        self.before_edit: Callable[[], None] = lambda: None
        """What happens when an edit has come and is not made yet."""
        client.answerers["workspace/applyEdit"] = self._apply

    def open(self, uri: str, text: str) -> None:
        """Opens a document."""
        self.texts[uri], self.versions[uri] = text, 1
        item = {"uri": uri, "languageId": "whatever", "version": 1, "text": text}
        self.client.notify("textDocument/didOpen", {"textDocument": item})

    def close(self, uri: str) -> None:
        """Closes a document."""
        del self.texts[uri]
        self.client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})

    def type(self, uri: str, start: int, end: int, replacement: str) -> None:
        """Replaces characters of a document."""
        text = self.texts[uri]
        change = {"range": span(text, start, end, self.encoding), "text": replacement}
        self.texts[uri] = text[:start] + replacement + text[end:]
        self.versions[uri] += 1
        identifier = {"uri": uri, "version": self.versions[uri]}
        self.client.notify("textDocument/didChange", {"textDocument": identifier, "contentChanges": [change]})

    def replace(self, uri: str, old: str, new: str) -> None:
        """Replaces a piece of a document, which stands there once."""
        assert self.texts[uri].count(old) == 1
        start = self.texts[uri].index(old)
        self.type(uri, start, start + len(old), new)

    async def request(self, method: str, uri: str, **more: Any) -> Any:
        """A request about a document."""
        return await self.client.request(f"textDocument/{method}", {"textDocument": {"uri": uri}, **more})

    async def actions(self, uri: str, start: int, end: int | None = None, **context: Any) -> list[Json]:
        """The code actions for a selection."""
        place = span(self.texts[uri], start, start if end is None else end, self.encoding)
        asked = {"range": place, "context": {"diagnostics": [], **context}}
        offered: list[Json] = await self.request("codeAction", uri, **asked)
        return offered

    async def run(self, command: Json) -> Any:
        """Runs the command of a lens or an action."""
        return await self.client.command(command["command"], *command["arguments"])

    def _apply(self, params: Json) -> Json:
        self.asked.append(params)
        self.before_edit()
        edit = params["edit"]
        for document in edit.get("documentChanges", []):
            identifier = document["textDocument"]
            if identifier["version"] != self.versions.get(identifier["uri"]):
                return {"applied": False, "failureReason": "the version is another one"}
        changes = edit.get("changes") or {one["textDocument"]["uri"]: one["edits"] for one in edit["documentChanges"]}
        for uri, edits in changes.items():
            for one in edits:
                ends = (offset(self.texts[uri], one["range"][side], self.encoding) for side in ("start", "end"))
                self.type(uri, *ends, one["newText"])
        return {"applied": True}
