"""Memory records: when two of them say the same."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.core.records import SIMILARITY, exact_key, merged, said, search_words, searchable, similarity

TEXTS = st.text(max_size=30)
WORDS = st.lists(st.sampled_from(["lock", "file", "not", "8", "Redis", "buffer"]), max_size=6)
LONG = "while the worker writes the rows of its batch into the table and nobody else waits for that lock at all"


def alike(one: str, other: str) -> bool:
    return similarity(said("", one), said("", other)) >= SIMILARITY


# The exact key


def test_case_punctuation_and_space_make_no_other_key() -> None:
    assert exact_key("error", "Build fails:  ENOSPC!") == exact_key("error", "build FAILS enospc")


def test_another_type_makes_another_key() -> None:
    assert exact_key("error", "Build fails") != exact_key("decision", "Build fails")


def test_another_word_makes_another_key() -> None:
    assert exact_key("error", "Build fails on macOS") != exact_key("error", "Build fails on Linux")


def test_titles_without_any_word_are_told_apart() -> None:
    assert exact_key("error", "???") != exact_key("error", "!!!")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("C++ build", "C# build"),
        ("C build", "C# build"),
        ("Retry if status != 200", "Retry if status == 200"),
        ("Retry if !ready", "Retry if ready"),
        ("a < b", "a > b"),
        ("Offset -1", "Offset +1"),
        ("Version 1.2", "Version 12"),
        ("Ignore .env", "Ignore env"),
        ("Type int[]", "Type int"),
        ("🚀 🚀", "🔥 🔥"),
        ("Use : to part", "Use ; to part"),
    ],
)
def test_signs_that_mean_something_make_another_key(one: str, other: str) -> None:
    assert exact_key("error", one) != exact_key("error", other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The re-run (again) fails.", "the re run again fails"),
        ("“Café” isn’t open", "'Cafe\u0301' isn't open?"),
        ("Build — it fails", "Build - it fails"),
        ("锁，文件。", "锁 文件"),
    ],
)
def test_punctuation_of_sentences_makes_no_other_key(one: str, other: str) -> None:
    assert exact_key("error", one) == exact_key("error", other)


def test_chinese_titles_are_told_apart() -> None:
    assert exact_key("decision", "使用旁路锁文件") != exact_key("decision", "使用数据库事务")


# The measure


@given(WORDS, WORDS)
def test_similarity_is_the_same_both_ways(one: list[str], other: list[str]) -> None:
    assert similarity(one, other) == similarity(other, one)


@given(WORDS, WORDS)
def test_similarity_lies_between_0_and_1(one: list[str], other: list[str]) -> None:
    assert 0 <= similarity(one, other) <= 1


@given(TEXTS, TEXTS)
def test_a_record_is_wholly_similar_to_itself(title: str, summary: str) -> None:
    assert similarity(said(title, summary), said(title, summary)) == 1


def test_similarity_is_the_part_of_the_longer_text_that_the_shorter_says() -> None:
    assert similarity(["lock", "buffer"], ["lock", "the", "whole", "buffer"]) == 0.5


def test_a_text_with_a_word_of_its_own_is_not_similar() -> None:
    assert similarity(["lock", "file"], ["lock", "row", "buffer"]) == 0


def test_no_words_at_all_are_not_similar() -> None:
    assert similarity([], []) == 0


@pytest.mark.parametrize(("one", "other"), [("🚀", "🔥"), ("...", "!!!"), ("the", "a"), ("", "a")])
def test_texts_without_words_are_similar_only_when_they_are_equal(one: str, other: str) -> None:
    assert (alike(one, one), alike(one, other)) == (True, False)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The lock file lies BESIDE the buffer.", "the lock file lies beside the buffer"),
        ("A lock file lies beside a buffer", "The lock file lies beside the buffer"),
        ("The worker locks the files and renames them", "The workers locked the file, renaming them"),
        ("Then the lock file is read-only, and it expires", "the lock file was read only; it expired"),
    ],
)
def test_case_punctuation_articles_and_endings_make_no_difference(one: str, other: str) -> None:
    assert alike(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Indent with tabs and not with spaces", "Indent with spaces and not with tabs"),
        ("The service listens on port 8080", "The service listens on port 9090"),
        ("Move it from 8080 to 9090", "Move it from 9090 to 8080"),
        ("The build fails on macOS", "The build fails on Linux"),
        ("Clear the cache before the run", "Clear the cache after the run"),
        ("Enable the cache", "Disable the cache"),
        ("The key is used", "The key is not used"),
        ("The key is used", "The key isn't used"),
        ("Retry when it fails", "Never retry when it fails"),
        ("It does note the key", "It does not the key"),
        ("The step needs the C++ compiler", "The step needs the C# compiler"),
        ("Poll while status == 200", "Poll while status != 200"),
        ("Keep logs and traces", "Keep logs or traces"),
        ("The build fails", "The build fails on Windows"),
        ("The build took long", "The build took three times long"),
        ("我们使用旁路锁文件来保存数据", "我们不使用旁路锁文件来保存数据"),
    ],
)
def test_texts_that_differ_in_what_matters_are_not_alike_however_long_they_are(one: str, other: str) -> None:
    assert not alike(f"{one} {LONG}", f"{other} {LONG}")


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


# Words of a search


@pytest.mark.parametrize("text", ["résumé", "설정", "がぎ", "x\u0304y", "İstanbul"])
def test_composed_and_decomposed_texts_are_the_same_words(text: str) -> None:
    apart = unicodedata.normalize("NFD", text)
    assert (search_words(apart), searchable(apart)) == (search_words(text), searchable(text))


def test_an_accent_without_a_character_of_its_own_parts_no_word() -> None:
    assert search_words("x\u0304y") == ["x\u0304y"]


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
