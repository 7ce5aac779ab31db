"""The editor's side of a compaction of a document: what is open there, and edits that it makes for us."""

from __future__ import annotations

import asyncio
from typing import Any, Protocol

from lithify.core.outcomes import LithifyError
from lithify.lsp.asking import ClientError, ClientRequests
from lithify.lsp.documents import Documents, DocumentText, file_path
from lithify.lsp.positions import places_of
from lithify.transcripts.text_edits import TextEdit
from lithify.workers.document_places import OpenText

EDIT_SECONDS = 60.0
"""How long an editor may take for an edit; some ask their user first."""


LOOK_FOR_THE_LEAST_DIFFERENCE = frozenset({"emacs", "eglot"})
"""Editors that look for the least difference between the old text and the new one, which for a chat of some hundred
messages takes minutes. They get an insertion and a deletion, where there is nothing to look for."""


class Capability(Protocol):
    """What the editor said of itself."""

    def __call__(self, *path: str) -> Any: ...


class EditorDesk:
    """The documents of one editor."""

    def __init__(
        self, documents: Documents, asking: ClientRequests, capability: Capability, client_name: str = ""
    ) -> None:
        self._documents = documents
        self._asking = asking
        self._capability = capability
        self._parts_edits = client_name.lower() in LOOK_FOR_THE_LEAST_DIFFERENCE

    def find(self, uri: str) -> DocumentText | None:
        """The newest text of an open document."""
        return self._documents.find(uri)

    def path(self, uri: str) -> str | None:
        """The path of a `file:` URI; None for any other."""
        return file_path(uri)

    def check_edits(self) -> None:
        """Raises LithifyError where the editor said that it takes no edits; one that says nothing may take them."""
        if self._capability("workspace", "applyEdit") is False:
            raise LithifyError(
                "unsupported_document",
                "this editor takes no edits from a language server (workspace/applyEdit); close the document, then its "
                "file is rewritten instead",
            )

    async def edit(self, document: OpenText, edit: TextEdit, label: str) -> str | None:
        """Has the editor change a document; None when it did, else why it did not. `label` names the action."""
        if self._documents.find(document.uri) is not document:
            return "the document was changed or closed meanwhile"
        params = {"label": label, "edit": self._workspace_edit(document, edit)}
        try:
            async with asyncio.timeout(EDIT_SECONDS):
                answer = await self._asking.ask("workspace/applyEdit", params)
        except ClientError as error:
            return f"the editor refused the edit ({error})"
        except TimeoutError:
            return f"the editor did not say within {EDIT_SECONDS:.0f} seconds whether it made the edit"
        if isinstance(answer, dict) and answer.get("applied") is True:
            return None
        reason = answer.get("failureReason") if isinstance(answer, dict) else None
        return f"the editor did not make the edit ({reason})" if reason else "the editor did not make the edit"

    def _workspace_edit(self, document: OpenText, edit: TextEdit) -> dict[str, Any]:
        places = places_of(document.lines, (edit.start, edit.end), self._documents.encoding)
        place = {"start": places[edit.start].on_wire(), "end": places[edit.end].on_wire()}
        edits = [{"range": place, "newText": edit.replacement}]
        if self._parts_edits and edit.replacement:
            at_start = {"start": place["start"], "end": place["start"]}
            edits = [{"range": at_start, "newText": edit.replacement}, {"range": place, "newText": ""}]
        if self._capability("workspace", "workspaceEdit", "documentChanges") is not True:
            return {"changes": {document.uri: edits}}
        identifier = {"uri": document.uri, "version": document.version}
        return {"documentChanges": [{"textDocument": identifier, "edits": edits}]}
