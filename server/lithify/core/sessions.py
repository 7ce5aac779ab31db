"""Sessions: live conversations that an editor keeps the server informed of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lithify.core.conversation import Range
from lithify.core.messages import Message, tokens_of_bytes


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """All of a session but its messages. `agent` is the client's object, verbatim."""

    session_id: str
    title: str | None
    project_id: str
    project_root: str
    agent: dict[str, Any] | None
    compaction_model: str | None
    record: str | None
    surface: str
    revision: int
    message_count: int
    counted_bytes: int
    created_at: str
    updated_at: str
    closed: bool

    @property
    def tokens(self) -> int:
        """Tokens of all messages."""
        return tokens_of_bytes(self.counted_bytes)


@dataclass(frozen=True, slots=True)
class CompactionRecord:
    """One compaction of a session, as it is kept."""

    compaction_id: str
    at: str
    range: Range
    stats: dict[str, int]
    undone: bool


@dataclass(frozen=True, slots=True)
class NewCompaction:
    """A compaction about to be applied: `range` of the messages `before` becomes `summary`."""

    compaction_id: str
    at: str
    range: Range
    exact: bool
    before: list[Message]
    summary: Message
    stats: dict[str, int]
    keep_originals: bool


@dataclass(frozen=True, slots=True)
class Changed:
    """A session after a change: its new revision and all its messages."""

    revision: int
    messages: list[Message]


@dataclass(frozen=True, slots=True)
class Undone:
    """A compaction taken back, and the session after it."""

    compaction_id: str
    revision: int
    messages: list[Message]
