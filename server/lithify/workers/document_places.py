"""Where a document is compacted: in the editor that has it open, else on the disk, or by the agent in whose database it
lies. All are read and changed alike."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from lithify.core.agent_sessions import in_agent
from lithify.core.file_writes import Changed, FileCut, FileWrite, Held, InUse, NotAsItWas, Written
from lithify.core.format_names import KIMI_CONTEXT
from lithify.core.outcomes import LithifyError
from lithify.core.typed_edits import Span, Typed
from lithify.transcripts.lines import Lines
from lithify.transcripts.model import Stamp
from lithify.transcripts.reading import Reading, read_again
from lithify.transcripts.text_edits import TextEdit, smallest_edit
from lithify.transcripts.undecodable import decoded, encoded, unreadable_line

T = TypeVar("T")


class OpenText(Protocol):
    """The text of an open document at one version; it never changes."""

    @property
    def uri(self) -> str: ...
    @property
    def version(self) -> int: ...
    @property
    def lines(self) -> Lines: ...
    async def read(self) -> tuple[OpenText, Reading | None]:
        """It, or a later version that was read in its place, as a transcript; None for a text that is none."""


@dataclass(frozen=True, slots=True)
class Made:
    """The editor made an edit, in a text in which its user had `typed` elsewhere by then."""

    typed: tuple[Typed, ...] = ()


@dataclass(frozen=True, slots=True)
class NotMade:
    """The editor did not make an edit, and why. `tried`: it was asked for it; `answered`: it said that it did not."""

    reason: str
    tried: bool = True
    answered: bool = True


class Desk(Protocol):
    """The documents that the editor has open."""

    def find(self, uri: str) -> OpenText | None: ...
    def path(self, uri: str) -> str | None:
        """The path of a `file:` URI; None for any other."""

    def check_edits(self) -> None:
        """Raises LithifyError where the editor takes no edits at all."""

    async def edit(
        self, document: OpenText, edit: TextEdit, label: str, untouched: Sequence[Span] = ()
    ) -> Made | NotMade:
        """Has the editor change a document, also where its user typed meanwhile, but not in what the edit replaces, nor
        in the spans that are to be `untouched`. `label` names the action. Raises LithifyError `stale` where the edit
        met other text than was meant."""


class Files(Protocol):
    """The chat files on the disk, and the sessions that lie in none (`storage.session_files`)."""

    def read(self, path: str) -> bytes: ...
    def real(self, path: str) -> str: ...
    def held(self, path: str, format_name: str) -> str | None: ...
    def unseen(self, path: str, lines: Lines, format_name: str) -> str | None: ...
    def backup(self, path: str, backup_id: str) -> str | None: ...
    def rewrite(
        self, path: str, before: bytes, after: bytes, *, format_name: str, rotates: bool, ours: bool = False
    ) -> FileWrite: ...
    def append(
        self, path: str, before: bytes, addition: bytes, *, format_name: str, backup_id: str | None
    ) -> FileWrite: ...
    def cut(self, path: str, before: bytes, after: bytes, *, format_name: str, ours: bool = False) -> FileCut: ...
    def add(self, path: str, before: bytes, after: bytes, *, backup_id: str | None) -> FileWrite: ...
    def restore(self, path: str, data: bytes, format_name: str, stamp: Stamp) -> str | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundText:
    """A text as it was when it was looked at. `document` is None for a file, `data` for an open document."""

    uri: str
    lines: Lines
    document: OpenText | None = None
    data: bytes | None = None

    @property
    def text(self) -> str:
        """All of it."""
        return self.lines.text

    @property
    def only_grows(self) -> bool:
        """Whether messages can be added to it, and nothing else be changed: an agent keeps it in a database."""
        return in_agent(self.uri)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found(FoundText):
    """A transcript as it was when it was looked at."""

    reading: Reading


@dataclass(frozen=True, slots=True)
class Writing:
    """How a text is written. `label` is what the editor calls it, `format_name` the transcript's format.

    `appended`: the new text is the old one with an end put on or taken off, and whoever has the file appends to it.
    `backup_id` names the backup of such a file; None keeps none. `ours`: nobody has written since we did, so that a
    file that was just written is not therefore in use. `untouched`: spans of the old text in which an editor's user may
    not have typed meanwhile.
    """

    label: str
    format_name: str
    appended: bool
    backup_id: str | None = None
    ours: bool = False
    untouched: tuple[Span, ...] = ()


class Places:
    """Finds transcripts by URI and writes them back. Raises LithifyError for every failure.

    `format_of` says the format that the file of a URI is to be read as; None: its content tells.
    """

    def __init__(self, desk: Desk, files: Files, format_of: Callable[[str], str | None] = lambda _: None) -> None:
        self._desk = desk
        self._files = files
        self._format_of = format_of

    def key(self, uri: str) -> str:
        """What two spellings of one document's URI have in common, and links to one file."""
        path = self._path(uri)
        return uri if path is None else self._files.real(path)

    async def lasting_key(self, uri: str) -> str:
        """What a document is called in what is kept of it: its path with links followed, else its URI."""
        path = self._path(uri)
        return uri if path is None else await asyncio.to_thread(self._files.real, path)

    async def look(self, uri: str, before: Found | None = None) -> Found:
        """The newest text of a transcript, of which is taken over what it has in common with what was found `before`.
        Raises `unsupported_document`."""
        document = self._document(uri)
        return await self._read_from_disk(uri, before) if document is None else await _opened(uri, document)

    async def find(self, uri: str, before: Found | None = None) -> Found:
        """The same of one that can be written; raises `unsupported_document` for any other too."""
        found = await self.look(uri, before)
        await self.check_writable(found)
        if found.document is not None:
            self._desk.check_edits()
        return found

    async def find_text(self, uri: str) -> FoundText:
        """The newest text of a document, whatever it holds. Raises `unsupported_document`."""
        if (document := self._document(uri)) is not None:
            self._desk.check_edits()
            return FoundText(uri=uri, lines=document.lines, document=document)
        return await self._on_disk(uri)

    async def check_writable(self, found: Found) -> None:
        """Raises LithifyError `unsupported_document` for a transcript that can only be read."""
        if (reason := await self.read_only_reason(found)) is not None:
            raise LithifyError("unsupported_document", f"{title(found.uri)} cannot be compacted. {reason}")

    async def read_only_reason(self, found: Found) -> str | None:
        """Why a transcript can only be read where it lies, in a sentence or two; None where it can be written. That
        costs the same however long it is."""
        transcript, path = found.reading.transcript, self._path(found.uri)
        if not transcript.writable:
            return transcript.read_only_reason or "It is read-only."
        if path is None or in_agent(found.uri):
            return None
        return await asyncio.to_thread(self._files.unseen, path, found.lines, found.reading.format.name)

    async def check_free(self, found: Found) -> None:
        """Raises LithifyError `busy` where an agent has the session of a document open now."""
        await self._check_free(found.uri, found.reading.format.name)

    async def backup(self, uri: str, backup_id: str) -> str | None:
        """Where the backup of that id lies; None where there is none, or no longer."""
        path = self._path(uri)
        return None if path is None else await asyncio.to_thread(self._files.backup, path, backup_id)

    async def read_backup(self, place: str) -> bytes:
        """What a backup holds. Raises LithifyError `storage_failed`."""
        try:
            return await asyncio.to_thread(self._files.read, place)
        except OSError as error:
            told = f"the backup {place} cannot be read ({_reason(error)}); nothing was changed"
            raise LithifyError("storage_failed", told) from None

    async def restore(self, uri: str, data: bytes, format_name: str, stamp: Stamp) -> str | None:
        """The URI of a new session of the same agent that holds what a session once held; None where none can be made
        safely. Raises LithifyError `storage_failed`."""
        path = self._path(uri)
        if path is None:
            return None
        try:
            return await asyncio.to_thread(self._files.restore, path, data, format_name, stamp)
        except NotAsItWas as error:
            told = f"{title(uri)} is as it was, but it could not be restored as a new session: {error.told}"
            raise LithifyError("storage_failed", told, may_have_written=True) from None
        except (OSError, ValueError) as error:
            told = f"{title(uri)} could not be restored as a new session ({_reason(error)}); it is as it was"
            raise LithifyError("storage_failed", told) from None

    async def write(self, found: FoundText, text: str, how: Writing) -> Written | Changed | InUse:
        """Puts a text in the place of what was found; `Changed` where the editor, or somebody who wrote the file
        meanwhile, did not let it, `InUse` where an end was to be cut off and somebody may write on. Raises
        LithifyError: `busy`, `stale` where the editor spoilt it, `storage_failed`, which says so (`may_have_written`)
        where the document is not as it was."""
        if found.document is not None:
            if how.appended:
                await self._check_free(found.uri, how.format_name)
            edit = await asyncio.to_thread(smallest_edit, found.text, text)  # meanwhile the loop takes what was typed
            done = await self._desk.edit(found.document, edit, how.label, how.untouched)
            return Written(typed=done.typed) if isinstance(done, Made) else Changed(done.reason, done.tried)
        try:
            outcome = await asyncio.to_thread(self._write_file, found, text, how)
        except FileNotFoundError:
            return Changed("the file was deleted or moved meanwhile")
        except NotAsItWas as error:
            told = f"{title(found.uri)} may not be as it was: {error.told}"
            raise LithifyError("storage_failed", told, retryable=False, may_have_written=True) from None
        except OSError as error:
            told = f"{title(found.uri)} could not be written ({_reason(error)}); it is as it was"
            raise LithifyError("storage_failed", told) from None
        if isinstance(outcome, Held):
            raise _busy(found.uri, outcome.reason)
        return outcome

    def _write_file(self, found: FoundText, text: str, how: Writing) -> FileCut:
        path, before, after = self._path(found.uri) or found.uri, found.data or b"", encoded(text)
        name = how.format_name
        if found.only_grows:
            return self._files.add(path, before, after, backup_id=how.backup_id)
        if not how.appended:
            rotates = name == KIMI_CONTEXT
            return self._files.rewrite(path, before, after, format_name=name, rotates=rotates, ours=how.ours)
        if len(after) < len(before):
            return self._files.cut(path, before, after, format_name=name, ours=how.ours)
        return self._files.append(path, before, after[len(before) :], format_name=name, backup_id=how.backup_id)

    def _path(self, uri: str) -> str | None:
        """What the disk knows a document by: a path, or the URI of a session that lies in no file."""
        return uri if in_agent(uri) else self._desk.path(uri)

    def _document(self, uri: str) -> OpenText | None:
        """What is open. A session that its agent keeps is written by the agent, whatever an editor shows of it."""
        return None if in_agent(uri) else self._desk.find(uri)

    async def _check_free(self, uri: str, format_name: str) -> None:
        path = self._path(uri)
        reason = None if path is None else await asyncio.to_thread(self._files.held, path, format_name)
        if reason is not None:
            raise _busy(uri, reason)

    async def _read_from_disk(self, uri: str, before: Found | None) -> Found:
        found = await self._on_disk(uri)
        if before is not None and before.data == found.data:
            return before
        name = (self._path(uri) or uri).replace("\\", "/").rpartition("/")[2]
        known = None if before is None else before.reading
        reading = await asyncio.to_thread(read_again, found.lines, name, known, self._format_of(uri))
        await asyncio.to_thread(_check_readable, found, reading)
        return Found(uri=uri, lines=found.lines, data=found.data, reading=_transcript(uri, reading))

    async def _on_disk(self, uri: str) -> FoundText:
        path = self._path(uri)
        if path is None:
            raise _unreadable(uri, "it is not open in the editor, and its name is no file: URI; open it there")
        try:
            data = await asyncio.to_thread(self._files.read, path)
        except FileNotFoundError:
            raise _unreadable(uri, "there is no such file; it may have been deleted or renamed") from None
        except (OSError, ValueError) as error:
            raise _unreadable(uri, _reason(error)) from None
        return FoundText(uri=uri, lines=Lines(decoded(data)), data=data)


