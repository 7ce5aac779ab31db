"""A summary written into the newest text of a document, while its user and other programs may write on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace

from lithify.core.compaction_results import Stats, Summarised
from lithify.core.conversation import Plan, Range, with_summary
from lithify.core.document_compactions import DocumentCompaction
from lithify.core.file_writes import Changed, Written
from lithify.core.messages import Message, estimate_tokens
from lithify.core.outcomes import LithifyError
from lithify.core.replies import Notice
from lithify.core.typed_edits import Span
from lithify.transcripts.model import Stamp
from lithify.transcripts.same_messages import place_of_same
from lithify.workers.document_changes import NewText, new_text
from lithify.workers.document_places import Found, Places, Writing, to_its_end
from lithify.workers.document_records import DocumentRecords

ATTEMPTS = 3
"""How often a write is tried where somebody wrote while it was on its way."""

MOST_SECONDS = 120.0
"""How long a write is made anew for a user who types so that an editor cannot even be asked for it."""


@dataclass(frozen=True, slots=True)
class CompactedDocument:
    """A compaction that was applied to a document. `backup` says where the file as it was lies, if that is kept."""

    compaction_id: str
    uri: str
    summarised: Summarised
    backup: str | None = None


@dataclass(frozen=True, slots=True)
class DocumentDraft:
    """A summary of a range of a document as it was `found` when the draft was made; nothing is changed yet.

    `label` is what the editor calls the edit, `characters` the length of the text.
    """

    draft_id: str
    found: Found
    exact: bool
    summarised: Summarised
    label: str

    @property
    def characters(self) -> int:
        """How much of the memory it takes."""
        return len(self.found.text)


@dataclass(frozen=True, slots=True)
class Marks:
    """What new records are marked with."""

    now: Callable[[], str]
    """The time in UTC as a transcript has it: milliseconds, and `Z` at the end."""
    new_id: Callable[[], str]
    new_uuid: Callable[[], str]


class DocumentWriter:
    """Writes summaries. Raises LithifyError for every failure; then the document is as it was."""

    def __init__(
        self, places: Places, records: DocumentRecords, marks: Marks, keep_originals: Callable[[], bool]
    ) -> None:
        self._places = places
        self._records = records
        self._marks = marks
        self._keep_originals = keep_originals

    async def apply(self, draft: DocumentDraft, *, later: bool = False) -> CompactedDocument:
        """Writes the summary into the newest text, in which everything but the range may have changed.

        A file that is rewritten as a whole must still be what was read, unless it was read some time ago (`later`): one
        that another program writes at this time is left alone. One that is appended to may grow.
        """
        compaction_id, refused, tried = self._marks.new_id(), "", 0
        clock = asyncio.get_running_loop().time
        deadline = clock() + MOST_SECONDS
        while tried < ATTEMPTS and clock() < deadline:
            newest = await self._newest(draft.found)
            fresh, made = await asyncio.to_thread(self._made, draft, newest)
            if not later and _is_rewritten_under_us(draft.found, newest, made):
                refused = "another program wrote the file meanwhile"
                break
            done = await to_its_end(lambda: self._write(compaction_id, newest, fresh, made, draft.label))  # noqa: B023 - awaited at once
            if isinstance(done, _Noted):
                warned = replace(fresh, warnings=(*fresh.warnings, *done.warnings))
                return CompactedDocument(compaction_id, draft.found.uri, warned, done.backup)
            refused, tried = done.reason, tried + done.tried
            if not await self._is_worth_another(newest, made):
                break
        raise stale(refused)

    async def _newest(self, found: Found) -> Found:
        try:
            return await self._places.find(found.uri, found)
        except LithifyError as error:
            raise stale(error.message) from None

    def _made(self, draft: DocumentDraft, newest: Found) -> tuple[Summarised, NewText]:
        fresh = draft.summarised
        if newest.text != draft.found.text:
            fresh = _moved(draft.found, newest, fresh, exact=draft.exact)
        stamp = Stamp(self._marks.now(), self._marks.new_uuid)
        return fresh, new_text(newest.text, newest.reading, fresh, stamp)

    async def _is_worth_another(self, tried: Found, made: NewText) -> bool:
        """Whether a write that was refused may go well now: something was written meanwhile, and that is allowed."""
        if tried.document is None:
            return made.appended or tried.only_grows
        return (await self._newest(tried)).text != tried.text

    async def _write(
        self, compaction_id: str, newest: Found, fresh: Summarised, made: NewText, label: str
    ) -> _Noted | Changed:
        keeps = self._keep_originals()
        record = DocumentCompaction(
            compaction_id=compaction_id,
            document=await self._places.lasting_key(newest.uri),
            format=newest.reading.format.name,
            at=self._marks.now(),
            length=len(made.text),
            changes=made.changes if keeps else (),
            appended=made.appended,
            kept=keeps,
        )
        problem = await self._records.begin(record)
        untouched = (_span_of_range(newest, fresh), *made.replaced())
        how = Writing(label, record.format, made.appended, compaction_id if keeps else None, untouched=untouched)
        try:
            outcome = await self._places.write(newest, made.text, how)
        except LithifyError as error:
            if error.type != "storage_failed":  # of a disk that failed it is not certain what it did
                await self._records.forget(compaction_id)
            raise
        if isinstance(outcome, Written):
            if outcome.typed:
                length = record.length + sum(one.growth for one in outcome.typed)
                changes = made.changes_amid(outcome.typed) if keeps else ()
                problem = await self._records.begin(replace(record, length=length, changes=changes))
            await self._records.settle(compaction_id, outcome.backup)
            return _Noted(outcome.backup, () if problem is None or not keeps else (_cannot_be_undone(problem),))
        refused = outcome if isinstance(outcome, Changed) else Changed(outcome.reason)
        if newest.document is None or not (keeps and refused.tried):
            await self._records.forget(compaction_id)  # but an editor may make an edit yet that it did not answer for
        return refused


def _span_of_range(newest: Found, fresh: Summarised) -> Span:
    """The characters of the messages that are replaced."""
    messages, replaced = newest.reading.transcript.messages, fresh.plan.range
    return messages[replaced.start].start, messages[replaced.end - 1].end


@dataclass(frozen=True, slots=True)
class _Noted:
    backup: str | None
    warnings: tuple[Notice, ...]


def stale(why: str) -> LithifyError:
    """The failure where somebody else changed what was to be changed."""
    return LithifyError("stale", f"the summary was not written: {why.rstrip('.')}; try again")


def _cannot_be_undone(problem: str) -> Notice:
    return Notice("undo_unavailable", f"What was replaced could not be kept, so lithify cannot undo this: {problem}")


def _is_rewritten_under_us(before: Found, newest: Found, made: NewText) -> bool:
    if newest.data is None or before.data is None or newest.data == before.data or newest.only_grows:
        return False
    return not (made.appended and newest.data.startswith(before.data))


def _moved(before: Found, newest: Found, done: Summarised, *, exact: bool) -> Summarised:
    """What was summarised, in a text that was changed meanwhile. Raises LithifyError `stale`."""
    planned = done.plan
    transcript, outline = newest.reading.transcript, newest.reading.outline
    place = place_of_same(before.text, before.reading.transcript, planned.range, newest.text, transcript)
    if place is None or not outline.is_whole(place, exact=exact) or (transcript.prefix_only and place.start > 0):
        raise stale("the messages of the range were changed meanwhile")
    shift = place.start - planned.range.start
    asked = Range(planned.requested.start + shift, planned.requested.end + shift)
    messages = outline.conversation
    after = with_summary(messages, place, done.summary)
    stats = _stats(messages, after, done.stats.duration_ms)
    return replace(done, plan=Plan(place, asked), messages=after, stats=stats)


def _stats(before: list[Message], after: list[Message], duration_ms: int) -> Stats:
    return Stats(len(before), len(after), estimate_tokens(before), estimate_tokens(after), duration_ms)
