"""Messages found again in a text that the user went on to change."""

from __future__ import annotations

import pytest

from lithify.core.conversation import Range
from lithify.transcripts import kimi_context, openai_jsonl
from lithify.transcripts.same_messages import place_of_same
from tests.support.messages import Message, assistant, system, user
from tests.support.transcripts import json_lines

ONE, TWO, THREE, FOUR = user("one"), assistant("two"), user("three"), assistant("four")


def place(before: list[Message], wanted: tuple[int, int], after: list[Message] | str) -> tuple[int, int] | None:
    """Where the messages are found, in chats of JSON lines."""
    text, later = json_lines(before), after if isinstance(after, str) else json_lines(after)
    found = place_of_same(text, openai_jsonl.parse(text), Range(*wanted), later, openai_jsonl.parse(later))
    return None if found is None else (found.start, found.end)


@pytest.mark.parametrize(
    ("after", "found"),
    [
        ([ONE, TWO, THREE, user("changed")], (0, 2)),
        ([user("new"), ONE, TWO, THREE, FOUR], (1, 3)),
        ([ONE, user("new"), TWO, THREE, FOUR], None),
        ([ONE, user("changed"), THREE, FOUR], None),
        ([ONE], None),
        ([], None),
    ],
)
def test_messages_are_found_where_they_stand_together(after: list[Message], found: tuple[int, int] | None) -> None:
    assert place([ONE, TWO, THREE, FOUR], (0, 2), after) == found


def test_messages_that_are_spelled_in_another_way_are_not_the_same() -> None:
    spaced = json_lines([ONE, TWO]).replace('"content": "two"', '"content":  "two"')
    assert place([ONE, TWO], (0, 2), spaced) is None


def test_of_several_places_it_is_the_one_with_as_many_in_front_else_with_as_many_behind() -> None:
    assert place([ONE, ONE, ONE, TWO], (1, 2), [ONE, ONE, ONE, THREE]) == (1, 2)
    assert place([TWO, ONE, TWO], (1, 2), [ONE, THREE, FOUR, ONE, THREE]) == (3, 4)


def test_of_several_places_that_cannot_be_told_apart_it_is_none() -> None:
    assert place([TWO, ONE, TWO], (1, 2), [ONE, THREE, FOUR, TWO, ONE]) is None


def test_a_system_message_that_leads_no_longer_is_not_replaced_unseen() -> None:
    assert place([system(), ONE, TWO], (0, 2), [user("new"), system(), ONE, TWO]) is None


def test_a_text_of_another_format_holds_none_of_them() -> None:
    text = json_lines([ONE])
    assert place_of_same(text, openai_jsonl.parse(text), Range(0, 1), text, kimi_context.parse(text)) is None
