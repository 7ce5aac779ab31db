"""A JSON document of OpenAI messages: where its messages are, how the summary is spelled, what makes it read-only."""

from __future__ import annotations

import pytest

from lithify.core.outcomes import LithifyError
from lithify.transcripts import openai_json
from lithify.transcripts.model import Problem
from tests.transcripts.rewriting import STAMP

SUMMARY = {"role": "user", "content": "short"}
HELLO = '{"role": "user", "content": "hello"}'


def contents(text: str) -> list[object]:
    return [message.get("content") for message in openai_json.parse(text).conversation]


def replaced(text: str, start: int, end: int) -> str:
    return openai_json.write(text, openai_json.parse(text), start, end, SUMMARY, STAMP)


def test_a_message_range_is_its_object_without_the_white_space_around_it() -> None:
    text = '[ \n {"role":"user","content":"a"} ,\r\n\t{"role":"user","content":"b"}\n]'
    placed = openai_json.parse(text).messages
    assert [text[one.start : one.end] for one in placed] == [
        '{"role":"user","content":"a"}',
        '{"role":"user","content":"b"}',
    ]


def test_messages_are_taken_from_an_object_before_history() -> None:
    assert contents(f'{{"history": [{{"role":"user","content":"old"}}], "messages": [{HELLO}]}}') == ["hello"]


def test_history_counts_where_messages_holds_no_message() -> None:
    assert contents(f'{{"messages": [], "history": [{HELLO}]}}') == ["hello"]


def test_the_last_of_two_equal_keys_counts_as_in_json() -> None:
    assert contents(f'{{"messages": [{{"role":"user","content":"old"}}], "messages": [{HELLO}]}}') == ["hello"]


def test_an_array_under_a_nested_key_is_not_the_chat() -> None:
    assert contents(f'{{"a": {{"messages": [{HELLO}]}}}}') == []


def test_a_compact_array_gets_a_compact_summary() -> None:
    assert replaced('[{"role":"user","content":"a"},{"role":"user","content":"b"}]', 0, 1) == (
        '[{"role":"user","content":"short"},{"role":"user","content":"b"}]'
    )


def test_an_array_with_spaces_gets_a_summary_with_spaces() -> None:
    assert replaced(f"[{HELLO}, {HELLO}]", 1, 2) == f'[{HELLO}, {{"role": "user", "content": "short"}}]'


def test_a_pretty_array_with_windows_line_endings_gets_a_summary_with_them() -> None:
    text = '[\r\n  {\r\n    "role": "user",\r\n    "content": "a"\r\n  }\r\n]\r\n'
    assert replaced(text, 0, 1) == text.replace('"a"', '"short"')


def test_an_array_whose_objects_begin_on_the_bracket_s_line_keeps_its_indentation() -> None:
    text = '[{\n  "role": "user",\n  "content": "a"\n}, {\n  "role": "user",\n  "content": "b"\n}]'
    assert replaced(text, 1, 2) == text.replace('"b"', '"short"')


def test_a_text_of_ascii_with_escapes_gets_an_escaped_summary() -> None:
    text = '[{"role":"user","content":"\\u00e4"}]'
    made = openai_json.write(text, openai_json.parse(text), 0, 1, {"role": "user", "content": "ö"}, STAMP)
    assert made == '[{"role":"user","content":"\\u00f6"}]'


def test_a_text_with_other_characters_gets_a_summary_with_them() -> None:
    text = '[{"role":"user","content":"ä"}]'
    made = openai_json.write(text, openai_json.parse(text), 0, 1, {"role": "user", "content": "ö"}, STAMP)
    assert made == '[{"role":"user","content":"ö"}]'


def test_a_lone_surrogate_in_the_summary_is_escaped() -> None:
    text = '[{"role":"user","content":"ä"}]'
    made = openai_json.write(text, openai_json.parse(text), 0, 1, {"role": "user", "content": "\ud800ö"}, STAMP)
    assert made == '[{"role":"user","content":"\\ud800ö"}]'


