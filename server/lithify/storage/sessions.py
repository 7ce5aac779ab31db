"""Sessions in the database: their messages, verbatim and in order, and what has been said in them.

Every method works inside the caller's transaction. Messages are kept as the JSON they came as.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from typing import Any

from lithify.core.messages import Message, counted_bytes
from lithify.core.sessions import SessionInfo
from lithify.core.stored_json import storable_json
from lithify.storage.database import sound_text

_COLUMNS = (
    "session_id, title, project_id, coalesce((SELECT root FROM projects p WHERE p.project_id = s.project_id), ''),"
    " agent, compaction_model, record, surface, revision, message_count, counted_bytes, created_at, updated_at, closed"
)


class SessionStore:
    """The sessions of one data folder."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def find(self, session_id: str) -> SessionInfo | None:
        """A session without its messages; None when there is none of that id."""
        row = self._connection.execute(
            f"SELECT {_COLUMNS} FROM sessions s WHERE session_id = ?", (session_id,)
        ).fetchone()
        return _info(row) if row else None

    def recent(self, project_id: str | None, limit: int, before: tuple[str, str] | None) -> list[SessionInfo]:
        """Sessions by last use, the newest first, after `before` = (updated_at, session_id)."""
        rows = self._connection.execute(
            f"SELECT {_COLUMNS} FROM sessions s WHERE (:project IS NULL OR project_id = :project)"
            " AND (:at IS NULL OR (updated_at, session_id) < (:at, :id))"
            " ORDER BY updated_at DESC, session_id DESC LIMIT :limit",
            {"project": project_id, "at": before and before[0], "id": before and before[1], "limit": limit},
        )
        return [_info(row) for row in rows]

    def messages(self, session_id: str, start: int = 0, end: int | None = None) -> list[Message]:
        """The messages of [start, end)."""
        return [json.loads(text) for text in self.message_texts(session_id, start, end)]

    def message_texts(self, session_id: str, start: int = 0, end: int | None = None) -> list[str]:
        """The messages of [start, end) as their stored JSON."""
        rows = self._connection.execute(
            "SELECT message FROM session_messages WHERE session_id = ? AND position >= ? AND position < ?"
            " ORDER BY position",
            (session_id, start, 1 << 60 if end is None else end),
        )
        return [row[0] for row in rows]

    def put(self, info: SessionInfo) -> None:
        """Writes the row of a session, new or not."""
        self._connection.execute(
            "INSERT OR REPLACE INTO sessions (session_id, title, project_id, agent, compaction_model, record, surface,"
            " revision, message_count, counted_bytes, created_at, updated_at, closed)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                info.session_id,
                sound_text(info.title),
                info.project_id,
                storable_json(info.agent),
                sound_text(info.compaction_model),
                info.record,
                sound_text(info.surface),
                info.revision,
                info.message_count,
                info.counted_bytes,
                info.created_at,
                info.updated_at,
                int(info.closed),
            ),
        )

    def delete(self, session_id: str) -> None:
        """Forgets a session, its messages, its compactions and what was said in it. Its events stay."""
        self._connection.execute(
            "DELETE FROM compaction_originals WHERE compaction_id IN"
            " (SELECT compaction_id FROM compactions WHERE session_id = ?)",
            (session_id,),
        )
        for table in ("compactions", "session_messages", "utterances", "sessions"):
            self._connection.execute(f"DELETE FROM {table} WHERE session_id = ?", (session_id,))

    def splice(
        self,
        session_id: str,
        start: int,
        delete_count: int,
        messages: Sequence[tuple[Message, str | None]],
        now: str,
    ) -> SessionInfo:
        """Replaces messages [start, start + delete_count) by others, each with the compaction it is the summary of."""
        rows = [(storable_json(message), counted_bytes(message), mark) for message, mark in messages]
        end = start + delete_count
        self._connection.execute(
            "UPDATE sessions SET revision = revision + 1, updated_at = ?, message_count = message_count + ?,"
            " counted_bytes = counted_bytes + ? - (SELECT coalesce(sum(counted_bytes), 0) FROM session_messages"
            " WHERE session_id = sessions.session_id AND position >= ? AND position < ?) WHERE session_id = ?",
            (now, len(rows) - delete_count, sum(row[1] for row in rows), start, end, session_id),
        )
        self._connection.execute(
            "DELETE FROM session_messages WHERE session_id = ? AND position >= ? AND position < ?",
            (session_id, start, end),
        )
        self._shift(session_id, end, len(rows) - delete_count)
        self._connection.executemany(
            "INSERT INTO session_messages (session_id, position, message, counted_bytes, compaction_id)"
            " VALUES (?, ?, ?, ?, ?)",
            [(session_id, start + offset, *row) for offset, row in enumerate(rows)],
        )
        info = self.find(session_id)
        if info is None:
            raise LookupError(session_id)
        return info

    def said(self, session_id: str, fingerprint: str) -> bool:
        """Counts one more presence of something said; whether it is said more often than it was recorded."""
        present, event_ids = self._connection.execute(
            "INSERT INTO utterances (session_id, fingerprint, present, event_ids) VALUES (?, ?, 1, '[]')"
            " ON CONFLICT (session_id, fingerprint) DO UPDATE SET present = present + 1"
            " RETURNING present, event_ids",
            (session_id, fingerprint),
        ).fetchone()
        return int(present) > len(json.loads(event_ids))

    def note_recorded(self, session_id: str, fingerprint: str, event_id: str | None) -> None:
        """Keeps which event something said became; None: it was seen, and is not recorded now or later."""
        self._connection.execute(
            "UPDATE utterances SET event_ids = json_insert(event_ids, '$[#]', ?)"
            " WHERE session_id = ? AND fingerprint = ?",
            (event_id, session_id, fingerprint),
        )

    def unsaid(self, session_id: str, fingerprint: str) -> None:
        """Takes one presence back: the message was spliced out."""
        self._connection.execute(
            "UPDATE utterances SET present = max(present - 1, 0) WHERE session_id = ? AND fingerprint = ?",
            (session_id, fingerprint),
        )

    def nothing_said(self, session_id: str) -> None:
        """Takes every presence back: the session is replaced."""
        self._connection.execute("UPDATE utterances SET present = 0 WHERE session_id = ?", (session_id,))

    def _shift(self, session_id: str, start: int, by: int) -> None:
        """Moves all messages from an index on; through negative positions, since a position is never there twice."""
        if by:
            self._connection.execute(
                "UPDATE session_messages SET position = -(position + ?) - 1 WHERE session_id = ? AND position >= ?",
                (by, session_id, start),
            )
            self._connection.execute(
                "UPDATE session_messages SET position = -position - 1 WHERE session_id = ? AND position < 0",
                (session_id,),
            )


def _info(row: Sequence[Any]) -> SessionInfo:
    values = list(row)
    values[4] = json.loads(values[4])
    values[13] = bool(values[13])
    return SessionInfo(*values)
