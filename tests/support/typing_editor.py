"""An editor in this process, with one document open, whose user types at any moment."""

from __future__ import annotations

import asyncio
from typing import Any

from lithify.lsp.asking import ClientRequests
from lithify.lsp.desk import EditorDesk
from lithify.lsp.document_wire import ContentChange, Position, Range
from lithify.lsp.documents import Documents, DocumentText


class TypingEditor:
    """It takes versions with edits, and makes none that is meant for another version than its newest.

    `types_when_asked` holds what its user types when an edit has come, each as line, character and text; the last one
    first. `sent` holds all messages to the editor.
    """

    def __init__(self, uri: str, text: str) -> None:
        self.uri = uri
        self.sent: list[Any] = []
        self.types_when_asked: list[tuple[int, int, str]] = []
        self.documents = Documents()
        self.documents.open(uri, 1, text)
        self._asking = ClientRequests(self._take)
        self.desk = EditorDesk(self.documents, self._asking, lambda *path: path[-1] in ("documentChanges", "applyEdit"))

    @property
    def document(self) -> DocumentText:
        """The newest version of the document."""
        document = self.documents.find(self.uri)
        assert document is not None
        return document

    def type(self, line: int, character: int, text: str) -> None:
        """The user types."""
        place = Position(line=line, character=character)
        change = ContentChange(text=text, range=Range(start=place, end=place))
        self.documents.change(self.uri, self.document.version + 1, [change])

    def _take(self, message: Any) -> None:
        self.sent.append(message)
        if self.types_when_asked:
            self.type(*self.types_when_asked.pop())
        (change,) = message["params"]["edit"]["documentChanges"]
        made = change["textDocument"]["version"] == self.document.version
        if made:
            edits = [ContentChange(text=one["newText"], range=Range(**one["range"])) for one in change["edits"]]
            self.documents.change(self.uri, self.document.version + 1, edits)
        answer = {"id": message["id"], "result": {"applied": made}}
        asyncio.get_running_loop().call_soon(self._asking.take_answer, answer)
