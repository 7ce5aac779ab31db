"""Compaction of a transcript that is a document: read, summarise while the user types, write where the range is still
what it was."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from lithify.core.agents import CompactionCommand, CompactionOptions, resolved_options
from lithify.core.compaction_results import Preview, Stats, Summarised
from lithify.core.conversation import Noop, Plan, Range, with_summary
from lithify.core.messages import Message, estimate_tokens
from lithify.core.model_calls import ModelFailure
from lithify.core.outcomes import LithifyError
from lithify.core.sessions import SessionInfo
from lithify.core.settings import Settings
from lithify.prompt_files.templates import ConversationPrompt
from lithify.transcripts.model import Stamp, replaced_messages
from lithify.transcripts.same_messages import place_of_same
from lithify.workers import conversation
from lithify.workers.document_places import Found, Places, to_its_end
from lithify.workers.model_use import Ledger
from lithify.workers.ports import Models

ATTEMPTS = 3
"""How often an edit is made anew where the user typed while it was on its way."""


@dataclass(frozen=True, slots=True)
class CompactedDocument:
    """A compaction that was applied to a document."""

    compaction_id: str
    uri: str
    summarised: Summarised


@dataclass(frozen=True, slots=True)
class Workplace:
    """What documents are compacted with, each read anew for every call."""

    settings: Callable[[], Settings]
    choose_models: Callable[[], Models | ModelFailure]
    find_prompt: Callable[[], ConversationPrompt]
    ledger: Ledger
    now: Callable[[], str]
    """The time in UTC as a transcript has it: milliseconds, and `Z` at the end."""
    new_id: Callable[[], str]
    new_uuid: Callable[[], str]


class DocumentCompactor:
    """Compacts documents, one compaction at a time for each. Raises LithifyError for every failure."""

    def __init__(self, places: Places, workplace: Workplace) -> None:
        self._places = places
        self._workplace = workplace
        self._running: set[str] = set()

    async def preview(self, uri: str, command: CompactionCommand, line: int | None = None) -> Preview | Noop:
        """What a compaction would send; no model is called, nothing is changed."""
        found = await self._places.find(uri)
        options = self._options(found, command, line)
        _planned(found, options)
        return conversation.preview(found.reading.outline.conversation, options, self._workshop())

    async def compact(
        self, uri: str, command: CompactionCommand, progress: conversation.Progress, line: int | None = None
    ) -> CompactedDocument | Noop:
        """Compacts a document. `line`: the anchor of "up to here" as a line, counted from 0.

        What the user changes outside the range meanwhile is kept; a changed range is `stale`.
        """
        with self._alone(uri):
            found = await self._places.find(uri)
            options = self._options(found, command, line)
            if isinstance(planned := _planned(found, options), Noop):
                return planned
            messages = found.reading.outline.conversation
            done = await conversation.summarise(messages, options, self._workshop(), self._models(), progress)
            return done if isinstance(done, Noop) else await self._apply(found, done, exact=options.exact)

    @contextmanager
    def _alone(self, uri: str) -> Iterator[None]:
        key = self._places.key(uri)
        if key in self._running:
            raise LithifyError("busy", f"a compaction of the document {uri[:200]!a} is already running")
        self._running.add(key)
        try:
            yield
        finally:
            self._running.remove(key)

    async def _apply(self, found: Found, done: Summarised, *, exact: bool) -> CompactedDocument:
        """Writes the summary into the newest text; the user may type on while the edit is on its way."""
        refused = ""
        for _ in range(ATTEMPTS):
            newest = await self._newest(found)
            fresh = done if newest.text == found.text else _moved(found, newest, done, exact=exact)
            written = await asyncio.to_thread(self._written, newest, fresh)
            refused = await self._write(newest, written) or ""
            if not refused:
                return CompactedDocument(self._workplace.new_id(), found.uri, fresh)
            if newest.document is None or (await self._newest(found)).text == newest.text:
                break
        raise _stale(refused)

    async def _newest(self, found: Found) -> Found:
        try:
            newest = await self._places.find(found.uri)
        except LithifyError as error:
            raise _stale(error.message) from None
        if newest.data is not None and found.data is not None and newest.data != found.data:
            raise _stale("another program wrote the file meanwhile")
        return newest

    async def _write(self, found: Found, text: str) -> str | None:
        return await to_its_end(lambda: asyncio.ensure_future(self._places.write(found, text)))

    def _written(self, found: Found, done: Summarised) -> str:
        workplace, reading, planned = self._workplace, found.reading, done.plan.range
        stamp = Stamp(workplace.now(), workplace.new_uuid)
        return reading.format.write(found.text, reading.transcript, planned.start, planned.end, done.summary, stamp)

    def _workshop(self) -> conversation.Workshop:
        workplace = self._workplace
        return conversation.Workshop(workplace.find_prompt(), workplace.settings().conversation, workplace.ledger.ask)

    def _options(self, found: Found, command: CompactionCommand, line: int | None) -> CompactionOptions:
        anchor = _anchor(found, command, line)
        return resolved_options(command, _as_session(found), self._workplace.settings().conversation, anchor)

    def _models(self) -> Models:
        models = self._workplace.choose_models()
        if isinstance(models, ModelFailure):
            failure_type = "model_error" if models.type == "context_too_long" else models.type
            raise LithifyError(failure_type, models.message, retryable=models.retryable)
        return models


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
            "unknown_message", f"the document has {known} with the id {command.up_to_id!r}; give the line or the index"
        )
    return named[0]


def _moved(before: Found, newest: Found, done: Summarised, *, exact: bool) -> Summarised:
    """What was summarised, in a text that was changed meanwhile. Raises LithifyError `stale`."""
    planned = done.plan
    transcript, outline = newest.reading.transcript, newest.reading.outline
    place = place_of_same(before.text, before.reading.transcript, planned.range, newest.text, transcript)
    if place is None or not outline.is_whole(place, exact=exact) or (transcript.prefix_only and place.start > 0):
        raise _stale("the messages of the range were changed while the model worked")
    shift = place.start - planned.range.start
    asked = Range(planned.requested.start + shift, planned.requested.end + shift)
    messages = outline.conversation
    after = with_summary(messages, place, done.summary)
    stats = _stats(messages, after, done.stats.duration_ms)
    return replace(done, plan=Plan(place, asked), messages=after, stats=stats)


def _stats(before: list[Message], after: list[Message], duration_ms: int) -> Stats:
    return Stats(len(before), len(after), estimate_tokens(before), estimate_tokens(after), duration_ms)


def _stale(why: str) -> LithifyError:
    return LithifyError("stale", f"the summary was not written: {why.rstrip('.')}; try again")


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
