"""Why nothing is offered in a transcript that is read-only: an information on its first message, for as long as it is
open and so. Nothing pops up, and an editor shows it as it shows all that is known of a line."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from lithify.lsp.documents import DocumentText
from lithify.transcripts.reading import Reading
from lithify.workers.document_places import Found

if TYPE_CHECKING:
    from lithify.lsp.shown_document import ShownDocument

CODE = "read_only"

Tell = Callable[[str, dict[str, Any]], None]
Why = Callable[[Found], Awaitable[str | None]]


class ReadOnlyReasons:
    """Why documents can only be read, and what one editor was told of it. `shows`: whether it shows diagnostics. `why`
    finds the reason of a transcript, as a compaction of it would."""

    def __init__(self, tell: Tell, shows: Callable[[], bool], why: Why) -> None:
        self._tell = tell
        self._shows = shows
        self._why = why
        self._told: dict[str, dict[str, Any]] = {}

    async def reason(self, document: DocumentText, reading: Reading) -> str | None:
        """Why a version of a document can only be read, in a sentence or two; None where it can be compacted. Found
        once for each reading."""
        known = document.read_only
        if known is None or known[0] is not reading:
            found = Found(uri=document.uri, lines=document.lines, document=document, reading=reading)
            known = document.read_only = reading, await self._why(found)
        return known[1]

    def look(self, document: ShownDocument) -> None:
        """Tells what is true of this newest text of a document and was not told yet."""
        reason = read_only_reason(document)
        if reason is None:
            self.forget(document.uri)
            return
        diagnostic = {
            "range": _first_line(document),
            "severity": types.DiagnosticSeverity.Information.value,
            "code": CODE,
            "source": "lithify",
            "message": reason,
        }
        if self._shows() and self._told.get(document.uri) != diagnostic:
            self._told[document.uri] = diagnostic
            self._publish(document.uri, [diagnostic])

    def forget(self, uri: str) -> None:
        """Takes back what was told of a document: it can be written now, is no transcript any more, or was closed."""
        if self._told.pop(uri, None) is not None:
            self._publish(uri, [])

    def _publish(self, uri: str, diagnostics: list[dict[str, Any]]) -> None:
        self._tell(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS, {"uri": uri, "diagnostics": diagnostics})


def read_only_reason(document: ShownDocument) -> str | None:
    """Why a conversation cannot be compacted where it stands, in a sentence or two; None where it can."""
    return None if document.read_only is None else f"Nothing can be compacted in this chat. {document.read_only}"


def _first_line(document: ShownDocument) -> dict[str, Any]:
    """The first line of the first message, of the document where there is none."""
    start = document.messages[0].start if len(document.messages) else 0
    line = document.lines.line_of(start)
    (place,) = document.ranges([(start, max(start, document.lines.bounds(line)[1]))])
    return place
