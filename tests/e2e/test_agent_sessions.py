"""`lithify/listAgentSessions`, from the real server, about a home folder of the test's own."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import pytest_asyncio

from tests.support.agent_homes import CODEX_ID, HOLDING, AgentHome, another_process, another_program
from tests.support.editor import Starter
from tests.support.raw_client import Json, RawClient

pytestmark = pytest.mark.asyncio(loop_scope="module")

VARIABLES = ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "KIMI_SHARE_DIR", "KIMI_CODE_HOME", "GEMINI_CLI_HOME", "XDG_DATA_HOME")


@pytest.fixture
def home(tmp_path: Path) -> AgentHome:
    return AgentHome(tmp_path / "home")


@pytest_asyncio.fixture(loop_scope="module")
async def client(start: Starter, home: AgentHome) -> RawClient:
    """An editor of somebody whose home that is."""
    return await start(environment={**dict.fromkeys((*VARIABLES, "OPENCODE_DB"), ""), **home.environment})


async def listed(client: RawClient, **params: Json) -> list[Json]:
    answer = await client.request("lithify/listAgentSessions", params)
    sessions: list[Json] = answer["sessions"]
    return sessions


async def test_a_session_is_told_with_all_keys_of_the_contract(client: RawClient, home: AgentHome) -> None:
    path = home.codex()
    (found,) = await listed(client)
    assert found == {
        "uri": path.as_uri(),
        "agent": "codex",
        "sessionId": CODEX_ID,
        "version": "0.171.0",
        "title": "Read the cart",
        "project": "/home/ana/shop",
        "messages": 2,
        "tokens": 9,
        "updatedAt": "2023-11-14T22:13:20.000+00:00",
        "live": False,
        "writable": True,
        "resumeCommand": f"cd /home/ana/shop && codex resume {CODEX_ID}",
    }


async def test_a_session_that_can_only_be_read_says_why(client: RawClient, home: AgentHome) -> None:
    home.opencode()
    (found,) = await listed(client)
    assert (found["writable"], found["reason"]) == (
        False,
        "No message of the user names an agent and a model, as a compaction has to: it can only be read.",
    )
    assert found["uri"].startswith("lithify-agent:opencode/")


async def test_what_cannot_be_known_is_null(client: RawClient, home: AgentHome, tmp_path: Path) -> None:
    home.gemini()
    with another_program("gemini", tmp_path, tmp_path, **home.environment):
        (found,) = await listed(client)
        assert found["live"] is None


async def test_a_session_that_is_open_in_its_agent_is_live(client: RawClient, home: AgentHome) -> None:
    with another_process(HOLDING, str(home.codex())):
        assert [one["live"] for one in await listed(client)] == [True]


async def test_the_sessions_of_all_agents_come_the_newest_first(client: RawClient, home: AgentHome) -> None:
    home.all()
    os.utime(home.gemini(), (1_999_999_999, 1_999_999_999))
    found = await listed(client)
    assert [one["agent"] for one in found][:2] == ["gemini", "opencode"]
    assert sorted(one["agent"] for one in found) == [
        *("claude-code", "codex", "gemini", "kimi-cli", "kimi-code", "opencode")
    ]


async def test_one_agent_and_one_project_can_be_asked_for(client: RawClient, home: AgentHome) -> None:
    home.all()
    home.codex(project="/home/ana/other")
    other = [one["agent"] for one in await listed(client, projectUri="file:///home/ana/other")]
    assert other == ["codex"]
    assert [one["agent"] for one in await listed(client, agent="kimi-cli")] == ["kimi-cli"]
    assert await listed(client, agent="kimi-cli", projectUri="file:///home/ana/other") == []


async def test_no_more_come_than_are_asked_for_and_it_is_said_that_there_are_more(
    client: RawClient, home: AgentHome
) -> None:
    home.all()
    answer = await client.request("lithify/listAgentSessions", {"limit": 2})
    assert (len(answer["sessions"]), answer["more"]) == (2, True)
    assert "more" not in await client.request("lithify/listAgentSessions", {"limit": 6})


@pytest.mark.parametrize("agent", ["claude", "", "Codex"])
async def test_an_agent_that_is_not_known_is_refused_with_those_that_are(client: RawClient, agent: str) -> None:
    failure = await client.failure("lithify/listAgentSessions", {"agent": agent})
    assert (failure.code, failure.type) == (-32602, "invalid_params")
    assert "claude-code, codex, kimi-code, kimi-cli, gemini, opencode" in failure.message


@pytest.mark.parametrize("params", [{"agent": 1}, {"projectUri": "shop"}, {"limit": 0}, {"limit": "x"}])
async def test_params_that_do_not_fit_are_refused(client: RawClient, params: Json) -> None:
    assert (await client.failure("lithify/listAgentSessions", params)).type == "invalid_params"


async def test_a_broken_file_costs_nothing_but_itself(client: RawClient, home: AgentHome) -> None:
    home.all()
    home.claude_code().write_text('{"type":"us')
    found = await listed(client)
    assert len(found) == 6
    assert [one["agent"] for one in found if "damaged" in one.get("reason", "")] == ["claude-code"]


async def test_the_list_has_no_session_where_there_is_none(client: RawClient) -> None:
    assert await client.request("lithify/listAgentSessions", {}) == {"sessions": []}


async def test_a_session_is_read_as_people_read_it(client: RawClient, home: AgentHome) -> None:
    uri = home.codex().as_uri()
    (listed_one,) = await listed(client)
    shown = await client.request("lithify/getAgentSession", {"uri": uri})
    assert {key: shown[key] for key in listed_one if key != "messages"} == {
        key: value for key, value in listed_one.items() if key != "messages"
    }
    assert [(one["role"], one["compactable"]) for one in shown["messages"]] == [("user", True), ("assistant", True)]
    assert shown["messages"][0]["text"] == "Read the cart"
    assert (shown["folds"], shown["compactions"]) == ([], [])


async def test_a_session_that_was_compacted_shows_its_summary_and_its_compaction(
    client: RawClient, home: AgentHome
) -> None:
    uri = home.codex().as_uri()
    client.answerers["lithify/complete"] = lambda _: {"text": "They read the cart."}
    done = await client.command("lithify.compact_up_to_here", {"uri": uri, "index": 0})
    shown = await client.request("lithify/getAgentSession", {"uri": uri})
    assert [one.get("summary", False) for one in shown["messages"]] == [True, False]
    assert [(one["compactionId"], one["undone"]) for one in shown["compactions"]] == [(done["compactionId"], False)]
    await client.command("lithify.undo_compaction", {"uri": uri})
    again = await client.request("lithify/getAgentSession", {"uri": uri})
    assert [one["undone"] for one in again["compactions"]] == [True]


async def test_a_transcript_that_is_no_session_of_an_agent_is_read_too(client: RawClient, tmp_path: Path) -> None:
    chat = tmp_path / "chat.json"
    call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": '{"at":"a.py"}'}}
    messages = [{"role": "assistant", "content": None, "tool_calls": [call]}]
    messages.append({"role": "tool", "tool_call_id": "c", "content": [{"type": "text", "text": "found"}]})
    chat.write_text(json.dumps(messages), encoding="utf-8")
    shown = await client.request("lithify/getAgentSession", {"uri": chat.as_uri()})
    assert (shown["uri"], shown["live"], shown["writable"]) == (chat.as_uri(), None, True)
    caller, answer = shown["messages"]
    assert caller["toolCalls"] == [{"id": "c", "name": "look", "arguments": '{"at":"a.py"}'}]
    assert (answer["text"], answer["answers"]) == ("found", ["c"])
