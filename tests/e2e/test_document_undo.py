"""Compactions of documents undone: what was replaced stands again, and what was changed elsewhere stays."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from lithify.transcripts.reading import read
from tests.support import claude_code_loader
from tests.support.claude_code_session import Session
from tests.support.document_chat import CHAT, FULL, TEXT, UP_TO_HERE, summary_line
from tests.support.editor import Starter, answers, database
from tests.support.messages import user
from tests.support.raw_client import Json
from tests.support.samples import DATA
from tests.support.text_editor import EDITS, TextEditor
from tests.support.transcripts import json_lines

pytestmark = pytest.mark.asyncio(loop_scope="module")

UNDO = "lithify.undo_compaction"


def copy_of(sample: Path, file: Path) -> Path:
    """A copy of a file."""
    return Path(shutil.copy(sample, file))


def text_of(file: Path) -> str:
    """What a file holds, its line endings as they are."""
    return file.read_bytes().decode()


def names(folder: Path) -> list[str]:
    """What lies in a folder."""
    return sorted(one.name for one in folder.iterdir())


def write_behind(file: Path, text: str) -> None:
    """What another program appends to a file."""
    with file.open("a", encoding="utf-8", newline="") as opened:
        opened.write(text)


async def compacted(text_editor: TextEditor, uri: str, **argument: Any) -> str:
    """Compacts all but the last message of that chat; the compaction's id."""
    done = await text_editor.client.command(UP_TO_HERE, {"uri": uri, **(argument or {"index": 4})})
    assert done["type"] == "compacted"
    return str(done["compactionId"])


async def undone(text_editor: TextEditor, uri: str, **argument: Any) -> str:
    """Undoes a compaction; its id."""
    answer: Json = await text_editor.client.command(UNDO, {"uri": uri, **argument})
    assert answer == {"uri": uri, "compactionId": answer["compactionId"]}
    return str(answer["compactionId"])


async def refused(text_editor: TextEditor, uri: str, **argument: Any) -> tuple[str, str]:
    """Why nothing is undone: the type, and the sentence."""
    failure = await text_editor.client.command_failure(UNDO, {"uri": uri, **argument})
    assert failure.data["retryable"] is False
    return failure.type, failure.message


# --- in an open document --------------------------------------------------------------------------------------


async def test_the_undo_is_one_edit_that_names_itself(text_editor: TextEditor, uri: str) -> None:
    text_editor.open(uri, TEXT)
    made = await compacted(text_editor, uri)
    assert (await undone(text_editor, uri), text_editor.texts[uri]) == (made, TEXT)
    assert [one["label"] for one in text_editor.asked] == ["Compact up to here", "Undo compaction"]
    assert text_editor.asked[1]["edit"]["documentChanges"][0]["textDocument"] == {"uri": uri, "version": 2}


@pytest.mark.parametrize("old", ["Thanks", "user"], ids=["in the tail", "beside the summary"])
async def test_what_is_typed_elsewhere_since_is_kept(text_editor: TextEditor, uri: str, old: str) -> None:
    text_editor.open(uri, TEXT)
    await compacted(text_editor, uri)
    place = text_editor.texts[uri].rindex(old)
    text_editor.type(uri, place, place + 1, "-typed-")
    text_editor.type(uri, 0, 0, json_lines([user("in front")]))
    await undone(text_editor, uri)
    tail = json_lines(CHAT[5:])
    typed = tail[: (at := tail.rindex(old))] + "-typed-" + tail[at + 1 :]
    assert text_editor.texts[uri] == json_lines([user("in front"), *CHAT[:5]]) + typed


@pytest.mark.parametrize("old", ["nothing new", '{"role"', "user"], ids=["its text", "its beginning", "its role"])
async def test_a_summary_that_was_edited_since_is_stale(text_editor: TextEditor, uri: str, old: str) -> None:
    text_editor.open(uri, TEXT)
    made = await compacted(text_editor, uri)
    place = text_editor.texts[uri].index(old)
    text_editor.type(uri, place + 2, place + 3, "x")
    text = text_editor.texts[uri]
    failure, message = await refused(text_editor, uri)
    assert (failure, made in message, text_editor.texts[uri], len(text_editor.asked)) == ("stale", True, text, 1)


