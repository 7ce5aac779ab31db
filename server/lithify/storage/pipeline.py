"""What the two workers keep in the database: claims on entries, breakers, and what became of events.

Many rows are written and read in one statement: SQLite hands the interpreter to another thread for each step of one,
and has to wait to get it back.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Literal

from lithify.core.breaker import Breaker
from lithify.core.model_calls import Answerer
from lithify.core.pipeline import Purpose, RunState
from lithify.core.stored_json import storable_json


class PipelineStore:
    """Claims, breakers and event states of one data folder. Writes work inside the caller's transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def claimed(self, project_id: str, purpose: Purpose) -> set[str]:
        """The entries of a project that work of that purpose has claimed."""
        rows = self._connection.execute(
            "SELECT entry_id FROM claims WHERE project_id = ? AND purpose = ?", (project_id, purpose)
        )
        return {row[0] for row in rows}

    def claim(self, project_id: str, purpose: Purpose, entry_ids: Sequence[str]) -> None:
        """Claims entries in place of those claimed before for the same project and purpose.

        A claim holds as long as its purpose's lock is held; whoever takes that lock next clears what a dead process
        left.
        """
        self.release(project_id, purpose)
        self._connection.execute(
            "INSERT INTO claims (project_id, purpose, entry_id) SELECT ?, ?, value FROM json_each(?)",
            (project_id, purpose, storable_json(entry_ids)),
        )

    def release(self, project_id: str, purpose: Purpose) -> None:
        """Gives up all claims of a purpose on a project."""
        self._connection.execute("DELETE FROM claims WHERE project_id = ? AND purpose = ?", (project_id, purpose))

    def release_all(self, purpose: Purpose) -> None:
        """Gives up all claims of a purpose, on every project."""
        self._connection.execute("DELETE FROM claims WHERE purpose = ?", (purpose,))

    def mark(self, event_ids: Iterable[str], state: Literal["extracted", "evicted"]) -> None:
        """Says what became of events; those that are gone already stay as they are. One that waits is marked too: its
        line was taken away by hand after a worker had read it."""
        self._connection.execute(
            "UPDATE events SET state = ? WHERE state IN ('waiting', 'buffered')"
            " AND event_id IN (SELECT value FROM json_each(?))",
            (state, storable_json(list(event_ids))),
        )

    def there(self, project_id: str, event_ids: Sequence[str]) -> set[str]:
        """Those of the ids that are events of the project and were neither extracted nor evicted."""
        (found,) = self._connection.execute(
            "SELECT json_group_array(event_id) FROM events WHERE project_id = ? AND state IN ('waiting', 'buffered')"
            " AND event_id IN (SELECT value FROM json_each(?))",
            (project_id, storable_json(list(event_ids))),
        ).fetchone()
        return set(json.loads(found))

    def run_state(self, project_id: str, purpose: Purpose) -> RunState:
        """How that work on a project stands."""
        row = self._connection.execute(
            "SELECT failures, opened_at_ms, last_run_at, last_error, last_method, size_after_bytes, last_provider,"
            " last_model FROM runs WHERE project_id = ? AND purpose = ?",
            (project_id, purpose),
        ).fetchone()
        if row is None:
            return RunState()
        answerer = Answerer(row[6], row[7]) if row[6] is not None else None
        return RunState(Breaker(row[0], row[1]), row[2], row[3], row[4], row[5], answerer)

    def note_run(self, project_id: str, purpose: Purpose, state: RunState) -> None:
        """Keeps how a run ended."""
        self._connection.execute(
            "INSERT OR REPLACE INTO runs (project_id, purpose, failures, opened_at_ms, last_run_at, last_error,"
            " last_method, size_after_bytes, last_provider, last_model) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                project_id,
                purpose,
                state.breaker.failures,
                state.breaker.opened_at_ms,
                state.last_run_at,
                state.last_error,
                state.last_method,
                state.size_after_bytes,
                state.last_answerer and state.last_answerer.provider,
                state.last_answerer and state.last_answerer.model,
            ),
        )

    def lower_size_after(self, project_id: str, size_bytes: int) -> None:
        """Notes that a buffer shrank below what its last compaction left, so that new input counts from there."""
        self._connection.execute(
            "UPDATE runs SET size_after_bytes = ? WHERE project_id = ? AND purpose = 'compaction'"
            " AND size_after_bytes > ?",
            (size_bytes, project_id, size_bytes),
        )
