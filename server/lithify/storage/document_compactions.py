"""Compactions of documents in the database, so that a later process can undo them.

A compaction is noted before its text is written, and marked certain afterwards; likewise before and after it is taken
back. A process that dies in between leaves one that is not certain: whether it came about, the text says.

Every method works inside the caller's transaction.
"""

from __future__ import annotations

import json
import sqlite3

from lithify.core.document_compactions import DocumentCompaction, TextChange
from lithify.storage.database import sound_text

MOST_KEPT = 16
"""How many compactions are kept of each document, and as many of which nobody knows whether they came about; the oldest
go, with the text that they replaced."""

_COLUMNS = "compaction_id, document, format, at, length, changes, appended, kept, backup, certain, undone"


class DocumentCompactionStore:
    """The compactions of documents of one data folder."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def of_document(self, document: str) -> list[DocumentCompaction]:
        """A document's compactions, the newest first."""
        rows = self._connection.execute(
            f"SELECT {_COLUMNS} FROM document_compactions WHERE document = ? ORDER BY sequence DESC",
            (sound_text(document),),
        )
        return [_compaction(row) for row in rows]

    def begin(self, new: DocumentCompaction) -> None:
        """Notes a compaction that is about to be written, in the place of one of that id; it is not certain yet."""
        self._connection.execute(
            f"INSERT OR REPLACE INTO document_compactions (sequence, {_COLUMNS}) VALUES"
            " ((SELECT coalesce(max(sequence), 0) + 1 FROM document_compactions), ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0)",
            (
                new.compaction_id,
                sound_text(new.document),
                new.format,
                new.at,
                new.length,
                json.dumps([[one.offset, one.removed, one.inserted] for one in new.changes]),
                int(new.appended),
                int(new.kept),
                sound_text(new.backup),
            ),
        )
        self._let_old_go(new.compaction_id)

    def settle(self, compaction_id: str, backup: str | None) -> None:
        """Says that a compaction was written, and where the backup of its file lies."""
        self._connection.execute(
            "UPDATE document_compactions SET certain = 1, backup = ? WHERE compaction_id = ?",
            (sound_text(backup), compaction_id),
        )
        self._let_old_go(compaction_id)

    def forget(self, compaction_id: str) -> None:
        """Drops a compaction that was not written."""
        self._connection.execute("DELETE FROM document_compactions WHERE compaction_id = ?", (compaction_id,))

    def doubt(self, compaction_id: str) -> None:
        """Says that a compaction is about to be taken back: it is not certain until that has ended."""
        self._connection.execute(
            "UPDATE document_compactions SET certain = 0 WHERE compaction_id = ?", (compaction_id,)
        )

    def note_undone(self, compaction_id: str, *, for_good: bool) -> None:
        """Says that a compaction was taken back; what it had replaced is let go if that is `for_good`."""
        self._connection.execute(
            "UPDATE document_compactions SET undone = 1, certain = 1, changes = iif(?, '[]', changes)"
            " WHERE compaction_id = ?",
            (for_good, compaction_id),
        )

    def _let_old_go(self, compaction_id: str) -> None:
        """Keeps the newest of a compaction's document that are as certain as it is: attempts that came to nothing push
        none out that was made."""
        self._connection.execute(
            "DELETE FROM document_compactions WHERE sequence IN ("
            "SELECT one.sequence FROM document_compactions AS one"
            " JOIN document_compactions AS new USING (document, certain)"
            " WHERE new.compaction_id = ? ORDER BY one.sequence DESC LIMIT -1 OFFSET ?)",
            (compaction_id, MOST_KEPT),
        )


def _compaction(row: tuple[str, str, str, str, int, str, int, int, str | None, int, int]) -> DocumentCompaction:
    compaction_id, document, name, at, length, changes, appended, kept, backup, certain, undone = row
    return DocumentCompaction(
        compaction_id,
        document,
        name,
        at,
        length,
        tuple(TextChange(*change) for change in json.loads(changes)),
        bool(appended),
        bool(kept),
        backup,
        bool(certain),
        bool(undone),
    )
