"""OpenAI messages one a line: where they are, what stays, what is a problem."""

from __future__ import annotations

import pytest

from lithify.transcripts import openai_jsonl
from lithify.transcripts.model import Problem
from tests.transcripts.rewriting import STAMP

SUMMARY = {"role": "user", "content": "short"}
A, B, C = (f'{{"role":"user","content":"{letter}"}}' for letter in "abc")
SHORT = '{"role":"user","content":"short"}'


def replaced(text: str, start: int, end: int) -> str:
    return openai_jsonl.write(text, openai_jsonl.parse(text), start, end, SUMMARY, STAMP)


def test_the_summary_takes_the_place_of_the_lines_it_replaces() -> None:
    assert replaced(f"{A}\n{B}\n{C}\n", 0, 2) == f"{SHORT}\n{C}\n"


def test_windows_line_endings_stay() -> None:
    assert replaced(f"{A}\r\n{B}\r\n{C}\r\n", 1, 2) == f"{A}\r\n{SHORT}\r\n{C}\r\n"


def test_a_missing_final_newline_stays_missing() -> None:
    assert replaced(f"{A}\n{B}", 0, 2) == SHORT


def test_a_byte_order_mark_stays() -> None:
    assert replaced(f"\ufeff{A}\n", 0, 1) == f"\ufeff{SHORT}\n"


def test_broken_lines_inside_the_range_stay_behind_the_summary() -> None:
    assert replaced(f"{A}\nbroken\r\n\n  17 \n{B}\n{C}\n", 0, 2) == f"{SHORT}\nbroken\n  17 \n{C}\n"


def test_lines_with_a_space_behind_the_colon_get_such_a_summary() -> None:
    assert replaced('{"role": "user", "content": "a"}\n', 0, 1) == '{"role": "user", "content": "short"}\n'


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ('{"role": "user", "content": "cut', "cut off in the middle"),
        ('{"role": "user", "content": "\\x"}', "not JSON: Invalid \\escape"),
        ("[1, 2]", "not a message: no object with a role"),
        ('{"content": "no role"}', "not a message: no object with a role"),
        (f"{A} {B}", "not JSON: more text behind the value"),
        ('{"role": "user", "content": NaN}', "not readable: NaN is not JSON"),
        ('{"role": "user", "content": ' + "[" * 5000 + "]" * 5000 + "}", "nested too deeply to be read"),
        ('{"role": "user", "content": ' + "[" * 300 + "]" * 300 + "}", "nested too deeply to be read"),
    ],
)
def test_a_line_that_is_no_message_is_a_problem_and_hides_nothing(line: str, wrong: str) -> None:
    parsed = openai_jsonl.parse(f"{A}\n{line}\n{B}\n")
    assert parsed.problems == (Problem(1, wrong),)
    assert [message["content"] for message in parsed.conversation] == ["a", "b"]


def test_a_torn_last_line_is_a_problem() -> None:
    assert openai_jsonl.parse(f'{A}\n{{"role": "us').problems == (Problem(1, "cut off in the middle"),)


def test_a_line_separator_inside_a_string_ends_no_line() -> None:
    parsed = openai_jsonl.parse('{"role":"user","content":"a\u2028b\x85c"}\n')
    assert parsed.conversation == [{"role": "user", "content": "a\u2028b\x85c"}]


def test_a_lone_surrogate_is_read() -> None:
    assert openai_jsonl.parse('{"role":"user","content":"\\ud800"}').conversation[0]["content"] == "\ud800"


def test_a_number_too_large_to_be_read_is_a_problem() -> None:
    (problem,) = openai_jsonl.parse('{"role":"user","content":' + "9" * 5000 + "}").problems
    assert problem.message.startswith("not readable: ")
