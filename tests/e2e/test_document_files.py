"""Transcripts that nobody has open: rewritten whole, with a backup, or left as they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.document_chat import CHAT, FULL, TEXT, UP_TO_HERE, summary_line
from tests.support.editor import SUMMARY, SilentModel
from tests.support.messages import user
from tests.support.text_editor import TextEditor
from tests.support.transcripts import json_lines

pytestmark = pytest.mark.asyncio(loop_scope="module")


def files(folder: Path) -> dict[str, bytes | None]:
    """What lies in a folder: each name, and its bytes; None for a folder."""
    return {path.name: path.read_bytes() if path.is_file() else None for path in folder.iterdir()}


@pytest.mark.parametrize("ending", ["\n", "\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize("ended", [True, False], ids=["ended", "not ended"])
async def test_a_file_that_is_not_open_is_rewritten_with_a_backup(
    text_editor: TextEditor, tmp_path: Path, ending: str, ended: bool
) -> None:
    file = tmp_path / "a chat.jsonl"
    text = json_lines(CHAT, ending, ended=ended)
    file.write_bytes(text.encode())
    done = await text_editor.client.command(UP_TO_HERE, {"uri": file.as_uri(), "line": 4})
    assert (done["type"], done["uri"]) == ("compacted", file.as_uri())
    tail = text[text.index(ending + '{"role": "user", "content": "Thanks') :]
    assert file.read_bytes() == (summary_line() + tail).encode()
    assert file.with_name("a chat.jsonl.bak").read_bytes() == text.encode()
    assert set(files(tmp_path)) == {"a chat.jsonl", "a chat.jsonl.bak"}
    assert text_editor.asked == []


async def test_a_session_file_of_kimi_is_backed_up_as_kimi_does(text_editor: TextEditor, tmp_path: Path) -> None:
    file = tmp_path / "context.jsonl"
    file.write_text(TEXT, encoding="utf-8")
    await text_editor.client.command(FULL, {"uri": file.as_uri()})
    assert (tmp_path / "context_1.jsonl").read_text(encoding="utf-8") == TEXT


@pytest.mark.parametrize("content", [b"import os\n", b"", b'{"role": "user", "content": "\xff"}\n', None])
async def test_a_file_that_holds_no_transcript_is_unsupported_and_left_alone(
    text_editor: TextEditor, tmp_path: Path, content: bytes | None
) -> None:
    file = tmp_path / "chat.jsonl"
    if content is None:
        file.mkdir()
    else:
        file.write_bytes(content)
    failure = await text_editor.client.command_failure(FULL, {"uri": file.as_uri()})
    assert (failure.code, failure.type) == (-32602, "unsupported_document")
    assert files(tmp_path) == {"chat.jsonl": content}


@pytest.mark.parametrize("change", ["append", "delete"])
async def test_a_file_that_is_changed_meanwhile_is_stale_and_left_as_it_is(
    text_editor: TextEditor, tmp_path: Path, change: str
) -> None:
    model = SilentModel(text_editor.client)
    file = tmp_path / "chat.jsonl"
    file.write_text(TEXT, encoding="utf-8")
    running = text_editor.client.ask_command(FULL, {"uri": file.as_uri()})
    await model.asked()
    if change == "append":
        file.write_text(TEXT + json_lines([user("more")]), encoding="utf-8")
    else:
        file.unlink()
    left = files(tmp_path)
    await model.answer({"text": SUMMARY})
    failure = await text_editor.client.failure_of(running)
    assert (failure.code, failure.type) == (-32801, "stale")
    assert files(tmp_path) == left


async def test_a_file_that_is_opened_meanwhile_is_edited_where_it_is_open(
    text_editor: TextEditor, tmp_path: Path
) -> None:
    model = SilentModel(text_editor.client)
    file = tmp_path / "chat.jsonl"
    file.write_text(TEXT, encoding="utf-8")
    running = text_editor.client.ask_command(UP_TO_HERE, {"uri": file.as_uri(), "index": 4})
    await model.asked()
    text_editor.open(file.as_uri(), TEXT)
    await model.answer({"text": SUMMARY})
    await text_editor.client.result_of(running)
    assert text_editor.texts[file.as_uri()] == f"{summary_line()}\n{json_lines(CHAT[5:])}"
    assert file.read_text(encoding="utf-8") == TEXT


async def test_what_is_open_counts_and_not_what_is_on_the_disk(text_editor: TextEditor, tmp_path: Path) -> None:
    file = tmp_path / "chat.jsonl"
    file.write_text("import os\n", encoding="utf-8")
    text_editor.open(file.as_uri(), TEXT)
    assert (await text_editor.client.command(FULL, {"uri": file.as_uri()}))["type"] == "compacted"
    assert file.read_text(encoding="utf-8") == "import os\n"
