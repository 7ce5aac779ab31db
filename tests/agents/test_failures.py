"""Real agents whose model fails, hangs or calls tools, and agents that crash: a failure each time, and nothing left."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Sequence

import pytest

from tests.agents.conftest import Starter
from tests.agents.users import User, processes_of
from tests.support.editor import conversation, open_session, unchanged
from tests.support.model_server import Answer, Error, Hang, ModelServer, ToolCall, rate_limited, unauthorized
from tests.support.raw_client import RawClient, RequestError

pytestmark = pytest.mark.asyncio

FULL = "lithify.compact_conversation"
LONG_ENOUGH = 60.0

ERRORS: Sequence[tuple[Answer, set[str]]] = (
    (unauthorized(), {"model_unavailable"}),
    (rate_limited(0), {"model_error", "empty_response"}),
    (
        Error(500, "server_error", "The server had an error", headers={"retry-after": "0"}),
        {"model_error", "empty_response"},
    ),
)
"""What the model answers, and what comes of it: kimi-code says nothing of the last two."""


async def opened(start: Starter, **settings: object) -> RawClient:
    """A server with a session."""
    client = await start(**settings)
    open_session(client, "one", conversation())
    return client


async def failure(client: RawClient) -> RequestError:
    """The error of a compaction."""
    return await client.failure_of(client.ask_command(FULL, {"sessionId": "one"}), LONG_ENOUGH)


async def nothing_left(user: User, server: int | None = None, seconds: float = 6.0) -> None:
    """Fails unless in time no process of the user's is left but the server, and nothing of any run."""
    found: object = None
    async with asyncio.timeout(seconds + LONG_ENOUGH):
        deadline = asyncio.get_running_loop().time() + seconds
        while asyncio.get_running_loop().time() < deadline:
            processes = {pid: told for pid, told in processes_of(user.folder).items() if pid != server}
            found = (processes, user.leftovers)
            if found == ({}, []):
                return
            await asyncio.sleep(0.05)
    raise AssertionError(f"left: {found}")


def agent_pid(user: User) -> int:
    """The process id of the agent at work."""
    (told,) = user.temporary.glob("lithify-*/run.json")
    pid: int = json.loads(told.read_text())["agentPid"]
    return pid


async def test_every_error_of_the_model_is_a_failure_and_changes_nothing(
    start: Starter, model: ModelServer, user: User
) -> None:
    client = await opened(start)
    async with unchanged(client, "one"):
        for answer, types in ERRORS:
            model.script = answer
            assert (await failure(client)).type in types
    await nothing_left(user, client.process.pid)


async def test_a_tool_call_is_a_failure_and_no_tool_runs(start: Starter, model: ModelServer, user: User) -> None:
    model.script = ToolCall("Bash", {"command": f"touch {user.home / 'started'}"})
    client = await opened(start)
    async with unchanged(client, "one"):
        told = await failure(client)
    assert (told.type, "tool" in told.message) == ("model_error", True)
    assert not (user.home / "started").exists()
    await nothing_left(user, client.process.pid)


async def test_a_model_that_hangs_is_a_timeout_and_the_agent_is_gone(
    start: Starter, model: ModelServer, user: User
) -> None:
    model.script = Hang()
    client = await opened(start, conversation={"timeoutMs": 8000})
    assert (await failure(client)).type == "timeout"
    await nothing_left(user, client.process.pid)


async def test_a_cancel_ends_the_agent(start: Starter, model: ModelServer, user: User) -> None:
    model.script = Hang()
    client = await opened(start)
    asked = client.ask_command(FULL, {"sessionId": "one"})
    await model.asked(seconds=LONG_ENOUGH)
    client.notify("$/cancelRequest", {"id": asked})
    assert (await client.failure_of(asked)).code == -32800
    await nothing_left(user, client.process.pid)


async def test_an_agent_that_is_killed_in_the_middle_is_a_failure(
    start: Starter, model: ModelServer, user: User
) -> None:
    model.script = Hang()
    client = await opened(start)
    asked = client.ask_command(FULL, {"sessionId": "one"})
    await model.asked(seconds=LONG_ENOUGH)
    os.kill(agent_pid(user), signal.SIGKILL)
    told = await client.failure_of(asked, LONG_ENOUGH)
    assert (told.type, "middle of its answer" in told.message) == ("model_error", True)
    await nothing_left(user, client.process.pid)


async def test_a_server_that_is_killed_leaves_no_agent(start: Starter, model: ModelServer, user: User) -> None:
    model.script = Hang()
    client = await opened(start)
    client.ask_command(FULL, {"sessionId": "one"})
    await model.asked(seconds=LONG_ENOUGH)
    client.process.kill()
    await client.process.wait()
    await nothing_left(user)
