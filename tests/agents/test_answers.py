"""Real agents answer a conversation and a buffer; what they send is ours, and nothing of the user's files."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lithify.prompt_files.templates import find_template
from tests.agents.users import KEY, MARKER, Agent, User, new_user
from tests.support.editor import SUMMARY, buffer_entries, conversation, note, open_session, record, session
from tests.support.model_server import ModelServer, Request, Text
from tests.support.raw_client import Json, RawClient

DENSE = "all of it in few words"


@dataclass(frozen=True, slots=True)
class Done:
    """What a session with a conversation and a buffer, both compacted by an agent, has left: results, what was sent."""

    user: User
    shown: Json
    """The request that a dry run showed."""
    result: Json
    messages: list[Json]
    buffer_result: Json
    event_ids: list[str]
    entries: list[Json]
    questions: list[Request]
    requests: list[Request]

    @property
    def question(self) -> Request:
        """What the model was asked of the conversation."""
        return self.questions[0]

    @property
    def buffer_question(self) -> Request:
        """What the model was asked of the buffer."""
        return self.questions[-1]


@pytest.fixture(scope="module")
def done(agent: Agent, tmp_path_factory: pytest.TempPathFactory) -> Done:
    """Both compactions, done once for all tests."""
    return asyncio.run(_both_compacted(agent, tmp_path_factory.mktemp(agent.profile)))


async def _both_compacted(agent: Agent, folder: Path) -> Done:
    async with ModelServer(Text(SUMMARY, pieces=3)) as model:
        user = new_user(agent, folder, model)
        client = await RawClient.start(folder / "data", environment=user.environment, cwd=user.project)
        try:
            await client.initialize(user.options())
            shown, result = await _conversation_compacted(client, user)
            event_ids, buffer_result = await _buffer_compacted(client, model)
            messages = (await session(client, "one"))["messages"]
            entries = buffer_entries(client.data_dir)
            await client.shut_down()
        finally:
            await client.stop()
        questions = list(model.questions)
        return Done(user, shown, result, messages, buffer_result, event_ids, entries, questions, list(model.requests))


async def _conversation_compacted(client: RawClient, user: User) -> tuple[Json, Json]:
    said = conversation()
    said[0]["content"] += f" See @{user.project / 'mentioned.md'} and @mentioned.md"
    open_session(client, "one", said)
    shown = await client.command("lithify.compact_conversation", {"sessionId": "one", "dryRun": True})
    asked = client.ask_command("lithify.compact_conversation", {"sessionId": "one"})
    return shown["request"], await client.result_of(asked, 60)


async def _buffer_compacted(client: RawClient, model: ModelServer) -> tuple[list[str], Json]:
    await record(client, *(note(f"{number} " + "lore " * 100) for number in range(4)))
    ids = [entry["event_id"] for entry in buffer_entries(client.data_dir)]
    model.script = Text(f'<compacted_entry sources="{" ".join(ids)}">{DENSE}</compacted_entry>')
    return ids, await client.result_of(client.ask_command("lithify.compact_buffer", {}), 60)


def system_texts(question: Request) -> list[str]:
    """The texts of the system prompt on the wire."""
    if question.wire == "anthropic":
        return [part["text"] for part in question.body["system"]]
    return [message["content"] for message in question.body["messages"] if message["role"] == "system"]


def user_texts(question: Request) -> list[str]:
    """All texts that are sent as the user's, in order."""
    contents: list[Any] = [one["content"] for one in question.body["messages"] if one["role"] == "user"]
    parts = ([{"text": content}] if isinstance(content, str) else content for content in contents)
    return [part["text"] for content in parts for part in content]


def is_handed_over(prompt: str, question: Request) -> bool:
    """Whether a text of the system prompt is ours, or begins with it (opencode adds lines of its own)."""
    return any(text == prompt or text.startswith(f"{prompt}\n") for text in system_texts(question))


def test_a_conversation_is_compacted_in_the_session(done: Done) -> None:
    assert (done.result["type"], done.result["method"]) == ("compacted", "model")
    assert done.result["model"] == done.user.agent.model
    assert SUMMARY in str(done.messages[0]["content"]).replace("\\n", "\n")


def test_the_model_is_asked_once_for_each(done: Done) -> None:
    assert len(done.questions) == 2


def test_the_model_is_given_our_parts_in_order(done: Done) -> None:
    ours, sent = [part["text"] for part in done.shown["message"]["content"]], user_texts(done.question)
    first = sent.index(ours[0])
    assert sent[first : first + len(ours)] == ours


def test_the_model_is_given_our_system_prompt(done: Done) -> None:
    assert is_handed_over(done.shown["systemPrompt"], done.question)
    assert is_handed_over(find_template("buffer_compaction").system_prompt, done.buffer_question)


def test_the_model_is_given_no_tools(done: Done) -> None:
    assert not done.question.body.get("tools")
    assert not done.buffer_question.body.get("tools")


def test_nothing_of_the_users_files_reaches_the_model(done: Done) -> None:
    assert [request.path for request in done.requests if MARKER.encode() in request.raw] == []


def test_nothing_of_the_users_is_started(done: Done) -> None:
    assert not (done.user.home / "started").exists()


def test_the_users_own_key_reaches_the_model(done: Done) -> None:
    headers = done.question.headers
    assert KEY in (headers.get("authorization", "").removeprefix("Bearer "), headers.get("x-api-key"))


def test_the_pinned_model_answers_where_the_agent_has_it_else_its_own(done: Done) -> None:
    assert done.user.agent.pinned in done.buffer_question.body["model"]


def test_a_buffer_is_compacted(done: Done) -> None:
    told = [done.buffer_result[name] for name in ("method", "entriesBefore", "entriesAfter")]
    assert told == ["model", len(done.event_ids), 1]
    assert DENSE in str(done.entries)
    assert all(any(one in text for text in user_texts(done.buffer_question)) for one in done.event_ids)
