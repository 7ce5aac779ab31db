"""Memory records: what was learned from events, as a model drafts it and as it is kept."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

RecordType: TypeAlias = Literal["tool_use", "decision", "error", "discovery", "pattern", "session_summary"]
RECORD_TYPES: tuple[RecordType, ...] = ("tool_use", "decision", "error", "discovery", "pattern", "session_summary")

MAX_TITLE, MAX_SUMMARY, MAX_FACT, MAX_CONCEPT, MAX_FILE = 200, 4000, 500, 100, 500
"""Characters; longer text is cut, not refused (wire contract, section 9)."""

SIMILARITY = 0.8
"""Records of which the shorter says at least this part of the other's words, and nothing else, say the same thing."""

_UNSPACED = "\u0e00-\u0eff\u3040-\u9fff"
"""Scripts that set no blanks between words."""

_ACCENTS = "\u0300-\u036f"
"""Accents as characters of their own: what they stand on has no character together with them."""

_WORD = rf"[{_UNSPACED}]+|(?:[^\W{_UNSPACED}]|[{_ACCENTS}])+"
_CHARACTER = rf"[{_UNSPACED}]"
"""Both are compiled on first use: this takes 10 ms."""

_PARTING = re.compile(r"[–—…。、，！？；：「」『』（）《》【】]|(?<=\w)-(?=\w)|(?<=[^\W\d])[,;](?=[^\W\d])")
"""Punctuation that parts words without a blank."""

_BEFORE, _AFTER = "\"'`(“‘«„¿¡", ".,;:!?\"'`)”’»"
"""Punctuation of sentences around a word. Within one it means something: `!=`, `.env`, `1.5`, `don't`."""

_FILLERS = frozenset({
    "a", "an", "the", "and", "also", "as", "because", "been", "be", "had", "has", "have", "is", "it", "its",
    "just", "since", "so", "that", "then", "this", "too", "very", "was", "were", "which", "are",
})  # fmt: skip
"""Words that a sentence can do without."""

_TURNING = frozenset({
    "no", "not", "nor", "never", "neither", "none", "nothing", "nobody", "nowhere", "without", "cannot", "hardly",
    "barely", "rarely", "seldom", "or", "unless", "except", "only", "if", "instead", "than", "against", "off",
    "disable", "disabled", "disables", "zero", "one", "two", "three", "four", "five", "six", "seven", "eight",
    "nine", "ten", "eleven", "twelve", "hundred", "thousand", "once", "twice", "half", "double", "nicht", "kein",
    "keine", "nie", "ohne", "ne", "pas", "jamais", "sans", "sin", "nunca", "nem", "não", "не", "нет", "без",
    "никогда", "不", "没", "沒", "未", "無", "无", "非", "别", "勿", "否", "안", "못",
})  # fmt: skip
"""Words that make another statement of one; so do numbers, signs, and names, which have a capital letter."""

_ENDINGS = ("ing", "ed", "es", "s", "e", "d")
_LEAST_STEM = 3


@dataclass(frozen=True, slots=True)
class RecordDraft:
    """A record as a model gave it, its texts cut to the limits. `source_event_ids` are original events."""

    type: RecordType
    title: str
    summary: str
    facts: tuple[str, ...] = ()
    concepts: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    source_event_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MemoryRecord:
    """A record as it is kept."""

    record_id: str
    project_id: str
    type: str
    title: str
    summary: str
    facts: tuple[str, ...]
    concepts: tuple[str, ...]
    files: tuple[str, ...]
    source_event_ids: tuple[str, ...]
    created_at: str
    method: str
    score: float | None = None


def exact_key(record_type: str, title: str) -> str:
    """What two records share that are certainly about the same: type, and title without case and the punctuation of
    sentences. Signs that mean something (`+`, `#`, `=`, `!=`, emoji) stay."""
    return f"{record_type}:{' '.join(_tokens(title)).casefold() or title.strip()}"


def said(title: str, summary: str) -> tuple[str, ...]:
    """The words that a record says it with, in order, for `similarity`: without punctuation and fillers; where a script
    sets no blanks, each character. Never empty: a text without words is one."""
    text = f"{title}\n{summary}"
    found = tuple(token for token in _tokens(searchable(text)) if token.casefold() not in _FILLERS)
    return found or (text.strip(),)


def similarity(one: Sequence[str], other: Sequence[str]) -> float:
    """How much of the longer of two texts (see `said`) the shorter says, 0 to 1.

    0 where the shorter has any word that the longer has not at that place in the order, endings aside; and where a
    word too many turns the meaning: a negation, a number, a sign, a name. So no word ever stands for another one.
    """
    shorter, longer = sorted((one, other), key=len)
    wanted = [_stem(word) for word in shorter]
    place, more = 0, []
    for word in longer:
        if place < len(wanted) and _stem(word) == wanted[place]:
            place += 1
        else:
            more.append(word)
    if place < len(wanted) or any(map(_turns, more)):
        return 0.0
    return len(shorter) / len(longer) if longer else 0.0


def searchable(text: str) -> str:
    """The text in composed characters (NFC), with a blank around every character of scripts that put none between
    words: each can be found then, and a run of them as a phrase."""
    return text if text.isascii() else spaced(unicodedata.normalize("NFC", text))


def spaced(text: str) -> str:
    """The text with those blanks alone, as records were indexed at first."""
    return text if text.isascii() else re.sub(_CHARACTER, r" \g<0> ", text)


def search_words(query: str) -> list[str]:
    """The words of a query in lower case, each once; a run of an unspaced script is one, its characters apart."""
    composed = unicodedata.normalize("NFC", query)
    return list(dict.fromkeys(" ".join(searchable(word.lower()).split()) for word in re.findall(_WORD, composed)))


def _tokens(text: str) -> list[str]:
    """What stands between blanks, without the punctuation of sentences around it."""
    parted = _PARTING.sub(" ", unicodedata.normalize("NFC", text).replace("’", "'"))
    return [token.lstrip(_BEFORE).rstrip(_AFTER) or token for token in parted.split() if token != "-"]


def _stem(word: str) -> str:
    """A word without case and the commonest endings of English."""
    folded = word.casefold()
    if folded.isascii() and folded.isalpha():
        for ending in _ENDINGS:
            stem = folded.removesuffix(ending)
            if stem != folded and len(stem) >= _LEAST_STEM and stem not in _TURNING:
                return stem
    return folded


def _turns(word: str) -> bool:
    if word.casefold() in _TURNING:
        return True
    return any(
        one.isupper() or one.isnumeric() or not (one.isalpha() or unicodedata.category(one).startswith("M"))
        for one in word
    )


def merged(*lists: Iterable[str], ignore_case: bool = True) -> tuple[str, ...]:
    """The items of several lists, each once, in order and as it is first spelled; white space makes no difference,
    nor does case unless it is told to: names of files differ by it."""
    found: dict[str, str] = {}
    for items in lists:
        for item in items:
            key = " ".join(item.split())
            found.setdefault(key.casefold() if ignore_case else key, item)
    return tuple(found.values())
