"""Server-sent events out of bytes in any cuts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.llm.http.events import MOST_EVENT_BYTES, Event, EventReader, EventTooLongError


def events(*pieces: bytes) -> list[Event]:
    """All events of a stream that comes in these pieces."""
    reader = EventReader()
    return [event for piece in pieces for event in reader.feed(piece)] + reader.finish()


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        (b"", []),
        (b"data: one\n\n", [Event("", "one")]),
        (b"data: one\r\n\r\ndata: two\r\n\r\n", [Event("", "one"), Event("", "two")]),
        (b"data: one\r\rdata: two\r\r", [Event("", "one"), Event("", "two")]),
        (b"event: ping\ndata: {}\n\ndata: x\n\n", [Event("ping", "{}"), Event("", "x")]),
        (b"data: a\ndata: b\ndata:\n\n", [Event("", "a\nb\n")]),
        (b"data:no blank\n\ndata:  two blanks\n\n", [Event("", "no blank"), Event("", " two blanks")]),
        (b": a comment\n\n:\ndata: x\n: another\n\n", [Event("", "x")]),
        (b"id: 1\nretry: 5\nother: z\nalone\n\ndata: x\n\n", [Event("", "x")]),
        (b"event: empty\n\ndata: x\n\n", [Event("", "x")]),
        (b"\n\n\ndata: x\n\n\n\n", [Event("", "x")]),
        (b"data: no end", [Event("", "no end")]),
        (b"data: no empty line\n", [Event("", "no empty line")]),
        (b"\xef\xbb\xbfdata: mark\n\n", [Event("", "mark")]),
        ("data: grün\u2028 😀\n\n".encode(), [Event("", "grün\u2028 😀")]),
        (b"data: \xff\n\n", [Event("", "\ufffd")]),
        (b"data\n\n", [Event("", "")]),
    ],
)
def test_a_stream_is_read_as_the_standard_says(stream: bytes, expected: list[Event]) -> None:
    assert events(stream) == expected


def test_llama_cpps_line_with_an_error_is_an_event_of_that_name() -> None:
    assert events(b'error: {"code":500}\n\n') == [Event("error", '{"code":500}')]


def test_an_event_is_there_as_soon_as_its_empty_line_is() -> None:
    reader = EventReader()
    assert reader.feed(b"data: one\n") == []
    assert reader.feed(b"\nda") == [Event("", "one")]


def test_a_line_feed_after_a_cut_ends_a_second_line_only_where_no_return_came_before_it() -> None:
    assert events(b"data: a\r", b"\n", b"data: b\n", b"\n") == [Event("", "a\nb")]


LINES = st.lists(
    st.sampled_from([b"data: ", b"data:x", b"event: e", b": c", b"id: 1", b"error: e", b"", "data: ü😀".encode(), b"z"])
    | st.binary(max_size=6)
)
ENDS = st.sampled_from([b"\n", b"\r\n", b"\r"])


@st.composite
def cut_streams(draw: st.DrawFn) -> tuple[bytes, list[bytes]]:
    """A stream, and the same in pieces."""
    stream = b"".join(line + draw(ENDS) for line in draw(LINES)) + draw(st.binary(max_size=6))
    cuts = sorted(draw(st.sets(st.integers(0, len(stream)))))
    return stream, [stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]


@given(cut_streams())
def test_any_cuts_give_the_same_events(cut: tuple[bytes, list[bytes]]) -> None:
    stream, pieces = cut
    assert events(*pieces) == events(stream)


@pytest.mark.parametrize("piece", [b"x" * 65536, b"data: " + b"x" * 65536 + b"\n", b"other: " + b"x" * 65536 + b"\n"])
def test_an_event_that_does_not_end_is_given_up(piece: bytes) -> None:
    with pytest.raises(EventTooLongError):
        events(*[piece] * (MOST_EVENT_BYTES // 65536 + 1))


def test_many_events_are_no_long_one() -> None:
    reader = EventReader()
    piece = b"data: " + b"x" * 65536 + b"\n\n"
    assert sum(len(reader.feed(piece)) for _ in range(MOST_EVENT_BYTES // 65536 + 1)) == MOST_EVENT_BYTES // 65536 + 1
