"""`documents.formats` in a running server: documents, files, and a setting that changes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.document_chat import FULL, UP_TO_HERE
from tests.support.editor import Starter, answers, conversation
from tests.support.raw_client import Json
from tests.support.text_editor import EDITS, TextEditor
from tests.support.transcripts import json_lines

pytestmark = pytest.mark.asyncio(loop_scope="module")

REFRESHES: Json = {**EDITS, "workspace": {**EDITS["workspace"], "codeLens": {"refreshSupport": True}}}
SAID = [{"role": message["role"], "content": message["content"]} for message in conversation()]
UNKNOWN = json_lines([{**message, "role": f"x-{message['role']}"} for message in SAID])
"""Roles that nobody knows: what is recognised as no transcript."""

FORMATS = {"*.log": "openai-jsonl"}


async def editor_with(start: Starter, formats: Json) -> TextEditor:
    client = await start(
        options={"client": {"complete": True}, "documents": {"formats": formats}}, capabilities=REFRESHES
    )
    client.answerers["lithify/complete"] = answers()
    client.answerers["workspace/codeLens/refresh"] = lambda _: None
    return TextEditor(client)


async def test_a_document_is_read_as_the_setting_says_and_no_other_is(start: Starter) -> None:
    editor = await editor_with(start, FORMATS)
    for uri, messages in (("file:///nowhere/chat.log", 8), ("file:///nowhere/chat.txt", 0)):
        editor.open(uri, UNKNOWN)
        assert len(await editor.request("documentSymbol", uri)) == messages
        assert len(await editor.request("codeLens", uri)) == messages
    done = await editor.client.command(UP_TO_HERE, {"uri": "file:///nowhere/chat.log", "line": 3})
    assert done["range"] == {"start": 0, "end": 4}
    assert len(editor.texts["file:///nowhere/chat.log"].splitlines()) == 5


async def test_the_setting_wins_over_what_a_document_looks_like(start: Starter) -> None:
    editor = await editor_with(start, {"*.log": "specstory"})
    editor.open("file:///nowhere/chat.log", json_lines(SAID))
    assert await editor.request("documentSymbol", "file:///nowhere/chat.log") == []


async def test_a_file_that_nobody_has_open_is_read_as_the_setting_says(start: Starter, tmp_path: Path) -> None:
    editor = await editor_with(start, FORMATS)
    forced, other = tmp_path / "chat.log", tmp_path / "chat.txt"
    for file in (forced, other):
        file.write_text(UNKNOWN, encoding="utf-8")
    preserved = {"end": 6}
    done = await editor.client.command(FULL, {"uri": forced.as_uri(), **preserved})
    assert (done["type"], done["range"]) == ("compacted", {"start": 0, "end": 6})
    assert [json.loads(line) for line in forced.read_text(encoding="utf-8").splitlines()][1:] == [
        json.loads(line) for line in UNKNOWN.splitlines()[6:]
    ]
    failure = await editor.client.command_failure(FULL, {"uri": other.as_uri(), **preserved})
    assert failure.type == "unsupported_document"


async def test_a_changed_setting_reads_open_documents_anew_and_refreshes_lenses(start: Starter) -> None:
    editor = await editor_with(start, {})
    uri = "file:///nowhere/chat.log"
    editor.open(uri, UNKNOWN)
    assert await editor.request("codeLens", uri) == []
    changed = {"settings": {"lithify": {"documents": {"formats": FORMATS}}}}
    editor.client.notify("workspace/didChangeConfiguration", changed)
    assert len(await editor.request("codeLens", uri)) == 8
    await editor.client.wait_for(lambda one: one.get("method") == "workspace/codeLens/refresh")
    editor.type(uri, 0, 0, json_lines([{"role": "x-user", "content": "First"}]))
    assert len(await editor.request("documentSymbol", uri)) == 9
    editor.replace(uri, "First", "Second")
    editor.client.notify("workspace/didChangeConfiguration", {"settings": {"lithify": {}}})
    assert [one["name"] for one in await editor.request("documentSymbol", uri)] == []


async def test_a_format_that_nobody_knows_is_an_invalid_setting(start: Starter) -> None:
    client = await start(initialize=False)
    options = {"documents": {"formats": {"*.log": "mardown"}}}
    failure = await client.failure(
        "initialize", {"processId": None, "capabilities": {}, "rootUri": None} | {"initializationOptions": options}
    )
    assert failure.type == "invalid_settings"
    assert failure.data["problems"][0]["setting"] == "documents.formats"
