"""All anchors at once: they say what one alone says, and cost no more than a look at each message."""

from __future__ import annotations

import time

from hypothesis import given, settings
from hypothesis import strategies as st

from lithify.core.anchors import Plans
from lithify.core.conversation import Plan, Range, plan_compaction, plan_up_to
from lithify.core.tool_groups import widen
from tests.support.messages import Message, calling, result, system, used, user, using

IDS = st.sampled_from(["a", "b", "c"])
MESSAGES = st.lists(
    st.one_of(
        st.builds(system),
        st.builds(user),
        st.lists(IDS, max_size=3).map(lambda ids: calling(*ids)),
        st.lists(IDS, max_size=3).map(lambda ids: using(*ids)),
        st.lists(IDS, max_size=3).map(lambda ids: used(*ids)),
        (IDS | st.none()).map(result),
    ),
    max_size=12,
)
CALLS = st.lists(IDS.map(calling) | IDS.map(result), max_size=8)
"""Groups that overlap, so that one drags in the next."""


@settings(max_examples=400)
@given(MESSAGES | CALLS, st.booleans())
def test_each_anchor_has_the_plan_that_it_has_alone(messages: list[Message], exact: bool) -> None:
    plans = Plans(messages)
    anchors = range(-1, len(messages) + 1)
    assert [plans.up_to(one, exact=exact) for one in anchors] == [
        plan_up_to(messages, one, exact=exact) for one in anchors
    ]


@settings(max_examples=400)
@given(MESSAGES | CALLS, st.none() | st.integers(-1, 13), st.none() | st.integers(-1, 13), st.booleans())
def test_each_range_has_the_plan_that_it_has_alone(
    messages: list[Message], start: int | None, end: int | None, exact: bool
) -> None:
    asked = {"start": start, "end": end, "max_preserved_messages": 2, "exact": exact}
    assert Plans(messages).compaction(**asked) == plan_compaction(messages, **asked)


@settings(max_examples=400)
@given(MESSAGES | CALLS, st.data())
def test_a_range_is_widened_as_the_rule_says(messages: list[Message], data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(messages)))
    end = data.draw(st.integers(start, len(messages)))
    assert Plans(messages).widened(Range(start, end)) == Range(*widen(messages, start, end))


def test_a_group_that_begins_within_another_is_drawn_in_with_all_of_its_results() -> None:
    overlapping = [calling("a"), calling("b"), result("a"), result("b"), user()]
    plans = [Plans(overlapping).up_to(anchor) for anchor in range(5)]
    assert [plan.range.end for plan in plans if isinstance(plan, Plan)] == [4, 4, 4, 4, 5]


def test_calls_that_hang_together_from_end_to_end_take_no_more_time_than_others() -> None:
    chained: list[Message] = []
    for number in range(5000):
        chained += [calling(f"c{number}"), *([result(f"c{number - 1}")] if number else [])]
    started = time.process_time()
    plans = Plans(chained)
    assert len({plans.up_to(anchor) for anchor in range(len(chained))}) == len(chained)
    assert plans.widened(Range(5000, 5001)) == Range(0, len(chained))
    assert time.process_time() - started < 5
