"""Compaction of a transcript that is a document: read, summarised while the user types, and written, at once or as a
draft later; and its undoing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from lithify.core.agents import CompactionCommand, CompactionOptions, compaction_of, resolved_options
from lithify.core.brief import brief
from lithify.core.compaction_results import Preview
from lithify.core.conversation import Noop, Plan
from lithify.core.document_compactions import DocumentCompaction
from lithify.core.drafts import edited
from lithify.core.model_calls import ModelFailure
from lithify.core.outcomes import LithifyError
from lithify.core.sessions import SessionInfo
from lithify.core.settings import Settings
from lithify.prompt_files.templates import ConversationPrompt
from lithify.transcripts.model import replaced_messages
from lithify.workers import conversation
from lithify.workers.document_places import Found, Places, title
from lithify.workers.document_undo import DocumentUndoer, UndoneDocument
from lithify.workers.document_writing import CompactedDocument, DocumentDraft, DocumentWriter
from lithify.workers.drafts import Drafts
from lithify.workers.model_use import Ledger, required
from lithify.workers.ports import Models


@dataclass(frozen=True, slots=True)
class Workplace:
    """What documents are compacted with, each read anew for every call."""

    settings: Callable[[], Settings]
    choose_models: Callable[[], Models | ModelFailure]
    find_prompt: Callable[[], ConversationPrompt]
    ledger: Ledger
    new_id: Callable[[], str]


@dataclass(frozen=True, slots=True)
class DocumentCommand:
    """What the user asks for. `line` is the anchor of "up to here" as a line, counted from 0; `label` is what the
    editor calls the edit."""

    uri: str
    command: CompactionCommand
    line: int | None = None
    label: str = "Compact conversation"


class DocumentCompactor:
    """Compacts documents, one compaction at a time for each. Raises LithifyError for every failure."""

    def __init__(
        self, places: Places, writer: DocumentWriter, undoer: DocumentUndoer, drafts: Drafts, workplace: Workplace
    ) -> None:
        self._places = places
        self._writer = writer
        self._undoer = undoer
        self._drafts = drafts
        self._workplace = workplace
        self._running: dict[str, str | None] = {}
        """The documents that are worked on now, each with the draft that is applied to it, if it is one."""

    async def look(self, uri: str) -> Found:
        """A transcript as it is now, whether or not it can be written. Raises `unsupported_document`."""
        return await self._places.look(uri)

    async def read_only_reason(self, found: Found) -> str | None:
        """Why a transcript can only be read, in a sentence or two; None where it can be compacted where it lies."""
        return await self._places.read_only_reason(found)

    async def compactions(self, uri: str) -> list[DocumentCompaction]:
        """The compactions of a document that are kept, the oldest first. Raises `storage_failed`."""
        return await self._undoer.known(uri)

    async def preview(self, asked: DocumentCommand) -> Preview | Noop:
        """What a compaction would send; no model is called, nothing is changed."""
        found = await self._places.find(asked.uri)
        options = self._options(found, asked)
        _planned(found, options)
        messages = found.reading.outline.conversation
        return conversation.preview(messages, options, self._workshop(), self._workplace.choose_models())

    async def compact(self, asked: DocumentCommand, progress: conversation.Progress) -> CompactedDocument | Noop:
        """Compacts a document. What the user changes outside the range meanwhile is kept; a changed range is
        `stale`. A session that its agent has open is `busy`, before a model is asked."""
        with self._alone(asked.uri):
            drafted = await self._draft(asked, progress, at_once=True)
            return drafted if isinstance(drafted, Noop) else await self._writer.apply(drafted)

    async def draft(self, asked: DocumentCommand, progress: conversation.Progress) -> DocumentDraft | Noop:
        """The summary of a compaction, kept until it is applied or discarded; the document stays as it is."""
        with self._alone(asked.uri):
            drafted = await self._draft(asked, progress, at_once=False)
        if isinstance(drafted, DocumentDraft):
            self._drafts.keep(drafted)
        return drafted

    async def apply_draft(self, draft: DocumentDraft, text: str | None) -> CompactedDocument:
        """Applies a draft, with a text in the place of the model's where one is given; then the draft is used up.

        The document may have changed since, but not in the range. After a failure the draft is still there.
        """
        with self._alone(draft.found.uri, draft.draft_id):
            settings = self._workplace.settings().conversation
            compaction_of(_as_session(draft.found), settings)
            chosen = draft
            if text is not None:
                before = draft.found.reading.outline.conversation
                summarised = edited(before, draft.summarised, text, settings.refuse_larger_from)
                chosen = replace(draft, summarised=summarised)
            try:
                done = await self._writer.apply(chosen, later=True)
            except LithifyError as error:
                raise _of_draft(error, draft) from None
            self._drafts.forget(draft.draft_id)
            return done

    def discard_draft(self, draft: DocumentDraft) -> None:
        """Lets a draft go. Raises LithifyError `busy` while it is being applied."""
        if self._running.get(self._places.key(draft.found.uri)) == draft.draft_id:
            raise LithifyError("busy", "This draft is being applied; undo the compaction when that has ended")
        self._drafts.forget(draft.draft_id)

    async def undo(self, uri: str, compaction_id: str | None) -> UndoneDocument:
        """Takes a compaction back, the newest that still can be by default."""
        with self._alone(uri):
            return await self._undoer.undo(uri, compaction_id)

    @contextmanager
    def _alone(self, uri: str, draft_id: str | None = None) -> Iterator[None]:
        key = self._places.key(uri)
        if key in self._running:
            raise LithifyError("busy", f"A compaction of {_small(title(uri))} is running; try again when it has ended")
        self._running[key] = draft_id
        try:
            yield
        finally:
            del self._running[key]

    async def _draft(
        self, asked: DocumentCommand, progress: conversation.Progress, *, at_once: bool
    ) -> DocumentDraft | Noop:
        found = await self._places.find(asked.uri)
        options = self._options(found, asked)
        if isinstance(planned := _planned(found, options), Noop):
            return planned
        if at_once:
            await self._places.check_free(found)
        messages = found.reading.outline.conversation
        models = required(self._workplace.choose_models())
        done = await conversation.summarise(messages, options, self._workshop(), models, progress)
        if isinstance(done, Noop):
            return done
        return DocumentDraft(self._workplace.new_id(), found, options.exact, done, asked.label)

    def _workshop(self) -> conversation.Workshop:
        workplace = self._workplace
        return conversation.Workshop(workplace.find_prompt(), workplace.settings().conversation, workplace.ledger.ask)

    def _options(self, found: Found, asked: DocumentCommand) -> CompactionOptions:
        anchor = _anchor(found, asked.command, asked.line)
        return resolved_options(asked.command, _as_session(found), self._workplace.settings().conversation, anchor)


def _planned(found: Found, options: CompactionOptions) -> Plan | Noop:
    """The range, which the format can write. Raises LithifyError `invalid_range`."""
    planned = conversation.plan(found.reading.outline.conversation, options)
    if isinstance(planned, Plan):
        replaced_messages(found.reading.transcript, planned.range.start, planned.range.end)
    return planned


def _anchor(found: Found, command: CompactionCommand, line: int | None) -> int | None:
    """The index of the message that "up to here" names. Raises LithifyError `unknown_message`."""
    if line is not None:
        index = found.reading.outline.near(*found.lines.bounds(line))
        if index is None:
            raise LithifyError("unknown_message", f"line {line} lies on no message, and below none; name another line")
        return index
    if command.up_to_id is None:
        return command.up_to
    named = [index for index, one in enumerate(found.reading.outline.conversation) if one.get("id") == command.up_to_id]
    if len(named) != 1:
        known = f"{len(named)} messages" if named else "no message"
        raise LithifyError(
            "unknown_message",
            f"This document has {known} with the id {brief(command.up_to_id)!r}; give the line or the index",
        )
    return named[0]


def _of_draft(error: LithifyError, draft: DocumentDraft) -> LithifyError:
    """The failure of applying a draft: one that is stale does not become fresh by a second try. It still is fresh once
    the user takes back what the editor spoilt."""
    if error.type != "stale" or not error.retryable:
        return error
    told = f"This draft was not applied to {_small(title(draft.found.uri))}: {error.message}"
    return LithifyError("stale", f"{told.removesuffix('; try again')}; make a new draft", retryable=False)


def _small(words: str) -> str:
    """Words that begin a sentence, as they stand within one."""
    return words[0].lower() + words[1:]


def _as_session(found: Found) -> SessionInfo:
    """A document is compacted as a session without an agent is: by the setting `conversation.compaction`."""
    return SessionInfo(
        session_id=found.uri,
        title=None,
        project_id="",
        project_root="",
        agent=None,
        compaction_model=None,
        record=None,
        surface="",
        revision=0,
        message_count=len(found.reading.outline.conversation),
        counted_bytes=0,
        created_at="",
        updated_at="",
        closed=False,
    )
