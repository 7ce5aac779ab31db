"""Sessions of opencode, written by opencode while others write them too: nothing is said to be what it is not."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lithify.core.document_compactions import DocumentCompaction, TextChange, to_undo
from lithify.core.file_writes import Changed, FileWrite, Held, NotAsItWas, Written
from lithify.core.kimi import summary_message
from lithify.core.messages import text_of
from lithify.storage.session_files import SessionFiles
from lithify.transcripts import opencode
from tests.support import stub_opencode
from tests.transcripts.rewriting import STAMP

SUMMARY = "Why the cart is slow, \u65e5\u672c."


class Kept:
    """A session of opencode with three turns, and the files of somebody whose home that is."""

    def __init__(self, folder: Path, **more: str) -> None:
        home = folder / "home"
        self.uri = stub_opencode.keep_session(home, home / "shop")
        path = os.pathsep.join([str(stub_opencode.install(folder / "bin")), os.defpath])
        self.home, self._data = home, folder / "data"
        self._environment = {"HOME": str(home), "PATH": path}
        self.files = self.files_with()
        self.before = self.files.read(self.uri)

    def files_with(self, wrong: str = "") -> SessionFiles:
        return SessionFiles(self._data, {**self._environment, "STUB_OPENCODE": wrong})

    def compacted(self, end: int = 4) -> str:
        """Its export with the first messages compacted."""
        text = self.before.decode()
        return opencode.write(text, opencode.parse(text), 0, end, summary_message([], SUMMARY), STAMP)

    def add(self, after: str, files: SessionFiles | None = None) -> FileWrite:
        return (files or self.files).add(self.uri, self.before, after.encode(), backup_id="01")

    def said(self) -> list[str]:
        """The first words of each message that opencode would send."""
        conversation = opencode.parse(self.files.read(self.uri).decode()).conversation
        texts = [text_of(one) for one in conversation]
        return ["summary" if "compacted" in one[:60] else one.partition(":")[0] for one in texts]


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    return Kept(tmp_path)


def test_of_two_who_compact_one_session_at_once_one_does(kept: Kept) -> None:
    wanted = [kept.compacted(end) for end in (2, 4)]
    with ThreadPoolExecutor(2) as pool:
        first, second = sorted(pool.map(lambda one: kept.add(one, kept.files_with()), wanted), key=_refused)
    assert (isinstance(first, Written), isinstance(second, Changed | Held)) == (True, True)
    assert kept.said().count("summary") == 1


def test_nothing_is_added_to_a_session_that_was_turned_back_since(kept: Kept) -> None:
    turned = kept.before.replace(b'"info": {', b'"info": {"revert": {"messageID": "msg_000000000002a"},', 1)
    planned, kept.before = kept.compacted(), turned
    assert kept.add(planned) == Changed("the session went on in opencode meanwhile")
    assert "summary" not in kept.said()


def test_what_opencode_answers_while_the_summary_is_taken_up_is_no_trouble(kept: Kept) -> None:
    assert isinstance(kept.add(kept.compacted(), kept.files_with("answers")), Written)
    assert kept.said() == ["summary", "question 2", "answer 2", "question 9", "answer 9"]


def test_a_message_that_changed_below_its_summary_is_told(kept: Kept) -> None:
    with pytest.raises(NotAsItWas, match="what opencode has now is not what was meant; look at the session"):
        kept.add(kept.compacted(), kept.files_with("rewrites"))


def test_a_message_that_stands_behind_the_summary_and_is_another_one_is_told(kept: Kept) -> None:
    taken_up = kept.compacted().replace("question 2", "other 2")
    with pytest.raises(NotAsItWas):
        kept.add(taken_up)


def test_a_compaction_of_which_nobody_knows_is_found_however_opencode_orders_its_keys(kept: Kept) -> None:
    after = kept.compacted()
    old = kept.before.decode()
    start = next(at for at, (one, other) in enumerate(zip(old, after, strict=False)) if one != other)
    inserted = after[start : start + len(after) - len(old)]
    change = (TextChange(start, "", inserted),)
    doubtful = DocumentCompaction("C", kept.uri, "opencode", "", len(after), change, appended=False, kept=True)
    kept.add(after)
    assert to_undo([doubtful], None, kept.files.read(kept.uri).decode(), "It")[0] == doubtful


def _refused(one: FileWrite) -> bool:
    return not isinstance(one, Written)
