"""The text documents that the editor has open: the newest text of each, read as a transcript when somebody asks.

A text never changes; an edit makes a new one, which shares with it what is the same in both. So work on one goes on
undisturbed while the user types, and what was read of it stays true of it.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TypeVar
from urllib.parse import unquote, urlsplit

from lsprotocol import types

from lithify.core.outcomes import LithifyError
from lithify.core.typed_edits import Typed
from lithify.lsp import document_wire as wire
from lithify.lsp.positions import Encoding, offset_of
from lithify.storage.projects import path_of
from lithify.transcripts.lines import Lines
from lithify.transcripts.reading import Reading, read_again
from lithify.transcripts.text_edits import smallest_edit

logger = logging.getLogger(__name__)

READ_AT_ONCE = 1 << 20
"""Characters of a text that is worked on at the event loop; a longer one goes to a thread, while other messages are
taken."""

MOST_SHOWN = 10_000
"""Messages of one document that are shown one by one: the last ones. An answer with more of them would hold up all
other messages for as long as it takes to write it, and the editor for longer."""

MOST_TYPED = 10_000
"""Versions of one document of which it is remembered what the user typed in them."""

T = TypeVar("T")


async def beside_the_loop(lines: Lines, work: Callable[[], T]) -> T:
    """What work on a text gives."""
    return work() if lines.length <= READ_AT_ONCE else await asyncio.to_thread(work)


FormatOf = Callable[[str], str | None]
"""The name of the format that the document of a URI is to be read as; None: its content tells."""


class DocumentText:
    """The text of an open document at one version. `before`: the version in front of it."""

    def __init__(
        self, uri: str, version: int, lines: Lines, format_of: FormatOf, before: DocumentText | None = None
    ) -> None:
        self.uri = uri
        self.version = version
        self.lines = lines
        self._format_of = format_of
        self._history: _History = _History(self) if before is None else before._history
        self._age: int = 0 if before is None else before._age + 1
        self.read_only: tuple[Reading, str | None] | None = None
        """A reading of it, and why it can only be read as that, once that was found (`ReadOnlyReasons.reason`)."""

    @property
    def text(self) -> str:
        """All of it."""
        return self.lines.text

    async def read(self) -> tuple[DocumentText, Reading | None]:
        """This version as a transcript, or a later one that was read in its place; None for a text that is none.

        One version is read at a time, each once however many ask. Those that a later one has followed by the time when
        their turn comes are passed over: nobody sees them any more.
        """
        history = self._history
        while True:
            done, read_as = history.done, self._format_of(self.uri)
            if done is not None and done.document._age >= self._age and done.read_as == read_as:
                return done.document, done.reading
            if history.running is None or history.running.done():
                history.running = asyncio.ensure_future(history.newest._read(read_as))
            await asyncio.shield(history.running)

    def edited(self, version: int, lines: Lines, typed: Sequence[Typed] | None) -> DocumentText:
        """The next version. `typed`: what was typed for it, in its order; None where only the whole text was told."""
        after = DocumentText(self.uri, version, lines, self._format_of, self)
        self._history.newest = after
        self._history.typed.append(typed)
        return after

    def typed_since(self, before: object) -> list[Typed] | None:
        """What was typed between an earlier version and this, the newest one; None where it is none of the same
        document, or that was closed since."""
        if not isinstance(before, DocumentText) or before._history is not self._history:
            return None
        told = self._history.typed
        newest = [told[-number] for number in range(min(self._age - before._age, len(told)), 0, -1)]
        if len(newest) == self._age - before._age and None not in newest:
            return [one for typed in newest if typed is not None for one in typed]
        whole = smallest_edit(before.text, self.text)
        return [Typed(whole.start, whole.end, len(whole.replacement))]

    async def _read(self, read_as: str | None) -> None:
        known, name = self._history.done, name_of(self.uri)
        before = None if known is None else known.reading
        reading = await beside_the_loop(self.lines, lambda: read_again(self.lines, name, before, read_as))
        self._history.done = _Done(self, read_as, reading)


@dataclass(frozen=True, slots=True)
class _Done:
    """What a version was read as. `read_as`: the format that it was to be read as, None for what its content tells."""

    document: DocumentText
    read_as: str | None
    reading: Reading | None


class _History:
    """What the versions of one document share: the newest of them, what was typed for each of the last ones, the last
    one that was read, which is the one that a later one takes over from, and the reading that goes on."""

    def __init__(self, newest: DocumentText) -> None:
        self.newest = newest
        self.typed: deque[Sequence[Typed] | None] = deque(maxlen=MOST_TYPED)
        self.done: _Done | None = None
        self.running: asyncio.Future[None] | None = None


class Documents:
    """What is open in the editor, by URI. `format_of`: the format that a document is to be read as, where the user
    decides it; asked anew at each reading."""

    def __init__(self, format_of: FormatOf = lambda _: None) -> None:
        self.encoding: Encoding = "utf-16"
        self._format_of = format_of
        self._open: dict[str, DocumentText] = {}
        self._followed: list[tuple[str, asyncio.Queue[DocumentText]]] = []

    def agree_on(self, encoding: str) -> None:
        """Takes the encoding in which the editor counts characters: `utf-8`, `utf-16` or `utf-32`."""
        self.encoding = types.PositionEncodingKind(encoding).value

    def find(self, uri: str) -> DocumentText | None:
        """The newest text of an open document; file URIs that spell one path in different ways mean the same, and so do
        links to one file."""
        found = self._open.get(uri)
        if found is None and (path := _real_path(uri)) is not None:
            return next((one for one in self._open.values() if _real_path(one.uri) == path), None)
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
        lines, typed = known.lines, list[Typed]()
        for change in changes:
            if change.range is None:
                lines = Lines(change.text)
                continue
            start, end = offsets_of(lines, change.range, self.encoding)
            lines = lines.edited(start, end, change.text)
            typed.append(Typed(start, end, len(change.text)))
        is_told = all(change.range is not None for change in changes)
        newest = self._open[uri] = known.edited(version, lines, typed if is_told else None)
        for followed, versions in self._followed:
            if followed == uri:
                versions.put_nowait(newest)

    @contextmanager
    def following(self, document: DocumentText) -> Iterator[asyncio.Queue[DocumentText]]:
        """The versions of a document that come within it, in their order."""
        follower = (document.uri, asyncio.Queue[DocumentText]())
        self._followed.append(follower)
        try:
            yield follower[1]
        finally:
            self._followed = [one for one in self._followed if one is not follower]

    def close(self, uri: str) -> None:
        """A document was closed."""
        self._open.pop(uri, None)


def offsets_of(lines: Lines, place: wire.Range, encoding: Encoding) -> tuple[int, int]:
    """The characters [start, end) of a range of the editor; one that runs backwards is turned round."""
    start = offset_of(lines, place.start.line, place.start.character, encoding)
    is_empty = place.start == place.end  # in a very long line the search is not for nothing
    end = start if is_empty else offset_of(lines, place.end.line, place.end.character, encoding)
    return min(start, end), max(start, end)


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


def _real_path(uri: str) -> str | None:
    """The path of a `file:` URI with its links followed, None for any other."""
    path = file_path(uri)
    try:
        return None if path is None else os.path.realpath(path)
    except ValueError:  # no path can be spelled so
        return path
