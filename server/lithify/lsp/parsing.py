"""Bodies to messages, and the id of a request whose body cannot be read."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

MAX_NESTING = 10_000
"""Levels of JSON. Half the recursion limit, so that whatever could be read can also be stored and sent again."""

_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]', re.DOTALL)
_STRINGS = json.JSONDecoder(strict=False)
_QUOTE_OR_BRACKET = re.compile(r'["\[\]{}]')
_ID_VALUE = re.compile(rb'\s*:\s*("[^"\\]*(?:\\.[^"\\]*)*"|-?\d{1,18}(?![\d.eE]))')


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A body that is no message: what is wrong with it, and the id its sender waits for, where one can be found."""

    message_id: int | str | None
    problem: str


def parse(body: bytes) -> Any | Unreadable:
    """The JSON value of a body. Numbers that JSON does not know (NaN) get through: what they stand in refuses them."""
    try:
        text = body.decode(json.detect_encoding(body), "surrogatepass")
        if _nested_deeper_than(MAX_NESTING, text):
            return Unreadable(request_id(body), f"it is nested more than {MAX_NESTING} levels deep")
        return json.loads(text)
    except RecursionError:
        return Unreadable(request_id(body), "it is nested too deeply")
    except ValueError as error:
        return Unreadable(request_id(body), str(error))


def request_id(body: bytes) -> int | str | None:
    """The id at the top level of a body, which need not be sound JSON; ids inside the params are not taken for it."""
    depth = 0
    for token in _TOKEN.finditer(body):
        depth += _step(token[0])
        if depth == 1 and token[0] == b'"id"' and (found := _ID_VALUE.match(body, token.end())):
            return _id(found[1])
    return None


def _id(value: bytes) -> int | str | None:
    try:
        parsed: int | str = json.loads(value)
    except ValueError:
        return None
    return parsed


def _nested_deeper_than(limit: int, text: str) -> bool:
    if text.count("[") + text.count("{") <= limit:
        return False
    at = depth = 0
    while (found := _QUOTE_OR_BRACKET.search(text, at)) is not None:
        at = found.end()
        if found[0] == '"':
            try:
                at = _STRINGS.raw_decode(text, found.start())[1]  # it may be as long as a document
            except ValueError:
                return False  # reading comes no further either
        else:
            depth += 1 if found[0] in "[{" else -1
            if depth > limit:
                return True
    return False


def _step(token: bytes) -> int:
    if token in (b"{", b"["):
        return 1
    return -1 if token in (b"}", b"]") else 0
