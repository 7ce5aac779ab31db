"""The smallest edit from one text to another, which an editor can be asked to make."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.transcripts.text_edits import TextEdit, smallest_edit

FEW = st.text(alphabet="ab\r\n\U0001f600", max_size=12)


@given(FEW, FEW)
def test_the_edit_makes_the_one_text_of_the_other(before: str, after: str) -> None:
    edit = smallest_edit(before, after)
    assert before[: edit.start] + edit.replacement + before[edit.end :] == after


@given(FEW, FEW)
def test_the_edit_begins_and_ends_where_an_editor_has_a_position(before: str, after: str) -> None:
    edit = smallest_edit(before, after)
    assert "\r\n" not in (before[max(edit.start - 1, 0) : edit.start + 1], before[max(edit.end - 1, 0) : edit.end + 1])


@given(FEW, FEW, FEW, FEW)
def test_what_both_begin_and_end_with_is_left_alone(head: str, old: str, new: str, tail: str) -> None:
    edit = smallest_edit(head + old + tail, head + new + tail)
    two_halves_of_line_endings = 2
    assert edit.end - edit.start <= len(old) + two_halves_of_line_endings
    assert len(edit.replacement) <= len(new) + two_halves_of_line_endings


@pytest.mark.parametrize(
    ("before", "after", "edit"),
    [
        ("a\r\nb", "a\r\nc", TextEdit(3, 4, "c")),
        ("a\r\nb", "a\rb", TextEdit(1, 3, "\r")),
        ("a\nb", "a\r\nb", TextEdit(1, 2, "\r\n")),
        ("a\r\nb", "a\nb", TextEdit(1, 3, "\n")),
        ("aaa", "aa", TextEdit(2, 3, "")),
        ("", "a", TextEdit(0, 0, "a")),
        ("same", "same", TextEdit(4, 4, "")),
    ],
)
def test_a_line_ending_is_changed_as_a_whole(before: str, after: str, edit: TextEdit) -> None:
    assert smallest_edit(before, after) == edit