async def test_what_is_typed_while_the_edit_is_on_its_way_is_kept(text_editor: TextEditor, uri: str) -> None:
    text_editor.open(uri, TEXT)
    await compacted(text_editor, uri)

    def change_it_once() -> None:
        if len(text_editor.asked) == 2:
            text_editor.replace(uri, "Thanks", "Thank you")

    text_editor.before_edit = change_it_once
    await undone(text_editor, uri)
    assert text_editor.texts[uri] == json_lines([*CHAT[:5], user("Thank you")])


async def test_an_edit_that_the_editor_refuses_is_told_and_can_be_asked_again(
    text_editor: TextEditor, uri: str
) -> None:
    text_editor.open(uri, TEXT)
    await compacted(text_editor, uri)
    makes = text_editor.client.answerers["workspace/applyEdit"]
    text_editor.client.answerers["workspace/applyEdit"] = lambda _: {"applied": False, "failureReason": "not now"}
    failure = await text_editor.client.command_failure(UNDO, {"uri": uri})
    assert (failure.type, failure.data["retryable"], "not now" in failure.message) == ("stale", True, True)
    text_editor.client.answerers["workspace/applyEdit"] = makes
    await undone(text_editor, uri)
    assert text_editor.texts[uri] == TEXT


async def test_compactions_are_undone_the_newest_first_each_once(text_editor: TextEditor, uri: str) -> None:
    text_editor.open(uri, TEXT)
    first = await compacted(text_editor, uri, index=3)
    between = text_editor.texts[uri]
    second = await compacted(text_editor, uri, index=1)
    assert (await undone(text_editor, uri), text_editor.texts[uri]) == (second, between)
    assert (await undone(text_editor, uri), text_editor.texts[uri]) == (first, TEXT)
    assert (await refused(text_editor, uri))[0] == "unknown_compaction"


async def test_a_compaction_within_a_later_one_is_stale_and_one_beside_it_is_not(
    text_editor: TextEditor, uri: str
) -> None:
    text_editor.open(uri, TEXT)
    late = await text_editor.client.command(FULL, {"uri": uri, "start": 4, "end": 6})
    early = await compacted(text_editor, uri, index=3)
    await undone(text_editor, uri, compactionId=late["compactionId"])
    assert text_editor.texts[uri] == f"{summary_line()}\n{json_lines(CHAT[4:])}"
    over = await compacted(text_editor, uri, index=1)
    assert (await refused(text_editor, uri, compactionId=early))[0] == "stale"
    await undone(text_editor, uri, compactionId=over)
    await undone(text_editor, uri, compactionId=early)
    assert text_editor.texts[uri] == TEXT


async def test_what_was_undone_or_never_was_is_unknown(text_editor: TextEditor, uri: str) -> None:
    text_editor.open(uri, TEXT)
    made = await compacted(text_editor, uri)
    await undone(text_editor, uri)
    for compaction_id in (made, "01JZ0C4T7Q9W3N5XK2V8M6R1AB"):
        assert (await refused(text_editor, uri, compactionId=compaction_id))[0] == "unknown_compaction"


async def test_after_the_editors_own_undo_there_is_nothing_to_undo(text_editor: TextEditor, uri: str) -> None:
    text_editor.open(uri, TEXT)
    await compacted(text_editor, uri)
    compacted_text = text_editor.texts[uri]
    text_editor.type(uri, 0, len(text_editor.texts[uri]), TEXT)
    assert (await refused(text_editor, uri))[0] == "unknown_compaction"
    assert text_editor.texts[uri] == TEXT
    text_editor.type(uri, 0, len(text_editor.texts[uri]), compacted_text)
    await undone(text_editor, uri)
    assert text_editor.texts[uri] == TEXT


async def test_what_was_undone_in_an_editor_that_did_not_save_it_can_be_undone_in_the_file(
    text_editor: TextEditor, tmp_path: Path
) -> None:
    file = tmp_path / "chat.jsonl"
    file.write_text(TEXT, encoding="utf-8")
    text_editor.open(file.as_uri(), TEXT)
    await compacted(text_editor, file.as_uri())
    file.write_text(text_editor.texts[file.as_uri()], encoding="utf-8")
    await undone(text_editor, file.as_uri())
    text_editor.close(file.as_uri())
    await undone(text_editor, file.as_uri())
    assert file.read_text(encoding="utf-8") == TEXT


@pytest.mark.parametrize("uri", ["untitled:Untitled-9", "file:///nowhere/never.jsonl"])
async def test_a_document_that_is_nowhere_is_unsupported(text_editor: TextEditor, uri: str) -> None:
    assert (await refused(text_editor, uri))[0] == "unsupported_document"


