"""What is kept of compactions of documents, so that they can be undone later, also by another process."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lithify.core.document_compactions import DocumentCompaction
from lithify.core.outcomes import LithifyError
from lithify.workers.model_use import RunOnStorage
from lithify.workers.ports import DocumentCompactions, Store

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class DocumentRecords:
    """The compactions of documents in the data folder. A data folder that cannot be used stops no compaction."""

    run: RunOnStorage

    async def of_document(self, document: str) -> list[DocumentCompaction]:
        """A document's compactions, the newest first. Raises LithifyError `storage_failed`."""
        found: list[DocumentCompaction] = await self.run(lambda store: store.document_compactions.of_document(document))
        return found

    async def begin(self, new: DocumentCompaction) -> str | None:
        """Notes a compaction before it is written; why it could not be noted, None where it was."""
        return await self._tried(lambda kept: kept.begin(new))

    async def settle(self, compaction_id: str, backup: str | None) -> None:
        """Says that a compaction was written. Where that cannot be noted, the text says it."""
        await self._tried(lambda kept: kept.settle(compaction_id, backup))

    async def forget(self, compaction_id: str) -> None:
        """Drops a compaction that was not written. Where that cannot be noted, the text says it."""
        await self._tried(lambda kept: kept.forget(compaction_id))

    async def doubt(self, compaction_id: str) -> None:
        """Says that a compaction is about to be taken back. Raises LithifyError `storage_failed`."""
        await self._done(lambda kept: kept.doubt(compaction_id))

    async def note_undone(self, compaction_id: str, *, for_good: bool) -> None:
        """Says that a compaction was taken back; `for_good`: on the disk, and not in an editor that has yet to save it.
        Where that cannot be noted, the text says it."""
        await self._tried(lambda kept: kept.note_undone(compaction_id, for_good=for_good))

    async def _tried(self, change: Callable[[DocumentCompactions], None]) -> str | None:
        try:
            await self._done(change)
        except LithifyError as error:
            logger.warning("What is needed to undo a compaction of a document could not be kept: %s", error.message)
            return error.message
        return None

    async def _done(self, change: Callable[[DocumentCompactions], None]) -> None:
        def job(store: Store) -> Any:
            with store.transaction():
                change(store.document_compactions)

        await self.run(job)
