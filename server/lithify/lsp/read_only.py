"""Why nothing is offered in a transcript that is read-only: an information on its first message, for as long as it is
open and so. Nothing pops up, and an editor shows it as it shows all that is known of a line."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lsprotocol import types

if TYPE_CHECKING:
    from lithify.lsp.shown_document import ShownDocument

CODE = "read_only"

Tell = Callable[[str, dict[str, Any]], None]


class ReadOnlyReasons:
    """The reasons that one editor was told, by URI. `shows`: whether it shows diagnostics."""

    def __init__(self, tell: Tell, shows: Callable[[], bool]) -> None:
        self._tell = tell
        self._shows = shows
        self._told: dict[str, dict[str, Any]] = {}

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
        """Takes back what was told of a document: it can be written now, or was closed."""
        if self._told.pop(uri, None) is not None:
            self._publish(uri, [])

    def _publish(self, uri: str, diagnostics: list[dict[str, Any]]) -> None:
        self._tell(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS, {"uri": uri, "diagnostics": diagnostics})


def read_only_reason(document: ShownDocument) -> str | None:
    """Why a conversation cannot be compacted where it stands, in a sentence or two; None where it can."""
    transcript = document.outline.transcript
    if transcript.writable:
        return None
    return f"Nothing can be compacted in this chat. {transcript.read_only_reason or ''}".rstrip()


def _first_line(document: ShownDocument) -> dict[str, Any]:
    """The first line of the first message, of the document where there is none."""
    start = document.messages[0].start if len(document.messages) else 0
    line = document.lines.line_of(start)
    (place,) = document.ranges([(start, max(start, document.lines.bounds(line)[1]))])
    return place
