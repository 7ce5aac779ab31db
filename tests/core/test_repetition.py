"""Whether a text runs away in repetition."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.core.digest import digest
from lithify.core.repetition import LEAST_CHARACTERS, runs_away
from tests.support.samples import sample, sample_paths

ROOT = Path(__file__).resolve().parents[2]
PROSE = (
    "The buffer keeps one line for each event, and a summary stands for those it covers. Appending takes the lock for "
    "a moment; a reader that meets a torn line passes over it with a warning. Extraction works in batches under a "
    "token budget, and what was extracted leaves the file in one step. When the model fails three times in a row the "
    "breaker opens, and after five minutes one run may try again. "
)
CHINESE = (
    "缓冲区为每个事件保留一行，摘要则代表它所涵盖的那些事件。追加时只短暂持有锁；读取者遇到残缺的行会发出警告并跳过。"
    "提取按照令牌预算分批进行，提取完成的内容一次性离开文件。模型连续失败三次后断路器打开，五分钟后允许再试一次。"
    "我们决定使用旁路锁文件，因为重命名数据文件会让其他进程持有旧的句柄，测得百分之十以上的事件会丢失。"
    "迁移在事务中执行，较新的数据库会被拒绝并给出明确的信息。所有时间戳按时刻比较，而不是按文字比较。"
    "项目的测试用一条命令运行，类型检查使用严格模式，提交之前还要运行格式化工具。"
)


# Ordinary text


@pytest.mark.parametrize("text", [PROSE, PROSE * 2, CHINESE, CHINESE * 2, f"{PROSE}\n{CHINESE}"])
def test_prose_does_not_run_away_even_where_it_is_said_twice(text: str) -> None:
    assert not runs_away(text)


@pytest.mark.parametrize("path", sorted((ROOT / "prompts").glob("*.md")), ids=lambda path: path.name)
def test_our_own_prompts_do_not_run_away(path: Path) -> None:
    assert not runs_away(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", sample_paths(), ids=lambda path: path.name)
def test_the_summary_of_a_real_transcript_does_not_run_away(path: Path) -> None:
    assert not runs_away(digest(sample(path), 8000))


def test_a_list_of_files_under_one_folder_does_not_run_away() -> None:
    names = ["entries", "observations", "eviction", "markup", "records", "breaker", "pipeline", "thresholds"]
    assert not runs_away("\n".join(f"- read /home/dev/project/server/lithify/core/{name}.py" for name in names * 2))


def test_a_list_of_like_bullets_does_not_run_away() -> None:
    lines = [f"- `pytest tests/test_{number}.py`: {number * 3} passed in {number}.2s" for number in range(80)]
    assert not runs_away("\n".join(lines))


def test_a_table_does_not_run_away() -> None:
    rows = [f"| setting{number} | yes | {number * 7} | machine | see docs |" for number in range(60)]
    assert not runs_away("| name | on | default | scope | more |\n|---|---|---|---|---|\n" + "\n".join(rows))


def test_code_does_not_run_away() -> None:
    assert not runs_away((ROOT / "server/lithify/core/eviction.py").read_text(encoding="utf-8"))


def test_a_ruler_at_the_end_is_no_loop() -> None:
    assert not runs_away(PROSE + "\n" + "=" * 600)


@pytest.mark.parametrize("text", ["", "the " * 90, "x" * 5000, "长" * 5000, "\n" * 900, " " * 900])
def test_a_short_or_empty_text_does_not_run_away(text: str) -> None:
    assert not runs_away(text)


# Runaway text


@pytest.mark.parametrize(
    "unit",
    [
        "the ",
        "I fixed the bug. ",
        "- The tests pass now.\n",
        "我们修复了这个问题。",
        "也是如此",
        "テストは成功しました。",
        "ทดสอบผ่านแล้ว",
        "오류를 수정했습니다. ",
        "haha",
        "again ",
        "<fact>same</fact>",
        PROSE[:180],
    ],
)
def test_one_unit_again_and_again_runs_away(unit: str) -> None:
    assert runs_away(unit * (2 * LEAST_CHARACTERS // len(unit) + 4))


@pytest.mark.parametrize("start", [PROSE, CHINESE])
@pytest.mark.parametrize("unit", ["and so on ", "等等，", "The breaker opens, and the run may try again. "])
def test_good_text_that_ends_in_a_loop_runs_away(start: str, unit: str) -> None:
    assert runs_away(start + unit * (600 // len(unit)))


def test_a_loop_that_is_cut_off_in_its_unit_runs_away() -> None:
    assert runs_away(PROSE + ("the tests pass and the build is green, " * 20)[:-17])


def test_the_same_few_lines_in_changing_order_run_away() -> None:
    lines = ["The build is green now.", "The tests pass as well.", "Nothing is left to do."]
    assert runs_away("\n".join(lines[number * number % 3] for number in range(60)))


def test_a_paragraph_three_times_over_runs_away() -> None:
    assert runs_away(PROSE * 4)


@pytest.mark.parametrize(
    "line",
    ["- [Action Item {0}]\n\n", "[{0}. Removed: Code evolution]\n\n", "## Case {0}\n", "{0}. The tests pass now.\n"],
)
def test_a_list_that_only_counts_runs_away(line: str) -> None:
    assert runs_away("".join(line.format(number) for number in range(1, 60)))


def test_a_short_list_that_only_counts_does_not_run_away() -> None:
    lines = [f"- Moved shard {number} of the users to the new schema; the counts agree." for number in range(1, 9)]
    assert not runs_away("\n".join(lines))


def test_a_list_whose_lines_count_and_measure_does_not_run_away() -> None:
    lines = [f"- Moved shard {number}: {number * 7919 % 1000} rows." for number in range(1, 60)]
    assert not runs_away("\n".join(lines))


@pytest.mark.parametrize("path", sorted((ROOT / "tests/data/small_model").glob("*.txt")), ids=lambda path: path.stem)
def test_what_a_small_model_says_in_circles_runs_away(path: Path) -> None:
    assert runs_away(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", sorted((ROOT / "docs").glob("*.md")), ids=lambda path: path.name)
def test_no_part_of_a_document_runs_away(path: Path) -> None:
    """But for listings of JSON, in which like records may follow each other as they do in an answer that went wrong."""
    text = re.sub(r"```json\n.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert [text[at : at + 1500] for at in range(0, len(text), 1500) if runs_away(text[at : at + 1500])] == []


@given(st.text("#0123456789\n ab", max_size=900))
def test_no_list_of_numbers_is_an_error(text: str) -> None:
    runs_away(text)


@given(st.text(max_size=300), st.integers(1, 5))
def test_no_text_is_an_error(text: str, times: int) -> None:
    runs_away(text * times)
