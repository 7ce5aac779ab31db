"""All anchors at once: they say what one alone says, and cost no more than a look at each message."""

from __future__ import annotations

import time

from hypothesis import given, settings
from hypothesis import strategies as st

from lithify.core.anchors import plans_up_to
from lithify.core.conversation import Plan, plan_up_to
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
@given(MESSAGES | CALLS)
def test_each_anchor_has_the_plan_that_it_has_alone(messages: list[Message]) -> None:
    assert plans_up_to(messages) == [plan_up_to(messages, index, exact=False) for index in range(len(messages))]


def test_a_group_that_begins_within_another_is_drawn_in_with_all_of_its_results() -> None:
    overlapping = [calling("a"), calling("b"), result("a"), result("b"), user()]
    assert [plan.range.end for plan in plans_up_to(overlapping) if isinstance(plan, Plan)] == [4, 4, 4, 4, 5]


def test_calls_that_hang_together_from_end_to_end_take_no_more_time_than_others() -> None:
    chained: list[Message] = []
    for number in range(5000):
        chained += [calling(f"c{number}"), *([result(f"c{number - 1}")] if number else [])]
    started = time.process_time()
    plans_up_to(chained)
    assert time.process_time() - started < 5
