"""A record as the offline model drafts it, and how it is written down."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from lithify.core.digest.shortening import one_line, shortened
from lithify.core.entries import Entry
from lithify.core.markup import escaped
from lithify.core.memory_digest.terms import concepts, files
from lithify.core.records import MAX_CONCEPT, MAX_FILE, RecordType
from lithify.core.repetition import runs_away, windows

TITLE_BYTES, SUMMARY_BYTES, FACT_BYTES = 140, 1200, 360
MOST_FACTS, MOST_SOURCES = 8, 60


@dataclass(frozen=True, slots=True)
class Draft:
    """One record. `positions` are those of the entries it is drawn from; a higher `worth` goes in before a lower."""

    type: RecordType
    worth: float
    title: str
    summary: str
    positions: frozenset[int]
    facts: tuple[str, ...] = ()
    concepts: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


def drafted(
    type: RecordType,
    worth: float,
    title: str,
    summary: str,
    positions: Iterable[int],
    *,
    facts: Iterable[str] = (),
    named: Iterable[str] = (),
    paths: Iterable[str] = (),
) -> Draft:
    """A draft with its texts shortened, and with the names and paths that stand in them."""
    title = shortened(one_line(title), TITLE_BYTES, tail=0.0)
    summary = shortened(summary.strip() or title, SUMMARY_BYTES)
    brief = [shortened(fact, FACT_BYTES) for each in facts if (fact := one_line(each)) and fact != title]
    told = tuple(dict.fromkeys(brief))[:MOST_FACTS]
    texts = (title, summary, *told)
    return Draft(
        type,
        worth,
        title,
        summary,
        frozenset(positions),
        told,
        concepts(texts, named),
        files(texts, paths),
    )


def distinct(drafts: Iterable[Draft]) -> list[Draft]:
    """The drafts that say something, in order, without those that mostly say what another of their type, or two
    others, said before."""
    seen: Counter[str] = Counter()
    of_type: set[tuple[str, str]] = set()
    kept = []
    for draft in drafts:
        if not draft.title:
            continue
        said = {*windows(draft.summary), draft.title}
        repeated = sum(seen[each] > 1 or (draft.type, each) in of_type for each in said)
        if repeated * 2 <= len(said) and not runs_away(draft.summary):
            seen.update(said)
            of_type.update((draft.type, each) for each in said)
            kept.append(replace(draft, facts=()) if runs_away("\n".join(draft.facts)) else draft)
    return kept


def written(draft: Draft, entries: Sequence[Entry]) -> str:
    """A draft as the element a model would answer, all text escaped."""
    places = sorted(place for place in draft.positions if 0 <= place < len(entries))[-MOST_SOURCES:]
    lists = (
        _list("facts", "fact", draft.facts),
        _list("concepts", "concept", [name for name in draft.concepts if len(name) <= MAX_CONCEPT]),
        _list("files", "file", [path for path in draft.files if len(path) <= MAX_FILE]),
        _list("source_event_ids", "id", [entries[place].event_id for place in places]),
    )
    texts = (f"<title>{escaped(draft.title)}</title>", f"<summary>{escaped(draft.summary)}</summary>")
    inside = "\n".join(piece for piece in (*texts, *lists) if piece)
    return f'<memory_record type="{draft.type}">\n{inside}\n</memory_record>'


def _list(parent: str, name: str, items: Iterable[str]) -> str:
    inside = "".join(f"<{name}>{escaped(item)}</{name}>" for item in items)
    return f"<{parent}>{inside}</{parent}>" if inside else ""
