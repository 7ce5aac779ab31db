"""A chat file compacted where it lies: written as the editor's commands write it, and noted, so that it can be
undone."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lithify.assembly import MARKS, now, session_files
from lithify.cli.chat_file import ChatFile
from lithify.cli.compacting import NothingToGain
from lithify.core.agent_sessions import in_agent
from lithify.core.compaction_results import Summarised
from lithify.core.outcomes import LithifyError
from lithify.core.settings import Settings
from lithify.core.typed_edits import Span
from lithify.storage.paths import data_dir
from lithify.storage.session_files import SessionFiles
from lithify.storage.store import Store, open_store
from lithify.transcripts.lines import Lines
from lithify.transcripts.outline import Outline
from lithify.transcripts.reading import Reading
from lithify.transcripts.text_edits import TextEdit
from lithify.workers.document_places import Found, NotMade, OpenText, Places
from lithify.workers.document_records import DocumentRecords
from lithify.workers.document_undo import DocumentUndoer, UndoneDocument
from lithify.workers.document_writing import DocumentDraft, DocumentWriter


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

    async def edit(
        self,
        document: OpenText,
        edit: TextEdit,  # noqa: ARG002 - see `find`
        label: str,  # noqa: ARG002 - see `find`
        untouched: Sequence[Span] = (),  # noqa: ARG002 - see `find`
    ) -> NotMade:
        """There is nothing to edit."""
        return NotMade(f"{document.uri} is open in no editor", tried=False)


@dataclass(frozen=True, slots=True)
class Put:
    """A compaction that was written, one sentence that says so, and whether it can be undone."""

    outcome: Summarised
    wrote: str
    can_undo: bool


def check_writable(chat: ChatFile, settings: Settings) -> None:
    """Raises LithifyError `unsupported_document` where the conversation can only be read, `busy` where an agent has the
    session open now."""
    places, found = _places(chat.format.name, settings), _found(chat)

    async def check() -> None:
        await places.check_writable(found)
        await places.check_free(found)

    asyncio.run(check())


def put_in_place(chat: ChatFile, outcome: Summarised, settings: Settings) -> Put:
    """Writes a summary where the conversation lies. What was put behind its end meanwhile is kept.

    Raises LithifyError, and NothingToGain where the conversation would be no smaller, or a rewritten file larger.
    """
    if outcome.stats.tokens_after >= outcome.stats.tokens_before:
        sizes = f"{outcome.stats.tokens_after:,} tokens instead of {outcome.stats.tokens_before:,}"
        raise NothingToGain(f"compacted it would not be smaller ({sizes}); compact more of it")
    written = chat.compacted(outcome)
    adds = in_agent(chat.place or "") or written.startswith(chat.data)
    if len(written) > len(chat.data) and not adds:
        sizes = f"{len(written):,} bytes instead of {len(chat.data):,}"
        raise NothingToGain(f"compacted the file would be larger ({sizes}); compact more of it")
    keeps = settings.conversation.keep_originals
    writer = DocumentWriter(_places(chat.format.name, settings), _records(settings), MARKS, lambda: keeps)
    draft = DocumentDraft(MARKS.new_id(), _found(chat), exact=False, summarised=outcome, label="")
    done = asyncio.run(writer.apply(draft))
    as_written = replace(outcome, stats=done.summarised.stats, warnings=done.summarised.warnings)
    can_undo = keeps and all(one.code != "undo_unavailable" for one in as_written.warnings)
    return Put(as_written, _wrote(chat, done.backup, adds=adds), can_undo=can_undo)


def read_in_place(place: str, title: str, format_name: str, settings: Settings) -> ChatFile:
    """A conversation, by its path or by the URI of a session without a file, for `put_in_place`. Raises LithifyError
    `unsupported_document`, also for one that cannot be written."""
    found = asyncio.run(_places(format_name, settings).find(place))
    reading, data = found.reading, found.data or b""
    return ChatFile(place, title, data, found.text, reading.format, reading.transcript)


def undo_in_place(place: str, compaction_id: str | None, settings: Settings) -> UndoneDocument:
    """Takes a compaction back, the newest that is not undone by default, whoever made it. Raises LithifyError."""
    places = Places(NoEditor(), _files(settings))
    return asyncio.run(DocumentUndoer(places, _records(settings)).undo(place, compaction_id))


def _wrote(chat: ChatFile, backup: str | None, *, adds: bool) -> str:
    what = f"Added the summary to {chat.title}" if adds else f"Rewrote {chat.title}"
    if backup is None:
        return f"{what}; of what it held before there is no backup, since conversation.keepOriginals is off."
    return f"{what}; what it held before is in {backup}."


def _places(format_name: str, settings: Settings) -> Places:
    """The disk, on which a text is read as what it was read as at first."""
    return Places(NoEditor(), _files(settings), lambda _: format_name)


def _files(settings: Settings) -> SessionFiles:
    return session_files(data_dir(settings.data_dir, os.environ), os.environ)


def _found(chat: ChatFile) -> Found:
    reading = Reading(chat.format, chat.transcript, Outline(chat.transcript))
    return Found(uri=chat.place or "", lines=Lines(chat.text), data=chat.data, reading=reading)


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
