"""An editor whose edits name no version, and its user types while one is on its way: no answer says that all went well
where text was lost."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from tests.support.document_chat import CHAT, TEXT, UP_TO_HERE, summary_line
from tests.support.editor import answers, project_folder
from tests.support.messages import user
from tests.support.raw_client import RawClient
from tests.support.text_editor import EDITS, TextEditor
from tests.support.transcripts import json_lines

pytestmark = pytest.mark.asyncio(loop_scope="module")

APPLY, UNDO = "lithify.apply_compaction", "lithify.undo_compaction"
IN_FRONT = json_lines([user("typed in front " * 40)])
"""A line that is longer than the edits that follow."""
WITHOUT_VERSIONS = {**EDITS, "workspace": {"applyEdit": True}}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RawClient]:
    """A server for an editor that takes no versions."""
    project = project_folder(tmp_path_factory.mktemp("workspace"))
    running = await RawClient.start(tmp_path_factory.mktemp("data"), cwd=project)
    await running.initialize({"client": {"complete": True}}, WITHOUT_VERSIONS)
    yield running
    await running.stop()
    assert running.not_protocol == b""


@pytest.fixture
def editor(server: RawClient, uri: str) -> TextEditor:
    """That editor, with that chat open."""
    server.start_afresh()
    server.answerers["lithify/complete"] = answers()
    editor = TextEditor(server)
    editor.open(uri, TEXT)
    return editor


def typing(editor: TextEditor, uri: str, old: str, new: str) -> None:
    """What the user types once the next edit has come."""

    def once() -> None:
        editor.before_edit = lambda: None
        start = editor.texts[uri].index(old)
        editor.type(uri, start, start + len(old), new)

    editor.before_edit = once


async def spoilt(editor: TextEditor, command: str, argument: Any) -> None:
    """Whether a command tells that its edit met other text."""
    failure = await editor.client.command_failure(command, argument)
    assert (failure.type, failure.data["retryable"]) == ("stale", False)
    assert "the editor's own undo" in failure.message
    assert "not applied" not in failure.message


def undo_in_editor(editor: TextEditor, uri: str, text: str) -> None:
    """The editor's own undo, up to a text that it had."""
    editor.type(uri, 0, len(editor.texts[uri]), text)


TYPED = pytest.mark.parametrize(
    ("old", "new"), [('{"role"', f'{IN_FRONT}{{"role"'), ("Fix", "Mend")], ids=["in front", "inside"]
)


@TYPED
async def test_a_compaction_that_met_what_was_typed_is_stale_and_nothing_of_it_is_kept(
    editor: TextEditor, uri: str, old: str, new: str
) -> None:
    typing(editor, uri, old, new)
    await spoilt(editor, UP_TO_HERE, {"uri": uri, "index": 4})
    assert len(editor.asked) == 1
    undo_in_editor(editor, uri, TEXT)
    assert (await editor.client.command_failure(UNDO, {"uri": uri})).type == "unknown_compaction"
    done = await editor.client.command(UP_TO_HERE, {"uri": uri, "index": 4})
    assert (done["type"], editor.texts[uri]) == ("compacted", f"{summary_line()}\n{json_lines(CHAT[5:])}")


@TYPED
async def test_a_draft_that_met_what_was_typed_can_be_applied_again(
    editor: TextEditor, uri: str, old: str, new: str
) -> None:
    draft = await editor.client.command(UP_TO_HERE, {"uri": uri, "index": 4, "draft": True})
    typing(editor, uri, old, new)
    await spoilt(editor, APPLY, {"draftId": draft["draftId"]})
    undo_in_editor(editor, uri, TEXT)
    await editor.client.command(APPLY, {"draftId": draft["draftId"]})
    assert editor.texts[uri] == f"{summary_line()}\n{json_lines(CHAT[5:])}"


@pytest.mark.parametrize(
    ("old", "new"), [('{"role"', f'{IN_FRONT}{{"role"'), ("nothing new", "nothing old")], ids=["in front", "inside"]
)
async def test_an_undo_that_met_what_was_typed_can_be_made_again(
    editor: TextEditor, uri: str, old: str, new: str
) -> None:
    await editor.client.command(UP_TO_HERE, {"uri": uri, "index": 4})
    compacted = editor.texts[uri]
    typing(editor, uri, old, new)
    await spoilt(editor, UNDO, {"uri": uri})
    undo_in_editor(editor, uri, compacted)
    await editor.client.command(UNDO, {"uri": uri})
    assert editor.texts[uri] == TEXT


async def test_what_is_typed_behind_the_range_is_kept_and_the_compaction_made(editor: TextEditor, uri: str) -> None:
    typing(editor, uri, "Thanks", "Thank you")
    done = await editor.client.command(UP_TO_HERE, {"uri": uri, "index": 4})
    assert done["type"] == "compacted"
    assert editor.texts[uri] == f"{summary_line()}\n{json_lines([user('Thank you')])}"
