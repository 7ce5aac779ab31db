"""Which part of a conversation is compacted: the tail rule, explicit ranges, anchors, no-ops and bad ranges."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from lithify.core.conversation import InvalidRange, Noop, Plan, Range, plan_compaction, plan_up_to, with_summary
from tests.support.messages import (
    Message,
    assistant,
    calling,
    exactly,
    orphans,
    result,
    said,
    system,
    used,
    user,
    using,
)

SUMMARY = user("SUMMARY")


def planned(messages: list[Message], **given: Any) -> Plan | Noop | InvalidRange:
    asked = {"start": None, "end": None, "max_preserved_messages": 2, "exact": False, **given}
    return plan_compaction(messages, **asked)


def requested(messages: list[Message], **given: Any) -> tuple[int, int]:
    found = planned(messages, **given)
    assert isinstance(found, Plan)
    return found.requested.start, found.requested.end


def taken(found: Plan | Noop | InvalidRange) -> tuple[int, int]:
    assert isinstance(found, Plan)
    return found.range.start, found.range.end


def turns(count: int) -> list[Message]:
    return [user(f"q{index}") if index % 2 == 0 else assistant(f"a{index}") for index in range(count)]


# --- the preserved tail ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("preserved", [1, 2, 5, 9])
def test_the_last_so_many_user_and_assistant_messages_are_preserved(preserved: int) -> None:
    assert requested(turns(10), max_preserved_messages=preserved) == (0, 10 - preserved)


def test_two_messages_are_preserved_of_three() -> None:
    assert requested([user("old"), *turns(2)]) == (0, 1)


@pytest.mark.parametrize("role", ["tool", "system", "developer", "somebody else"])
def test_messages_of_other_roles_in_the_tail_do_not_count(role: str) -> None:
    messages = [user("old"), user("q"), said(role, "x"), said(role, "y"), assistant("a"), said(role, "z")]
    assert requested(messages) == (0, 1)


def test_the_tail_begins_at_a_user_or_assistant_message_never_at_a_result() -> None:
    messages = [user("q"), calling("c1"), result("c1"), assistant("fin")]
    assert taken(planned(messages)) == (0, 1)


def test_a_call_in_flight_is_preserved_with_its_result() -> None:
    messages = [user("old"), assistant("old"), user("q"), calling("c1"), result("c1")]
    assert taken(planned(messages)) == (0, 2)


def test_content_without_text_counts_as_a_preserved_message() -> None:
    assert requested([user("old"), said("user", None), said("assistant", [])]) == (0, 1)


def test_the_tail_is_counted_inside_a_range_that_has_a_start_alone() -> None:
    assert requested(turns(10), start=4) == (4, 8)


def test_messages_before_the_start_do_not_fill_the_tail() -> None:
    assert planned(turns(10), start=9) == Noop("too_few_messages")


# --- explicit ranges and anchors ------------------------------------------------------------------------------


def test_with_an_end_the_range_is_taken_as_asked() -> None:
    assert requested(turns(10), start=2, end=5) == (2, 5)


def test_an_end_alone_starts_at_the_first_message() -> None:
    assert requested(turns(10), end=5) == (0, 5)


def test_with_an_end_nothing_is_preserved() -> None:
    assert requested(turns(4), start=0, end=4, max_preserved_messages=3) == (0, 4)


def test_with_an_end_a_tail_of_nothing_is_no_reason_to_do_nothing() -> None:
    assert requested(turns(4), end=4, max_preserved_messages=0) == (0, 4)


@pytest.mark.parametrize("anchor", [0, 1, 5])
def test_up_to_here_takes_everything_to_the_anchor_and_the_anchor_too(anchor: int) -> None:
    assert taken(plan_up_to(turns(6), anchor, exact=False)) == (0, anchor + 1)


# --- whole groups ---------------------------------------------------------------------------------------------

GROUP = [user("q"), calling("c1", "c2"), result("c1"), result("c2"), assistant("fin"), user("more")]


@pytest.mark.parametrize("anchor", [1, 2, 3])
def test_up_to_here_inside_a_group_goes_on_over_its_results(anchor: int) -> None:
    found = plan_up_to(GROUP, anchor, exact=False)
    assert found == Plan(Range(0, 4), Range(0, anchor + 1))


@pytest.mark.parametrize("start", [2, 3])
def test_a_start_inside_a_group_goes_back_to_its_call(start: int) -> None:
    assert planned(GROUP, start=start, end=5) == Plan(Range(1, 5), Range(start, 5))


def test_a_range_between_two_results_takes_the_whole_group() -> None:
    assert taken(planned(GROUP, start=2, end=3)) == (1, 4)


def test_a_tail_that_would_keep_a_result_without_its_call_is_shortened() -> None:
    messages = [user("q"), calling("c1"), user("wait"), result("c1"), assistant("fin")]
    assert planned(messages, max_preserved_messages=2) == Plan(Range(0, 4), Range(0, 2))


@pytest.mark.parametrize("anchor", [1, 2])
def test_exact_takes_the_range_as_asked(anchor: int) -> None:
    assert plan_up_to(GROUP, anchor, exact=True) == Plan(Range(0, anchor + 1), Range(0, anchor + 1))


def test_a_range_that_parts_no_group_is_not_widened() -> None:
    assert planned(GROUP, start=1, end=4) == Plan(Range(1, 4), Range(1, 4))


def test_anthropic_parts_are_groups_too() -> None:
    messages = [user("q"), using("t1", "t2"), used("t1", "t2"), assistant("fin")]
    assert taken(plan_up_to(messages, 1, exact=False)) == (0, 3)


# --- no-ops ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("messages", "given", "reason"),
    [
        ([], {}, "empty"),
        ([], {"end": 0}, "empty"),
        (turns(4), {"start": 4}, "empty"),
        (turns(4), {"start": 2, "end": 2}, "empty"),
        (turns(4), {"max_preserved_messages": 0}, "preserve_none"),
        (turns(4), {"max_preserved_messages": -1}, "preserve_none"),
        (turns(1), {}, "too_few_messages"),
        ([system(), result("c1"), user()], {}, "too_few_messages"),
        (turns(3), {"max_preserved_messages": 10}, "too_few_messages"),
        (turns(2), {}, "nothing_before_tail"),
        (turns(3), {"max_preserved_messages": 3}, "nothing_before_tail"),
        (turns(4), {"start": 2}, "nothing_before_tail"),
        ([system(), *turns(2)], {}, "system_only"),
        ([system(), system(), *turns(2)], {}, "system_only"),
        ([system(), *turns(2)], {"end": 1}, "system_only"),
        ([user(), system(), *turns(2)], {"start": 1, "end": 2}, "system_only"),
    ],
)
def test_nothing_to_compact_says_why(messages: list[Message], given: dict[str, Any], reason: str) -> None:
    assert planned(messages, **given) == Noop(reason)  # type: ignore[arg-type]


def test_up_to_the_leading_system_message_is_nothing() -> None:
    assert plan_up_to([system(), *turns(2)], 0, exact=False) == Noop("system_only")


def test_up_to_here_in_an_empty_conversation_is_nothing() -> None:
    assert plan_up_to([], 0, exact=False) == Noop("empty")


@pytest.mark.parametrize("before", [[result("c1")], [said("developer", "x")], [system(), user("old")]])
def test_anything_but_system_messages_before_the_tail_is_compacted(before: list[Message]) -> None:
    assert taken(planned([*before, *turns(2)])) == (0, len(before))


# --- ranges that do not fit -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"start": -1}, "start"),
        ({"start": 5}, "start"),
        ({"start": -1, "end": 2}, "start"),
        ({"start": 5, "end": 5}, "start"),
        ({"end": -1}, "end"),
        ({"end": 5}, "end"),
        ({"start": 3, "end": 2}, "end"),
    ],
)
def test_a_range_that_does_not_fit_names_the_bound(given: dict[str, int], named: str) -> None:
    found = planned(turns(4), **given)
    assert isinstance(found, InvalidRange)
    assert found.message.startswith(f"{named} is {given[named]}")


@pytest.mark.parametrize("anchor", [-1, 4, 99])
def test_an_anchor_that_does_not_fit_is_named(anchor: int) -> None:
    found = plan_up_to(turns(4), anchor, exact=False)
    assert isinstance(found, InvalidRange)
    assert found.message.startswith(f"index is {anchor}")


# --- the result -----------------------------------------------------------------------------------------------


def test_the_summary_stands_in_place_of_the_range() -> None:
    messages = turns(6)
    assert with_summary(messages, Range(1, 4), SUMMARY) == [messages[0], SUMMARY, *messages[4:]]


def test_a_leading_system_message_stays_in_front_of_the_summary() -> None:
    messages = [system("rules"), *turns(4)]
    assert with_summary(messages, Range(0, 3), SUMMARY) == [system("rules"), SUMMARY, *messages[3:]]


def test_only_the_first_of_several_system_messages_stays() -> None:
    messages = [system("a"), system("b"), *turns(2)]
    assert with_summary(messages, Range(0, 3), SUMMARY) == [system("a"), SUMMARY, messages[3]]


def test_a_leading_developer_message_does_not_stay() -> None:
    messages = [said("developer", "rules"), *turns(4)]
    assert with_summary(messages, Range(0, 3), SUMMARY) == [SUMMARY, *messages[3:]]


def test_a_system_message_that_leads_only_the_range_does_not_stay() -> None:
    messages = [user(), system(), *turns(2)]
    assert with_summary(messages, Range(1, 3), SUMMARY) == [messages[0], SUMMARY, messages[3]]


def test_what_is_kept_is_the_same_object_as_before() -> None:
    messages = [system(), *turns(6)]
    after = with_summary(messages, Range(0, 4), SUMMARY)
    assert [id(message) for message in after if message is not SUMMARY] == [id(messages[0]), *map(id, messages[4:])]


def test_the_conversation_given_is_not_changed() -> None:
    messages = copy.deepcopy(GROUP)
    with_summary(messages, Range(0, 4), SUMMARY)
    assert exactly(messages) == exactly(GROUP)


def test_several_compactions_in_a_row_leave_no_call_and_no_result_alone() -> None:
    messages = [system(), user("q")]
    for index in range(12):
        messages += [calling(f"c{index}", "again"), result("again"), result(f"c{index}"), using(f"t{index}")]
        messages += [used(f"t{index}"), assistant("fin"), user("more")]
    assert orphans(messages) == []
    for anchor in (3, 9, 2, 20, 5, 7):
        messages = with_summary(messages, Range(*taken(plan_up_to(messages, anchor, exact=False))), SUMMARY)
        assert orphans(messages) == []
        messages = with_summary(messages, Range(*taken(planned(messages, start=4, end=7))), SUMMARY)
        assert orphans(messages) == []


def test_after_several_full_compactions_one_summary_and_the_tail_are_left() -> None:
    messages = [system("rules"), *turns(20)]
    for _ in range(3):
        messages = with_summary(messages, Range(*taken(planned(messages))), SUMMARY)
    assert messages == [system("rules"), SUMMARY, *turns(20)[-2:]]
