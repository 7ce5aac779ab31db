"""A summary that is written into an open document while its user types: what is typed outside of the range is kept, the
compaction is made, and it can be undone."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from lithify.core.document_compactions import DocumentCompaction
from lithify.core.outcomes import LithifyError
from lithify.workers.document_writing import DocumentDraft
from tests.support.claude_code_session import Session
from tests.support.document_bench import DocumentBench, summarised
from tests.support.messages import user
from tests.support.transcripts import json_lines
from tests.support.typing_editor import TypingEditor

URI = "untitled:chat"
TYPED = "\u00a7"
"""A letter that is in none of the texts."""
LINES = json_lines([user(f"question {number}") for number in range(6)])


def session() -> str:
    made = Session()
    for number in range(3):
        made.user(f"question {number}")
        made.assistant(f"answer {number}")
    return made.text()


SESSION = session()


class Workplace:
    """A document that is open, what compacts it, and a user who types a letter at each step between the two."""

    def __init__(self, data_dir: Path, text: str) -> None:
        self.editor = TypingEditor(URI, text)
        self.bench = DocumentBench(data_dir, desk=self.editor.desk)
        self.bench.broken = self._type
        self.lines: list[int] = []

    def draft(self, start: int, end: int) -> DocumentDraft:
        found = asyncio.run(self.bench.places.find(URI))
        done = summarised(found.reading.outline.conversation, end, "summary", start)
        return DocumentDraft("draft", found, exact=False, summarised=done, label="Compact")

    def compact(self, start: int, end: int, *lines: int) -> None:
        """Compacts a range of messages, while somebody types in what is said in these lines."""
        draft = self.draft(start, end)
        self.lines = list(lines)
        asyncio.run(self.bench.writer.apply(draft))
        self.lines = []

    @property
    def text(self) -> str:
        return self.editor.document.text

    @property
    def kept(self) -> DocumentCompaction:
        (kept,) = asyncio.run(self.bench.records.of_document(URI))
        return kept

    def _type(self) -> None:
        """Before each job of the data folder, until the edit is asked for."""
        for line in self.lines if not self.editor.sent else ():
            told = self.text.splitlines()[line]
            self.editor.type(line, max(told.find("question"), told.find("answer")), TYPED)


def is_noted_as_it_stands(work: Workplace) -> bool:
    kept, text = work.kept, work.text
    return kept.length == len(text) and all(text.startswith(one.inserted, one.offset) for one in kept.changes)


@pytest.mark.parametrize("lines", [(0,), (5,), (0, 5)], ids=["in front", "behind", "on both sides"])
def test_a_range_is_compacted_at_the_first_attempt_whatever_is_typed_elsewhere(
    tmp_path: Path, lines: tuple[int, ...]
) -> None:
    work = Workplace(tmp_path, LINES)
    work.editor.types_when_asked = [(line, 27, TYPED) for line in lines]
    work.compact(1, 4, *lines)
    front, summary, *tail = work.text.splitlines(keepends=True)
    assert ("summary" in summary, len(tail)) == (True, 2)
    assert front.replace(TYPED, "") == LINES.splitlines(keepends=True)[0]
    assert "".join(tail).replace(TYPED, "") == "".join(LINES.splitlines(keepends=True)[4:])
    assert work.text.count(TYPED) == len(lines) * 2
    assert len(work.editor.sent) == 1 + len(lines)
    assert is_noted_as_it_stands(work)
    asyncio.run(work.bench.undoer.undo(URI, None))
    assert (work.text.replace(TYPED, ""), work.text.count(TYPED)) == (LINES, len(lines) * 2)


def test_records_are_appended_to_a_session_whatever_is_typed_elsewhere(tmp_path: Path) -> None:
    work = Workplace(tmp_path, SESSION)
    work.compact(0, 4, 4, 5)
    assert work.text.count(TYPED) == 2
    assert work.text.replace(TYPED, "").startswith(SESSION)
    assert is_noted_as_it_stands(work)
    asyncio.run(work.bench.undoer.undo(URI, None))
    assert work.text.replace(TYPED, "") == SESSION


@pytest.mark.parametrize(("text", "start"), [(LINES, 1), (SESSION, 0)], ids=["replaced", "appended"])
def test_what_is_typed_in_the_range_leaves_the_document_alone(tmp_path: Path, text: str, start: int) -> None:
    work = Workplace(tmp_path, text)
    with pytest.raises(LithifyError) as raised:
        work.compact(start, 4, 2)
    assert raised.value.type == "stale"
    assert (work.text.replace(TYPED, ""), work.editor.sent) == (text, [])
