"""Memory records: when two of them say the same."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lithify.core.records import SIMILARITY, exact_key, merged, similarity, words

TEXTS = st.text(max_size=30)
WORDS = st.frozensets(st.sampled_from("abcdef"))
SAID = ("Buffer lock is a sidecar file", "The lock lies beside the buffer and is never renamed or deleted.", ())


def alike(one: str, other: str) -> bool:
    return similarity(words("", one, ()), words("", other, ())) >= SIMILARITY


# The exact key


def test_case_punctuation_and_space_make_no_other_key() -> None:
    assert exact_key("error", "Build fails:  ENOSPC!") == exact_key("error", "build FAILS enospc")


def test_another_type_makes_another_key() -> None:
    assert exact_key("error", "Build fails") != exact_key("decision", "Build fails")


def test_another_word_makes_another_key() -> None:
    assert exact_key("error", "Build fails on macOS") != exact_key("error", "Build fails on Linux")


def test_titles_without_any_word_are_told_apart() -> None:
    assert exact_key("error", "???") != exact_key("error", "!!!")


def test_chinese_titles_are_told_apart() -> None:
    assert exact_key("decision", "使用旁路锁文件") != exact_key("decision", "使用数据库事务")


# The measure


@given(WORDS, WORDS)
def test_similarity_is_the_same_both_ways(one: frozenset[str], other: frozenset[str]) -> None:
    assert similarity(one, other) == similarity(other, one)


@given(WORDS, WORDS)
def test_similarity_lies_between_0_and_1(one: frozenset[str], other: frozenset[str]) -> None:
    assert 0 <= similarity(one, other) <= 1


@given(TEXTS, TEXTS)
def test_a_record_is_wholly_similar_to_itself(title: str, summary: str) -> None:
    assert similarity(words(title, summary, ()), words(title, summary, ())) == 1


def test_similarity_is_shared_words_over_all_words() -> None:
    assert similarity(frozenset("abc"), frozenset("bcd")) == 0.5


def test_records_without_a_common_word_are_not_similar() -> None:
    assert similarity(frozenset("ab"), frozenset("cd")) == 0


def test_order_and_case_of_words_make_no_difference() -> None:
    assert words("Lock file", "beside THE buffer", ()) == words("", "The buffer: beside lock, file", ())


def test_facts_count_like_the_summary() -> None:
    assert words("a", "b", ("c d",)) == words("a", "b c d", ())


def test_the_same_matter_in_slightly_other_words_is_alike() -> None:
    assert alike(
        "pytest failed with ImportError because lithify was not installed in the venv; pip install -e . solved it",
        "pytest failed with ImportError because lithify was not installed in the venv, and pip install -e . solved it",
    )


def test_another_matter_in_like_words_is_not_alike() -> None:
    assert not alike(
        "pytest failed with ImportError because lithify was not installed in the venv",
        "ruff failed with a syntax error because the target version was wrong in pyproject",
    )


def test_chinese_text_without_spaces_has_a_measure_too() -> None:
    assert alike(
        "我们决定使用旁路锁文件，因为重命名数据文件会丢失事件。", "我们决定使用旁路锁文件，因为重命名数据文件会丢失事件"
    )


def test_chinese_text_about_something_else_is_not_alike() -> None:
    assert not alike("我们决定使用旁路锁文件，因为重命名会丢失事件。", "提取按照令牌预算分批进行，完成后离开文件。")


# Merging lists


def test_merged_lists_hold_each_item_once_in_order() -> None:
    assert merged(["b", "a"], ["a", "c"]) == ("b", "a", "c")


def test_the_first_spelling_stays() -> None:
    assert merged(["SQLite"], ["sqlite ", "SQLITE"]) == ("SQLite",)


def test_names_of_files_can_be_told_apart_by_case() -> None:
    assert merged(["README.md", "readme.md", "README.md"], ignore_case=False) == ("README.md", "readme.md")


@given(st.lists(TEXTS), st.lists(TEXTS))
def test_merging_again_changes_nothing(one: list[str], other: list[str]) -> None:
    assert merged(merged(one, other), other) == merged(one, other)
