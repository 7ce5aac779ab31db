"""The lines of a buffer file, read and written."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.core.entries import Entry, entry_line, instant, newest, read_entry, read_lines, summary_entry

TEXT = st.text(st.characters(exclude_categories=()), max_size=20)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
ENTRIES = st.builds(
    Entry,
    event_id=TEXT.filter(bool),
    namespace=TEXT,
    kind=TEXT,
    body=st.dictionaries(TEXT, JSON, max_size=3),
    timestamp=TEXT,
    surface=TEXT,
    source_event_ids=st.lists(TEXT, max_size=3).map(tuple),
)


def entry(event_id: str = "01A", timestamp: str = "2026-01-01T10:00:00+00:00", **more: Any) -> Entry:
    values: dict[str, Any] = {"namespace": "/n/", "kind": "note", "body": {"type": "text", "content": "x"}, **more}
    return Entry(event_id, timestamp=timestamp, surface=values.pop("surface", "test"), **values)


def line_of(**changed: Any) -> bytes:
    """A sound line with some of its values changed; None takes a key away."""
    values = {**json.loads(entry_line(entry())), **changed}
    return json.dumps({key: value for key, value in values.items() if value is not None}).encode()


# Reading and writing


@given(ENTRIES)
def test_an_entry_is_read_back_from_its_line_as_it_was(given_entry: Entry) -> None:
    assert read_entry(entry_line(given_entry).encode()) == given_entry


@given(ENTRIES)
def test_a_line_holds_no_newline(given_entry: Entry) -> None:
    assert "\n" not in entry_line(given_entry)


def test_a_line_has_the_six_keys_of_the_contract_in_order() -> None:
    keys = ["event_id", "namespace", "kind", "body", "timestamp", "surface"]
    assert list(json.loads(entry_line(entry()))) == keys


def test_a_summary_s_line_also_has_its_sources_at_the_end() -> None:
    line = json.loads(entry_line(entry(source_event_ids=("01B", "01C"))))
    assert list(line.items())[-1] == ("source_event_ids", ["01B", "01C"])


def test_a_lone_surrogate_comes_through() -> None:
    odd = entry(body={"type": "text", "content": "a\ud800b"})
    assert read_entry(entry_line(odd).encode()) == odd


def test_lines_come_in_file_order() -> None:
    data = b"\n".join(line_of(event_id=name) for name in ("01C", "01A", "01B")) + b"\n"
    assert [line.entry.event_id for line in read_lines(data) if line.entry] == ["01C", "01A", "01B"]


def test_empty_lines_are_passed_over() -> None:
    assert len(read_lines(b"\n\n" + line_of() + b"\n  \n")) == 1


@pytest.mark.parametrize("line", [b"null", b"[]", b"1", b'"x"', b"{}", b"{", b"\xff\xfe", b"\x00", b'{"body": 1}'])
def test_a_line_that_is_no_entry_is_kept_as_its_bytes(line: bytes) -> None:
    found = read_lines(line_of() + b"\n" + line + b"\n" + line_of())
    assert [(each.entry is None, each.data == line) for each in found] == [(False, False), (True, True), (False, False)]


def test_a_line_torn_at_any_byte_is_no_entry() -> None:
    line = entry_line(entry(body={"type": "text", "content": "größer"})).encode()
    assert [cut for cut in range(len(line)) if read_entry(line[:cut]) is not None] == []


def test_an_invalid_utf_8_byte_costs_its_line_alone() -> None:
    bad = line_of().replace(b'"x"', b'"\xff"')
    assert [line.entry is None for line in read_lines(line_of() + b"\n" + bad + b"\n" + line_of())] == [
        False,
        True,
        False,
    ]


@pytest.mark.parametrize("name", ["event_id", "namespace", "kind", "body", "timestamp", "surface"])
def test_a_line_that_lacks_a_key_is_no_entry(name: str) -> None:
    assert read_entry(line_of(**{name: None})) is None


@pytest.mark.parametrize(
    "changed",
    [
        {"event_id": ""},
        {"event_id": 7},
        {"kind": []},
        {"body": "text"},
        {"source_event_ids": "01B"},
        {"source_event_ids": [1]},
    ],
)
def test_a_line_with_a_value_of_another_type_is_no_entry(changed: dict[str, Any]) -> None:
    assert read_entry(line_of(**changed)) is None


@pytest.mark.parametrize("number", [b"NaN", b"Infinity", b"-Infinity", b"1e999", b"-1e999", b"1" * 5000])
def test_a_number_that_could_not_be_written_again_makes_no_entry(number: bytes) -> None:
    assert read_entry(line_of().replace(b'"x"', number)) is None


def test_nesting_beyond_the_interpreter_s_limit_makes_no_entry() -> None:
    assert read_entry(line_of().replace(b'"x"', b"[" * 100_000 + b"]" * 100_000)) is None


def test_keys_nobody_knows_yet_do_not_matter() -> None:
    assert read_entry(line_of(schema=2)) == entry()


# What an entry stands for


def test_an_event_s_entry_covers_itself() -> None:
    assert entry("01A").covered_ids == ("01A",)


def test_a_summary_covers_its_sources_and_not_itself() -> None:
    assert entry("compact_01S", source_event_ids=("01A", "01B")).covered_ids == ("01A", "01B")


def test_a_summary_has_the_prefix_the_kind_and_a_text_body() -> None:
    made = summary_entry("01S", [entry()], "dense", ["01A"])
    assert (made.event_id, made.kind, made.body, made.source_event_ids) == (
        "compact_01S",
        "session_summary",
        {"type": "text", "content": "dense"},
        ("01A",),
    )


def test_a_summary_has_time_namespace_and_surface_of_the_newest_it_covers() -> None:
    old = entry("01A", "2026-01-01T12:00:00+00:00", namespace="/old/", surface="old")
    new = entry("01B", "2026-01-01T11:00:00-05:00", namespace="/new/", surface="new")
    made = summary_entry("01S", [new, old], "dense", ["01A", "01B"])
    assert (made.timestamp, made.namespace, made.surface) == (new.timestamp, "/new/", "new")


# Time


def test_of_equal_timestamps_the_later_entry_is_the_newest() -> None:
    assert newest([entry("01B"), entry("01A")]).event_id == "01A"


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("2026-01-01T12:00:00+02:00", "2026-01-01T11:00:00+00:00"),
        ("2026-01-01T10:00:00Z", "2026-01-01T10:00:00.000001Z"),
        ("2026-01-01T23:59:59-01:00", "2026-01-02T01:00:00+00:00"),
        ("1969-12-31T23:59:59Z", "1970-01-01T00:00:00Z"),
        ("yesterday", "0001-01-02T00:00:00Z"),
    ],
)
def test_timestamps_are_compared_as_instants(earlier: str, later: str) -> None:
    assert instant(earlier) < instant(later)


@pytest.mark.parametrize("same", ["2026-01-01T12:00:00+02:00", "2026-01-01T10:00:00Z", "2026-01-01 10:00:00"])
def test_an_instant_is_the_same_in_every_spelling_and_utc_without_an_offset(same: str) -> None:
    assert instant(same) == instant("2026-01-01T10:00:00+00:00")


@pytest.mark.parametrize(
    "odd", ["", "now", "2026-13-01T00:00:00Z", "2026-01-01T00:00:60Z", "0001-01-01T00:00:00+23:59"]
)
def test_a_timestamp_that_cannot_be_read_is_no_error(odd: str) -> None:
    assert instant(odd) < instant("1970-01-01T00:00:00Z")


def test_timestamps_that_cannot_be_read_are_all_alike() -> None:
    assert newest([entry("01A", "zzz"), entry("01B", "aaa")]).event_id == "01B"
