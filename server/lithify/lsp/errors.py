"""Failures as JSON-RPC errors (wire contract, section 5)."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from lithify.core.outcomes import LithifyError

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
SERVER_NOT_INITIALIZED = -32002
REQUEST_FAILED = -32803
CONTENT_MODIFIED = -32801
REQUEST_CANCELLED = -32800

_INVALID = frozenset(
    {
        "unknown_session",
        "unknown_message",
        "unknown_compaction",
        "unknown_draft",
        "unknown_record",
        "invalid_range",
        "invalid_params",
        "unsupported_document",
    }
)


def response_error(error: LithifyError) -> dict[str, Any]:
    """The `error` member of an answer: code, message, `data.type` and `data.retryable`."""
    data = {"type": error.type, "retryable": error.retryable}
    return {"code": _code(error.type), "message": error.message, "data": data}


def plain_error(code: int, message: str) -> dict[str, Any]:
    """The `error` member for what the contract leaves to LSP."""
    return {"code": code, "message": message}


def internal_error(error: Exception) -> dict[str, Any]:
    """The `error` member for what should never happen; names the kind of error, never its text."""
    return plain_error(INTERNAL_ERROR, f"internal error: {type(error).__name__}; please report it")


def invalid_params(error: ValidationError, where: str) -> LithifyError:
    """A shape that does not fit, told by its fields in the wire's own names."""
    return LithifyError("invalid_params", f"{where}: {field_problems(error)}")


def field_problems(error: ValidationError) -> str:
    """Every field that does not fit, and why."""
    return "; ".join(f"{_path(detail['loc'])}: {_words(detail)}" for detail in error.errors(include_url=False))


def _code(failure_type: str) -> int:
    if failure_type in _INVALID:
        return INVALID_PARAMS
    if failure_type == "stale":
        return CONTENT_MODIFIED
    return REQUEST_CANCELLED if failure_type == "cancelled" else REQUEST_FAILED


def _path(location: tuple[int | str, ...]) -> str:
    shown = ""
    for part in location:
        shown += f"[{part}]" if isinstance(part, int) else f".{part}" if shown else part
    return shown or "params"


_KINDS = {
    "model_type": "must be an object",
    "dict_type": "must be an object",
    "list_type": "must be a list",
    "string_type": "must be a string",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "missing": "missing",
}


def _words(detail: ErrorDetails) -> str:
    """What is wrong, in words that never hold what was given: they are logged, and that is the user's text."""
    kind = detail["type"]
    if kind in _KINDS:
        return _KINDS[kind]
    if kind.startswith("union_tag"):
        return "its type must be 'text', 'message' or 'json'"
    limits = detail.get("ctx", {})
    for bound, key in (("most", "max_length"), ("least", "min_length")):
        if key in limits:
            return f"must have at {bound} {_counted(limits[key], detail['input'])}"
    return detail["msg"].removeprefix("Value error, ").replace("Input should be", "must be")


def _counted(limit: int, given: object) -> str:
    """So many of what a value is made of."""
    thing = "character" if isinstance(given, str) else "item"
    return f"{limit:,} {thing}" if limit == 1 else f"{limit:,} {thing}s"
