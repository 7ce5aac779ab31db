"""The editor's side of a compaction of a document: what is open there, and edits that it makes for us."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Protocol, TypeAlias

from lithify.core.outcomes import LithifyError
from lithify.core.typed_edits import Span, Typed, moved
from lithify.lsp.asking import ClientError, ClientRequests
from lithify.lsp.documents import Documents, DocumentText, beside_the_loop, file_path
from lithify.lsp.positions import Place, offset_of, places_of
from lithify.lsp.unversioned_edits import Awaited, Outcome, awaited, newlines
from lithify.transcripts.columns import piece
from lithify.transcripts.lines import Lines
from lithify.transcripts.text_edits import TextEdit
from lithify.workers.document_places import Made, NotMade, OpenText, title

EDIT_SECONDS = 60.0
"""How long an editor may take for an edit; some ask their user first."""

TOLD_SECONDS = 5.0
"""How long an editor that made an edit may take to tell of it; some collect changes first."""

TIMES_ASKED = 3
"""How often an editor is asked for an edit that its user forestalls by typing elsewhere."""

_Ends: TypeAlias = tuple[Place, Place]

_SPOILT = (
    "{} was changed while the editor made the edit, and this editor takes no versions with edits, so that the edit met "
    "other text than was meant: take it back with the editor's own undo, then try again"
)

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

    async def edit(
        self, document: OpenText, edit: TextEdit, label: str, untouched: Sequence[Span] = ()
    ) -> Made | NotMade:
        """Has the editor change a document. `label` names the action.

        What the user typed meanwhile is kept, and the edit made where the text that it replaces stands then, unless
        that, or one of the spans of the document that are to be `untouched`, is no longer what it was.
        An editor that takes no versions may have made the edit in what its user had typed meanwhile: where it met other
        characters than was meant, that raises LithifyError `stale`.
        """
        refused = NotMade("the document was changed or closed meanwhile", tried=False)
        for _ in range(TIMES_ASKED):
            known = self._documents.find(document.uri)
            typed = None if known is None else known.typed_since(document)
            if known is None or typed is None or any(moved(span, typed) is None for span in untouched):
                break
            if (there := _moved(edit, document.lines, known.lines, typed)) is None:
                break
            if edit.start == edit.end and not edit.replacement:
                return Made(tuple(typed))  # Neovim puts a line behind the last one for an edit of nothing there
            outcome = await self._asked(known, there, label)
            if outcome is None:
                return Made(tuple(typed))
            refused = outcome
            if self._documents.find(document.uri) is known or not refused.answered:
                break
        return refused

    async def _asked(self, known: DocumentText, edit: TextEdit, label: str) -> NotMade | None:
        places = self._places(known.lines, edit)
        params = {"label": label, "edit": self._workspace_edit(known, edit, places)}
        with self._documents.following(known) as versions:
            refused = await self._refusal(params)
            if refused is None and not self._takes_versions:
                await self._check_made(known, edit, places, versions)
        return refused

    async def _refusal(self, params: dict[str, Any]) -> NotMade | None:
        try:
            async with asyncio.timeout(EDIT_SECONDS):
                answer = await self._asking.ask("workspace/applyEdit", params)
        except ClientError as error:
            return NotMade(f"the editor refused the edit ({error})")
        except TimeoutError:
            told = f"the editor did not say within {EDIT_SECONDS:.0f} seconds whether it made the edit"
            return NotMade(told, answered=False)
        if isinstance(answer, dict) and answer.get("applied") is True:
            return None
        reason = answer.get("failureReason") if isinstance(answer, dict) else None
        return NotMade(f"the editor did not make the edit ({reason})" if reason else "the editor did not make the edit")

    async def _check_made(
        self, document: DocumentText, edit: TextEdit, places: _Ends, versions: asyncio.Queue[DocumentText]
    ) -> None:
        """Raises LithifyError `stale` where the versions that follow do not hold the edit as it was meant. An editor
        that tells of no change is believed."""
        before, expected = document, await beside_the_loop(document.lines, lambda: awaited(document.text, edit))
        try:
            async with asyncio.timeout(TOLD_SECONDS):
                while True:
                    after = await versions.get()
                    outcome = await beside_the_loop(
                        after.lines, partial(self._met, expected, before, after, edit, places)
                    )
                    if outcome == "made":
                        return
                    if outcome == "spoilt":
                        break
                    before, expected = after, outcome
        except TimeoutError:
            if before is document:
                return
        raise LithifyError("stale", _SPOILT.format(title(document.uri)), retryable=False)

    def _met(
        self, expected: Awaited, before: DocumentText, after: DocumentText, edit: TextEdit, places: _Ends
    ) -> Outcome | Awaited:
        ends = (offset_of(before.lines, one.line, one.character, self._documents.encoding) for one in places)
        start, end = (len(newlines(before.text[:offset])) for offset in ends)
        return expected.meets(TextEdit(start, end, newlines(edit.replacement)), after.text)

    @property
    def _takes_versions(self) -> bool:
        return self._capability("workspace", "workspaceEdit", "documentChanges") is True

    def _places(self, lines: Lines, edit: TextEdit) -> _Ends:
        places = places_of(lines, (edit.start, edit.end), self._documents.encoding)
        return places[edit.start], places[edit.end]

    def _workspace_edit(self, document: DocumentText, edit: TextEdit, places: _Ends) -> dict[str, Any]:
        place = {"start": places[0].on_wire(), "end": places[1].on_wire()}
        edits = [{"range": place, "newText": edit.replacement}]
        if self._parts_edits and edit.replacement:
            at_start = {"start": place["start"], "end": place["start"]}
            edits = [{"range": at_start, "newText": edit.replacement}, {"range": place, "newText": ""}]
        if not self._takes_versions:
            return {"changes": {document.uri: edits}}
        identifier = {"uri": document.uri, "version": document.version}
        return {"documentChanges": [{"textDocument": identifier, "edits": edits}]}


def _moved(edit: TextEdit, before: Lines, after: Lines, typed: Sequence[Typed]) -> TextEdit | None:
    """An edit of a text in the text that typing made of it; None where it would replace other characters there, or an
    editor has no position at one of its ends."""
    if not typed:
        return edit
    place = moved((edit.start, edit.end), typed)
    if place is None or piece(after, *place) != piece(before, edit.start, edit.end):
        return None
    if any(offset > after.bounds(after.line_of(offset))[1] for offset in place):
        return None
    return replace(edit, start=place[0], end=place[1])
