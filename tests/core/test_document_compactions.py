"""A compaction taken out of a text again, and which of several that is."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.core.document_compactions import DocumentCompaction, TextChange, text_before, to_undo
from lithify.core.outcomes import LithifyError

BEFORE = "[one][two][three]"
AFTER = "[SUM][three]<end>"
CHANGES = (TextChange(0, "[one][two]", "[SUM]"), TextChange(12, "", "<end>"))


def compaction(**more: object) -> DocumentCompaction:
    made = DocumentCompaction("C", "/a", "f", "now", len(AFTER), CHANGES, appended=False, kept=True, certain=True)
    return replace(made, **more)  # type: ignore[arg-type]


def appended(text: str = "+new", **more: object) -> DocumentCompaction:
    return compaction(changes=(TextChange(9, "", text),), appended=True, **more)


def test_what_was_removed_stands_again_where_the_rest_does() -> None:
    assert text_before(compaction(), AFTER) == BEFORE


@pytest.mark.parametrize(
    ("text", "before"),
    [
        ("in front " + AFTER, "in front " + BEFORE),
        (AFTER + " behind", BEFORE + " behind"),
        (AFTER.replace("three", "3"), BEFORE.replace("three", "3")),
        ("a" + AFTER.replace("three", "3") + "b", "a" + BEFORE.replace("three", "3") + "b"),
    ],
    ids=["in front", "behind", "between", "everywhere"],
)
def test_what_was_changed_elsewhere_stays(text: str, before: str) -> None:
    assert text_before(compaction(), text) == before


@pytest.mark.parametrize("text", ["[SUm][three]<end>", "[SUM][three]<en>", BEFORE, "", "<end>[SUM][three]"])
def test_where_what_was_inserted_is_not_as_it_was_nothing_is_taken_back(text: str) -> None:
    assert text_before(compaction(), text) is None


def test_of_two_places_that_look_the_same_it_is_the_one_counted_from_the_front_or_from_the_end() -> None:
    assert text_before(compaction(), "[SUM][three]<end>[SUM]") == "[one][two][three][SUM]"
    in_its_midst = compaction(length=11, changes=(TextChange(3, "old", "[SUM]"),))
    assert text_before(in_its_midst, "xx[SUM]yabc[SUM]def") == "xx[SUM]yabcolddef"


@pytest.mark.parametrize("text", ["[SUM][SUM][three]<end>", "x[SUM]yy[SUM][three]z<end>ww"])
def test_where_it_cannot_be_told_which_of_two_it_is_nothing_is_taken_back(text: str) -> None:
    assert text_before(compaction(), text) is None


@given(st.text("ab[]", max_size=6), st.text("ab[]", max_size=6))
def test_whatever_is_typed_in_front_and_behind_stays(front: str, behind: str) -> None:
    assert text_before(compaction(), front + AFTER + behind) == front + BEFORE + behind


def test_what_was_appended_is_cut_off_the_end_only() -> None:
    assert text_before(appended(), "old+new") == "old"
    assert text_before(appended(), "old+new+later") is None
    assert text_before(appended(), "old") is None


# --- which one ------------------------------------------------------------------------------------------------


def chosen(kept: list[DocumentCompaction], text: str, compaction_id: str | None = None) -> tuple[str, str | None]:
    found, before = to_undo(kept, compaction_id, text, "The document")
    return found.compaction_id, before


def unknown(kept: list[DocumentCompaction], text: str, compaction_id: str | None = None) -> str:
    with pytest.raises(LithifyError) as raised:
        to_undo(kept, compaction_id, text, "The document")
    assert raised.value.type == "unknown_compaction"
    return raised.value.message


NEWER = compaction(changes=(TextChange(5, "", "+2"),), appended=True, compaction_id="newer", length=7)
OLDER = compaction(changes=(TextChange(3, "", "+1"),), appended=True, compaction_id="older", length=5)


def test_it_is_the_newest_that_is_not_undone() -> None:
    assert chosen([NEWER, OLDER], "old+1+2") == ("newer", "old+1")
    assert chosen([replace(NEWER, undone=True), OLDER], "old+1") == ("older", "old")


def test_it_is_the_one_that_is_named() -> None:
    assert chosen([NEWER, OLDER], "old+1+2", "older") == ("older", None)


def test_one_that_was_never_written_is_passed_over() -> None:
    doubtful = replace(NEWER, certain=False)
    assert chosen([doubtful, OLDER], "old+1") == ("older", "old")
    assert chosen([doubtful, OLDER], "old+1+2") == ("newer", "old+1")
    unknown([doubtful, OLDER], "old+1", "newer")


def test_a_certain_one_that_was_edited_since_is_not_passed_over() -> None:
    assert chosen([NEWER], "old+1+3") == ("newer", None)
    assert chosen([compaction()], "[SUm][three]<end>") == ("C", None)


def test_one_whose_summary_says_what_it_replaced_begins_with_is_known_to_be_taken_back() -> None:
    first = compaction(compaction_id="first", changes=(TextChange(0, "[1][2]", "[SUM]"),), length=len("[SUM][3][4]"))
    second = compaction(compaction_id="second", changes=(TextChange(0, "[SUM][3]", "[SUM]"),), length=len("[SUM][4]"))
    assert chosen([second, first], "[SUM][4]") == ("second", "[SUM][3][4]")
    assert chosen([second, first], "[SUM][3][4]") == ("first", "[1][2][3][4]")
    assert chosen([second, first], "typed[SUM][3][4]") == ("first", "typed[1][2][3][4]")
    unknown([second, first], "[SUM][3][4]", "second")


def test_no_line_is_doubled_where_an_editor_took_back_several_that_say_the_same() -> None:
    lines = [f"[message {number} of the chat]\n" for number in range(4)]
    told, rest = "[SUM]\n", "".join(lines[1:])
    first = compaction(compaction_id="1", changes=(TextChange(0, lines[0], told),), length=len(told + rest))
    removed = told + lines[1]
    second = compaction(
        compaction_id="2", changes=(TextChange(0, removed, told),), length=len(told + "".join(lines[2:]))
    )
    third = compaction(compaction_id="3", changes=(TextChange(0, told + lines[2], told),), length=len(told + lines[3]))
    assert chosen([third, second, first], told + rest) == ("1", lines[0] + rest)
    assert chosen([third, second, first], f"{told}typed {rest}")[1] in (None, f"{lines[0]}typed {rest}")
    assert chosen([third, second, first], told + lines[3]) == ("3", told + lines[2] + lines[3])


def test_an_attempt_that_came_to_nothing_does_not_stand_beside_the_same_that_was_made() -> None:
    attempt = compaction(compaction_id="attempt", certain=False)
    assert chosen([compaction(), attempt], f"{AFTER}typed") == ("C", f"{BEFORE}typed")
    assert chosen([attempt, compaction()], f"{AFTER}typed") == ("C", f"{BEFORE}typed")
    again = compaction(compaction_id="again", certain=False)
    assert chosen([again, attempt], f"{AFTER}typed") == ("again", f"{BEFORE}typed")


def test_it_is_the_newest_that_really_stands() -> None:
    elsewhere = compaction(compaction_id="elsewhere", changes=(TextChange(0, "[1][2]", "[OTHER]"),))
    assert chosen([elsewhere, compaction()], AFTER) == ("C", BEFORE)
    assert chosen([elsewhere, compaction(undone=True)], AFTER) == ("C", BEFORE)


def test_one_that_was_cut_off_by_hand_before_the_text_went_on_is_passed_over() -> None:
    assert chosen([NEWER, OLDER], "old+1+3") == ("older", None)
    unknown([NEWER, OLDER], "old+1+3", "newer")


def test_one_that_kept_nothing_and_may_never_have_been_written_is_passed_over() -> None:
    doubtful = replace(NEWER, kept=False, changes=(), certain=False)
    assert chosen([doubtful, OLDER], "old+1") == ("older", "old")
    assert "one was begun" in unknown([doubtful], "old")


def test_one_that_an_editor_took_back_itself_is_passed_over() -> None:
    assert chosen([NEWER, OLDER], "old+1") == ("older", "old")
    unknown([compaction()], f"typed {BEFORE}")


def test_one_that_is_undone_already_is_told_as_a_sentence_of_its_own() -> None:
    assert unknown([NEWER, OLDER], "old+1", "newer") == "That compaction of the document was undone already"


def test_one_that_was_undone_in_an_editor_which_did_not_save_that_can_be_undone_again() -> None:
    assert chosen([replace(NEWER, undone=True), OLDER], "old+1+2") == ("newer", "old+1")
    assert chosen([compaction(undone=True)], AFTER) == ("C", BEFORE)
    unknown([compaction(undone=True)], BEFORE)


def test_of_two_that_say_the_same_one_is_not_taken_for_the_other_that_was_deleted() -> None:
    first = compaction(compaction_id="first", changes=(TextChange(0, "[1][2]", "[SUM]"),), length=16)
    second = compaction(compaction_id="second", changes=(TextChange(8, "[4][5]", "[SUM]"),), length=13)
    assert chosen([second, first], "[SUM][3][SUM]", "first") == ("first", "[1][2][3][SUM]")
    assert chosen([second, first], "[3][SUM]", "first") == ("first", None)
    assert chosen([second, first], "[3][SUM]") == ("second", None)


@pytest.mark.parametrize("kept", [[], [replace(NEWER, undone=True, changes=())]])
def test_where_there_is_none_that_is_said(kept: list[DocumentCompaction]) -> None:
    unknown(kept, "old+1+2")
    unknown(kept, "old+1+2", "newer")


def test_one_of_which_nothing_was_kept_says_why() -> None:
    assert "conversation.keepOriginals" in unknown([replace(NEWER, kept=False, changes=()), OLDER], "old+1+2")


def test_one_that_a_later_one_replaced_is_not_mistaken_for_it() -> None:
    inner = compaction(compaction_id="inner", length=12, changes=(TextChange(0, "[one][two]", "[SUM]"),))
    outer = compaction(compaction_id="outer", length=5, changes=(TextChange(0, "[SUM][three]", "[SUM]"),))
    assert chosen([outer, inner], "[SUM]", "inner") == ("inner", None)
    assert chosen([outer, inner], "[SUM]") == ("outer", "[SUM][three]")
    assert chosen([replace(outer, undone=True, changes=()), inner], "[SUM][three]") == ("inner", BEFORE)


def test_a_compaction_that_was_refused_is_not_taken_for_one_before_it_whose_summary_says_the_same() -> None:
    applied = compaction(compaction_id="applied", changes=(TextChange(0, "[one][two]", "[SUM]"),), length=18)
    refused = compaction(
        compaction_id="refused", changes=(TextChange(5, "[three][four]", "[SUM]"),), length=10, certain=False
    )
    found, text = to_undo([refused, applied], None, "[SUM][three][four]", "a")
    assert (found.compaction_id, text) == ("applied", "[one][two][three][four]")


def test_of_two_that_only_inserted_the_same_both_stand() -> None:
    older = compaction(compaction_id="older", changes=(TextChange(0, "", "[SUM]"),), length=8)
    newer = compaction(compaction_id="newer", changes=(TextChange(8, "", "[SUM]"),), length=13)
    assert chosen([newer, older], "[SUM]one[SUM]typed") == ("newer", "[SUM]onetyped")