async def test_a_text_that_is_no_transcript_any_more_can_still_be_undone(text_editor: TextEditor, uri: str) -> None:
    text_editor.open(uri, TEXT)
    await compacted(text_editor, uri)
    text_editor.type(uri, 0, 0, "import os\n" * 200)
    await undone(text_editor, uri)
    assert text_editor.texts[uri] == "import os\n" * 200 + TEXT


# --- another process, another setting -------------------------------------------------------------------------


async def started(start: Starter, **conversation: Any) -> TextEditor:
    """An editor on a server of its own, on the test's data folder."""
    options = {"client": {"complete": True}, "conversation": conversation}
    client = await start(options=options, capabilities=EDITS)
    client.answerers["lithify/complete"] = answers()
    return TextEditor(client)


async def test_a_later_process_undoes_what_an_earlier_one_compacted(start: Starter, uri: str, tmp_path: Path) -> None:
    file = tmp_path / "chat.jsonl"
    file.write_text(TEXT, encoding="utf-8")
    first = await started(start)
    await compacted(first, file.as_uri())
    first.open(uri, TEXT)
    await compacted(first, uri)
    await first.client.shut_down()
    second = await started(start)
    second.open(uri, first.texts[uri])
    await undone(second, uri)
    await undone(second, file.as_uri())
    assert (second.texts[uri], file.read_text(encoding="utf-8")) == (TEXT, TEXT)


async def test_where_no_originals_are_kept_the_sentence_says_why(start: Starter, uri: str) -> None:
    text_editor = await started(start, keepOriginals=False)
    text_editor.open(uri, TEXT)
    await compacted(text_editor, uri)
    text = text_editor.texts[uri]
    failure, message = await refused(text_editor, uri)
    assert (failure, "conversation.keepOriginals" in message) == ("unknown_compaction", True)
    assert text_editor.texts[uri] == text
    with database(text_editor.client.data_dir) as connection:
        assert "Fix the" not in "\n".join(connection.iterdump())


async def test_of_each_document_the_newest_compactions_are_kept(start: Starter, uri: str) -> None:
    text_editor = await started(start)
    text_editor.open(uri, json_lines([user(f"question {number} " * 20) for number in range(20)]))
    for _ in range(18):
        await compacted(text_editor, uri, index=1)
    for _ in range(16):
        await undone(text_editor, uri)
    assert (await refused(text_editor, uri))[0] == "unknown_compaction"


