"""The roles by which a chat is told from other JSON."""

from __future__ import annotations

from lithify.core.messages import role_of

ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})
_SAYING = ("content", "tool_calls", "function_call")


def is_chat_message(value: object) -> bool:
    """Whether a JSON value is surely a chat message: a known role, and something that is said."""
    return isinstance(value, dict) and role_of(value) in ROLES and any(key in value for key in _SAYING)
