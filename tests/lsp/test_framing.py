"""The base protocol's frames, cut out of any pieces."""

from __future__ import annotations

import pytest

from lithify.lsp.framing import LONG_BODY_BYTES, MAX_BODY_BYTES, FrameDecoder, FrameError, frame


def test_a_body_comes_out_as_it_went_in() -> None:
    assert list(FrameDecoder().feed(frame(b"body"))) == [b"body"]


def test_a_stream_cut_at_any_place_gives_the_same_bodies() -> None:
    stream = frame(b"first") + frame(b"") + frame("ü\r\n\r\n".encode())
    for cut in range(len(stream) + 1):
        decoder = FrameDecoder()
        assert [*decoder.feed(stream[:cut]), *decoder.feed(stream[cut:])] == [b"first", b"", "ü\r\n\r\n".encode()]


@pytest.mark.parametrize("piece", [1 << 12, LONG_BODY_BYTES, (1 << 17) + 1])
def test_long_bodies_in_any_pieces_come_out_as_they_went_in(piece: int) -> None:
    bodies = [b"short", bytes(range(256)) * 1000, b"", b"x" * (LONG_BODY_BYTES + 1), b"y" * LONG_BODY_BYTES, b"last"]
    stream, decoder = b"".join(map(frame, bodies)), FrameDecoder()
    pieces = (stream[start : start + piece] for start in range(0, len(stream), piece))
    assert [body for one in pieces for body in decoder.feed(one)] == bodies


def test_bodies_before_a_broken_frame_are_given_first() -> None:
    bodies = FrameDecoder().feed(frame(b"good") + b"no header\r\n\r\n")
    assert next(bodies) == b"good"
    with pytest.raises(FrameError):
        next(bodies)


@pytest.mark.parametrize("header", [b"", b"Content-Length: x", b"Content-Length: -1", b"Content-Length:"])
def test_a_header_without_a_length_is_an_error(header: bytes) -> None:
    with pytest.raises(FrameError):
        list(FrameDecoder().feed(header + b"\r\n\r\n"))


def test_a_body_over_the_limit_is_an_error() -> None:
    with pytest.raises(FrameError):
        list(FrameDecoder().feed(b"Content-Length: %d\r\n\r\n" % (MAX_BODY_BYTES + 1)))


def test_a_header_without_an_end_is_an_error_before_it_fills_the_memory() -> None:
    with pytest.raises(FrameError):
        list(FrameDecoder().feed(b"x" * 70_000))


def test_what_was_given_is_kept_no_longer() -> None:
    decoder = FrameDecoder()
    for _ in range(100):
        list(decoder.feed(frame(b"x" * 1000)))
    assert len(decoder._buffer) == 0
