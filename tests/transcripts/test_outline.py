"""The outline of a transcript: what its messages are called, what a compaction would replace, what lies where."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.core.conversation import Plan, Range, kept_in_front, plan_compaction, plan_up_to
from lithify.core.messages import estimate_tokens
from lithify.transcripts import openai_json, openai_jsonl
from lithify.transcripts.model import Fold, Transcript, TranscriptMessage
from lithify.transcripts.outline import TITLE_LENGTH, Offer, Outline
from lithify.transcripts.reading import read
from tests.support.messages import Message, assistant, calling, result, system, used, user
from tests.support.transcripts import json_lines

CHAT: list[Message] = [
    system("be brief"),
    user("one"),
    calling("c1", "c2"),
    result("c2"),
    result("c1"),
    assistant("two"),
]
IDS = st.sampled_from(["a", "b"])
MESSAGES = st.lists(
    st.one_of(st.builds(system), st.builds(user), st.builds(assistant), IDS.map(calling), IDS.map(result)), max_size=8
)


def outline(messages: list[Message], **more: Any) -> Outline:
    """The outline of messages of ten characters each, one behind the other with a line ending between them."""
    placed = tuple(TranscriptMessage(one, index * 11, index * 11 + 10) for index, one in enumerate(messages))
    return Outline(Transcript("made", placed, (), **more))


LINE = st.sampled_from([*map(json.dumps, CHAT[:3]), "", "broken", "  "])


@given(st.lists(LINE), st.sampled_from(["\n", "\r\n"]))
def test_a_line_stands_for_the_message_that_its_characters_stand_for(said: list[str], ending: str) -> None:
    reading = read(ending.join(said), "chat.jsonl", "openai-jsonl")
    assert reading is not None
    assert reading.by_line is not None
    lines, found = reading.by_line.lines, reading.outline
    numbers = range(len(lines.all))
    assert [found.near_line(lines, line) for line in numbers] == [found.near(*lines.bounds(line)) for line in numbers]


# --- titles ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("message", "title"),
    [
        (user("  Fix the\n\tsum,  please "), "user: Fix the sum, please"),
        (user(""), "user: no text"),
        ({"role": "user"}, "user: no text"),
        ({"role": "tool", "content": [{"type": "text", "text": " "}, {"type": "text", "text": "b"}]}, "tool: b"),
        (calling("c1", "c2"), "assistant: shell, shell"),
        (calling("c1", text="Let me look."), "assistant: Let me look."),
        (used("c1"), "user: output"),
        ({"role": 7, "content": "x"}, "message: x"),
        (user("\U0001f600" * 500), "user: " + "\U0001f600" * (TITLE_LENGTH - 1) + "…"),
    ],
)
def test_a_title_is_the_role_and_the_first_words_on_one_line(message: Message, title: str) -> None:
    assert outline([message]).title(0) == title


def test_tokens_of_a_message_are_those_the_contract_counts() -> None:
    made = outline(CHAT)
    assert [made.tokens(index) for index in range(len(CHAT))] == [estimate_tokens([one]) for one in CHAT]


def test_the_calls_of_a_message_are_told_by_name() -> None:
    assert outline([calling("c1", "c2"), user()]).calls(0) == ["shell", "shell"]


# --- what can be compacted ------------------------------------------------------------------------------------


def expected(messages: list[Message], planned: Any) -> Offer | None:
    """The offer that follows from a plan, its tokens counted anew."""
    if not isinstance(planned, Plan):
        return None
    first = planned.range.start + kept_in_front(messages, planned.range)
    replaced = messages[first : planned.range.end]
    return Offer(planned.range, len(replaced), estimate_tokens(replaced)) if replaced else None


@given(MESSAGES, st.booleans())
def test_up_to_a_message_replaces_what_the_plan_of_its_compaction_says(messages: list[Message], exact: bool) -> None:
    made = outline(messages)
    assert [made.up_to(index, exact=exact) for index in range(len(messages))] == [
        expected(messages, plan_up_to(messages, index, exact=exact)) for index in range(len(messages))
    ]


@given(MESSAGES, st.integers(0, 8), st.integers(0, 8), st.booleans())
def test_a_range_replaces_what_the_plan_of_its_compaction_says(
    messages: list[Message], start: int, end: int, exact: bool
) -> None:
    planned = plan_compaction(messages, start=start, end=end, max_preserved_messages=2, exact=exact)
    assert outline(messages).between(start, end, exact=exact) == expected(messages, planned)


@given(MESSAGES, st.integers(0, 3))
def test_the_whole_replaces_what_the_plan_of_its_compaction_says(messages: list[Message], preserved: int) -> None:
    planned = plan_compaction(messages, start=None, end=None, max_preserved_messages=preserved, exact=False)
    assert outline(messages).whole(preserved) == expected(messages, planned)


def test_a_leading_system_message_stays_and_is_not_counted() -> None:
    offer = outline(CHAT).up_to(1)
    assert offer == Offer(Range(0, 2), 1, estimate_tokens([CHAT[1]]))
    assert outline(CHAT).up_to(0) is None


def test_inside_a_group_of_calls_the_whole_group_is_counted() -> None:
    offer = outline(CHAT).up_to(2)
    assert offer is not None
    assert (offer.range, offer.messages) == (Range(0, 5), 4)


def test_nothing_is_offered_of_what_cannot_be_written() -> None:
    made = outline(CHAT, writable=False, read_only_reason="It is locked.")
    assert (made.up_to(5), made.between(1, 5), made.whole(2)) == (None, None, None)


def test_only_beginnings_are_offered_of_what_takes_a_summary_at_its_begin_alone() -> None:
    made = outline(CHAT, prefix_only=True)
    assert made.between(1, 5) is None
    assert made.between(0, 5) is not None
    assert made.up_to(5) is not None


@pytest.mark.parametrize(("part", "whole"), [(Range(0, 3), False), (Range(2, 5), True), (Range(0, 2), True)])
def test_a_range_is_whole_that_parts_no_call_from_its_results(part: Range, whole: bool) -> None:
    assert outline(CHAT).is_whole(part) == whole
    assert outline(CHAT).is_whole(part, exact=True)


# --- what lies where ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("start", "end", "found"),
    [(0, 1, (0, 0)), (9, 12, (0, 1)), (10, 11, None), (5, 30, (0, 2)), (21, 22, None), (66, 99, None), (3, 3, (0, 0))],
)
def test_the_messages_within_a_selection_are_those_it_holds_some_of(
    start: int, end: int, found: tuple[int, int] | None
) -> None:
    assert outline(CHAT).within(start, end) == found


def placed_between_folds() -> Outline:
    """A fold, a message in two places around another one, and a fold."""
    messages = (TranscriptMessage(user(), 20, 30, ((50, 60),)), TranscriptMessage(user(), 35, 45))
    return Outline(Transcript("made", messages, (), folds=(Fold(0, 10, "away", 3), Fold(70, 80, "branch", 1))))


@pytest.mark.parametrize(
    ("start", "end", "found"),
    [(0, 10, None), (12, 15, None), (22, 28, 0), (31, 33, 0), (36, 44, 1), (52, 58, 0), (62, 65, 0), (71, 79, None)],
)
def test_a_line_stands_for_its_message_else_for_the_one_above(start: int, end: int, found: int | None) -> None:
    assert placed_between_folds().near(start, end) == found


def test_a_line_with_several_messages_stands_for_the_last_of_them() -> None:
    text = json.dumps([user("one"), assistant("two"), user("three")])
    assert Outline(openai_json.parse(text)).near(0, len(text)) == 2


def test_an_empty_line_stands_for_the_message_above() -> None:
    text = json_lines([user("one"), assistant("two")], "\n\n")
    made = Outline(openai_jsonl.parse(text))
    above = text.index("\n")
    assert (made.near(above + 1, above + 1), made.near(len(text), len(text))) == (0, 1)


# --- reading --------------------------------------------------------------------------------------------------


def test_a_text_is_read_by_its_content_and_by_its_name_where_that_says_nothing() -> None:
    by_content, by_name = read(json_lines([user()]), "notes.txt"), read("", "context.jsonl")
    assert by_content is not None
    assert by_name is not None
    assert (by_content.format.name, by_name.format.name) == ("openai-jsonl", "kimi-context")
    assert by_name.outline.whole(2) is None


def test_a_text_that_is_no_transcript_is_not_read() -> None:
    assert read("import os\n", "main.py") is None
