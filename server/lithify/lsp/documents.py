"""The text documents that the editor has open: the newest text of each, read as a transcript when somebody asks.

A text never changes; an edit makes a new one, which shares with it what is the same in both. So work on one goes on
undisturbed while the user types, and what was read of it stays true of it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from pathlib import PurePosixPath
from typing import TypeVar
from urllib.parse import unquote, urlsplit

from lsprotocol import types

from lithify.core.outcomes import LithifyError
from lithify.lsp import document_wire as wire
from lithify.lsp.positions import Encoding, offset_of
from lithify.storage.projects import path_of
from lithify.transcripts.lines import Lines
from lithify.transcripts.reading import Reading, read_again

logger = logging.getLogger(__name__)

READ_AT_ONCE = 1 << 20
"""Characters of a text that is worked on at the event loop; a longer one goes to a thread, while other messages are
taken."""

MOST_SHOWN = 10_000
"""Messages of one document that are shown one by one: the last ones. An answer with more of them would hold up all
other messages for as long as it takes to write it, and the editor for longer."""

T = TypeVar("T")


async def beside_the_loop(lines: Lines, work: Callable[[], T]) -> T:
    """What work on a text gives."""
    return work() if lines.length <= READ_AT_ONCE else await asyncio.to_thread(work)


FormatOf = Callable[[str], str | None]
"""The name of the format that the document of a URI is to be read as; None: its content tells."""


class DocumentText:
    """The text of an open document at one version. `before`: an earlier version, of which is taken over what both have
    in common."""

    def __init__(
        self, uri: str, version: int, lines: Lines, format_of: FormatOf, before: DocumentText | None = None
    ) -> None:
        self.uri = uri
        self.version = version
        self.lines = lines
        self._format_of = format_of
        self._read_as: str | None = None
        self._before = before
        self._reading: asyncio.Future[Reading | None] | None = None

    @property
    def text(self) -> str:
        """All of it."""
        return self.lines.text

    async def reading(self) -> Reading | None:
        """The text as a transcript, read once however many ask; None for one that is none."""
        read_as = self._format_of(self.uri)
        if self._reading is None or self._read_as != read_as:
            self._read_as = read_as
            self._reading = asyncio.ensure_future(self._read(read_as))
        return await asyncio.shield(self._reading)

    def edited(self, version: int, lines: Lines) -> DocumentText:
        """The next version, which takes over from the last one that somebody asked to read."""
        before = self if self._reading is not None else self._before
        return DocumentText(self.uri, version, lines, self._format_of, before)

    async def _read(self, read_as: str | None) -> Reading | None:
        """One version behind the other, so that a text is not read whole again for each key that is hit meanwhile."""
        before = await self._before.reading() if self._before is not None else None
        self._before = None
        name = name_of(self.uri)
        return await beside_the_loop(self.lines, lambda: read_again(self.lines, name, before, read_as))


class Documents:
    """What is open in the editor, by URI. `format_of`: the format that a document is to be read as, where the user
    decides it; asked anew at each reading."""

    def __init__(self, format_of: FormatOf = lambda _: None) -> None:
        self.encoding: Encoding = "utf-16"
        self._format_of = format_of
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
        self._open[uri] = DocumentText(uri, version, Lines(text), self._format_of)

    def change(self, uri: str, version: int, changes: Sequence[wire.ContentChange]) -> None:
        """The user typed: each change is made to what the one before it left."""
        known = self._open.get(uri)
        if known is None:
            logger.warning("A change came for a document that is not open")
            return
        lines = known.lines
        for change in changes:
            lines = self._changed(lines, change)
        self._open[uri] = known.edited(version, lines)

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
