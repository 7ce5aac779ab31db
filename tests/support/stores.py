"""A data folder with everything that keeps events and sessions in it, and ways to look at what lies there."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from lithify.core.conversation import Range
from lithify.core.events import NewEvent, StoredEvent, project_id_of, stored_event
from lithify.core.kimi import summary_message
from lithify.core.projects import Project
from lithify.core.sessions import Changed, NewCompaction, SessionInfo, Undone
from lithify.core.settings import Settings
from lithify.core.tool_groups import widen
from lithify.storage.store import Store, open_store
from lithify.workers.ingestion import Ingestion
from lithify.workers.sessions import Opening, SessionKeeper
from tests.support.clock import Clock, Ids

Message = dict[str, Any]

CEILING_BYTES = 4_194_304
SESSION = "s1"

IN_MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
"""Where hundreds of data folders are made for tests that no power cut concerns: fsync costs nothing there."""

SESSION_TABLES = ("sessions", "session_messages", "compactions", "compaction_originals", "utterances")


def event(event_id: str, text: str = "hello", project_id: str = "p1", **more: Any) -> StoredEvent:
    """An event of a project, ready to be stored."""
    new = NewEvent(
        event_id=event_id,
        session_id="chat",
        actor_id="ann",
        kind="note",
        body={"type": "text", "content": text},
        valid_time="2026-01-02T03:04:05Z",
        surface="test",
    )
    stored = stored_event(new, project_id)
    assert isinstance(stored, StoredEvent)
    return stored


def buffer_file(data_dir: Path, project_id: str = "p1") -> Path:
    """The buffer of a project."""
    return data_dir / "buffers" / project_id / "buffer.ndjson"


def buffer_entries(data_dir: Path, project_id: str = "p1") -> list[dict[str, Any]]:
    """What a reader finds in the buffer: the lines that are JSON."""
    file = buffer_file(data_dir, project_id)
    found = []
    for line in file.read_bytes().split(b"\n") if file.exists() else []:
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return found


def buffered_ids(data_dir: Path, project_id: str = "p1") -> list[str]:
    """The ids of the entries in the buffer, in order."""
    return [entry["event_id"] for entry in buffer_entries(data_dir, project_id)]


def rows(data_dir: Path, query: str, *values: Any) -> list[tuple[Any, ...]]:
    """What anyone with sqlite3 sees."""
    with closing(sqlite3.connect(data_dir / "lithify.db")) as connection:
        return connection.execute(query, values).fetchall()


def change(data_dir: Path, statement: str, *values: Any) -> None:
    """What anyone with sqlite3 does."""
    with closing(sqlite3.connect(data_dir / "lithify.db")) as connection, connection:
        connection.execute(statement, values)


def states(data_dir: Path) -> dict[str, str]:
    """The state of every event, in the order in which they were accepted."""
    return dict(rows(data_dir, "SELECT event_id, state FROM events ORDER BY sequence"))


def session_dump(data_dir: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Everything that the database holds of sessions."""
    return {table: rows(data_dir, f"SELECT * FROM {table} ORDER BY 1, 2") for table in SESSION_TABLES}


class Bench:
    """What the storage thread works with, on a real data folder; used from the test's own thread."""

    def __init__(
        self,
        data_dir: Path,
        settings: dict[str, Any] | None = None,
        root: str = "/nowhere/project",
        maker_of_ids: int = 0,
    ) -> None:
        self.data_dir = data_dir
        self.settings = Settings.model_validate(settings or {})
        self.project = Project(project_id_of(root), root)
        self.now = Clock()
        self.new_id = Ids(maker_of_ids)
        self.changed: list[Project] = []
        self.meanwhile: Callable[[], None] | None = None
        """What another process does just before the next change of a session takes its locks."""
        self.ingestion = Ingestion(lambda: self.settings, lambda _: self.project, self.changed.append)
        self.keeper = SessionKeeper(
            lambda: self.settings, self.ingestion, self.now, self.new_id, "ann", self._about_to_change
        )
        self.store: Store = open_store(data_dir, self.now)

    def restart(self) -> None:
        """As after the end of the server and its next start."""
        self.store.close()
        self.store = open_store(self.data_dir, self.now)

    def _about_to_change(self, project: Project) -> None:
        self.changed.append(project)
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None:
            meanwhile()

    # --- what a client says ---

    def open(self, messages: Sequence[Message], session_id: str = SESSION, **given: Any) -> None:
        """Opens a session."""
        defaults: dict[str, Any] = {
            "title": None,
            "agent": None,
            "compaction_model": None,
            "record": None,
            "surface": "test",
            "project": self.project,
        }
        opening = Opening(session_id=session_id, messages=messages, **{**defaults, **given})
        self.keeper.open(self.store, opening)

    def append(self, *messages: Message, session_id: str = SESSION) -> None:
        """Says what was appended."""
        self.keeper.append(self.store, session_id, messages)

    def splice(self, start: int, delete_count: int, *messages: Message, session_id: str = SESSION) -> None:
        """Says what was replaced."""
        self.keeper.splice(self.store, session_id, start, delete_count, messages)

    # --- compactions, without a model ---

    def prepared(self, start: int, end: int, text: str = "summary", **given: Any) -> NewCompaction:
        """A compaction of the session as it is now, widened over tool calls, about to be applied."""
        before = self.messages(given.pop("session_id", SESSION))
        exact = given.pop("exact", False)
        low, high = (start, end) if exact else widen(before, start, end)
        return NewCompaction(
            compaction_id=self.new_id(),
            at=self.now(),
            range=Range(low, high),
            exact=exact,
            before=before,
            summary=summary_message(before, text),
            stats={"messages_before": len(before)},
            keep_originals=given.pop("keep_originals", True),
        )

    def apply(self, new: NewCompaction, session_id: str = SESSION) -> Changed:
        """Applies a compaction."""
        with self.store.transaction():
            return self.store.compactions.apply(session_id, new)

    def compact(self, start: int, end: int, text: str = "summary", **given: Any) -> str:
        """Compacts a range; the compaction's id."""
        new = self.prepared(start, end, text, **given)
        self.apply(new, given.get("session_id", SESSION))
        return new.compaction_id

    def undo(self, compaction_id: str | None = None, session_id: str = SESSION) -> Undone:
        """Takes a compaction back."""
        with self.store.transaction():
            return self.store.compactions.undo(session_id, compaction_id, self.now())

    # --- what is there now ---

    def info(self, session_id: str = SESSION) -> SessionInfo:
        """The session without its messages."""
        return self.keeper.found(self.store, session_id)

    def messages(self, session_id: str = SESSION) -> list[Message]:
        """The session's messages."""
        return self.store.sessions.messages(session_id)

    def entries(self) -> list[dict[str, Any]]:
        """The buffer of the project."""
        return buffer_entries(self.data_dir, self.project.project_id)

    def turns(self) -> list[tuple[str, str]]:
        """Kind and text of every turn in the buffer, in order."""
        found = []
        for entry in self.entries():
            body = entry["body"]
            found.extend((entry["kind"], turn["content"]) for turn in body.get("turns", []))
        return found

    def said(self) -> list[str]:
        """The text of every turn in the buffer, in order."""
        return [text for _, text in self.turns()]

    def tool_uses(self) -> list[dict[str, Any]]:
        """The data of every tool use in the buffer, in order."""
        return [entry["body"]["data"] for entry in self.entries() if entry["kind"] == "tool_use"]

    def dump(self) -> dict[str, list[tuple[Any, ...]]]:
        """Everything that the database holds of sessions."""
        return session_dump(self.data_dir)