def test_a_leading_system_message_stays_in_front_of_the_summary() -> None:
    system = '{"role":"system","content":"be kind"}'
    assert replaced(f'[{system},\n{{"role":"user","content":"a"}}]', 0, 2) == (
        f'[{system},\n{{"role":"user","content":"short"}}]'
    )


def test_elements_that_are_no_messages_stay_behind_the_summary() -> None:
    text = '[{"role":"user","content":"a"}, 5, {"x": 1},\n {"role":"user","content":"b"}, "end"]'
    assert replaced(text, 0, 2) == '[{"role":"user","content":"short"}, 5, {"x": 1}, "end"]'


def test_elements_that_are_no_messages_are_problems_of_a_writable_file() -> None:
    parsed = openai_json.parse(f'[\n5,\n{HELLO},\n{{"role": 7}}]')
    assert [problem.line for problem in parsed.problems] == [1, 3]
    assert parsed.writable


@pytest.mark.parametrize(
    "text",
    [
        f'[{HELLO}, {{"role": "user", "content": "cut',
        f"[{HELLO}",
        f"[{HELLO},",
        f"[{HELLO},]",
        f"[{HELLO}] and more",
        f'[{{"role":"user","content":"\\x"}}, {HELLO}]',
        f'[{{"role":"user","content":NaN}}, {HELLO}]',
        f'[{{"role":"user","content":{"[" * 5000}{"]" * 5000}}}, {HELLO}]',
        f'[{{"role":"user","content":{"9" * 5000}}}, {HELLO}]',
        f'[{{"role":"user","content":"no quote}},\n {HELLO}]',
        f'[{{"role":"user" "content":"no comma"}}, {HELLO}]',
        f"[nonsense, {HELLO}]",
        f'{{"broken": nonsense, "messages": [{HELLO}]}}',
        f'{{"broken": {{, "history": [{HELLO}]}}',
        f'{{broken: 1, "history": [{HELLO}]}}',
    ],
)
def test_broken_json_hides_no_other_message_and_makes_the_file_read_only(text: str) -> None:
    parsed = openai_json.parse(text)
    assert contents(text) == ["hello"]
    assert parsed.problems
    assert parsed.read_only_reason is not None
    assert "Line 1 " in parsed.read_only_reason


def test_two_messages_without_a_comma_between_them_are_both_read() -> None:
    assert contents(f"[{HELLO} {HELLO}]") == ["hello", "hello"]


def test_a_read_only_file_is_not_written() -> None:
    with pytest.raises(LithifyError, match="repair the file") as caught:
        replaced(f"[{HELLO},", 0, 1)
    assert caught.value.type == "unsupported_document"


@pytest.mark.parametrize(("start", "end"), [(0, 0), (1, 2), (-1, 1), (0, 2)])
def test_a_range_without_a_message_to_replace_is_refused(start: int, end: int) -> None:
    with pytest.raises(LithifyError) as caught:
        replaced(f"[{HELLO}]", start, end)
    assert caught.value.type == "invalid_range"


@pytest.mark.parametrize("text", ["", " \n", "\ufeff", "[]", "{}", '{"messages": []}', '{"messages": 5}'])
def test_a_file_without_messages_has_none_and_no_problem(text: str) -> None:
    parsed = openai_json.parse(text)
    assert (parsed.messages, parsed.problems) == ((), ())


def test_a_problem_names_the_line_an_editor_shows_whatever_the_line_endings() -> None:
    parsed = openai_json.parse(f"\ufeff[\r\n\r{HELLO},\n5]")
    assert parsed.problems == (Problem(3, "not a message: no object with a role"),)


def test_a_file_with_too_many_broken_elements_is_given_up_on() -> None:
    text = "[" + '{"role":"user","content":"\\x"},' * 3000 + HELLO + "]"
    parsed = openai_json.parse(text)
    assert parsed.problems[-1].message == "too much is broken: the rest was not read"
