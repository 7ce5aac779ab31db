"""Digests of ranges of a conversation: by them a command knows whether a range still holds what the user was shown."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any

from lithify.core.messages import Message, compact_json

LENGTH = 32
"""Hexadecimal digits of a digest."""


def range_digest(messages: Iterable[Message]) -> str:
    """The digest of some messages in their order, every key included."""
    return _shown(_added(hashlib.sha256(), messages))


class PrefixDigests:
    """The digests of all beginnings of a conversation, made once, in time linear in it."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self._states = list(
            accumulate(messages, lambda state, message: _added(state.copy(), [message]), initial=hashlib.sha256())
        )

    def up_to(self, end: int) -> str:
        """What `range_digest` says of the first `end` messages."""
        return _shown(self._states[end])


def _shown(state: Any) -> str:
    return str(state.hexdigest()[:LENGTH])


def _added(state: Any, messages: Iterable[Message]) -> Any:
    for message in messages:
        state.update(compact_json(message).encode("utf-8", "surrogatepass"))
        state.update(b"\n")
    return state
