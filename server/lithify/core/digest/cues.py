"""Cues: phrases that make a sentence worth telling."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from lithify.core.digest.words import words

_Kind: TypeAlias = tuple[str, str]
"""Signs, and a pattern in lower case. Every text that holds the pattern holds one of the signs: a word of its own, or
characters that are no word."""

Heard: TypeAlias = tuple[str, list[bytes]]
"""A text in lower case, and its words."""


def hear(text: str) -> Heard:
    """What cues are looked for in."""
    lower = text.lower()
    return lower, words(lower)


class Cue:
    """Phrases that are alike in what they tell; `pattern` finds them.

    `whole` kinds are phrases between word boundaries, `other` kinds say themselves where they begin and end, and `wide`
    is a pattern of characters beyond ASCII.
    """

    def __init__(self, whole: Sequence[_Kind], other: Sequence[_Kind], wide: str, flags: re.RegexFlag) -> None:
        phrases = "|".join(pattern for _, pattern in whole)
        patterns = [rf"\b(?:{phrases})\b", *(pattern for _, pattern in other), wide]
        self.pattern = re.compile("|".join(patterns), flags | re.IGNORECASE)
        self._wide = re.compile(wide)
        self._by_word: dict[bytes, list[re.Pattern[str]]] = defaultdict(list)
        self._by_mark: list[tuple[str, re.Pattern[str]]] = []
        for signs, pattern in (*((signs, rf"\b(?:{pattern})\b") for signs, pattern in whole), *other):
            self._learn(signs.split(), re.compile(pattern, flags))
        self._words = frozenset(self._by_word)

    def _learn(self, signs: Iterable[str], pattern: re.Pattern[str]) -> None:
        for sign in signs:
            if sign.isalnum():
                self._by_word[sign.encode()].append(pattern)
            else:
                self._by_mark.append((sign, pattern))

    def holds(self, text: str) -> bool:
        """Whether `pattern` finds something in a text."""
        return self.stands_in(hear(text)) if text.isascii() else self.pattern.search(text) is not None

    def stands_in(self, heard: Heard) -> bool:
        """Whether a text in lower case holds it. The signs are looked for first, which is many times faster."""
        lower, said = heard
        if not self._words.isdisjoint(said):
            likely = {pattern for word in self._words.intersection(said) for pattern in self._by_word[word]}
            if any(pattern.search(lower) for pattern in likely):
                return True
        for mark, pattern in self._by_mark:
            if mark in lower and pattern.search(lower):
                return True
        return not lower.isascii() and self._wide.search(lower) is not None


_WISHES = (
    (
        "always never don dont do must should shouldn shouldnt sure ensure please only avoid without least most need",
        r"always|never|don'?t|do not|must(?: not)?|should(?: not|n'?t)?|make sure|ensure|please use|only use|"
        r"avoid|without|at least|at most|no need to",
    ),
)
_WIDE_WISHES = "不要|必須|必须|請務必|请务必|確保|确保|不能|避免"
_RULES = (
    (
        "now forward msrv supported edition only stick",
        r"from now on|going forward|msrv|minimum supported|edition \d{4}|only use|use only|stick (?:to|with)",
    ),
    ("use", r"use [^.;\n]{1,60}?,? (?:not|never|instead of|rather than)"),
    (
        "keep leave",
        r"(?:keep|leave) [^.;\n]{1,60} (?:unchanged|untouched|intact|stable|as (?:it is|is|they are|before))",
    ),
    (
        "don dont do must",
        r"(?:don'?t|do not|must not) (?:ever )?(?:touch|edit|change|modify|rename|use|remove|delete|commit|push|break)",
    ),
    (
        "+ later newer above higher up",
        r"(?:rust|python|node(?:\.?js)?|go|java|ruby|php|typescript|django|react)(?: version)? ?(?:>=|≥)? ?v?\d+"
        r"(?:\.\d+)*(?:\+| (?:or|and) (?:later|newer|above|higher|up))",
    ),
    ("least", r"at least (?:version|v\d|python|rust|node)"),
)
_OTHER_RULES = (
    (
        "always never",
        r"(?:^\W{0,8}|[,;:(–—-] ?|\b(?:please|and|but|or|you|we|must|should|to|also|then) )(?:always|never)\b",
    ),
    (">=", r">= ?\d"),
    ("+", r"\d\.\d{1,5}\+"),
)
_WIDE_RULES = "从现在|從現在|始终|始終|总是|總是|永远|永遠"

DECISION = Cue(
    (
        ("let lets", r"let'?s (?:use|go with|keep|switch|stick)"),
        ("go going", r"go(?:ing)? with"),
        (
            "decided decision instead rather because cause caused reason turns trade tradeoff opted",
            r"decided|decision|instead of|rather than|because|root cause|the reason|caused by|turns out|trade-?off|"
            r"opted",
        ),
        ("switch switched switching", r"switch(?:ed|ing)? (?:to|from)"),
        ("prefer longer rules we fix real", r"prefer|no longer|rules out|we should|to fix|the real"),
    ),
    (),
    "因為|因为|改用|決定|决定|原因",
    re.NOFLAG,
)
"""A sentence decides something, or gives a reason."""

WISH = Cue(_WISHES, (), _WIDE_WISHES, re.NOFLAG)
"""A sentence demands something."""

RULE = Cue(_RULES, _OTHER_RULES, _WIDE_RULES, re.NOFLAG)
"""A sentence says what holds from now on: always, never, use this and not that."""

DEMAND = Cue((*_WISHES, *_RULES), _OTHER_RULES, f"{_WIDE_WISHES}|{_WIDE_RULES}", re.MULTILINE)
"""A wish or a rule."""
