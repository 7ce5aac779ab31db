"""Servers for the tests: `client` has one that a module's tests share, `start` starts one for a test alone."""

from __future__ import annotations

from collections.abc import AsyncIterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.support.editor import ASKED_FOR_SETTINGS, PROGRESS, Starter, answers, project_folder
from tests.support.raw_client import RawClient
from tests.support.text_editor import EDITS, TextEditor

HANDLES_ALL = {"complete": True, "bufferStatus": True, "sessionChanged": True}

NUMBERS = count()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RawClient]:
    """A server that the tests of a module share."""
    data_dir = tmp_path_factory.mktemp("data")
    project = project_folder(tmp_path_factory.mktemp("workspace"))
    running = await RawClient.start(data_dir, cwd=project)
    await running.initialize({"client": HANDLES_ALL}, {**PROGRESS, **ASKED_FOR_SETTINGS})
    yield running
    await running.stop()
    assert running.not_protocol == b""


@pytest.fixture
def client(shared: RawClient) -> RawClient:
    """The shared server, with an editor that handles all messages of ours and has forgotten the tests before."""
    shared.start_afresh()
    return shared


@pytest_asyncio.fixture(loop_scope="module")
async def start(tmp_path: Path) -> AsyncIterator[Starter]:
    """Starts servers on the test's own data folder; initialized unless told otherwise. All are ended afterwards."""
    started: list[RawClient] = []

    async def starter(
        *arguments: str,
        options: Any = None,
        capabilities: Any = None,
        initialize: bool = True,
        reading: bool = True,
        data_dir: Path = tmp_path / "data",
        environment: dict[str, str] | None = None,
        **more: Any,
    ) -> RawClient:
        project = project_folder(tmp_path)
        fresh = await RawClient.start(data_dir, *arguments, cwd=project, reading=reading, environment=environment)
        started.append(fresh)
        if initialize:
            await fresh.initialize({"client": HANDLES_ALL} if options is None else options, capabilities, **more)
        return fresh

    yield starter
    for one in started:
        await one.stop()
        assert one.not_protocol == b""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_for_documents(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RawClient]:
    """A server that the tests of a module share, for an editor that has documents open."""
    project = project_folder(tmp_path_factory.mktemp("workspace"))
    running = await RawClient.start(tmp_path_factory.mktemp("data"), cwd=project)
    await running.initialize({"client": {"complete": True}}, EDITS)
    yield running
    await running.stop()
    assert running.not_protocol == b""


@pytest.fixture
def text_editor(shared_for_documents: RawClient) -> TextEditor:
    """An editor that has documents open, with a model that always answers."""
    shared_for_documents.start_afresh()
    shared_for_documents.answerers["lithify/complete"] = answers()
    return TextEditor(shared_for_documents)


@pytest.fixture
def uri() -> str:
    """The URI of a document of the test's own; no file lies there."""
    return f"file:///nowhere/chat-{next(NUMBERS)}.jsonl"
