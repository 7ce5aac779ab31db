"""Memory records in the database, and the full-text index over them.

Methods that write work inside the caller's transaction, so that records and the marks on their events are one step.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from lithify.core.ranking import WEIGHTS, added_scores, telling
from lithify.core.records import (
    MAX_FACT,
    SIMILARITY,
    MemoryRecord,
    RecordDraft,
    exact_key,
    merged,
    said,
    search_words,
    searchable,
    similarity,
    spaced,
)
from lithify.core.stored_json import storable_json
from lithify.storage.database import sound_text

MAX_QUERY_WORDS = 32
MAX_FACTS = 100
"""Facts, concepts and files a record holds at most after merges; the newest stay."""

CANDIDATES = 20
"""Records looked at when a near-duplicate of a new one is searched for."""

MOST_RANKED = 160_000
"""Records that one search ranks by the index, about."""

SAMPLED = 5_000
"""So many of the newest records tell how common a word is."""

RANKED_AGAIN = 500
"""The best of what the rarest words find, in which the common words of a question are counted too."""

_SCORE = f"-bm25(memory_index, {', '.join(map(str, WEIGHTS))})"

INDEXED_AS = 2
"""How a record is indexed now, kept with it as `schema_version`. Earlier ones (1) are in the index as they were
spelled, and can only be taken out of it like that."""

_INDEXED = ", ".join(
    f"searchable({column}, schema_version)" for column in ("title", "summary", "facts", "concepts", "files")
)
_COLUMNS = "r.record_id, r.project_id, r.type, r.title, r.summary, r.facts, r.concepts, r.files, r.created_at, r.method"


class MemoryStore:
    """The memory records of one data folder."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        connection.create_function("searchable", 2, _indexed, deterministic=True)

    def keep(self, project_id: str, draft: RecordDraft, new_id: str, created_at: str, method: str) -> str:
        """Keeps a draft: as a new record, or merged into one that says the same; the id of the record.

        The same means: equal type, and a title that is equal (see `exact_key`), or title and summary that say the same
        (see `similarity`).
        """
        draft = replace(draft, title=sound_text(draft.title), summary=sound_text(draft.summary))
        same = self._same(project_id, draft)
        if same is None:
            self._insert(project_id, draft, new_id, created_at, method)
            record_id = new_id
        else:
            self._merge(same, draft, created_at)
            record_id = same.record_id
        self._connection.executemany(
            "INSERT INTO record_events (record_id, event_id) VALUES (?, ?) ON CONFLICT DO NOTHING",
            [(record_id, event_id) for event_id in draft.source_event_ids],
        )
        return record_id

    def find(self, record_id: str) -> MemoryRecord | None:
        """A record; None when there is none of that id."""
        return next(self._read("WHERE r.record_id = ?", (record_id,)), None)

    def search(self, project_id: str | None, query: str, limit: int) -> list[MemoryRecord]:
        """Records of a project that hold words of the query, the best first. Any text is a query.

        The time stays bounded however many records there are: then the rarest words find the records, and the common
        ones only help to put these in order.
        """
        words = search_words(query)[:MAX_QUERY_WORDS]
        if not words:
            return []
        (records,) = self._connection.execute("SELECT coalesce(max(number), 0) FROM memory_records").fetchone()
        if records * len(words) <= MOST_RANKED:
            return self._read_scored(self._ranked(project_id, words, limit))
        shares = {word: self._share(word, records) for word in words}
        chosen = telling(shares, records, MOST_RANKED)
        others = {word: share for word, share in shares.items() if word not in chosen}
        found = self._ranked(project_id, chosen, max(limit, RANKED_AGAIN) if others else limit)
        if others and len(found) < limit:  # too few hold a rare word; the rest is filled up with others
            return self._read_scored(self._ranked(project_id, words, limit))
        return self._read_scored(self._ranked_again(found, others)[:limit])

    def recent(self, project_id: str | None, limit: int, before: int | None) -> list[tuple[int, MemoryRecord]]:
        """Records, the newest first, with the number to go on after."""
        rows = self._connection.execute(
            f"SELECT r.number, {_COLUMNS} FROM memory_records r"
            " WHERE (:project IS NULL OR r.project_id = :project) AND (:before IS NULL OR r.number < :before)"
            " ORDER BY r.number DESC LIMIT :limit",
            {"project": project_id, "before": before, "limit": limit},
        ).fetchall()
        return [(row[0], self._record(row[1:])) for row in rows]

    def forget(self, record_id: str) -> bool:
        """Deletes a record, also from the index; whether there was one. Its events stay in the event log."""
        if not self._unindex(record_id):
            return False
        self._connection.execute("DELETE FROM record_events WHERE record_id = ?", (record_id,))
        self._connection.execute("DELETE FROM memory_records WHERE record_id = ?", (record_id,))
        return True

    def purge_index(self) -> None:
        """Takes what was deleted out of the index's own pages and out of the write-ahead log as well; outside of a
        transaction. The bytes are gone when nobody reads the database at this moment, else with a later call."""
        self._connection.execute("INSERT INTO memory_index (memory_index) VALUES ('optimize')")
        self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def _share(self, word: str, newest: int) -> float:
        """The part of the newest records that holds a word."""
        oldest = max(newest - SAMPLED, 0)
        (count,) = self._connection.execute(
            "SELECT count(*) FROM memory_index WHERE memory_index MATCH ? AND rowid > ?", (_any_of([word]), oldest)
        ).fetchone()
        return float(count) / (newest - oldest)

    def _ranked(self, project_id: str | None, words: Sequence[str], limit: int) -> list[tuple[int, float]]:
        """Numbers and scores of the records that hold any of the words, the best first, the newer one on a tie."""
        return self._connection.execute(
            f"SELECT rowid, {_SCORE} AS score FROM memory_index WHERE memory_index MATCH :match"
            " AND (:project IS NULL OR EXISTS (SELECT 1 FROM memory_records r"
            " INDEXED BY memory_records_of_project"  # it holds all that is asked; the rows are long
            " WHERE r.project_id = :project AND r.number = memory_index.rowid))"
            " ORDER BY score DESC, rowid DESC LIMIT :limit",
            {"match": _any_of(words), "project": project_id, "limit": limit},
        ).fetchall()

    def _ranked_again(self, found: Sequence[tuple[int, float]], others: dict[str, float]) -> list[tuple[int, float]]:
        """The same records once further words, with their shares, are counted in them."""
        if not others:
            return list(found)
        texts = self._by_number("title, summary, facts, concepts, files", [number for number, _ in found])
        added = added_scores([texts[number] for number, _ in found], others)
        scored = [(number, score + more) for (number, score), more in zip(found, added, strict=True)]
        return sorted(scored, key=lambda pair: (-pair[1], -pair[0]))

    def _read_scored(self, found: Sequence[tuple[int, float]]) -> list[MemoryRecord]:
        rows = self._by_number(_COLUMNS, [number for number, _ in found])
        return [self._record(rows[number], score) for number, score in found]

    def _by_number(self, columns: str, numbers: Sequence[int]) -> dict[int, Sequence[Any]]:
        rows = self._connection.execute(
            f"SELECT r.number, {columns} FROM memory_records r WHERE r.number IN (SELECT value FROM json_each(?))",
            (storable_json(numbers),),
        )
        return {row[0]: row[1:] for row in rows}

    def _same(self, project_id: str, draft: RecordDraft) -> MemoryRecord | None:
        key = exact_key(draft.type, draft.title)
        for one in self._read("WHERE r.project_id = ? AND r.exact_key = ?", (project_id, key)):
            if exact_key(one.type, one.title) == key:  # not so where the key was made when it folded signs as well
                return one
        ours = said(draft.title, draft.summary)
        hits = [one for one in self.search(project_id, draft.title, CANDIDATES) if one.type == draft.type]
        equal = (one for one in hits if exact_key(one.type, one.title) == key)
        alike = (one for one in hits if similarity(ours, said(one.title, one.summary)) >= SIMILARITY)
        return next(equal, None) or next(alike, None)

    def _insert(self, project_id: str, draft: RecordDraft, record_id: str, created_at: str, method: str) -> None:
        self._connection.execute(
            "INSERT INTO memory_records (record_id, number, project_id, type, exact_key, title, summary, facts,"
            " concepts, files, method, created_at, updated_at, schema_version)"
            " SELECT ?, coalesce(max(number), 0) + 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ? FROM memory_records",
            (
                record_id,
                project_id,
                draft.type,
                exact_key(draft.type, draft.title),
                draft.title,
                draft.summary,
                storable_json(draft.facts),
                storable_json(draft.concepts),
                storable_json(draft.files),
                method,
                created_at,
                created_at,
                INDEXED_AS,
            ),
        )
        self._index(record_id)

    def _index(self, record_id: str) -> None:
        self._connection.execute(
            "INSERT INTO memory_index (rowid, title, summary, facts, concepts, files)"
            f" SELECT number, {_INDEXED} FROM memory_records WHERE record_id = ?",
            (record_id,),
        )

    def _unindex(self, record_id: str) -> bool:
        """Takes a record out of the index; needs its row as it was indexed."""
        return (
            self._connection.execute(
                "INSERT INTO memory_index (memory_index, rowid, title, summary, facts, concepts, files)"
                f" SELECT 'delete', number, {_INDEXED} FROM memory_records WHERE record_id = ?",
                (record_id,),
            ).rowcount
            > 0
        )

    def _merge(self, into: MemoryRecord, draft: RecordDraft, updated_at: str) -> None:
        """The later summary holds; facts, concepts and files come together. An earlier summary that differs by more
        than case and white space stays as a fact, or as several where it is longer than one may be."""
        said_before = _pieces(into.summary) if len(merged([into.summary], [draft.summary])) > 1 else []
        facts = merged(into.facts, said_before, draft.facts)[-MAX_FACTS:]
        concepts = merged(into.concepts, draft.concepts)[-MAX_FACTS:]
        files = merged(into.files, draft.files, ignore_case=False)[-MAX_FACTS:]
        self._unindex(into.record_id)
        self._connection.execute(
            "UPDATE memory_records SET exact_key = ?, summary = ?, facts = ?, concepts = ?, files = ?, updated_at = ?,"
            " schema_version = ? WHERE record_id = ?",
            (
                exact_key(into.type, into.title),
                draft.summary,
                *map(storable_json, (facts, concepts, files)),
                updated_at,
                INDEXED_AS,
                into.record_id,
            ),
        )
        self._index(into.record_id)

    def _read(self, where: str, values: Sequence[Any]) -> Iterator[MemoryRecord]:
        rows = self._connection.execute(f"SELECT {_COLUMNS} FROM memory_records r {where}", values).fetchall()
        return iter([self._record(row) for row in rows])

    def _record(self, row: Sequence[Any], score: float | None = None) -> MemoryRecord:
        events = self._connection.execute(
            "SELECT event_id FROM record_events WHERE record_id = ? ORDER BY event_id", (row[0],)
        ).fetchall()
        facts, concepts, files = (tuple(json.loads(text)) for text in row[5:8])
        return MemoryRecord(
            record_id=row[0],
            project_id=row[1],
            type=row[2],
            title=row[3],
            summary=row[4],
            facts=facts,
            concepts=concepts,
            files=files,
            source_event_ids=tuple(event[0] for event in events),
            created_at=row[8],
            method=row[9],
            score=score,
        )


def match_expression(query: str) -> str:
    """A query as FTS5 takes it; empty where it has no words."""
    return _any_of(search_words(query)[:MAX_QUERY_WORDS])


def _any_of(words: Sequence[str]) -> str:
    """Words as FTS5 takes them: quoted and OR-ed, so that no text of a user can break the syntax."""
    return " OR ".join(f'"{word}"' for word in words)


def _indexed(text: str, version: int) -> str:
    return searchable(text) if version >= INDEXED_AS else spaced(text)


def _pieces(text: str) -> list[str]:
    """A text in pieces that are no longer than a fact, parted at blanks where there are any."""
    pieces = []
    while len(text) > MAX_FACT:
        at = max(text.rfind(" ", 0, MAX_FACT), text.rfind("\n", 0, MAX_FACT)) + 1 or MAX_FACT
        pieces.append(text[:at].strip())
        text = text[at:]
    return [*(piece for piece in pieces if piece), text.strip()]
