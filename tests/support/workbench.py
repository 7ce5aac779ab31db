"""A compactor of sessions on a real storage thread, and a model that waits for the test."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

from lithify.core.agents import CompactionCommand
from lithify.core.conversation import Noop
from lithify.core.model_calls import ModelFailure, ModelReply, ModelRequest
from lithify.workers.drafts import Draft
from lithify.workers.ports import Model
from lithify.workers.session_compaction import Compacted, SessionCompactor
from lithify.workers.sessions import Opening
from lithify.workers.storage_thread import StorageThread
from tests.support.messages import Message, assistant, user
from tests.support.scripted_model import MADE_UP, ScriptedModel
from tests.support.stores import SESSION, Bench, rows

PREFIX = "<system>Previous context has been compacted. Here is the compaction output:</system>"
CALLS = "SELECT purpose, provider, model, host, bytes, tokens, user_initiated, outcome FROM model_calls ORDER BY rowid"


def ten() -> list[Message]:
    """Five questions and their answers."""
    return [user(f"question {each // 2}") if each % 2 == 0 else assistant(f"answer {each // 2}") for each in range(10)]


def summary(words: str = "summary") -> Message:
    """The summary message of a chat of plain strings."""
    return user(f"{PREFIX}\n{words}")


class GatedModel:
    """A model that says when it was asked, and answers when it is let."""

    name = "gated"
    host = None
    default_model = None

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.answer = asyncio.Event()

    async def ask(self, request: ModelRequest) -> ModelReply | ModelFailure:
        self.asked.set()
        await self.answer.wait()
        return ModelReply("summary", provider=self.name)


class Workbench:
    """A compactor on a real storage thread."""

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir
        self.bench = Bench(data_dir)
        self.model: Model | ModelFailure = ScriptedModel("summary")
        self.thread: StorageThread[Any, Any] = StorageThread(lambda: self.bench.store, lambda _, items: items)
        self.compactor = SessionCompactor(
            self.thread.run,
            self.bench.keeper,
            lambda: self.bench.settings,
            lambda: self.model if isinstance(self.model, ModelFailure) else (self.model,),
            lambda: MADE_UP,
            self.bench.now,
            self.bench.new_id,
        )

    def set(self, **conversation: Any) -> None:
        """Sets settings of `conversation`, by their names on the wire."""
        self.bench.settings = type(self.bench.settings).model_validate({"conversation": conversation})

    async def open(self, messages: list[Message], **given: Any) -> None:
        """Opens the session."""
        defaults: dict[str, Any] = {"title": None, "agent": None, "compaction_model": None, "record": None}
        opening = Opening(SESSION, messages=messages, surface="t", project=self.bench.project, **{**defaults, **given})
        await self.thread.run(lambda store: self.bench.keeper.open(store, opening))

    async def append(self, *messages: Message) -> None:
        """Says what was appended."""
        await self.thread.run(lambda store: self.bench.keeper.append(store, SESSION, messages))

    async def splice(self, start: int, delete_count: int, *messages: Message) -> None:
        """Says what was replaced."""
        await self.thread.run(lambda store: self.bench.keeper.splice(store, SESSION, start, delete_count, messages))

    async def messages(self) -> list[Message]:
        """The messages of the session."""
        return await self.thread.run(lambda store: store.sessions.messages(SESSION))

    async def compact(self, session_id: str = SESSION, **command: Any) -> Compacted | Noop:
        """Compacts a session."""
        return await self.compactor.compact(session_id, CompactionCommand(**command), lambda _: None)

    async def compacted(self, **command: Any) -> Compacted:
        """Compacts the session, which must be no no-op."""
        done = await self.compact(**command)
        assert isinstance(done, Compacted)
        return done

    async def draft(self, **command: Any) -> Draft:
        """Makes a draft for the session, which must be no no-op."""
        drafted = await self.compactor.draft(SESSION, CompactionCommand(**command), lambda _: None)
        assert isinstance(drafted, Draft)
        return drafted

    async def ledger(self) -> list[tuple[Any, ...]]:
        """The calls of models, without the times, once every line is written."""
        if others := asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait(others)
        await self.thread.run(lambda _: None)
        return rows(self.data_dir, CALLS)


class Hold:
    """Keeps the storage thread from going on, from the moment it is made."""

    def __init__(self, work: Workbench) -> None:
        self._held, self._let = threading.Event(), threading.Event()
        work.thread.submit(self._hold)
        assert self._held.wait(10)

    def _hold(self, _: Any) -> None:
        self._held.set()
        self._let.wait(60)

    def release(self) -> None:
        """Lets it go on."""
        self._let.set()

    def wait_for_the_thread(self, work: Workbench) -> None:
        """Returns when the thread has done what waited."""
        work.thread.submit(lambda _: None).result(10)


async def until_queued(work: Workbench, least: int) -> None:
    """Lets the event loop run until so many pieces of work wait for the storage thread."""
    for _ in range(1000):
        if work.thread.backlog >= least:
            return
        await asyncio.sleep(0)
    raise AssertionError(work.thread.backlog)
