"""Compactions of documents taken back: what was replaced stands again where the summary still does. Where an agent has
written on behind it, or may do so now, the session as it was becomes a new one, beside the first."""

from __future__ import annotations

from dataclasses import dataclass

from lithify.core.document_compactions import (
    DocumentCompaction,
    is_last_write,
    places_taken,
    restored_ids,
    stands_in,
    text_in_front,
    to_undo,
)
from lithify.core.file_writes import Changed, InUse, Written
from lithify.core.outcomes import LithifyError
from lithify.transcripts.model import Stamp
from lithify.transcripts.undecodable import encoded
from lithify.workers.document_places import FoundText, Places, Writing, title, to_its_end
from lithify.workers.document_records import DocumentRecords
from lithify.workers.document_writing import ATTEMPTS

UNDO = "Undo compaction"


@dataclass(frozen=True, slots=True)
class UndoneDocument:
    """A compaction of a document that was taken back. `restored` is the URI of the new session that holds what the
    document held, where the document itself was left as it is."""

    compaction_id: str
    uri: str
    restored: str | None = None


class DocumentUndoer:
    """Takes compactions back. Raises LithifyError for every failure; then the document is as it was."""

    def __init__(self, places: Places, records: DocumentRecords) -> None:
        self._places = places
        self._records = records

    async def known(self, uri: str) -> list[DocumentCompaction]:
        """The compactions of a document of which what they replaced is kept, the oldest first. Raises
        `storage_failed`."""
        kept = await self._records.of_document(await self._places.lasting_key(uri))
        return [one for one in reversed(kept) if one.certain and one.kept]

    async def undo(self, uri: str, compaction_id: str | None) -> UndoneDocument:
        """Takes a compaction back, the newest that is not undone by default. What was changed elsewhere in the document
        since is kept."""
        refused = ""
        for _ in range(ATTEMPTS):
            found = await self._places.find_text(uri)
            kept = await self._records.of_document(await self._places.lasting_key(uri))
            compaction, text = to_undo(kept, compaction_id, found.text, title(uri))
            if text is None or found.only_grows:
                return await to_its_end(lambda: self._restore(found, compaction))  # noqa: B023 - awaited at once
            done = await to_its_end(lambda: self._write(found, compaction, text))  # noqa: B023 - awaited at once
            if isinstance(done, Written):
                return UndoneDocument(compaction.compaction_id, uri)
            if isinstance(done, InUse):
                why = f"{title(uri)} was left as it is. {done.reason}"
                return await to_its_end(lambda: self._restore(found, compaction, why))  # noqa: B023 - awaited at once
            refused = done.reason
            if (await self._places.find_text(uri)).text == found.text:
                break
        raise LithifyError("stale", f"{title(uri)} was left as it is: {refused.rstrip('.')}; undo again")

    async def _write(self, found: FoundText, compaction: DocumentCompaction, text: str) -> Written | Changed | InUse:
        await self._records.doubt(compaction.compaction_id)
        ours = is_last_write(compaction, found.text)
        taken = tuple(places_taken(compaction, found.text))
        how = Writing(UNDO, compaction.format, compaction.appended, ours=ours, untouched=taken)
        try:
            outcome = await self._places.write(found, text, how)
        except LithifyError as error:
            if error.type == "stale":
                await self._records.settle(compaction.compaction_id, compaction.backup)
            raise
        if isinstance(outcome, Written):
            await self._records.note_undone(compaction.compaction_id, for_good=found.document is None)
        else:
            await self._records.settle(compaction.compaction_id, compaction.backup)
        return outcome

    async def _restore(self, found: FoundText, compaction: DocumentCompaction, in_use: str = "") -> UndoneDocument:
        """The session as it was, as a new one: of each compaction one and the same, however often that is begun. Raises
        LithifyError `stale` where none can be made, `busy` with the sentence that says why it is `in_use`."""
        named = f"compaction {compaction.compaction_id} of {_small(title(found.uri))}"
        if not (found.only_grows or (compaction.appended and stands_in(compaction, found.text))):
            why = (
                f"The summary of {named} does not stand there as it was made: it was edited or removed, or a later "
                "compaction holds it, which has to be undone first"
            )
            raise LithifyError("stale", why, retryable=False)
        backup = await self._places.backup(found.uri, compaction.compaction_id)
        before = await self._as_it_was(found, compaction, backup)
        stamp = Stamp(compaction.at, restored_ids(compaction))
        if (
            before is None
            or (restored := await self._places.restore(found.uri, before, compaction.format, stamp)) is None
        ):
            if in_use:
                raise LithifyError("busy", in_use)
            raise LithifyError("stale", _cannot_be_cut(named, backup), retryable=False)
        await self._records.note_undone(compaction.compaction_id, for_good=True)
        return UndoneDocument(compaction.compaction_id, found.uri, restored)

    async def _as_it_was(self, found: FoundText, compaction: DocumentCompaction, backup: str | None) -> bytes | None:
        """What the document held before: its backup, or all that stands in front of what was appended."""
        if backup is not None:
            return await self._places.read_backup(backup)
        text = text_in_front(compaction, found.text)
        return None if text is None else encoded(text)


def _cannot_be_cut(named: str, backup: str | None) -> str:
    way_out = (
        f"the session as it was before it is in the backup {backup}"
        if backup is not None
        else "there is no backup of the session as it was before it"
    )
    return f"The {named} cannot be cut off, because the session went on behind it; {way_out}"


def _small(words: str) -> str:
    """Words that begin a sentence, as they stand within one."""
    return words[0].lower() + words[1:]
