"""What tests say as an editor: messages, events, scripted models; and what an editor never sees: the data on disk."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path
from typing import Any

from tests.support.raw_client import NEVER, Json, RawClient

Starter = Callable[..., Awaitable[RawClient]]

PROGRESS = {"window": {"workDoneProgress": True}}
"""The capability of an editor that lets the server start progress."""

ASKED_FOR_SETTINGS = {"workspace": {"configuration": True}}
"""The capability of an editor that tells its settings when it is asked."""

SUMMARY = "\n".join(
    f"<{tag}>\nnothing new\n</{tag}>"
    for tag in ("current_focus", "environment", "completed_tasks", "active_issues", "code_state", "important_context")
)
"""An answer of a model that holds the six sections."""


def note(content: str = "a note", **more: Any) -> Json:
    """An event with a text body."""
    return {"sessionId": "s", "kind": "note", "body": {"type": "text", "content": content}, **more}


def json_event(data: Any, **more: Any) -> Json:
    """An event with a JSON body."""
    return {"sessionId": "s", "kind": "tool_use", "body": {"type": "json", "data": data}, **more}


def conversation(turns: int = 4) -> list[Json]:
    """A chat of so many user messages, each with its answer; every message has an id."""
    said = []
    for number in range(turns):
        said.append({"id": f"u{number}", "role": "user", "content": f"Question {number}: how does part {number} work?"})
        said.append({"id": f"a{number}", "role": "assistant", "content": f"Answer {number}: it works like this."})
    return said


def open_session(client: RawClient, session_id: str, messages: list[Json], **more: Any) -> None:
    """Opens a session, without an agent unless one is given."""
    client.notify("lithify/didOpenSession", {"sessionId": session_id, "agent": None, "messages": messages, **more})


async def session(client: RawClient, session_id: str) -> Json:
    """The session as the server tells it."""
    told: Json = await client.request("lithify/getSession", {"sessionId": session_id})
    return told


def answers(text: str = SUMMARY, **more: Any) -> Callable[[Json], Json]:
    """A model that always answers the same."""
    return lambda _: {"text": text, **more}


class SilentModel:
    """A model that is asked and answers only when the test says so."""

    def __init__(self, client: RawClient) -> None:
        self._client = client
        self._before = client.received("lithify/complete")
        client.answerers["lithify/complete"] = lambda _: NEVER

    async def asked(self, number: int = 0) -> Json:
        """Waits for a question, counted from 0; the whole message."""
        number += len(self._before)

        def questions() -> list[Json]:
            return [message for message in self._client.messages if message.get("method") == "lithify/complete"]

        await self._client.wait_for(lambda _: len(questions()) > number)
        return questions()[number]

    async def answer(self, result: Any, number: int = 0) -> None:
        """Answers a question."""
        self._client.send({"jsonrpc": "2.0", "id": (await self.asked(number))["id"], "result": result})


@asynccontextmanager
async def unchanged(client: RawClient, session_id: str) -> AsyncIterator[None]:
    """Fails when the session is not byte for byte the same after the block."""
    before = json.dumps(await session(client, session_id))
    yield
    assert json.dumps(await session(client, session_id)) == before


@contextmanager
def database(data_dir: Path) -> Iterator[sqlite3.Connection]:
    """The database as another process sees it."""
    with closing(sqlite3.connect(f"file:{data_dir / 'lithify.db'}?mode=ro", uri=True)) as connection:
        yield connection


def stored_states(data_dir: Path) -> dict[str, str]:
    """Every event in the database: its id, and where it is."""
    with database(data_dir) as connection:
        return dict(connection.execute("SELECT event_id, state FROM events ORDER BY sequence").fetchall())


def buffer_entries(data_dir: Path) -> list[Json]:
    """Every entry of every buffer file."""
    return [
        json.loads(line)
        for path in sorted((data_dir / "buffers").glob("*/buffer.ndjson"))
        for line in path.read_bytes().split(b"\n")
        if line
    ]


def project_folder(parent: Path, name: str = "project") -> Path:
    """A folder that is a project of its own, whatever lies above it."""
    folder = parent / name
    (folder / ".git").mkdir(parents=True, exist_ok=True)
    return folder


async def settled(client: RawClient) -> None:
    """Returns when all that was sent before has been worked on."""
    await client.request("lithify/listSessions", {})


async def in_time(work: Awaitable[Any], seconds: float) -> Any:
    """The result of something that must not take longer."""
    async with asyncio.timeout(seconds):
        return await work
