"""Bodies to messages, and the id of a request that cannot be read."""

from __future__ import annotations

import json
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
