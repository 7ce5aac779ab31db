"""Where a document is compacted: in the editor that has it open, else on the disk. Both are read and changed alike."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from lithify.core.outcomes import LithifyError
from lithify.transcripts import kimi_context
from lithify.transcripts.lines import Lines
from lithify.transcripts.reading import Reading, read
from lithify.transcripts.text_edits import TextEdit, smallest_edit


class OpenText(Protocol):
    """The text of an open document at one version; it never changes."""

    @property
    def uri(self) -> str: ...
    @property
    def version(self) -> int: ...
    @property
    def lines(self) -> Lines: ...
    async def reading(self) -> Reading | None:
        """The text as a transcript; None for one that is none."""


class Desk(Protocol):
    """The documents that the editor has open."""

    def find(self, uri: str) -> OpenText | None: ...
    def path(self, uri: str) -> str | None:
        """The path of a `file:` URI; None for any other."""

    def check_edits(self) -> None:
        """Raises LithifyError where the editor takes no edits at all."""

    async def edit(self, document: OpenText, edit: TextEdit) -> str | None:
        """Has the editor change a document; None when it did, else why it did not."""


class Files(Protocol):
    """The chat files on the disk (`storage.chat_files`)."""

    def read(self, path: str) -> bytes: ...
    def rewrite(self, path: str, before: bytes, after: bytes, *, rotates: bool) -> str | None: ...


@dataclass(frozen=True, slots=True)
class Found:
    """A transcript as it was when it was looked at. `document` is None for a file, `data` for an open document."""

    uri: str
    lines: Lines
    reading: Reading
    document: OpenText | None = None
    data: bytes | None = None

    @property
    def text(self) -> str:
        """All of it."""
        return self.lines.text


class Places:
    """Finds transcripts by URI and writes them back. Raises LithifyError for every failure."""

    def __init__(self, desk: Desk, files: Files) -> None:
        self._desk = desk
        self._files = files

    def key(self, uri: str) -> str:
        """What two spellings of one document's URI have in common."""
        return self._desk.path(uri) or uri

    async def find(self, uri: str) -> Found:
        """The newest text of a document that can be written. Raises `unsupported_document`."""
        document = self._desk.find(uri)
        found = await self._on_disk(uri) if document is None else await _opened(uri, document)
        if not found.reading.transcript.writable:
            reason = found.reading.transcript.read_only_reason or "It is read-only."
            raise LithifyError("unsupported_document", f"{_title(uri)} cannot be compacted. {reason}")
        if document is not None:
            self._desk.check_edits()
        return found

    async def write(self, found: Found, text: str) -> str | None:
        """Puts a text in the place of what was found; the reason where the editor, or somebody who wrote the file
        meanwhile, did not let it."""
        if found.document is not None:
            return await self._desk.edit(found.document, smallest_edit(found.text, text))
        rotates = found.reading.format.name == kimi_context.name
        path, before, after = self.key(found.uri), found.data or b"", text.encode("utf-8")
        try:
            backup = await asyncio.to_thread(self._files.rewrite, path, before, after, rotates=rotates)
        except FileNotFoundError:
            return "the file was deleted or moved meanwhile"
        except OSError as error:
            said = f"{_title(found.uri)} could not be rewritten ({_reason(error)}); it is as it was"
            raise LithifyError("storage_failed", said) from None
        return "another program wrote the file meanwhile" if backup is None else None

    async def _on_disk(self, uri: str) -> Found:
        path = self._desk.path(uri)
        if path is None:
            raise _unsupported(uri, "it is not open, and no file: URI; open it in the editor")
        try:
            data = await asyncio.to_thread(self._files.read, path)
        except FileNotFoundError:
            raise _unsupported(uri, "there is no such file; it may have been deleted or renamed") from None
        except (OSError, ValueError) as error:
            raise _unsupported(uri, f"it cannot be read ({_reason(error)})") from None
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            raise _unsupported(uri, f"it is not UTF-8 (line {line}); save it as UTF-8") from None
        name = path.replace("\\", "/").rpartition("/")[2]
        reading = await asyncio.to_thread(read, text, name)
        return Found(uri, Lines(text), _transcript(uri, reading), data=data)


async def to_its_end(work: Callable[[], asyncio.Future[str | None]]) -> str | None:
    """The result of work that must not be broken off once it has begun, however often the request is cancelled."""
    changing = work()
    while True:
        try:
            return await asyncio.shield(changing)
        except asyncio.CancelledError:
            if changing.cancelled():
                raise


async def _opened(uri: str, document: OpenText) -> Found:
    return Found(uri, document.lines, _transcript(uri, await document.reading()), document=document)


def _transcript(uri: str, reading: Reading | None) -> Reading:
    if reading is None:
        raise _unsupported(uri, "it holds no chat transcript that Lithify knows")
    return reading


def _unsupported(uri: str, why: str) -> LithifyError:
    return LithifyError("unsupported_document", f"{_title(uri)} cannot be compacted: {why}")


def _title(uri: str) -> str:
    return f"The document {uri[:200]!a}"


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
