"""JSON read at a place of a text, and the faster reader for what is one plain value."""

from __future__ import annotations

import json
import struct
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lithify.transcripts.json_lines import json_of
from lithify.transcripts.json_text import MAX_DEPTH, Fault, plain_value, value_at

SPELLED = st.text('{}[]",:\\/ntbfu0123456789abdefD8-+.eE \té中😀\x00\x1f\x7ftrulsn', max_size=20)
NUMBERS = st.from_regex(r"-?(0|[1-9][0-9]{0,25})(\.[0-9]{1,30})?([eE][+-]?[0-9]{1,3})?", fullmatch=True)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=10,
)


def exactly(value: Any) -> Any:
    """A value so that only the same one equals it: of the same types, keys in the same order, floats bit by bit."""
    if isinstance(value, dict):
        return [(key, exactly(child)) for key, child in value.items()]
    if isinstance(value, list):
        return list(map(exactly, value))
    return type(value), struct.pack("d", value) if isinstance(value, float) else value


@given(st.one_of(VALUES.map(json.dumps), VALUES.map(lambda one: json.dumps(one, ensure_ascii=False)), NUMBERS, SPELLED))
@example('{"a":1,"b":2,"a":3}')
@example('"\\ud83d\\ude00"')
@example("1e400")
@example("-0")
def test_what_the_faster_reader_takes_is_what_python_s_own_reads(source: str) -> None:
    found = plain_value(source)
    if found is not None:
        assert exactly(found) == exactly(json.loads(source))


@pytest.mark.parametrize("source", ['"\\ud800"', '"\ud800"', "null", "NaN", "[Infinity]", '"\x01"', "[1,", "", "{} {}"])
def test_what_has_to_be_asked_about_is_left_to_the_other_reader(source: str) -> None:
    assert plain_value(source) is None


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_both_readers_take_the_same_depth(opening: str, closing: str) -> None:
    def nested(levels: int) -> str:
        return opening * levels + "[]" + closing * levels

    deepest, deeper = nested(MAX_DEPTH - 1), nested(MAX_DEPTH)
    assert plain_value(deepest) == json.loads(deepest)
    assert value_at(deepest, 0) == (json.loads(deepest), len(deepest))
    assert plain_value(deeper) is None
    assert value_at(deeper, 0) == Fault(0, "nested too deeply to be read")


def test_a_source_is_read_alike_whichever_reader_takes_it() -> None:
    assert json_of('{"a":1}', strict=True) == ({"a": 1}, None)
    assert json_of("null", strict=True) == (None, None)
    assert json_of('"\\ud800"', strict=True) == ("\ud800", None)
    assert json_of('"\t"', strict=False) == ("\t", None)
    assert json_of('"\t"', strict=True)[0] is None
