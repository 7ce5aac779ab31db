"""Sessions that their agent has open: left alone, whether the editor shows them or not."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lithify.storage.locks import FileLock
from tests.support.agent_homes import AgentHome
from tests.support.document_chat import FULL
from tests.support.editor import Starter, answers
from tests.support.raw_client import RequestError
from tests.support.text_editor import EDITS, TextEditor

pytestmark = pytest.mark.asyncio(loop_scope="module")

APPLY, UNDO = "lithify.apply_compaction", "lithify.undo_compaction"
ALL = {"start": 0, "end": 1}


class Codex:
    """A Codex that holds a session's lock as long as it lives."""

    def __init__(self, home: AgentHome) -> None:
        home.codex_lock().parent.mkdir(parents=True, exist_ok=True)
        self._lock = FileLock(home.codex_lock(), wait_seconds=0.0)
        assert self._lock.try_acquire()

    def end(self) -> None:
        """Lets the session go."""
        self._lock.close()


@pytest.fixture
def home(tmp_path: Path) -> AgentHome:
    return AgentHome(tmp_path / "home")


@pytest.fixture
def codex(home: AgentHome) -> Iterator[Codex]:
    running = Codex(home)
    yield running
    running.end()


async def started(start: Starter, home: AgentHome) -> TextEditor:
    """An editor whose user has that home."""
    unset = dict.fromkeys(("CLAUDE_CONFIG_DIR", "CODEX_HOME"), "")
    client = await start(capabilities=EDITS, environment={**unset, **home.environment})
    client.answerers["lithify/complete"] = answers()
    return TextEditor(client)


def is_busy(failure: RequestError) -> None:
    assert (failure.code, failure.type, failure.data["retryable"]) == (-32803, "busy", True)
    assert "Codex has this session open; end it there" in failure.message


@pytest.mark.parametrize("is_open", [True, False], ids=["open in the editor", "a file"])
async def test_a_session_that_codex_has_open_is_busy_before_a_model_is_asked(
    start: Starter, home: AgentHome, codex: Codex, is_open: bool
) -> None:
    file = home.codex()
    before = file.read_bytes()
    text_editor = await started(start, home)
    if is_open:
        text_editor.open(file.as_uri(), before.decode())
    is_busy(await text_editor.client.command_failure(FULL, {"uri": file.as_uri(), **ALL}))
    assert (text_editor.client.received("lithify/complete"), text_editor.asked) == ([], [])
    assert file.read_bytes() == before
    codex.end()
    assert (await text_editor.client.command(FULL, {"uri": file.as_uri(), **ALL}))["type"] == "compacted"


@pytest.mark.parametrize("is_open", [True, False], ids=["open in the editor", "a file"])
async def test_a_draft_is_made_while_codex_has_the_session_open_and_applied_when_it_has_ended(
    start: Starter, home: AgentHome, codex: Codex, is_open: bool
) -> None:
    file = home.codex()
    before = file.read_bytes()
    text_editor = await started(start, home)
    if is_open:
        text_editor.open(file.as_uri(), before.decode())
    draft: Any = await text_editor.client.command(FULL, {"uri": file.as_uri(), **ALL, "draft": True})
    is_busy(await text_editor.client.command_failure(APPLY, {"draftId": draft["draftId"]}))
    assert (text_editor.asked, file.read_bytes()) == ([], before)
    codex.end()
    assert (await text_editor.client.command(APPLY, {"draftId": draft["draftId"]}))["type"] == "compacted"


async def test_nothing_is_undone_while_codex_has_the_session_open(start: Starter, home: AgentHome) -> None:
    file = home.codex()
    before = file.read_bytes()
    text_editor = await started(start, home)
    await text_editor.client.command(FULL, {"uri": file.as_uri(), **ALL})
    after = file.read_bytes()
    codex = Codex(home)
    is_busy(await text_editor.client.command_failure(UNDO, {"uri": file.as_uri()}))
    assert file.read_bytes() == after
    codex.end()
    await text_editor.client.command(UNDO, {"uri": file.as_uri()})
    assert (file.read_bytes(), after != before) == (before, True)


async def test_a_session_that_a_living_claude_code_has_open_is_busy(start: Starter, home: AgentHome) -> None:
    file = home.claude_code()
    told = home.claude_code_runs(os.getpid())
    os.utime(told)
    text_editor = await started(start, home)
    failure = await text_editor.client.command_failure(FULL, {"uri": file.as_uri(), **ALL})
    assert (failure.type, f"process {os.getpid()}" in failure.message) == ("busy", True)
    told.unlink()
    assert (await text_editor.client.command(FULL, {"uri": file.as_uri(), **ALL}))["type"] == "compacted"
