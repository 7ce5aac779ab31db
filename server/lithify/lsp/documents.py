"""The text documents that the editor has open: the newest text of each, read as a transcript when somebody asks.

A text never changes; an edit makes a new one. So work on one goes on undisturbed while the user types, and what was
read of it stays true of it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from lsprotocol import types

from lithify.core.outcomes import LithifyError
from lithify.lsp import document_wire as wire
from lithify.lsp.positions import Encoding, offset_of
from lithify.storage.projects import path_of
from lithify.transcripts.lines import Lines
from lithify.transcripts.reading import Reading, read

logger = logging.getLogger(__name__)

READ_AT_ONCE = 1 << 20
"""Characters that are read on the event loop; a longer text is read in a thread, while other messages are taken."""


class DocumentText:
    """The text of an open document at one version."""

    def __init__(self, uri: str, version: int, lines: Lines) -> None:
        self.uri = uri
        self.version = version
        self.lines = lines
        self._reading: asyncio.Future[Reading | None] | None = None

    @property
    def text(self) -> str:
        """All of it."""
        return self.lines.text

    async def reading(self) -> Reading | None:
        """The text as a transcript, read once however many ask; None for one that is none."""
        if self._reading is None:
            if len(self.text) <= READ_AT_ONCE:
                self._reading = asyncio.get_running_loop().create_future()
                self._reading.set_result(read(self.text, name_of(self.uri)))
            else:
                self._reading = asyncio.ensure_future(asyncio.to_thread(read, self.text, name_of(self.uri)))
        return await asyncio.shield(self._reading)


class Documents:
    """What is open in the editor, by URI."""

    def __init__(self) -> None:
        self.encoding: Encoding = "utf-16"
        self._open: dict[str, DocumentText] = {}

    def agree_on(self, encoding: str) -> None:
        """Takes the encoding in which the editor counts characters: `utf-8`, `utf-16` or `utf-32`."""
        self.encoding = types.PositionEncodingKind(encoding).value

    def find(self, uri: str) -> DocumentText | None:
        """The newest text of an open document; file URIs that spell one path in different ways mean the same."""
        found = self._open.get(uri)
        if found is None and (path := file_path(uri)) is not None:
            return next((one for one in self._open.values() if file_path(one.uri) == path), None)
        return found

    def open(self, uri: str, version: int, text: str) -> None:
        """A document was opened."""
        self._open[uri] = DocumentText(uri, version, Lines(text))

    def change(self, uri: str, version: int, changes: Sequence[wire.ContentChange]) -> None:
        """The user typed: each change is made to what the one before it left."""
        known = self._open.get(uri)
        if known is None:
            logger.warning("A change came for a document that is not open")
            return
        lines = known.lines
        for change in changes:
            lines = self._changed(lines, change)
        self._open[uri] = DocumentText(uri, version, lines)

    def close(self, uri: str) -> None:
        """A document was closed."""
        self._open.pop(uri, None)

    def _changed(self, lines: Lines, change: wire.ContentChange) -> Lines:
        if change.range is None:
            return Lines(change.text)
        ends = (change.range.start, change.range.end)
        start, end = sorted(offset_of(lines, one.line, one.character, self.encoding) for one in ends)
        return lines.edited(start, end, change.text)


def name_of(uri: str) -> str:
    """The name of a document's file, as far as its URI has one."""
    try:
        return PurePosixPath(unquote(urlsplit(uri).path)).name
    except ValueError:
        return ""


def file_path(uri: str) -> str | None:
    """The path of a `file:` URI, None for any other."""
    if not uri.lower().startswith("file://"):
        return None
    try:
        return path_of(uri)
    except LithifyError:
        return None
