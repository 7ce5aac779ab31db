"""What tests say as an editor: messages, events, scripted models; and what an editor never sees: the data on disk."""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path
from random import Random
from typing import Any

from tests.support.raw_client import NEVER, Json, RawClient, Refusal

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


async def ledger(client: RawClient, columns: str = "*") -> list[tuple[Any, ...]]:
    """Some columns of the ledger of model calls, the oldest first, once no call of it goes on: what became of a call is
    noted just after its answer."""
    for _ in range(1000):
        await client.request("lithify/listSessions", {})
        with database(client.data_dir) as connection:
            if not connection.execute("SELECT 1 FROM model_calls WHERE outcome = 'pending'").fetchall():
                return connection.execute(f"SELECT {columns} FROM model_calls ORDER BY rowid").fetchall()
    raise AssertionError("a model call is pending still")


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


# --- memory: scripted models of the two workers, and an audit of what became of events ---

OBSERVATION = re.compile(r'<tool_observation id="([^"]+)"')

WORDS = ("amber", "basalt", "cinder", "dolomite", "ember", "flint", "gneiss", "humus", "iolite", "jasper", "karst")


def shown_ids(question: Json) -> list[str]:
    """The ids of the observations that a `lithify/complete` shows, in order."""
    return [event_id for part in question["message"]["content"] for event_id in OBSERVATION.findall(part["text"])]


def record_reply(ids: Iterable[str] = (), title: str = "A title", summary: str = "A summary.", **lists: Any) -> str:
    """An answer of a model to an extraction: one record. Lists: `facts`, `concepts`, `files`; and its `type`."""
    kind = lists.pop("type", "discovery")
    named = {**lists, "source_event_ids": list(ids)}
    inner = {"facts": "fact", "concepts": "concept", "files": "file", "source_event_ids": "id"}
    told = "".join(
        f"<{name}>{''.join(f'<{inner[name]}>{one}</{inner[name]}>' for one in items)}</{name}>"
        for name, items in named.items()
        if items
    )
    return f'<memory_record type="{kind}"><title>{title}</title><summary>{summary}</summary>{told}</memory_record>'


class MemoryModel:
    """A model that makes one record of each batch, unlike any other, and of a buffer one entry of few words.

    `questions` holds what it was asked. The record of a batch names every id that was shown, so that the database
    tells which answers were accepted, and how often each event was among them.
    """

    def __init__(self, name: str = "model") -> None:
        self.name = name
        self.questions: list[Json] = []

    def __call__(self, question: Json) -> Json:
        self.questions.append(question)
        ids = shown_ids(question)
        number = len(self.questions)
        unlike = " ".join(f"{word}{self.name}{number}" for word in WORDS)
        if question["purpose"] == "buffer":
            return {"text": f'<compacted_entry sources="{" ".join(ids)}">{unlike}</compacted_entry>'}
        return {"text": record_reply(ids, title=f"Batch {number} of {self.name}", summary=unlike)}

    def asked_for(self, purpose: str) -> list[Json]:
        """The questions of a purpose."""
        return [one for one in self.questions if one["purpose"] == purpose]


def answer_later(client: RawClient, model: Callable[[Json], Json], chance: Random, useless: float = 1 / 3) -> None:
    """Lets a model take up to a tenth of a second, and say nothing of use about so many of the buffers it is shown."""

    def later(question: Json) -> Any:
        answer = model(question)
        if question["purpose"] == "buffer" and chance.random() < useless:
            answer = {"text": "nothing of use"}
        asked = next(one for one in reversed(client.messages) if one.get("params") is question)
        reply = {"jsonrpc": "2.0", "id": asked["id"], "result": answer}
        asyncio.get_running_loop().call_later(chance.uniform(0, 0.1), client.send, reply)
        return NEVER

    client.answerers["lithify/complete"] = later


def refuse(reason: str, message: str = "no") -> Callable[[Json], Json]:
    """A model that answers every question with an error of that reason."""

    def answer(_: Json) -> Json:
        raise Refusal(-32803, message, {"reason": reason})

    return answer


def fail(_: Json) -> Json:
    """A model that answers every question with an error."""
    raise Refusal(-32603, "it broke")


def misplaced(data_dir: Path, *, strict: bool = True) -> list[str]:
    """What is wrong with where events are: each is in exactly one place, and was extracted at most once.

    Reads nothing but the database and the buffer files. Not `strict`: a process died, and nobody has looked at the
    buffer since; what waits may already have its line, what is gone may still have it.
    """
    covered = [one for entry in buffer_entries(data_dir) for one in entry.get("source_event_ids", [entry["event_id"]])]
    in_file = Counter(covered)
    with database(data_dir) as connection:
        states = dict(connection.execute("SELECT event_id, state FROM events").fetchall())
        named = dict(connection.execute("SELECT event_id, count(*) FROM record_events GROUP BY event_id").fetchall())
    problems = [f"{one} is {count} times in the file" for one, count in in_file.items() if count > 1]
    problems += [f"{one} is in the file and in no database" for one in in_file if one not in states]
    problems += [f"{one} was extracted {count} times" for one, count in named.items() if count > 1]
    for event_id, state in states.items():
        if state == "buffered" and event_id not in in_file:
            problems.append(f"{event_id} is buffered and not in the file")
        if state != "buffered" and event_id in in_file and strict:
            problems.append(f"{event_id} is {state} and in the file")
        if (state == "extracted") != (event_id in named):
            problems.append(f"{event_id} is {state} and named by {named.get(event_id, 0)} records")
    return problems


async def buffer_status(client: RawClient, **params: Any) -> Json:
    """The status of the project's buffer."""
    told: Json = await client.request("lithify/bufferStatus", params)
    return told


async def record(client: RawClient, *events: Any) -> list[Json]:
    """Records events; the results, in order."""
    answer = await client.request("lithify/recordEvents", {"events": list(events)})
    results: list[Json] = answer["results"]
    return results
