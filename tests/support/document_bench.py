"""What writes and undoes compactions of files, on a real disk and a real database, without an editor or a model."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

from lithify.cli.in_place import NoEditor
from lithify.core.compaction_results import Stats, Summarised
from lithify.core.conversation import Plan, Range, with_summary
from lithify.core.document_compactions import DocumentCompaction
from lithify.core.kimi import summary_message
from lithify.core.messages import Message
from lithify.core.outcomes import LithifyError
from lithify.storage.chat_files import Guard, unguarded
from lithify.storage.session_files import SessionFiles
from lithify.storage.store import Store, open_store
from lithify.transcripts.reading import read
from lithify.workers.document_places import Desk, Places
from lithify.workers.document_records import DocumentRecords
from lithify.workers.document_undo import DocumentUndoer, UndoneDocument
from lithify.workers.document_writing import CompactedDocument, DocumentDraft, DocumentWriter, Marks
from tests.support.clock import Clock


class DocumentBench:
    """One data folder. The store is opened for each job, as a process does that lives no longer."""

    def __init__(self, data_dir: Path, guard: Guard = unguarded, first_id: int = 0, desk: Desk | None = None) -> None:
        self.data_dir = data_dir
        self.keep_originals = True
        self.files = SessionFiles(data_dir, {"HOME": str(data_dir.parent)}, guard)
        self.places = Places(desk or NoEditor(), self.files)
        self.records = DocumentRecords(self._run)
        numbers = count(first_id)
        marks = Marks(
            lambda: "2026-01-02T03:04:05.000Z",
            lambda: f"{next(numbers):026}",
            lambda: f"00000000-0000-4000-8000-{next(numbers):012}",
        )
        self.writer = DocumentWriter(self.places, self.records, marks, lambda: self.keep_originals)
        self.undoer = DocumentUndoer(self.places, self.records)
        self.broken: Callable[[], None] = lambda: None
        """What happens before each job of the data folder."""

    async def _run(self, job: Callable[[Store], Any]) -> Any:
        self.broken()
        store = open_store(self.data_dir, Clock())
        try:
            return job(store)
        finally:
            store.close()

    async def draft(self, file: Path, end: int, text: str = "summary") -> DocumentDraft:
        """A summary of the first messages of a file."""
        found = await self.places.find(str(file))
        done = summarised(found.reading.outline.conversation, end, text)
        return DocumentDraft("draft", found, exact=False, summarised=done, label="Compact")

    def compact(self, file: Path, end: int, text: str = "summary") -> CompactedDocument:
        """Compacts the first messages of a file."""

        async def compact() -> CompactedDocument:
            return await self.writer.apply(await self.draft(file, end, text))

        return asyncio.run(compact())

    def undo(self, file: Path, compaction_id: str | None = None) -> UndoneDocument:
        """Undoes a compaction of a file."""
        return asyncio.run(self.undoer.undo(str(file), compaction_id))

    def kept(self, file: Path) -> list[DocumentCompaction]:
        """What is kept of a file, the newest first."""
        return asyncio.run(self.records.of_document(str(file.resolve())))

    def failure(self, file: Path) -> str | None:
        """The type of the failure of an undo; None where it went well."""
        try:
            self.undo(file)
        except LithifyError as error:
            return error.type
        return None


def summarised(messages: list[Message], end: int, text: str, start: int = 0) -> Summarised:
    """A summary of the messages [start, end), as a model would have made it."""
    summary = summary_message(messages, text)
    replaced = Range(start, end)
    after = with_summary(messages, replaced, summary)
    stats = Stats(len(messages), len(after), 0, 0, 0)
    return Summarised(Plan(replaced, replaced), summary, after, stats, "model", "test", None, "test", None, ())


def said(file: Path) -> list[str]:
    """The messages of a transcript in a few characters each."""
    reading = read(file.read_bytes().decode(), file.name)
    assert reading is not None
    return [str(message.get("content"))[-12:] for message in reading.transcript.conversation]