async def to_its_end(work: Callable[[], Awaitable[T]]) -> T:
    """The result of work that must not be broken off once it has begun, however often the request is cancelled."""
    changing = asyncio.ensure_future(work())
    while True:
        try:
            return await asyncio.shield(changing)
        except asyncio.CancelledError:
            if changing.cancelled():
                raise


def title(uri: str) -> str:
    """A document, as a sentence names it."""
    if in_agent(uri):
        return f"The session {uri.rpartition('/')[2][:200]!a}"
    return f"The document {uri[:200]!a}"


async def _opened(uri: str, document: OpenText) -> Found:
    newest, read = await document.read()
    reading = _transcript(uri, read)
    await asyncio.to_thread(lambda: reading.outline.conversation)  # decodes a long one, beside the event loop
    return Found(uri=uri, lines=newest.lines, reading=reading, document=newest)


def _check_readable(found: FoundText, reading: Reading | None) -> None:
    """Raises LithifyError `unsupported_document` for messages that are not UTF-8; a line that is no record need not
    be."""
    messages = () if reading is None else reading.transcript.messages
    if (line := unreadable_line(found.text, messages)) is not None:
        raise _unreadable(found.uri, f"it is not UTF-8 (line {line}); save it as UTF-8")


def _transcript(uri: str, reading: Reading | None) -> Reading:
    if reading is None:
        raise _unsupported(uri, "it holds no chat transcript that Lithify knows")
    return reading


def _unreadable(uri: str, why: str) -> LithifyError:
    return LithifyError("unsupported_document", f"{title(uri)} cannot be read: {why}")


def _unsupported(uri: str, why: str) -> LithifyError:
    return LithifyError("unsupported_document", f"{title(uri)} cannot be compacted: {why}")


def _busy(uri: str, reason: str) -> LithifyError:
    return LithifyError("busy", f"{title(uri)} was left as it is. {reason}")


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
