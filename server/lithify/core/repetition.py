"""Whether a text runs away in repetition, as the answers of weak models do."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise

LEAST_CHARACTERS = 400
SHARE = 0.6
WINDOW_WORDS = 8

_WORD = r"[\u0e00-\u0eff\u3040-\u9fff]{1,2}|[^\s\u0e00-\u0eff\u3040-\u9fff]{1,20}"
"""A word, or a piece of one where a script sets no spaces; compiled on first use: this takes 5 ms."""
_RUN = re.compile(r"(.)\1{19,}", re.DOTALL)
_LEAST_PIECES = 6
_LONGEST_LOOP = 240
_LEAST_ROUNDS = 5

_PHRASE_WORDS, _OFTEN, _OFTEN_SHARE = 5, 4, 0.45
"""Answers of a small model that turned phrases over scored 0.42 to 0.97; prose, documents and even code stayed below
0.26, where they are not short."""
_LEAST_FOR_PHRASES = 1200

_NUMBER = re.compile(r"\d{1,9}")
_LEAST_COUNTED = 12


def runs_away(text: str) -> bool:
    """Whether most of a longer text is the same few lines or the same runs of words again and again, lines that only
    count, or few phrases turned over and over, or it ends in a loop. Something said twice is no runaway, nor is one
    character, as in a ruler.

    Words alone count, so give it an answer's text without its markup.
    """
    text = _RUN.sub(r"\1", text.strip())
    if len(text) < LEAST_CHARACTERS:
        return False
    return (
        _repeats(_lines(text))
        or _repeats(windows(text))
        or _turns_over_phrases(text)
        or _only_counts(text)
        or _ends_in_loop(text)
    )


def windows(text: str) -> list[str]:
    """Every run of eight words of a text, in order."""
    return _runs_of_words(text, WINDOW_WORDS)


def _runs_of_words(text: str, length: int) -> list[str]:
    words = re.findall(_WORD, text)
    return [" ".join(words[index : index + length]) for index in range(len(words) - length + 1)]


def _repeats(pieces: list[str]) -> bool:
    if len(pieces) < _LEAST_PIECES:
        return False
    again = sum(count - 1 for count in Counter(pieces).values())
    return again / len(pieces) >= SHARE


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if len(line.strip()) > 12]


def _turns_over_phrases(text: str) -> bool:
    """Whether nearly half of it is phrases that stand there four times or more: a loop that varies."""
    if len(text) < _LEAST_FOR_PHRASES:
        return False
    counts = Counter(_runs_of_words(text, _PHRASE_WORDS)).values()
    return sum(count for count in counts if count >= _OFTEN) > _OFTEN_SHARE * sum(counts)


def _only_counts(text: str) -> bool:
    """Whether most lines, a dozen at least, say what the line before says, save for one number that goes up by one."""
    lines = [line for line in map(str.strip, text.splitlines()) if line]
    counted = sum(_counts_on(before, line) for before, line in pairwise(lines))
    return counted >= _LEAST_COUNTED and counted >= SHARE * len(lines)


def _counts_on(before: str, line: str) -> bool:
    if _NUMBER.sub("#", before) != _NUMBER.sub("#", line):
        return False
    numbers = zip(_NUMBER.findall(before), _NUMBER.findall(line), strict=False)
    return [step for then, now in numbers if (step := int(now) - int(then))] == [1]


def _ends_in_loop(text: str) -> bool:
    """Whether the end is one unit of letters, five times or more and at least 400 characters of it."""
    for period in range(1, _LONGEST_LOOP + 1):
        if text[-1] != text[-1 - period]:
            continue
        length = max(LEAST_CHARACTERS, period * _LEAST_ROUNDS)
        if length > len(text):
            return False
        tail = text[-length:]
        if tail[period:] == tail[:-period]:
            return any(character.isalpha() for character in tail[:period])
    return False
