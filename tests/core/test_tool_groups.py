"""Tool calls and their results: which belong together, and how far a range goes to part none of them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.core.tool_groups import Answer, LoneCall, answers, left_alone, unanswered, widen
from tests.support.messages import (
    Message,
    assistant,
    calling,
    orphans,
    pairs,
    result,
    said,
    system,
    text,
    used,
    user,
    using,
)
from tests.support.samples import DATA


def found(messages: list[Message]) -> list[tuple[int, int]]:
    return [(answer.call_index, answer.result_index) for answer in answers(messages)]


# --- which belong together ------------------------------------------------------------------------------------


def test_a_result_belongs_to_the_call_it_names() -> None:
    assert answers([calling("c1"), calling("c2"), result("c1")]) == [Answer("c1", 0, 2)]


def test_results_of_parallel_calls_belong_to_one_message_in_any_order() -> None:
    assert found([calling("c1", "c2"), result("c2"), result("c1")]) == [(0, 1), (0, 2)]


def test_where_ids_repeat_a_result_belongs_to_the_nearest_call_before_it() -> None:
    assert found([calling("c1"), result("c1"), calling("c1"), result("c1")]) == [(0, 1), (2, 3)]


def test_a_result_before_its_call_belongs_to_none() -> None:
    assert found([result("c1"), calling("c1")]) == []


def test_messages_between_a_call_and_its_result_do_not_part_them() -> None:
    assert found([calling("c1"), user(), assistant(), result("c1")]) == [(0, 3)]


def test_a_result_that_names_nothing_belongs_to_the_calls_right_before_it() -> None:
    assert found([calling("c1", "c2"), result(), result()]) == [(0, 1), (0, 2)]


@pytest.mark.parametrize("call_id", [None, "", "unknown"])
def test_a_result_of_no_known_call_belongs_to_none_after_another_message(call_id: str | None) -> None:
    assert found([calling("c1"), result("c1"), user(), result(call_id)]) == [(0, 1)]


def test_a_result_with_an_unknown_id_belongs_to_the_calls_right_before_it() -> None:
    assert found([calling("c1"), result("unknown")]) == [(0, 1)]


def test_a_message_may_answer_several_calls() -> None:
    assert found([using("t1"), using("t2"), used("t1", "t2")]) == [(0, 2), (1, 2)]


def test_a_list_of_ids_answers_each_of_them() -> None:
    messages = [calling("c1"), calling("c2"), {"role": "tool", "content": "x", "tool_call_ids": ["c1", "c2"]}]
    assert found(messages) == [(0, 2), (1, 2)]


@pytest.mark.parametrize(
    "message",
    [
        {},
        {"role": "tool", "tool_call_id": 7, "content": 7},
        {"role": "tool", "tool_call_ids": "c1"},
        {"role": "assistant", "tool_calls": "call c1"},
        {"role": "assistant", "tool_calls": [None, 1, {}, {"function": None}, {"id": ["c1"]}]},
        {"role": "assistant", "content": [None, {"type": "tool_use"}, {"type": "tool_result", "tool_use_id": {}}]},
        {"role": None, "content": {"type": "tool_use"}},
    ],
)
def test_foreign_shapes_are_read_without_an_error(message: Message) -> None:
    messages = [message, calling("c1"), message, result("c1"), message]
    assert (1, 3) in found(messages)
    assert widen(messages, 0, 2)[1] >= 4
    assert left_alone(messages, 0, 2)


# --- how far a range goes -------------------------------------------------------------------------------------


def test_a_range_goes_forward_over_the_results_of_its_calls() -> None:
    assert widen([user(), calling("c1", "c2"), result("c1"), result("c2"), user()], 0, 2) == (0, 4)


def test_a_range_goes_back_to_the_calls_of_its_results() -> None:
    assert widen([user(), calling("c1", "c2"), result("c1"), result("c2"), user()], 3, 5) == (1, 5)


def test_a_range_goes_on_over_groups_that_it_takes_in_by_going_on() -> None:
    messages = [calling("c1"), calling("c2"), result("c1"), calling("c3"), result("c2"), result("c3"), user()]
    assert widen(messages, 0, 1) == (0, 6)


def test_a_range_goes_back_over_groups_that_it_takes_in_by_going_back() -> None:
    messages = [user(), calling("c1"), calling("c2"), result("c1"), calling("c3"), result("c2"), result("c3")]
    assert widen(messages, 6, 7) == (1, 7)


def test_going_back_may_mean_going_forward_again() -> None:
    messages = [calling("c1", "c2"), result("c1"), user(), result("c2"), user()]
    assert widen(messages, 1, 2) == (0, 4)


def test_where_ids_repeat_a_range_takes_one_use_of_the_id_alone() -> None:
    messages = [calling("c1"), result("c1"), calling("c1"), result("c1"), user()]
    assert widen(messages, 0, 1) == (0, 2)
    assert widen(messages, 3, 4) == (2, 4)


def test_a_call_without_a_result_widens_nothing() -> None:
    assert widen([user(), calling("c1"), user()], 0, 2) == (0, 2)


def test_an_empty_range_stays_empty() -> None:
    assert widen([calling("c1"), result("c1")], 1, 1) == (1, 1)


def test_a_real_file_with_repeated_ids_is_never_left_with_a_lone_call_or_result() -> None:
    path = DATA / "transcripts" / "openai-messages" / "sweagent-marshmallow-1867-function_calling.traj"
    messages = json.loads(path.read_text(encoding="utf-8"))["history"]
    ids = [call["id"] for message in messages for call in message.get("tool_calls") or []]
    assert len(set(ids)) < len(ids)
    before = orphans(messages)
    for start in range(len(messages)):
        for end in range(start + 1, len(messages) + 1):
            low, high = widen(messages, start, end)
            assert set(orphans([*messages[:low], system(), *messages[high:]])) <= set(before), (start, end)


# --- what is left alone ---------------------------------------------------------------------------------------


def test_a_result_whose_call_was_taken_is_left_alone() -> None:
    assert left_alone([user(), calling("c1"), result("c1")], 0, 2) == [LoneCall("c1", 2, is_call=False)]


def test_a_call_whose_result_was_taken_is_left_alone() -> None:
    assert left_alone([calling("c1"), result("c1"), user()], 1, 3) == [LoneCall("c1", 0, is_call=True)]


def test_a_whole_group_leaves_nothing_alone() -> None:
    assert left_alone([calling("c1"), result("c1"), user()], 0, 2) == []


def test_a_call_that_nothing_answers_yet_is_open() -> None:
    messages = [calling("c1", "c2"), result("c2"), user()]
    assert unanswered(messages, 0, 3) == [LoneCall("c1", 0, is_call=True)]


def test_a_call_outside_the_range_is_not_asked_about() -> None:
    assert unanswered([calling("c1"), user()], 1, 2) == []


@pytest.mark.parametrize(
    "answering", [result(), result("unknown"), {"role": "tool", "content": text("x"), "tool_call_id": None}]
)
@pytest.mark.parametrize("call", [calling("c1"), calling(None), calling("c1", "c2")])
def test_a_result_that_names_no_known_call_closes_the_calls_right_before_it(call: Message, answering: Message) -> None:
    assert unanswered([call, answering], 0, 2) == []


def test_an_open_call_of_a_repeated_id_is_found() -> None:
    messages = [calling("c1"), result("c1"), calling("c1"), said("user", "go on")]
    assert unanswered(messages, 0, 4) == [LoneCall("c1", 2, is_call=True)]


# --- all but a tail -------------------------------------------------------------------------------------------

ids = st.sampled_from(["", "a", "b"])
chats = st.lists(
    st.one_of(st.just(user()), st.just(assistant()), ids.map(calling), ids.map(result), ids.map(using), ids.map(used)),
    max_size=9,
)


@given(chats, st.data())
def test_the_calls_in_front_that_a_tail_answers_are_all_found(messages: list[Message], data: st.DataObject) -> None:
    end = data.draw(st.integers(0, len(messages)))
    crossing = [one for one in answers(messages) if one.call_index < end <= one.result_index]
    assert left_alone(messages, 0, end) == [LoneCall(one.call_id, one.result_index, False) for one in crossing]
    assert widen(messages, 0, end)[1] >= max((one.result_index + 1 for one in crossing), default=end)


# --- the check of these tests ---------------------------------------------------------------------------------


def test_the_check_for_lone_calls_finds_them() -> None:
    assert len(orphans([result("c1"), calling("c2"), user()])) == 2


def test_the_check_for_pairs_agrees_on_an_ordinary_conversation() -> None:
    assert pairs([calling("c1", "c2"), result("c1"), result("c2")]) == {(0, 1), (0, 2)}
