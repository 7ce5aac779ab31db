"""What came of an edit that names no version: made as it was meant, or in the wrong place, whatever the user typed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.lsp.unversioned_edits import Awaited, awaited
from lithify.transcripts.text_edits import TextEdit

TEXT = "one\ntwo\nthree\nfour\n"
EDIT = TextEdit(4, 14, "2+3\n")
"""Two of four lines make way for one."""


def told(edit: TextEdit, *versions: str, text: str = TEXT) -> list[str]:
    """What each version that follows a text says of an edit; the editor would make it at the same offsets."""
    said: list[str] = []
    expected = awaited(text, edit)
    for version in versions:
        outcome = expected.meets(edit, version)
        if not isinstance(outcome, Awaited):
            return [*said, outcome]
        said.append("awaited")
        expected = outcome
    return said


@pytest.mark.parametrize(
    "versions",
    [
        ["one\n2+3\nfour\n"],
        ["one\ntwo\nthree\nfour!\n", "one\n2+3\nfour!\n"],
        ["one\n2+3\nfour!\n"],
        ["zero\none\n2+3\nfour\n"],
        ["one\r\n2+3\r\nfour\r\n"],
        ["zero\none\ntwo\nthree\nfour\n", "zero\none\n2+3\nfour\n"],
    ],
    ids=["at once", "typed behind", "both told at once", "in front, both at once", "other line endings", "moved along"],
)
def test_an_edit_that_was_made_as_it_was_meant_is_known(versions: list[str]) -> None:
    assert told(EDIT, *versions) == [*["awaited"] * (len(versions) - 1), "made"]


@pytest.mark.parametrize(
    "versions",
    [
        ["0\none\ntwo\nthree\nfour\n", "0\non2+3\nee\nfour\n"],
        ["one\ntwo, typed\nthree\nfour\n"],
        ["0\non2+3\nee\nfour\n"],
        ["0\n1\n2\n3\n4\n5\n6\n7\none\ntwo\nthree\nfour\n", "0\n1\n2+3\n7\none\ntwo\nthree\nfour\n"],
    ],
    ids=["typed in front", "typed inside", "in front, both told at once", "far in front"],
)
def test_an_edit_that_met_other_text_is_known(versions: list[str]) -> None:
    assert told(EDIT, *versions) == [*["awaited"] * (len(versions) - 1), "spoilt"]


def test_an_insertion_at_the_end_is_told_from_what_the_user_types_there() -> None:
    end = TextEdit(len(TEXT), len(TEXT), "five\n")
    assert told(end, f"{TEXT}five\n") == ["made"]
    assert told(end, f"0\n{TEXT}", f"0\n{TEXT}five\n") == ["awaited", "made"]
    assert told(end, f"0\n{TEXT}", "0\none\ntwo\nthree\nfour\n"[: len(TEXT)] + "five\nr\n") == ["awaited", "spoilt"]
    assert told(end, f"{TEXT}typed\n") == ["spoilt"]


letters = st.text(alphabet="ab", max_size=3)


@given(st.text(alphabet="xy\n", min_size=1, max_size=12), st.data())
def test_no_edit_counts_as_made_where_something_else_was_taken_away(text: str, data: st.DataObject) -> None:
    """What is typed and what is inserted are told from the text and from each other by their letters."""
    places = st.integers(0, len(text))
    start, end = sorted((data.draw(places), data.draw(places)))
    edit = TextEdit(start, end, "+")
    at, typed = data.draw(places), data.draw(letters)
    between = text[:at] + typed + text[at:]
    after = between[:start] + "+" + between[end:]
    outcomes = told(edit, between, after, text=text)
    if outcomes[-1] == "made":
        kept = text[:start] + text[end:]
        assert after.replace("+", "").replace("a", "").replace("b", "") == kept
        assert "".join(one for one in after if one in "ab") == typed