# --- in a file ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mark", ["", "\ufeff"], ids=["no mark", "BOM"])
@pytest.mark.parametrize("ending", ["\n", "\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize("ended", [True, False], ids=["ended", "not ended"])
async def test_a_file_is_again_what_it_was_byte_for_byte(
    text_editor: TextEditor, tmp_path: Path, mark: str, ending: str, ended: bool
) -> None:
    file = tmp_path / "chat.jsonl"
    before = (mark + json_lines(CHAT, ending, ended=ended)).encode()
    file.write_bytes(before)
    await compacted(text_editor, file.as_uri())
    after = file.read_bytes()
    await undone(text_editor, file.as_uri())
    assert (file.read_bytes(), text_editor.asked) == (before, [])
    assert file.with_name("chat.jsonl.bak.1").read_bytes() == after


SAMPLES = [
    path
    for path in sorted((DATA / "transcripts").rglob("*"))
    if path.is_file()
    and (reading := read(path.read_bytes().decode(), path.name)) is not None
    and reading.transcript.writable
]


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
async def test_a_session_of_any_agent_is_again_what_it_was(
    text_editor: TextEditor, tmp_path: Path, sample: Path
) -> None:
    file = copy_of(sample, tmp_path / sample.name)
    before = file.read_bytes()
    await text_editor.client.command(FULL, {"uri": file.as_uri()})
    assert file.read_bytes() != before
    await undone(text_editor, file.as_uri())
    assert file.read_bytes() == before


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
async def test_an_open_session_of_any_agent_is_again_what_it_was(text_editor: TextEditor, sample: Path) -> None:
    uri, text = sample.as_uri(), text_of(sample)
    text_editor.open(uri, text)
    await text_editor.client.command(FULL, {"uri": uri})
    assert text_editor.texts[uri] != text
    await undone(text_editor, uri)
    assert text_editor.texts[uri] == text


async def test_what_another_program_wrote_elsewhere_since_is_kept(text_editor: TextEditor, tmp_path: Path) -> None:
    file = tmp_path / "chat.jsonl"
    file.write_text(TEXT, encoding="utf-8")
    await compacted(text_editor, file.as_uri())
    file.write_text(file.read_text(encoding="utf-8") + json_lines([user("more")]), encoding="utf-8")
    await undone(text_editor, file.as_uri())
    assert file.read_text(encoding="utf-8") == TEXT + json_lines([user("more")])


async def test_what_kimi_wrote_since_is_kept(text_editor: TextEditor, tmp_path: Path) -> None:
    file = copy_of(DATA / "transcripts" / "kimi-cli" / "fix-bug.context.jsonl", tmp_path / "context.jsonl")
    before = file.read_bytes()
    await text_editor.client.command(FULL, {"uri": file.as_uri()})
    write_behind(file, '{"role":"user","content":"later"}\n')
    await undone(text_editor, file.as_uri())
    assert file.read_bytes() == before + b'{"role":"user","content":"later"}\n'


async def test_a_file_that_another_program_changed_inside_the_summary_is_stale(
    text_editor: TextEditor, tmp_path: Path
) -> None:
    file = tmp_path / "chat.jsonl"
    file.write_text(TEXT, encoding="utf-8")
    await compacted(text_editor, file.as_uri())
    changed = file.read_text(encoding="utf-8").replace("nothing new", "something")
    file.write_text(changed, encoding="utf-8")
    assert (await refused(text_editor, file.as_uri()))[0] == "stale"
    assert file.read_text(encoding="utf-8") == changed


# --- in a session that its agent appends to -------------------------------------------------------------------


def session(file: Path, ending: str = "\n") -> Session:
    """A session of Claude Code in a file."""
    talk = Session()
    for number in range(3):
        talk.user(f"question {number} " * 50)
        talk.assistant(f"answer {number}")
    file.write_text(talk.text(ending), encoding="utf-8", newline="")
    return talk


async def test_our_records_are_cut_off_the_end(text_editor: TextEditor, tmp_path: Path) -> None:
    session(file := tmp_path / "s1.jsonl")
    before, inode = file.read_bytes(), file.stat().st_ino
    await text_editor.client.command(FULL, {"uri": file.as_uri()})
    assert file.read_bytes().startswith(before)
    await undone(text_editor, file.as_uri())
    assert (file.read_bytes(), file.stat().st_ino, names(tmp_path)) == (before, inode, ["s1.jsonl"])


async def test_a_missing_last_newline_is_missing_again(text_editor: TextEditor, tmp_path: Path) -> None:
    session(file := tmp_path / "s1.jsonl", "\r\n")
    before = file.read_bytes().removesuffix(b"\r\n")
    file.write_bytes(before)
    await text_editor.client.command(FULL, {"uri": file.as_uri()})
    assert file.read_bytes().startswith(before + b"\r\n{")
    await undone(text_editor, file.as_uri())
    assert file.read_bytes() == before


async def test_where_the_session_went_on_nothing_is_cut_off_and_the_backup_is_named(
    text_editor: TextEditor, tmp_path: Path
) -> None:
    talk = session(file := tmp_path / "s1.jsonl")
    before = file.read_bytes()
    await text_editor.client.command(FULL, {"uri": file.as_uri()})
    talk.user("later")
    write_behind(file, talk.lines[-1] + "\n")
    after = file.read_bytes()
    failure, message = await refused(text_editor, file.as_uri())
    assert (failure, file.read_bytes()) == ("stale", after)
    backup = Path(message.rpartition("in the backup ")[2])
    assert (text_of(backup).encode(), text_editor.client.data_dir in backup.parents) == (before, True)


async def test_what_its_agent_writes_while_the_model_works_is_kept_behind_the_tail(
    text_editor: TextEditor, tmp_path: Path
) -> None:
    talk = session(file := tmp_path / "s1.jsonl")

    def answer_later(_: Json) -> Json:
        talk.user("later")
        file.write_text(talk.text(), encoding="utf-8")
        return answers()(_)

    text_editor.client.answerers["lithify/complete"] = answer_later
    done = await text_editor.client.command(UP_TO_HERE, {"uri": file.as_uri(), "index": 3})
    loaded = claude_code_loader.load(file.read_text(encoding="utf-8"))
    assert [str(one["content"])[:10] for one in loaded[1:]] == ["question 2", "[{'type': ", "later"]
    assert done["stats"]["messagesBefore"] == 7
    await undone(text_editor, file.as_uri())
    assert file.read_text(encoding="utf-8") == talk.text()
