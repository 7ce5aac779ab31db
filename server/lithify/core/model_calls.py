"""What a model is asked, what it answers, and how it fails: the values on both sides of the model port."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from lithify.core.entries import Entry
from lithify.core.messages import Message

Purpose: TypeAlias = Literal["conversation", "buffer", "extraction"]

ModelFailureType: TypeAlias = Literal[
    "model_unavailable", "model_error", "context_too_long", "empty_response", "timeout"
]


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens a model says it used; None where it does not say."""

    input_tokens: int | None = None
    output_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One question to a model: a system prompt and one user message made of text parts, never any tools.

    `messages` (of a conversation) and `entries` (of a buffer) are the same material with its structure, for the
    offline model, which reads tool calls that the text leaves out. `target_bytes` is the size of answer the offline
    model fills at most.
    """

    purpose: Purpose
    system_prompt: str
    parts: tuple[str, ...]
    timeout_ms: int
    user_initiated: bool = True
    model: str | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    messages: tuple[Message, ...] = ()
    entries: tuple[Entry, ...] = ()
    target_bytes: int = 1024
    max_output_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Answerer:
    """Who answered: the provider (`editor`, `acp`, `http`, `offline`), and the model as far as it is known."""

    provider: str
    model: str | None = None

    @property
    def in_words(self) -> str:
        """For a sentence."""
        if self.provider == "offline":
            return "the offline model"
        return f"{self.provider}, model {self.model}" if self.model else self.provider


@dataclass(frozen=True, slots=True)
class ModelReply:
    """A model's answer; `provider` names what answered (`offline`, `editor`, `acp`, `http`).

    `stop_reason` is `end`, `max_tokens`, or another word of the model's. `missing_model` is the model that was asked
    for where the provider does not have it, and its own one answered.
    """

    text: str
    provider: str
    model: str | None = None
    stop_reason: str | None = None
    usage: Usage | None = None
    missing_model: str | None = None

    @property
    def answerer(self) -> Answerer:
        """Who answered."""
        return Answerer(self.provider, self.model)


@dataclass(frozen=True, slots=True)
class ModelFailure:
    """A model that did not deliver. `counts` is false for consent and quota, which no breaker counts. `absent` is true
    where there is no such model at all (the editor has none, the agent is not installed), so that `auto` goes on to
    the next one that is configured. `sent` is false where nothing was given to anybody."""

    type: ModelFailureType
    message: str
    retryable: bool = True
    counts: bool = True
    absent: bool = False
    sent: bool = True


PENDING = "pending"
"""The outcome of a call that goes on, or whose process died."""


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One line of the ledger of model calls; no text. `outcome`: `pending`, `answered`, `cancelled`, or the type of a
    failure."""

    at: str
    purpose: str
    provider: str
    model: str | None
    host: str | None
    size_bytes: int
    tokens: int
    user_initiated: bool
    outcome: str
