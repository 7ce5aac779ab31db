"""What is kept of compactions of documents: the newest of each, the text of none that was undone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from lithify.core.document_compactions import DocumentCompaction, TextChange
from lithify.storage.document_compactions import MOST_KEPT, DocumentCompactionStore
from lithify.storage.store import open_store
from tests.support.clock import Clock

NEW = DocumentCompaction(
    compaction_id="C1",
    document="/chats/a.jsonl",
    format="openai-jsonl",
    at="2026-01-02T03:04:05.000Z",
    length=30,
    changes=(TextChange(3, "what was\r\n", "summary"), TextChange(20, "", "usage")),
    appended=False,
    kept=True,
)


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[DocumentCompactionStore]:
    store = open_store(tmp_path / "data", Clock())
    yield store.document_compactions
    store.close()


def ids(kept: DocumentCompactionStore, document: str = NEW.document) -> list[str]:
    return [one.compaction_id for one in kept.of_document(document)]


def test_what_was_begun_is_not_certain_until_it_is_settled(kept: DocumentCompactionStore) -> None:
    kept.begin(NEW)
    assert kept.of_document(NEW.document) == [NEW]
    kept.settle("C1", "a.jsonl.bak")
    assert kept.of_document(NEW.document) == [replace(NEW, certain=True, backup="a.jsonl.bak")]


def test_what_is_being_undone_is_not_certain_until_it_is_done(kept: DocumentCompactionStore) -> None:
    kept.begin(NEW)
    kept.settle("C1", None)
    kept.doubt("C1")
    assert [one.certain for one in kept.of_document(NEW.document)] == [False]
    kept.note_undone("C1", for_good=False)
    assert kept.of_document(NEW.document) == [replace(NEW, certain=True, undone=True)]
    kept.note_undone("C1", for_good=True)
    assert kept.of_document(NEW.document) == [replace(NEW, changes=(), certain=True, undone=True)]


def test_what_was_not_written_is_gone(kept: DocumentCompactionStore) -> None:
    kept.begin(NEW)
    kept.forget("C1")
    assert kept.of_document(NEW.document) == []


def test_one_that_is_begun_again_takes_its_own_place(kept: DocumentCompactionStore) -> None:
    kept.begin(NEW)
    kept.begin(replace(NEW, length=31))
    assert [one.length for one in kept.of_document(NEW.document)] == [31]


def test_the_newest_of_each_document_are_kept(kept: DocumentCompactionStore) -> None:
    kept.begin(replace(NEW, compaction_id="other", document="/chats/b.jsonl"))
    for number in range(MOST_KEPT + 3):
        kept.begin(replace(NEW, compaction_id=f"C{number}"))
    assert ids(kept) == [f"C{number}" for number in reversed(range(3, MOST_KEPT + 3))]
    assert ids(kept, "/chats/b.jsonl") == ["other"]


def test_the_newest_that_were_made_are_kept(kept: DocumentCompactionStore) -> None:
    for number in range(MOST_KEPT + 3):
        kept.begin(replace(NEW, compaction_id=f"C{number}"))
        kept.settle(f"C{number}", None)
    assert ids(kept) == [f"C{number}" for number in reversed(range(3, MOST_KEPT + 3))]


def test_attempts_that_came_to_nothing_push_out_none_that_was_made(kept: DocumentCompactionStore) -> None:
    kept.begin(replace(NEW, compaction_id="made"))
    kept.settle("made", None)
    for number in range(MOST_KEPT + 3):
        kept.begin(replace(NEW, compaction_id=f"C{number}"))
    assert ids(kept)[-1] == "made"
    assert len(ids(kept)) == MOST_KEPT + 1


@pytest.mark.parametrize("odd", ["\ud800", "\0", "\u2028", "\U0001f469\u200d\U0001f52c", '"', "\ufeff\r"])
def test_text_of_any_kind_comes_back_as_it_was(kept: DocumentCompactionStore, odd: str) -> None:
    odd_one = replace(NEW, changes=(TextChange(0, odd, odd * 3),))
    kept.begin(odd_one)
    assert kept.of_document(NEW.document) == [odd_one]
