"""Where a span of a text stands after what was typed elsewhere in it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.core.typed_edits import Typed, moved

TEXT = "abcdefgh"


@pytest.mark.parametrize(
    ("typed", "place"),
    [
        ([Typed(0, 0, 2)], (5, 7)),
        ([Typed(3, 3, 1)], (4, 6)),
        ([Typed(5, 5, 1)], (3, 5)),
        ([Typed(0, 3, 1)], (1, 3)),
        ([Typed(4, 4, 1)], None),
        ([Typed(2, 4, 2)], None),
        ([Typed(0, 0, 3), Typed(6, 6, 0), Typed(8, 9, 0)], (6, 8)),
        ([Typed(0, 0, 3), Typed(7, 7, 1)], None),
    ],
)
def test_a_span_moves_with_what_is_typed_in_front_and_is_lost_to_what_is_typed_in_it(
    typed: list[Typed], place: tuple[int, int] | None
) -> None:
    assert moved((3, 5), typed) == place


@pytest.mark.parametrize(("at", "place"), [(3, (5, 5)), (4, None), (5, (4, 4))])
def test_what_is_typed_at_an_empty_span_cannot_be_told_from_it(at: int, place: tuple[int, int] | None) -> None:
    assert moved((4, 4), [Typed(at, at, 1)]) == place


@given(st.data())
def test_a_span_that_moved_holds_what_it_held(data: st.DataObject) -> None:
    places = st.integers(0, len(TEXT))
    start, end = sorted((data.draw(places), data.draw(places)))
    text, typed = TEXT, list[Typed]()
    for _ in range(3):
        here = st.integers(0, len(text))
        first, last = sorted((data.draw(here), data.draw(here)))
        added = data.draw(st.text(alphabet="xy", max_size=3))
        text = text[:first] + added + text[last:]
        typed.append(Typed(first, last, len(added)))
    place = moved((start, end), typed)
    if place is not None:
        assert text[slice(*place)] == TEXT[start:end]
