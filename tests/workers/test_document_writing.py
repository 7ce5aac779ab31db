"""Summaries written into files and undone, with an agent or a disk in the way."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lithify.core.outcomes import LithifyError
from lithify.storage.chat_files import Guard
from lithify.workers import document_writing
from tests.storage.seam import at_each_call, calls_noted, failing_from
from tests.support import claude_code_loader
from tests.support.claude_code_session import Session
from tests.support.document_bench import DocumentBench, said
from tests.support.document_chat import TEXT

ALIVE = "Claude Code (process 7) has this session open; end it there first."


@pytest.fixture
def bench(tmp_path: Path) -> DocumentBench:
    return DocumentBench(tmp_path / "data")


@pytest.fixture
def talk() -> Session:
    """A session of Claude Code: three questions and their answers."""
    made = Session()
    for number in range(3):
        made.user(f"question {number}")
        made.assistant(f"answer {number}")
    return made


@pytest.fixture
def file(tmp_path: Path, talk: Session) -> Path:
    path = tmp_path / "s1.jsonl"
    path.write_text(talk.text(), encoding="utf-8")
    return path


def holding(reason: str | None) -> Guard:
    """A guard that says that of every file."""

    @contextmanager
    def guard(path: str, format_name: str, ours: bool) -> Iterator[str | None]:
        yield reason

    return guard


def failure(work: object) -> LithifyError:
    with pytest.raises(LithifyError) as raised:
        work()  # type: ignore[operator]
    return raised.value


def tried(bench: DocumentBench, file: Path) -> LithifyError | None:
    """Why a compaction failed, if it did."""
    try:
        bench.compact(file, 4)
    except LithifyError as error:
        return error
    return None


def backups(bench: DocumentBench) -> list[Path]:
    return list(bench.data_dir.glob("backups/*/*"))


# --- an agent that has the session open -----------------------------------------------------------------------


def test_a_session_that_its_agent_has_open_is_left_alone_and_the_sentence_says_who(tmp_path: Path, file: Path) -> None:
    bench = DocumentBench(tmp_path / "data", holding(ALIVE))
    before = file.read_bytes()
    refused = failure(lambda: bench.compact(file, 4))
    assert (refused.type, refused.retryable, ALIVE in refused.message) == ("busy", True, True)
    assert (file.read_bytes(), backups(bench), bench.kept(file)) == (before, [], [])


def test_an_undo_leaves_a_session_alone_that_its_agent_has_open(
    tmp_path: Path, file: Path, bench: DocumentBench
) -> None:
    bench.compact(file, 4)
    after = file.read_bytes()
    refused = failure(lambda: DocumentBench(tmp_path / "data", holding(ALIVE)).undo(file))
    assert (refused.type, file.read_bytes()) == ("busy", after)
    bench.undo(file)


def test_whether_it_is_open_is_known_before_a_model_is_asked(tmp_path: Path, file: Path) -> None:
    bench = DocumentBench(tmp_path / "data", holding(ALIVE))

    async def check() -> None:
        await bench.places.check_free(await bench.places.find(str(file)))

    assert failure(lambda: asyncio.run(check())).type == "busy"


# --- a session that goes on -----------------------------------------------------------------------------------


def test_a_session_that_goes_on_just_before_the_write_is_planned_anew(
    bench: DocumentBench, file: Path, talk: Session
) -> None:
    writes: list[int] = []

    def agent_writes_once(_: int, name: str, arguments: tuple[object, ...]) -> None:
        if name == "write" and arguments[1] and bytes(arguments[1]).startswith(b'{"parentUuid":null') and not writes:  # type: ignore[call-overload]
            writes.append(1)
            talk.user("later")
            file.write_text(talk.text(), encoding="utf-8")

    with at_each_call(agent_writes_once):
        done = bench.compact(file, 4)
    loaded = [str(one["content"])[-12:] for one in claude_code_loader.load(file.read_text(encoding="utf-8"))]
    assert (len(loaded), loaded[-1], done.summarised.stats.messages_before) == (4, "later", 7)
    (backup,) = backups(bench)
    assert backup.read_text(encoding="utf-8") == talk.text()


def test_a_session_that_never_stops_growing_is_stale_and_keeps_nothing_of_ours(
    bench: DocumentBench, file: Path, talk: Session
) -> None:
    def agent_writes(_: int, name: str, arguments: tuple[object, ...]) -> None:
        if name == "write":
            talk.user("later")
            file.write_text(talk.text(), encoding="utf-8")

    with at_each_call(agent_writes):
        assert failure(lambda: bench.compact(file, 4)).type == "stale"
    assert file.read_text(encoding="utf-8") == talk.text()
    assert (len(talk.lines), backups(bench), bench.kept(file)) == (6 + document_writing.ATTEMPTS, [], [])


def test_a_range_that_the_agent_itself_compacted_meanwhile_is_stale(
    bench: DocumentBench, file: Path, talk: Session
) -> None:
    draft = asyncio.run(bench.draft(file, 4))
    talk.compact([])
    file.write_text(talk.text(), encoding="utf-8")
    assert failure(lambda: asyncio.run(bench.writer.apply(draft))).type == "stale"
    assert file.read_text(encoding="utf-8") == talk.text()


def test_a_session_whose_last_line_is_torn_gets_a_newline_first(bench: DocumentBench, file: Path) -> None:
    with file.open("a", encoding="utf-8") as agent:
        agent.write('{"type":"user","torn')
    before = file.read_bytes()
    bench.compact(file, 4)
    assert file.read_bytes().startswith(before + b"\n{")
    assert len(claude_code_loader.load(file.read_text(encoding="utf-8"))) == 3
    bench.undo(file)
    assert file.read_bytes() == before


# --- a disk or a data folder that fails -----------------------------------------------------------------------


@pytest.mark.parametrize("call", range(11))
def test_a_disk_that_fails_is_told_and_the_session_is_as_it_was(bench: DocumentBench, file: Path, call: int) -> None:
    before = file.read_bytes()
    with failing_from(call, 28, last=call):
        refused = tried(bench, file)
    if refused is not None:
        expected = {0: "unsupported_document", 1: "stale"}.get(call, "storage_failed")  # the first two read the file
        assert (refused.type, "No space left" in refused.message) == (expected, True)
        assert (file.read_bytes(), bench.failure(file)) == (before, "unknown_compaction")
        bench.compact(file, 4)
    assert len(said(file)) == 3


def test_where_the_data_folder_fails_the_compaction_goes_on_with_a_warning(bench: DocumentBench, file: Path) -> None:
    def broken() -> None:
        raise LithifyError("storage_failed", "the disk is full")

    bench.broken = broken
    done = bench.compact(file, 4)
    (warning,) = done.summarised.warnings
    assert (warning.code, "the disk is full" in warning.message, len(said(file))) == ("undo_unavailable", True, 3)


def test_what_was_written_without_a_last_word_can_be_undone(bench: DocumentBench, file: Path) -> None:
    before, jobs = file.read_bytes(), iter((None, "fails"))

    def broken_from_the_second_on() -> None:
        if next(jobs, None):
            raise LithifyError("storage_failed", "the disk is full")

    bench.broken = broken_from_the_second_on
    bench.compact(file, 4)
    assert [one.certain for one in bench.kept(file)] == [False]
    bench.undo(file)
    assert file.read_bytes() == before


# --- what is kept ---------------------------------------------------------------------------------------------


def test_what_is_kept_says_all_that_an_undo_needs(bench: DocumentBench, file: Path) -> None:
    before = file.read_text(encoding="utf-8")
    done = bench.compact(file, 4)
    (kept,) = bench.kept(file)
    (change,) = kept.changes
    assert (kept.compaction_id, kept.format) == (done.compaction_id, "claude-code")
    assert (kept.appended, kept.certain, kept.undone) == (True, True, False)
    assert (change.offset, change.removed) == (len(before), "")
    assert before + change.inserted == file.read_text(encoding="utf-8")
    assert kept.backup == done.backup == str(backups(bench)[0])


def test_a_link_and_the_file_behind_it_are_one_document(bench: DocumentBench, file: Path, tmp_path: Path) -> None:
    before = file.read_bytes()
    (link := tmp_path / "link.jsonl").symlink_to(file)
    assert bench.places.key(str(link)) == bench.places.key(str(file))
    bench.compact(link, 4)
    bench.undo(file)
    assert (file.read_bytes(), link.is_symlink()) == (before, True)


def test_where_no_originals_are_kept_there_is_neither_text_nor_backup(bench: DocumentBench, file: Path) -> None:
    bench.keep_originals = False
    done = bench.compact(file, 4)
    (kept,) = bench.kept(file)
    assert (done.backup, kept.kept, kept.changes, backups(bench)) == (None, False, (), [])


def test_a_compaction_that_kept_nothing_is_not_among_those_that_could_be_undone(
    bench: DocumentBench, file: Path
) -> None:
    bench.keep_originals = False
    bench.compact(file, 4)
    assert (asyncio.run(bench.undoer.known(str(file))), bench.failure(file)) == ([], "unknown_compaction")


def test_a_backup_that_cannot_be_kept_is_what_the_sentence_names(bench: DocumentBench, file: Path) -> None:
    bench.data_dir.mkdir()
    (bench.data_dir / "backups").write_text("in the way")
    before = file.read_bytes()
    with pytest.raises(LithifyError, match=r"its backup cannot be kept in the data folder, .*backups") as told:
        bench.compact(file, 4)
    assert (told.value.type, file.read_bytes()) == ("storage_failed", before)


def test_an_undone_compaction_keeps_no_text(bench: DocumentBench, file: Path) -> None:
    bench.compact(file, 4)
    bench.undo(file)
    (kept,) = bench.kept(file)
    assert (kept.undone, kept.changes) == (True, ())


def test_a_file_that_is_rewritten_is_no_append(bench: DocumentBench, tmp_path: Path) -> None:
    chat = tmp_path / "chat.jsonl"
    chat.write_text(TEXT, encoding="utf-8")
    with calls_noted() as noted:
        bench.compact(chat, 5)
    notes = [json.loads(arguments[1]) for name, arguments in noted if name == "write"]
    assert [one["name"] for note in notes for one in note] == ["chat.jsonl.bak"] * 2
    assert (chat.with_name("chat.jsonl.bak").read_text(encoding="utf-8"), backups(bench)) == (TEXT, [])
    bench.undo(chat)
    assert chat.read_text(encoding="utf-8") == TEXT


def test_the_write_of_a_session_is_one_call(bench: DocumentBench, file: Path) -> None:
    before = file.read_bytes()
    sizes: list[int] = []

    def look(_: int, name: str, arguments: tuple[object, ...]) -> None:
        if name == "write":
            sizes.append(len(bytes(arguments[1])))  # type: ignore[call-overload]

    with at_each_call(look):
        bench.compact(file, 4)
    assert sizes == [len(before), len(file.read_bytes()) - len(before)]
