"""Bodies to messages, and the id of a request that cannot be read."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from lithify.lsp.parsing import MAX_NESTING, Unreadable, parse, request_id


@pytest.mark.parametrize("body", [b"{", b"", b"\xff", b"nonsense", b"[" * 200_000])
def test_what_is_no_json_is_unreadable_and_never_an_exception(body: bytes) -> None:
    assert isinstance(parse(body), Unreadable)


def test_brackets_inside_strings_are_no_nesting() -> None:
    assert parse(b'"' + b"[" * (MAX_NESTING + 1) + b'"') == "[" * (MAX_NESTING + 1)


def test_brackets_behind_escaped_quotes_and_behind_strings_are_told_apart() -> None:
    said = '\\"[' * (MAX_NESTING + 1) + "\\"
    body = json.dumps([said, [said]]).encode()
    assert parse(body) == [said, [said]]
    deep = b"[" * MAX_NESTING + b"]" * MAX_NESTING
    assert isinstance(parse(b"[%b,%b]" % (json.dumps(said).encode(), deep)), Unreadable)


def test_many_brackets_side_by_side_are_no_nesting() -> None:
    assert parse(b"[" + b",".join([b"[]"] * (MAX_NESTING + 1)) + b"]") == [[]] * (MAX_NESTING + 1)


def test_a_body_nested_too_deeply_tells_the_limit_and_its_id() -> None:
    deep = b"[" * (MAX_NESTING + 1) + b"]" * (MAX_NESTING + 1)
    unreadable = parse(b'{"params":%b,"id":7}' % deep)
    assert isinstance(unreadable, Unreadable)
    assert unreadable.message_id == 7
    assert str(MAX_NESTING) in unreadable.problem


@pytest.fixture
def _limit_of_the_server() -> Iterator[None]:
    limit, size = sys.getrecursionlimit(), threading.stack_size(64 << 20)
    sys.setrecursionlimit(2 * MAX_NESTING)
    yield
    sys.setrecursionlimit(limit)
    threading.stack_size(size)


@pytest.mark.usefixtures("_limit_of_the_server")
@pytest.mark.parametrize("levels", [200, MAX_NESTING, MAX_NESTING + 1, 2 * MAX_NESTING - 1000, 1_000_000])
def test_a_body_is_read_up_to_the_limit_and_not_beyond_it(levels: int) -> None:
    found = parse(b"[" * levels + b"]" * levels)
    assert isinstance(found, list) is (levels <= MAX_NESTING)
    assert isinstance(found, Unreadable) is (levels > MAX_NESTING)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32-be"])
def test_a_body_may_be_encoded_as_json_may(encoding: str) -> None:
    assert parse('{"a":["é\U0001f600",1.5]}'.encode(encoding)) == {"a": ["é\U0001f600", 1.5]}


def test_what_only_python_takes_for_json_is_read() -> None:
    assert parse(b'["\\ud800", -Infinity, 1e400]') == ["\ud800", float("-inf"), float("inf")]
    assert parse(b'["\xed\xa0\x80"]') == ["\ud800"]


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (b'{"id":7', 7),
        (b'{"id" :\t"a"', "a"),
        (b'{"id":"\\ud83d\\ude00"', "\U0001f600"),
        (b'{"id":-1,', -1),
        (b'{"params":{"id":5},"id":6', 6),
        (b'{"params":[{"id":5}]', None),
        (b'{"method":"id","params":1', None),
        (b'{"a":"\\"id\\":5","id":6', 6),
        (b'{"id":null', None),
        (b'{"id":1.5', None),
        (b'{"id":"\\x"', None),
        (b'{"id":{"id":5}', None),
        (b'[{"id":5}]', None),
        (b"", None),
    ],
)
def test_the_id_at_the_top_of_a_broken_body_is_found(body: bytes, found: Any) -> None:
    assert request_id(body) == found
