"""What a compaction of a conversation answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from lithify.core.conversation import Plan
from lithify.core.messages import Message
from lithify.core.model_calls import ModelRequest, Usage
from lithify.core.replies import Notice


@dataclass(frozen=True, slots=True)
class Stats:
    """Messages and tokens of the whole conversation, before and after; milliseconds it took."""

    messages_before: int
    messages_after: int
    tokens_before: int
    tokens_after: int
    duration_ms: int


@dataclass(frozen=True, slots=True)
class Preview:
    """What would be sent: the first of `requests` requests. `stats.tokens_after` is an estimate, `digest` that of the
    range (`core.range_digests`)."""

    plan: Plan
    requests: int
    request: ModelRequest
    stats: Stats
    prompt_source: str
    digest: str


@dataclass(frozen=True, slots=True)
class Summarised:
    """A summary for a range; nothing is changed by it yet. `messages` is the conversation with it in place."""

    plan: Plan
    summary: Message
    messages: list[Message]
    stats: Stats
    method: Literal["model", "offline"]
    provider: str
    """What answered: `editor`, `acp`, `http`, `offline`."""
    model: str | None
    prompt_source: str
    usage: Usage | None
    warnings: tuple[Notice, ...]
