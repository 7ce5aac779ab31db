"""Compactions of sessions in the database: applied, listed and undone, with the messages they replaced.

Every method works inside the caller's transaction.
"""

from __future__ import annotations

import json
import sqlite3

from lithify.core import tool_groups
from lithify.core.brief import brief
from lithify.core.conversation import Range, kept_in_front
from lithify.core.messages import Message
from lithify.core.outcomes import LithifyError
from lithify.core.sessions import Changed, CompactionRecord, NewCompaction, Undone
from lithify.core.stored_json import same_json, storable_json
from lithify.storage.sessions import SessionStore


class CompactionStore:
    """The compactions of one data folder."""

    def __init__(self, connection: sqlite3.Connection, sessions: SessionStore) -> None:
        self._connection = connection
        self._sessions = sessions

    def of_session(self, session_id: str) -> list[CompactionRecord]:
        """A session's compactions, the oldest first."""
        rows = self._connection.execute(
            "SELECT compaction_id, at, range_start, range_end, stats, undone FROM compactions"
            " WHERE session_id = ? ORDER BY sequence",
            (session_id,),
        )
        return [
            CompactionRecord(row[0], row[1], Range(row[2], row[3]), json.loads(row[4]), bool(row[5])) for row in rows
        ]

    def apply(self, session_id: str, new: NewCompaction) -> Changed:
        """Puts the summary in the place of its range, whatever came after it kept. Raises LithifyError `stale`."""
        current = self._sessions.messages(session_id)
        self._check_unchanged(session_id, current, new)
        first = new.range.start + kept_in_front(current, new.range)
        self._keep(session_id, new, first)
        info = self._sessions.splice(
            session_id, first, new.range.end - first, [(new.summary, new.compaction_id)], new.at
        )
        return Changed(info.revision, [*current[:first], new.summary, *current[new.range.end :]])

    def undo(self, session_id: str, compaction_id: str | None, now: str) -> Undone:
        """Puts the originals of a compaction back where its summary stands; what followed stays after them.

        Raises LithifyError: `unknown_compaction`, or `stale` when the summary is no longer there as it was made.
        """
        found, summary = self._to_undo(session_id, compaction_id)
        row = self._connection.execute(
            "SELECT position, message FROM session_messages WHERE session_id = ? AND compaction_id = ?",
            (session_id, found),
        ).fetchone()
        if row is None or row[1] != summary:
            raise LithifyError(
                "stale",
                "The summary of that compaction is no longer in this chat as it was made: it was edited, removed, or "
                "compacted again; undo the later compaction first",
                retryable=False,
            )
        originals = self._connection.execute(
            "SELECT message, inner_compaction_id FROM compaction_originals WHERE compaction_id = ? ORDER BY position",
            (found,),
        ).fetchall()
        restored = [(json.loads(message), inner) for message, inner in originals]
        info = self._sessions.splice(session_id, row[0], 1, restored, now)
        self._connection.execute("UPDATE compactions SET undone = 1 WHERE compaction_id = ?", (found,))
        return Undone(found, info.revision, self._sessions.messages(session_id))

    def covered(self, session_id: str, start: int, end: int) -> list[Message]:
        """The messages that the summaries among [start, end) stand for, through summaries of summaries too."""
        rows = self._connection.execute(
            "WITH RECURSIVE inside(id) AS ("
            " SELECT compaction_id FROM session_messages WHERE session_id = ? AND position >= ? AND position < ?"
            " AND compaction_id IS NOT NULL"
            " UNION SELECT o.inner_compaction_id FROM compaction_originals o JOIN inside i ON o.compaction_id = i.id"
            " WHERE o.inner_compaction_id IS NOT NULL)"
            " SELECT message FROM compaction_originals WHERE compaction_id IN (SELECT id FROM inside)"
            " ORDER BY compaction_id, position",
            (session_id, start, end),
        )
        return [json.loads(row[0]) for row in rows]

    def forget_unreachable(self, session_id: str) -> None:
        """Drops the compactions of a session whose summary neither stands in it nor in what another one kept."""
        unreachable = self._connection.execute(
            "WITH RECURSIVE reachable(id) AS ("
            " SELECT compaction_id FROM session_messages WHERE session_id = :s AND compaction_id IS NOT NULL"
            " UNION SELECT o.inner_compaction_id FROM compaction_originals o JOIN reachable r"
            " ON o.compaction_id = r.id WHERE o.inner_compaction_id IS NOT NULL)"
            " SELECT compaction_id FROM compactions WHERE session_id = :s AND compaction_id NOT IN"
            " (SELECT id FROM reachable)",
            {"s": session_id},
        ).fetchall()
        for table in ("compaction_originals", "compactions"):
            self._connection.executemany(f"DELETE FROM {table} WHERE compaction_id = ?", unreachable)

    def _check_unchanged(self, session_id: str, current: list[dict[str, object]], new: NewCompaction) -> None:
        start, end = new.range.start, new.range.end
        stored = self._sessions.message_texts(session_id, start, end)
        before = [storable_json(message) for message in new.before[start:end]]
        if len(stored) != len(before) or not all(map(same_json, stored, before)):
            raise LithifyError(
                "stale",
                f"messages {start} to {end - 1} of session {session_id} changed while the summary was made; "
                "nothing was written, compact again",
            )
        alone_before = {lone.call_id for lone in tool_groups.left_alone(new.before, start, end)}
        late = [lone for lone in tool_groups.left_alone(current, start, end) if lone.call_id not in alone_before]
        if late and not new.exact:
            raise LithifyError(
                "stale",
                f"the result of tool call {brief(late[0].call_id) or '(without id)'} came in while the summary of "
                "its call was made; nothing was written, compact again",
            )

    def _keep(self, session_id: str, new: NewCompaction, first: int) -> None:
        self._connection.execute(
            "INSERT INTO compactions (compaction_id, session_id, sequence, at, range_start, range_end, stats,"
            " summary, originals_kept)"
            " VALUES (?, ?, (SELECT coalesce(max(sequence), 0) + 1 FROM compactions), ?, ?, ?, ?, ?, ?)",
            (
                new.compaction_id,
                session_id,
                new.at,
                new.range.start,
                new.range.end,
                storable_json(new.stats),
                storable_json(new.summary),
                int(new.keep_originals),
            ),
        )
        if new.keep_originals:
            self._connection.execute(
                "INSERT INTO compaction_originals (compaction_id, position, message, counted_bytes,"
                " inner_compaction_id) SELECT ?, position, message, counted_bytes, compaction_id FROM session_messages"
                " WHERE session_id = ? AND position >= ? AND position < ?",
                (new.compaction_id, session_id, first, new.range.end),
            )

    def _to_undo(self, session_id: str, compaction_id: str | None) -> tuple[str, str]:
        row = self._connection.execute(
            "SELECT compaction_id, summary, originals_kept, undone FROM compactions WHERE session_id = :s"
            " AND (compaction_id = :c OR :c IS NULL AND undone = 0) ORDER BY sequence DESC LIMIT 1",
            {"s": session_id, "c": compaction_id},
        ).fetchone()
        if row is None:
            named = f"compaction with the id {compaction_id!r}" if compaction_id else "compaction that could be undone"
            raise LithifyError("unknown_compaction", f"This chat has no {named}")
        if row[3]:
            raise LithifyError("unknown_compaction", "That compaction was undone already")
        if not row[2]:
            raise LithifyError(
                "unknown_compaction",
                "That compaction kept no originals, because conversation.keepOriginals was off",
            )
        return row[0], row[1]
