"""Which words of a question find the records, and what the others add: the same as the index itself would say."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing

import pytest

from lithify.core.ranking import WEIGHTS, added_scores, telling


def test_the_rarest_words_are_taken_as_long_as_they_stand_in_few_records() -> None:
    shares = {"the": 0.9, "cache": 0.02, "parser": 0.01, "file": 0.3}
    assert telling(shares, 1000, 30) == ["parser", "cache"]
    assert telling(shares, 1000, 29) == ["parser"]


def test_one_word_is_taken_however_common_it_is() -> None:
    assert telling({"the": 0.9, "of": 0.95}, 1000, 10) == ["the"]


def test_words_that_no_record_holds_do_not_count_as_the_one() -> None:
    assert telling({"the": 0.9, "zebra": 0.0}, 1000, 10) == ["zebra", "the"]


def test_scores_are_those_of_the_index() -> None:
    choose = random.Random(1)
    words = [f"w{number}" for number in range(40)]
    records = [tuple(" ".join(choose.choices(words, k=choose.randrange(1, 12))) for _ in WEIGHTS) for _ in range(2000)]
    shares = {word: sum(any(word in text.split() for text in one) for one in records) / 2000 for word in words[:3]}
    expected = scores_of_the_index(records, " OR ".join(shares))
    assert added_scores(records, shares) == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize(
    ("word", "text"),
    [("cafe", "The Café"), ("straße", "STRASSE straße"), ("日 本", "日本語"), ("token_store", "src/token_store.py")],
)
def test_a_word_is_found_in_the_spellings_that_the_index_finds(word: str, text: str) -> None:
    assert added_scores([(text, "", "", "", "")], {word: 0.1})[0] > 0


def test_a_word_without_a_letter_adds_nothing() -> None:
    assert added_scores([("a b", "", "", "", "")], {"_": 0.1}) == [0]


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_a_word_of_no_record_or_of_all_breaks_nothing(share: float) -> None:
    assert added_scores([("a b", "", "", "", "")], {"a": share})[0] >= 0


def test_no_records_have_no_scores() -> None:
    assert added_scores([], {"a": 0.5}) == []


def scores_of_the_index(records: list[tuple[str, ...]], match: str) -> list[float]:
    """What SQLite says of each record; 0 for one that it does not find."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE VIRTUAL TABLE found USING fts5 (a, b, c, d, e)")
        connection.executemany("INSERT INTO found VALUES (?, ?, ?, ?, ?)", records)
        weights = ", ".join(map(str, WEIGHTS))
        rows = dict(
            connection.execute(f"SELECT rowid, -bm25(found, {weights}) FROM found WHERE found MATCH ?", (match,))
        )
    return [rows.get(number, 0.0) for number in range(1, len(records) + 1)]
