"""Sentences and their words, and the cues in them: what is found fast is what the patterns say."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lithify.core.digest import cues, sentences
from lithify.core.digest.cleaning import clean
from lithify.core.digest.words import words

PHRASES = (
    "let's use lets keep going with decided decision instead of rather than because root cause the reason caused by "
    "turns out trade-off tradeoff switched to prefer no longer rules out we should fix real shouldn't always never "
    "don't dont do not must ensure please only avoid without at least most need from now on forward msrv supported "
    "minimum edition 2021 stick use x, not y keep leave it unchanged as is ever touch rust python 3.11+ 1.70 or later "
    "and up >= 3 >=3 3.1+ version . ! \n , ( ; :"
)
PIECES = st.sampled_from(PHRASES.split(" "))
GAPS = st.sampled_from([" ", " ", " ", "", "-", "_", ". ", "\n"])
TEXTS = st.lists(st.tuples(PIECES, GAPS), max_size=12).map(lambda each: "".join(piece + gap for piece, gap in each))
CUES = st.sampled_from([cues.DECISION, cues.WISH, cues.RULE, cues.DEMAND])


@given(cue=CUES, text=st.one_of(TEXTS, TEXTS.map(str.upper), TEXTS.map(lambda text: f"{text}不要，決定")))
@settings(max_examples=500, deadline=None)
def test_a_cue_is_found_wherever_its_pattern_stands_and_nowhere_else(cue: cues.Cue, text: str) -> None:
    stands = cue.pattern.search(text) is not None
    assert cue.holds(text) == stands
    assert cue.stands_in(cues.hear(text)) == stands


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("One. Two!  Three?\nFour\n\nFive 1.5 six", ["One.", "Two!", "Three?", "Four", "Five 1.5 six"]),
        ("甲。乙！ c. d", ["甲。", "乙！", " c.", "d"]),
        ("Ends here. ", ["Ends here.", ""]),
        ("no end", ["no end"]),
    ],
)
def test_sentences_end_at_their_marks_and_at_line_breaks(text: str, parts: list[str]) -> None:
    assert sentences.split(text) == parts


def test_words_are_runs_of_ascii_letters_digits_and_underscores() -> None:
    assert words("It's a_b2, (né) \ud800x.") == [b"It", b"s", b"a_b2", b"n", b"x"]


@pytest.mark.parametrize(
    ("run", "shown"), [("a" * 39, "a" * 39), ("a" * 40, "aaaaaaaa…"), ("é" + "f" * 40, "éffffffff…")]
)
def test_a_run_of_forty_hexadecimal_digits_is_cut(run: str, shown: str) -> None:
    assert clean(f"commit {run} on main") == f"commit {shown} on main"
