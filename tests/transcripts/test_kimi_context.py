"""kimi-cli's session file: its records are no messages, and what is written is loaded by kimi-cli."""

from __future__ import annotations

import pytest

from lithify.core.messages import estimate_tokens
from lithify.core.outcomes import LithifyError
from lithify.transcripts import kimi_context
from lithify.transcripts.model import Problem
from tests.support import kimi_loader
from tests.support.kimi_loader import KimiCrash
from tests.transcripts.rewriting import STAMP

SUMMARY = {"role": "user", "content": [{"type": "text", "text": "short"}]}
SHORT = '{"role":"user","content":[{"type":"text","text":"short"}]}\n'
SYSTEM = '{"role": "_system_prompt", "content": "Be kind."}\n'
USER, TAIL = '{"role":"user","content":"a"}\n', '{"role":"user","content":"tail"}\n'
ANSWER = '{"role":"assistant","content":"b"}\n'


def checkpoint(number: int) -> str:
    return f'{{"role": "_checkpoint", "id": {number}}}\n'


def usage(count: int) -> str:
    return f'{{"role": "_usage", "token_count": {count}}}\n'


def replaced(text: str, start: int, end: int) -> str:
    return kimi_context.write(text, kimi_context.parse(text), start, end, SUMMARY, STAMP)


def new_count(text: str) -> str:
    return usage(estimate_tokens(kimi_context.parse(text).conversation))


def test_records_of_kimi_cli_are_no_messages_and_no_problems() -> None:
    parsed = kimi_context.parse(SYSTEM + checkpoint(0) + USER + usage(7))
    assert parsed.conversation == [{"role": "user", "content": "a"}]
    assert parsed.problems == ()


def test_the_summary_stands_behind_the_system_prompt_and_the_first_checkpoint() -> None:
    text = SYSTEM + checkpoint(0) + USER + checkpoint(1) + usage(70) + ANSWER + usage(80) + checkpoint(2) + TAIL
    made = replaced(text, 0, 2)
    assert made == SYSTEM + checkpoint(0) + SHORT + checkpoint(2) + TAIL + new_count(made)


def test_a_stale_token_count_in_the_tail_is_outdone_by_a_new_one_at_the_end() -> None:
    made = replaced(SYSTEM + checkpoint(0) + USER + checkpoint(1) + TAIL + usage(90000), 0, 1)
    assert made.endswith(TAIL + usage(90000) + new_count(made))
    assert kimi_loader.load(made.encode()).token_count < 100


def test_a_session_without_a_checkpoint_gets_one() -> None:
    made = replaced(SYSTEM + USER + TAIL, 0, 1)
    assert made == SYSTEM + checkpoint(0) + SHORT + TAIL + new_count(made)


def test_checkpoints_that_all_lie_in_the_range_leave_the_first_of_them_in_front_of_the_summary() -> None:
    made = replaced(SYSTEM + USER + checkpoint(3) + ANSWER + checkpoint(4) + USER + TAIL, 0, 3)
    assert made == SYSTEM + checkpoint(3) + SHORT + TAIL + new_count(made)


def test_a_range_in_the_middle_leaves_the_records_before_it_alone() -> None:
    head = SYSTEM + checkpoint(0) + USER + checkpoint(1) + usage(5) + ANSWER
    made = replaced(head + USER + usage(9) + TAIL, 2, 3)
    assert made == head + SHORT + TAIL + new_count(made)


def test_broken_and_unknown_lines_inside_the_range_stay_behind_the_summary() -> None:
    odd = '{"role":"_later","id":1,"content":""}\nbroken\n{"role":"_usage"}\n'
    made = replaced(checkpoint(0) + USER + odd + usage(5) + ANSWER + TAIL, 0, 2)
    assert made == checkpoint(0) + SHORT + odd + TAIL + new_count(made)


@pytest.mark.parametrize("end", ["\n", ""])
@pytest.mark.parametrize("count", [1, 2], ids=["range in front", "range up to the end"])
def test_a_session_ends_in_a_line_ending_if_it_did(end: str, count: int) -> None:
    text = (checkpoint(0) + USER + TAIL).rstrip("\n")
    made = replaced(text + end, 0, count)
    assert made[len(made.rstrip("\r\n")) :] == end
    assert kimi_loader.load(made.encode()).token_count > 0


def test_windows_line_endings_are_used_for_the_new_lines_too() -> None:
    made = replaced((USER + TAIL).replace("\n", "\r\n"), 0, 1)
    assert made.count("\n") == made.count("\r\n") == 4


def test_a_control_character_in_a_string_is_read_as_kimi_cli_reads_it() -> None:
    assert kimi_context.parse('{"role":"user","content":"a\tb"}\n').conversation == [
        {"role": "user", "content": "a\tb"}
    ]


@pytest.mark.parametrize("line", ['{"role":"user"}', '{"role":"user","content":[{"type":"later"}]}'])
def test_a_message_that_ends_kimi_cli_s_load_is_named_and_goes_when_it_is_compacted(line: str) -> None:
    text = checkpoint(0) + line + "\n" + TAIL
    with pytest.raises(KimiCrash):
        kimi_loader.load(text.encode())
    (problem,) = kimi_context.parse(text).problems
    assert problem.line == 1
    assert problem.message.startswith("kimi-cli cannot load a session with this message")
    assert len(kimi_loader.load(replaced(text, 0, 1).encode()).messages) == 2


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ('{"role":"developer","content":"x"}', "not a message: kimi-cli knows no role `developer`"),
        ('{"role":"_checkpoint","id":"1"}', "not a record: _checkpoint without a proper `id`"),
        ('{"role":"_usage"}', "not a record: _usage without a proper `token_count`"),
        ('{"role":"_system_prompt","content":["x"]}', "not a record: _system_prompt without a proper `content`"),
        ("17", "not a message: no object with a role"),
        ('{"role":"user","content":"cut', "cut off in the middle"),
    ],
)
def test_a_line_that_kimi_cli_passes_over_is_a_problem(line: str, wrong: str) -> None:
    text = f"{checkpoint(0)}{line}\n{USER}"
    assert kimi_context.parse(text).problems == (Problem(1, wrong),)
    assert len(kimi_loader.load(text.encode()).skipped) == 1


def test_a_byte_order_mark_hides_the_first_record_from_kimi_cli_so_the_file_is_read_only() -> None:
    text = "\ufeff" + SYSTEM + checkpoint(0) + USER + TAIL
    assert kimi_loader.load(text.encode()).system_prompt is None
    with pytest.raises(LithifyError, match="byte order mark"):
        replaced(text, 0, 1)
