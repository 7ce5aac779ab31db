"""Bodies to messages, and the id of a request whose body cannot be read."""

from __future__ import annotations

import contextlib
import json
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from pydantic_core import from_json

from lithify.core.nesting import is_nested_deeper, opens_more_than

MAX_NESTING = 10_000
"""Levels of JSON. Half the recursion limit, so that whatever could be read can also be stored and sent again."""

_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]', re.DOTALL)
_ID_VALUE = re.compile(rb'\s*:\s*("[^"\\]*(?:\\.[^"\\]*)*"|-?\d{1,18}(?![\d.eE]))')


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A body that is no message: what is wrong with it, and the id its sender waits for, where one can be found."""

    message_id: int | str | None
    problem: str


def parse(body: bytes) -> Any | Unreadable:
    """The JSON value of a body. Numbers that JSON does not know (NaN) get through: what they stand in refuses them."""
    with contextlib.suppress(ValueError):  # pydantic's reader takes plain JSON alone, in half the time
        return from_json(body, allow_inf_nan=False, cache_strings="keys")
    try:
        return _read(body.decode(json.detect_encoding(body), "surrogatepass"))
    except RecursionError:
        return Unreadable(request_id(body), f"it is nested more than {MAX_NESTING} levels deep")
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


def _read(text: str) -> Any:
    """The value of a text. What may be nested deeper than is taken is read by a thread: only a stack of its own
    certainly holds as many levels as the interpreter takes. Raises RecursionError, ValueError."""
    if not opens_more_than(MAX_NESTING, text, 0, len(text)):
        return json.loads(text)
    with ThreadPoolExecutor(1) as with_room:
        value = with_room.submit(json.loads, text).result()
    if is_nested_deeper(MAX_NESTING, value):
        raise RecursionError
    return value


def _step(token: bytes) -> int:
    if token in (b"{", b"["):
        return 1
    return -1 if token in (b"}", b"]") else 0
