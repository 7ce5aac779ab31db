"""The whole main flow, once for each editor, with a language client of its own kind and that editor's capabilities."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from lsprotocol import types
from pytest_lsp import LanguageClient, client_capabilities, make_test_lsp_client

from tests.support.editor import SUMMARY, buffer_entries, conversation, note, project_folder
from tests.support.raw_client import COMMAND

pytestmark = pytest.mark.asyncio(loop_scope="module")

WAIT_SECONDS = 15.0
EDITORS = ("visual-studio-code", "neovim@v0.11", "neovim@v0.7", "emacs")


class Editor:
    """A language client, and what it was told by messages of ours."""

    def __init__(self, name: str, client: LanguageClient, data_dir: Path) -> None:
        self.name = name
        self.client = client
        self.data_dir = data_dir
        self.asked: list[Any] = []
        self.told: list[tuple[str, Any]] = []

        @client.feature("lithify/complete")
        def complete(params: Any) -> Any:
            self.asked.append(params)
            return {"text": SUMMARY}

        for method in ("lithify/sessionChanged", "lithify/bufferStatusChanged", "lithify/cancelComplete"):
            self._listen(method)

    def _listen(self, method: str) -> None:
        @self.client.feature(method)
        def note_it(params: Any) -> None:
            self.told.append((method, params))

    async def request(self, method: str, params: Any) -> Any:
        async with asyncio.timeout(WAIT_SECONDS):
            return await self.client.protocol.send_request_async(method, params)

    async def command(self, name: str, argument: Any) -> Any:
        params = types.ExecuteCommandParams(command=name, arguments=[argument])
        async with asyncio.timeout(WAIT_SECONDS):
            return await self.client.workspace_execute_command_async(params)

    async def open_session(self) -> None:
        self.client.protocol.notify(
            "lithify/didOpenSession", {"sessionId": "a", "agent": None, "messages": conversation()}
        )

    async def messages(self) -> list[tuple[str, str]]:
        told = await self.request("lithify/getSession", {"sessionId": "a"})
        return [(message.role, message.content) for message in told.messages]


SAID = [(message["role"], message["content"]) for message in conversation()]


@pytest_asyncio.fixture(loop_scope="module", params=EDITORS)
async def editor(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Editor]:
    client = make_test_lsp_client()
    name = request.param
    fresh = Editor(name, client, tmp_path / "data")
    project = project_folder(tmp_path)
    await client.start_io(*COMMAND, env={**os.environ, "LITHIFY_DATA_DIR": str(tmp_path / "data")}, cwd=project)
    async with asyncio.timeout(WAIT_SECONDS):
        await client.initialize_session(
            types.InitializeParams(
                capabilities=client_capabilities(name),
                client_info=types.ClientInfo(name=name),
                root_uri=project.as_uri(),
                workspace_folders=[types.WorkspaceFolder(uri=project.as_uri(), name="project")],
                initialization_options={"client": {"complete": True, "bufferStatus": True, "sessionChanged": True}},
            )
        )
    process = client._server
    yield fresh
    if process is not None and process.returncode is None:
        process.kill()
        await process.wait()
    await client.stop()
    if process is not None:
        process._transport.close()


async def test_an_event_is_in_the_buffer_under_the_editors_name_when_it_is_answered(editor: Editor) -> None:
    answer = await editor.request("lithify/recordEvents", {"events": [note()]})
    assert [result.status for result in answer.results] == ["buffered"]
    assert [entry["surface"] for entry in buffer_entries(editor.data_dir)] == [editor.name]


async def test_a_compaction_shows_its_progress_and_replaces_all_but_the_tail(editor: Editor) -> None:
    await editor.open_session()
    result = await editor.command("lithify.compact_conversation", {"sessionId": "a"})
    assert result["type"] == "compacted"
    assert len(editor.asked) == 1
    assert (await editor.messages())[1:] == SAID[6:]
    ((begin, *_, end),) = editor.client.progress_reports.values()
    assert isinstance(begin, types.WorkDoneProgressBegin)
    assert isinstance(end, types.WorkDoneProgressEnd)


async def test_up_to_here_and_its_undo_leave_the_conversation_as_it_was(editor: Editor) -> None:
    await editor.open_session()
    await editor.command("lithify.compact_up_to_here", {"sessionId": "a", "messageId": "a1"})
    compacted = await editor.messages()
    await editor.command("lithify.undo_compaction", {"sessionId": "a"})
    assert compacted[1:] == SAID[4:]
    assert await editor.messages() == SAID
    assert [params.reason for method, params in editor.told if method == "lithify/sessionChanged"] == [
        "compacted",
        "undone",
    ]


async def test_the_editor_is_told_the_status_that_it_can_also_ask_for(editor: Editor) -> None:
    await editor.request("lithify/recordEvents", {"events": [note()]})
    async with asyncio.timeout(WAIT_SECONDS):
        while 1 not in [params.entries for method, params in editor.told if method == "lithify/bufferStatusChanged"]:
            assert (await editor.request("lithify/bufferStatus", {})).entries == 1


async def test_nothing_pops_up_and_the_server_ends_with_code_zero(editor: Editor) -> None:
    await editor.open_session()
    await editor.command("lithify.compact_conversation", {"sessionId": "a"})
    async with asyncio.timeout(WAIT_SECONDS):
        await editor.client.shutdown_session()
    assert editor.client.messages == []
    assert editor.client.error is None
    assert editor.client._server is not None
    assert editor.client._server.returncode == 0
