"""Which words of a question are worth a look in the index, and what the others add to a record's score.

A question holds words that nearly every record holds. To rank all of those takes time that grows with what is stored,
and they decide little. So the rarest words find the candidates, and the others are counted in these alone.
Source of the score: BM25 as SQLite's full-text index computes it, https://www.sqlite.org/fts5.html#the_bm25_function.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Mapping, Sequence

from lithify.core.records import searchable

WEIGHTS = (5.0, 2.0, 2.0, 3.0, 3.0)
"""What a hit in title, summary, facts, concepts and files counts for."""

_SATURATION, _LENGTH_SHARE, _LEAST_WEIGHT = 1.2, 0.75, 1e-6

_TOKEN = re.compile(r"[^\W_]+")


def telling(shares: Mapping[str, float], records: int, most: int) -> list[str]:
    """The rarest words, as many as stand in `most` records together at most; at least one that stands in any.
    `shares`: the part of the records that holds a word, about."""
    chosen: list[str] = []
    found = 0.0
    for word in sorted(shares, key=shares.__getitem__):
        more = shares[word] * records
        if found and found + more > most:
            break
        found += more
        chosen.append(word)
    return chosen


def added_scores(records: Sequence[Sequence[str]], shares: Mapping[str, float]) -> list[float]:
    """What words add to the score of each record, given by its columns in the order of `WEIGHTS`."""
    columns = [[_tokens(text) for text in record] for record in records]
    lengths = [sum(text.count(" ") // 2 for text in record) for record in columns]
    usual = max(sum(lengths) / max(len(lengths), 1), 1.0)
    worth = {
        found: max(math.log((1 - share) / max(share, 1e-9)), _LEAST_WEIGHT)
        for word, share in shares.items()
        if share < 1 and (found := _tokens(word))
    }
    scores = []
    for record, length in zip(columns, lengths, strict=True):
        damping = _SATURATION * (1 - _LENGTH_SHARE + _LENGTH_SHARE * length / usual)
        hits = {
            word: sum(weight * text.count(word) for weight, text in zip(WEIGHTS, record, strict=True)) for word in worth
        }
        scores.append(sum(worth[word] * hit * (_SATURATION + 1) / (hit + damping) for word, hit in hits.items() if hit))
    return scores


def _tokens(text: str) -> str:
    """The words of a text as the index has them, each between two blanks of its own."""
    plain = searchable(text).lower()
    if not plain.isascii():
        plain = "".join(one for one in unicodedata.normalize("NFD", plain) if unicodedata.category(one) != "Mn")
    return "".join(f" {token} " for token in _TOKEN.findall(plain))
