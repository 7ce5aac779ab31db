"""Compactions of documents taken back: what was replaced stands again where the summary still does."""

from __future__ import annotations

from dataclasses import dataclass

from lithify.core.document_compactions import DocumentCompaction, stands_in, to_undo
from lithify.core.file_writes import Changed, Written
from lithify.core.outcomes import LithifyError
from lithify.workers.document_places import FoundText, Places, Writing, title, to_its_end
from lithify.workers.document_records import DocumentRecords
from lithify.workers.document_writing import ATTEMPTS

UNDO = "Undo compaction"


@dataclass(frozen=True, slots=True)
class UndoneDocument:
    """A compaction of a document that was taken back."""

    compaction_id: str
    uri: str


class DocumentUndoer:
    """Takes compactions back. Raises LithifyError for every failure; then the document is as it was."""

    def __init__(self, places: Places, records: DocumentRecords) -> None:
        self._places = places
        self._records = records

    async def known(self, uri: str) -> list[DocumentCompaction]:
        """The compactions of a document that are kept, the oldest first. Raises `storage_failed`."""
        kept = await self._records.of_document(await self._places.lasting_key(uri))
        return [one for one in reversed(kept) if one.certain]

    async def undo(self, uri: str, compaction_id: str | None) -> UndoneDocument:
        """Takes a compaction back, the newest that is not undone by default. What was changed elsewhere in the document
        since is kept."""
        refused = ""
        for _ in range(ATTEMPTS):
            found = await self._places.find_text(uri)
            kept = await self._records.of_document(await self._places.lasting_key(uri))
            compaction, text = to_undo(kept, compaction_id, found.text, title(uri))
            if text is None:
                raise await self._stale(found, compaction)
            done = await to_its_end(lambda: self._write(found, compaction, text))  # noqa: B023 - awaited at once
            if isinstance(done, Written):
                return UndoneDocument(compaction.compaction_id, uri)
            refused = done.reason
            if (await self._places.find_text(uri)).text == found.text:
                break
        raise LithifyError("stale", f"{title(uri)} was left as it is: {refused.rstrip('.')}; undo again")

    async def _write(self, found: FoundText, compaction: DocumentCompaction, text: str) -> Written | Changed:
        await self._records.doubt(compaction.compaction_id)
        outcome = await self._places.write(found, text, Writing(UNDO, compaction.format, compaction.appended))
        if isinstance(outcome, Written):
            await self._records.note_undone(compaction.compaction_id)
        else:
            await self._records.settle(compaction.compaction_id, compaction.backup)
        return outcome

    async def _stale(self, found: FoundText, compaction: DocumentCompaction) -> LithifyError:
        """Why a compaction cannot be taken back. The file as it was before an appended one is in its backup: a new
        session can be made of that, where somebody has written behind the compaction."""
        named = f"compaction {compaction.compaction_id} of {title(found.uri)}"
        if not (compaction.appended and stands_in(compaction, found.text)):
            why = (
                f"the summary of {named} does not stand there as it was made: it was edited, removed, or compacted "
                "again; undo the later compaction first"
            )
            return LithifyError("stale", why, retryable=False)
        backup = await self._places.backup(found.uri, compaction.compaction_id)
        way_out = (
            f"the session as it was before it is in the backup {backup}"
            if backup is not None
            else "there is no backup of the session as it was before it"
        )
        why = f"{named} cannot be cut off, because the session went on behind it; {way_out}"
        return LithifyError("stale", why, retryable=False)
