"""A chat file compacted where it lies: written as the editor's commands write it, and noted, so that it can be
undone."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lithify.assembly import MARKS, chat_files, now
from lithify.cli.chat_file import ChatFile
from lithify.core.compaction_results import Summarised
from lithify.core.outcomes import LithifyError
from lithify.core.settings import Settings
from lithify.storage.paths import data_dir
from lithify.storage.store import Store, open_store
from lithify.transcripts.lines import Lines
from lithify.transcripts.outline import Outline
from lithify.transcripts.reading import Reading
from lithify.transcripts.text_edits import TextEdit
from lithify.workers.document_places import Found, OpenText, Places
from lithify.workers.document_records import DocumentRecords
from lithify.workers.document_undo import DocumentUndoer, UndoneDocument
from lithify.workers.document_writing import CompactedDocument, DocumentDraft, DocumentWriter


class NoEditor:
    """A desk on which nothing is open; documents are named by their paths."""

    def find(self, uri: str) -> OpenText | None:  # noqa: ARG002 - nothing is open, whatever it is
        """Nothing."""
        return None

    def path(self, uri: str) -> str | None:
        """The path."""
        return uri

    def check_edits(self) -> None:
        """Nothing is asked of an editor that is not there."""

    async def edit(self, document: OpenText, edit: TextEdit, label: str) -> str | None:  # noqa: ARG002 - see `find`
        """There is nothing to edit."""
        return f"{document.uri} is open in no editor"


def check_free(chat: ChatFile, settings: Settings) -> None:
    """Raises LithifyError `busy` where an agent has the session open now."""
    asyncio.run(_places(chat, settings).check_free(_found(chat)))


def write_in_place(chat: ChatFile, outcome: Summarised, settings: Settings) -> CompactedDocument:
    """Writes a summary into a file, as it is by then: what was put behind its end is kept. Raises LithifyError."""
    keep_originals = settings.conversation.keep_originals
    writer = DocumentWriter(_places(chat, settings), _records(settings), MARKS, lambda: keep_originals)
    draft = DocumentDraft(MARKS.new_id(), _found(chat), exact=False, summarised=outcome, label="")
    return asyncio.run(writer.apply(draft))


def undo_in_place(path: str, compaction_id: str | None, settings: Settings) -> UndoneDocument:
    """Takes a compaction of a file back, the newest that is not undone by default, whoever made it. Raises
    LithifyError."""
    places = Places(NoEditor(), chat_files(data_dir(settings.data_dir, os.environ)))
    return asyncio.run(DocumentUndoer(places, _records(settings)).undo(path, compaction_id))


def wrote_in_place(chat: ChatFile, done: CompactedDocument, *, appended: bool) -> str:
    """What was written, and where the file as it was lies, in one sentence."""
    what = f"Added the summary to {chat.title}" if appended else f"Rewrote {chat.title}"
    if done.backup is None:
        return f"{what}; of what it held before there is no backup, since conversation.keepOriginals is off."
    return f"{what}; what it held before is in {done.backup}."


def _places(chat: ChatFile, settings: Settings) -> Places:
    """The disk, on which the text is read as what it was read as at first."""
    return Places(NoEditor(), chat_files(data_dir(settings.data_dir, os.environ)), lambda _: chat.format.name)


def _found(chat: ChatFile) -> Found:
    reading = Reading(chat.format, chat.transcript, Outline(chat.transcript))
    return Found(uri=str(chat.path), lines=Lines(chat.text), data=chat.data, reading=reading)


def _records(settings: Settings) -> DocumentRecords:
    return DocumentRecords(_opened_for_each(data_dir(settings.data_dir, os.environ)))


def _opened_for_each(folder: Path) -> Callable[[Callable[[Store], Any]], Any]:
    """Runs each job on the data folder, which is open no longer than that. Raises LithifyError `storage_failed`."""

    def done(job: Callable[[Store], Any]) -> Any:
        try:
            store = open_store(folder, now)
            try:
                return job(store)
            finally:
                store.close()
        except Exception as error:
            told = f"the data folder could not be used: {error}; 'lithify doctor' says more"
            raise LithifyError("storage_failed", told) from error

    async def run(job: Callable[[Store], Any]) -> Any:
        return await asyncio.to_thread(done, job)

    return run
