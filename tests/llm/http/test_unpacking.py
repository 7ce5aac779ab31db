"""Packed bodies: unpacked in small steps, one layer and no more."""

from __future__ import annotations

import gzip
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.llm.http.unpacking import STEP_BYTES, NotUnpacked, Unpacking


def unpacked(encoding: str, *pieces: bytes) -> list[bytes]:
    unpacking = Unpacking(encoding)
    return [small for piece in pieces for small in unpacking.unpacked(piece)]


@given(st.binary(max_size=500), st.integers(1, 7))
def test_a_packed_body_is_the_same_in_any_cuts(body: bytes, size: int) -> None:
    packed = gzip.compress(body)
    pieces = [packed[at : at + size] for at in range(0, len(packed), size)]
    assert b"".join(unpacked("gzip", *pieces)) == body


@pytest.mark.parametrize("encoding", ["", "identity", " Identity "])
def test_a_plain_body_is_left_as_it_is(encoding: str) -> None:
    assert unpacked(encoding, b"one", b"two") == [b"one", b"two"]


def test_deflate_is_known_too() -> None:
    assert b"".join(unpacked("deflate", zlib.compress(b"text"))) == b"text"


def test_what_unpacks_to_very_much_comes_in_small_steps() -> None:
    steps = Unpacking("gzip").unpacked(gzip.compress(bytes(10 * STEP_BYTES)))
    assert [len(next(steps)) for _ in range(3)] == [STEP_BYTES] * 3


@pytest.mark.parametrize("encoding", ["gzip, gzip", "br", "zstd"])
def test_several_layers_and_unknown_ways_are_refused(encoding: str) -> None:
    with pytest.raises(NotUnpacked, match="asked for plain"):
        Unpacking(encoding)


def test_a_broken_body_is_refused() -> None:
    with pytest.raises(NotUnpacked, match="broken"):
        unpacked("gzip", b"no gzip at all")
