"""Every model through the real server: who answers, what is sent to it, what is told of it, and how it fails."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support import stub_agent
from tests.support.editor import (
    SUMMARY,
    Starter,
    answers,
    buffer_status,
    conversation,
    ledger,
    note,
    open_session,
    record,
    record_reply,
    refuse,
    unchanged,
)
from tests.support.model_server import ModelServer, Text, rate_limited, unauthorized
from tests.support.raw_client import Json, RawClient

pytestmark = pytest.mark.asyncio(loop_scope="module")

FULL = "lithify.compact_conversation"
STUB = [sys.executable, "-S", "-E", str(Path(stub_agent.__file__))]
SILENT: Json = {"client": {}}
KEY = "sk-test-0123456789abcdef"


def http(server: ModelServer, **more: Any) -> Json:
    """Settings of an editor without a model, and an endpoint."""
    return {**SILENT, "model": {"http": {"baseUrl": server.base_url, "model": "tiny", **more}}}


def acp(**script: Any) -> Json:
    """Settings of an editor without a model, and an agent that does as the script says."""
    return {**SILENT, "model": {"acp": {"command": [*STUB, json.dumps(script)]}}}


async def compacted(client: RawClient) -> Json:
    """A session, compacted as a whole."""
    open_session(client, "s", conversation(12))
    done: Json = await client.command(FULL, {"sessionId": "s"})
    return done


async def calls(client: RawClient) -> list[tuple[Any, ...]]:
    """The ledger: purpose, provider, model, host, outcome."""
    return await ledger(client, "purpose, provider, model, host, outcome")


# --- an endpoint ----------------------------------------------------------------------------------------------


async def test_an_endpoint_summarises_a_conversation_and_the_result_says_so(start: Starter) -> None:
    async with ModelServer(Text(SUMMARY)) as server:
        client = await start(options=http(server))
        done = await compacted(client)
        assert (done["method"], done["provider"], done["model"], done["warnings"]) == ("model", "http", "tiny", [])
        assert done["summary"]["content"].endswith(SUMMARY)
        (question,) = server.questions
        assert await calls(client) == [("conversation", "http", "tiny", f"127.0.0.1:{server.port}", "answered")]
    assert "tools" not in question.body
    assert [message["role"] for message in question.body["messages"]] == ["system", "user"]


async def test_what_is_sent_is_part_for_part_what_a_dry_run_shows(start: Starter) -> None:
    async with ModelServer(Text(SUMMARY)) as server:
        client = await start(options=http(server))
        open_session(client, "s", conversation(12))
        shown = (await client.command(FULL, {"sessionId": "s", "dryRun": True}))["request"]
        await client.command(FULL, {"sessionId": "s"})
        system, message = server.questions[0].body["messages"]
    assert system["content"] == shown["systemPrompt"]
    assert message["content"] == shown["message"]["content"]


async def test_an_endpoint_extracts_memory_and_the_status_says_who_answered(start: Starter) -> None:
    async with ModelServer(Text(record_reply(title="What the endpoint said"))) as server:
        client = await start(options=http(server))
        await record(client, note("a"))
        done = await client.command("lithify.extract_now", {})
        status = await buffer_status(client)
    assert (done["extracted"], done["method"], done["provider"], done["model"]) == (1, "model", "http", "tiny")
    assert (status["extraction"]["lastProvider"], status["extraction"]["lastModel"]) == ("http", "tiny")


async def test_a_key_goes_to_the_endpoint_and_nowhere_else(start: Starter) -> None:
    async with ModelServer([unauthorized(), Text(SUMMARY)]) as server:
        options = http(server, apiKeyEnv="TEST_KEY") | {"log": {"level": "debug"}}
        client = await start(options=options, environment={"TEST_KEY": KEY})
        open_session(client, "s", conversation(12))
        async with unchanged(client, "s"):
            failure = await client.command_failure(FULL, {"sessionId": "s"})
        await compacted(client)
        assert [one.headers["authorization"] for one in server.questions] == [f"Bearer {KEY}"] * 2
    assert (failure.type, "model.http.apiKeyEnv" in failure.message) == ("model_error", True)
    told = repr(client.messages) + client.stderr
    stored = b"".join(path.read_bytes() for path in client.data_dir.rglob("*") if path.is_file())
    assert (KEY in told, KEY.encode() in stored) == (False, False)


# --- an agent -------------------------------------------------------------------------------------------------


async def test_an_agent_summarises_a_conversation_and_the_result_says_so(start: Starter) -> None:
    client = await start(options=acp(pieces=[SUMMARY]))
    done = await compacted(client)
    assert (done["method"], done["provider"]) == ("model", "acp")
    assert done["summary"]["content"].endswith(SUMMARY)
    assert [(one[0], one[1], one[4]) for one in await calls(client)] == [("conversation", "acp", "answered")]


async def test_an_agent_that_is_not_installed_is_named_and_offline_does_not_take_its_place(start: Starter) -> None:
    client = await start(options={**SILENT, "model": {"acp": {"command": ["no-such-agent-anywhere"]}}})
    open_session(client, "s", conversation(12))
    async with unchanged(client, "s"):
        failure = await client.command_failure(FULL, {"sessionId": "s"})
    assert (failure.type, "no-such-agent-anywhere" in failure.message) == ("model_unavailable", True)


# --- the order of `auto` --------------------------------------------------------------------------------------


async def test_where_the_editor_has_no_model_and_no_agent_is_there_the_endpoint_answers(start: Starter) -> None:
    async with ModelServer(Text(SUMMARY)) as server:
        model = {**http(server)["model"], "acp": {"command": ["no-such-agent-anywhere"]}}
        client = await start(options={"client": {"complete": True}, "model": model})
        client.answerers["lithify/complete"] = refuse("no_model")
        assert (await compacted(client))["provider"] == "http"
        assert [(one[1], one[4]) for one in await calls(client)] == [
            ("editor", "model_unavailable"),
            ("http", "answered"),
        ]


@pytest.mark.parametrize("reason", ["consent_denied", "quota", "unknown"])
async def test_where_the_editors_model_fails_nobody_else_is_asked(start: Starter, reason: str) -> None:
    async with ModelServer(Text(SUMMARY)) as server:
        client = await start(options={**http(server), "client": {"complete": True}})
        client.answerers["lithify/complete"] = refuse(reason)
        open_session(client, "s", conversation(12))
        await client.command_failure(FULL, {"sessionId": "s"})
        assert server.questions == []


async def test_the_editors_model_comes_first(start: Starter) -> None:
    async with ModelServer(Text("never")) as server:
        client = await start(options={**http(server), "client": {"complete": True}})
        client.answerers["lithify/complete"] = answers(SUMMARY, model="theirs")
        done = await compacted(client)
        assert (done["provider"], done["model"], server.questions) == ("editor", "theirs", [])


# --- failures ---------------------------------------------------------------------------------------------------


async def test_an_endpoint_that_limits_the_rate_costs_extraction_nothing(start: Starter) -> None:
    async with ModelServer([rate_limited(3600)]) as server:
        client = await start(options=http(server))
        await record(client, note("a"))
        done = await client.command("lithify.extract_now", {})
        status = await buffer_status(client)
    assert (done["extracted"], done["remaining"]) == (0, 1)
    assert (status["extraction"]["failures"], status["extraction"]["breaker"]) == (0, "closed")


async def test_a_pinned_model_that_the_endpoint_does_not_have_gives_way_to_its_own(start: Starter) -> None:
    from tests.support.model_server import unknown_model

    async with ModelServer([unknown_model("huge"), Text(SUMMARY)]) as server:
        client = await start(options=http(server))
        open_session(client, "s", conversation(12))
        done = await client.command(FULL, {"sessionId": "s", "compactionModel": "huge"})
        assert [question.body["model"] for question in server.questions] == ["huge", "tiny"]
    assert (done["model"], [one["code"] for one in done["warnings"]]) == ("tiny", ["model_missing"])
