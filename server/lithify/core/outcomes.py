"""How a piece of work can fail, as the wire contract names it (section 5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

FailureType: TypeAlias = Literal[
    "disabled",
    "unknown_session",
    "unknown_message",
    "unknown_compaction",
    "unknown_draft",
    "unknown_record",
    "invalid_range",
    "invalid_params",
    "unsupported_document",
    "busy",
    "stale",
    "model_unavailable",
    "model_error",
    "empty_response",
    "not_smaller",
    "timeout",
    "not_built",
    "storage_failed",
    "cancelled",
]

RETRYABLE: frozenset[str] = frozenset(
    {
        "busy",
        "stale",
        "model_unavailable",
        "model_error",
        "empty_response",
        "not_smaller",
        "timeout",
        "storage_failed",
        "cancelled",
    }
)
"""The failures after which the same call can succeed later."""


class LithifyError(Exception):
    """A failure with the contract's type and one sentence that names the thing and the way out.

    `may_have_written`: not all is as it was, or nobody knows whether it is; the sentence says so.
    """

    def __init__(
        self,
        failure_type: FailureType,
        message: str,
        *,
        retryable: bool | None = None,
        may_have_written: bool = False,
    ) -> None:
        super().__init__(message)
        self.type: FailureType = failure_type
        self.message = message
        self.retryable = failure_type in RETRYABLE if retryable is None else retryable
        self.may_have_written = may_have_written


@dataclass(frozen=True, slots=True)
class Rejected:
    """Something that was not taken, and the reason, which names the field or setting."""

    reason: str
