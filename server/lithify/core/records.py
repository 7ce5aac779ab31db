"""Memory records: what was learned from events, as a model drafts it and as it is kept."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

RecordType: TypeAlias = Literal["tool_use", "decision", "error", "discovery", "pattern", "session_summary"]
RECORD_TYPES: tuple[RecordType, ...] = ("tool_use", "decision", "error", "discovery", "pattern", "session_summary")

MAX_TITLE, MAX_SUMMARY, MAX_FACT, MAX_CONCEPT, MAX_FILE = 200, 4000, 500, 100, 500
"""Characters; longer text is cut, not refused (wire contract, section 9)."""

SIMILARITY = 0.8
"""Records whose words overlap at least so much (Jaccard, over title, summary and facts) say the same thing."""

_WORD = re.compile(r"[\u0e00-\u0eff\u3040-\u9fff]+|[^\W\u0e00-\u0eff\u3040-\u9fff]+")
_CHARACTER = re.compile(r"[\u0e00-\u0eff\u3040-\u9fff]")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u3040-\u9fff]{3,}")


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
    """What two records share that are certainly about the same: type, and title without case and punctuation."""
    return f"{record_type}:{' '.join(_WORD.findall(title.casefold())) or title.strip()}"


def words(title: str, summary: str, facts: Iterable[str]) -> frozenset[str]:
    """The distinct words of a record, without case; where a script sets no spaces, each two neighbouring characters."""
    found = set(_WORD.findall(" ".join((title, summary, *facts)).casefold()))
    for run in [word for word in found if _UNSPACED.fullmatch(word)]:
        found.remove(run)
        found.update(run[index : index + 2] for index in range(len(run) - 1))
    return frozenset(found)


def searchable(text: str) -> str:
    """The text with a blank around every character of scripts that put none between words: each can be found then, and
    a run of them as a phrase."""
    return text if text.isascii() else _CHARACTER.sub(r" \g<0> ", text)


def search_words(query: str) -> list[str]:
    """The words of a query in lower case, each once; a run of an unspaced script is one, its characters apart."""
    return list(dict.fromkeys(" ".join(searchable(word.lower()).split()) for word in _WORD.findall(query)))


def similarity(one: frozenset[str], other: frozenset[str]) -> float:
    """Shared words over all words (Jaccard), 0 to 1."""
    return len(one & other) / len(one | other) if one or other else 1.0


def merged(*lists: Iterable[str], ignore_case: bool = True) -> tuple[str, ...]:
    """The items of several lists, each once, in order and as it is first spelled; white space makes no difference,
    nor does case unless it is told to: names of files differ by it."""
    found: dict[str, str] = {}
    for items in lists:
        for item in items:
            key = " ".join(item.split())
            found.setdefault(key.casefold() if ignore_case else key, item)
    return tuple(found.values())
