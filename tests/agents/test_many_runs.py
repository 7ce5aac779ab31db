"""Real agents asked often, and asked a lot: no file, process or descriptor more than before."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agents.conftest import Starter
from tests.agents.test_failures import nothing_left
from tests.agents.users import User
from tests.support.editor import SUMMARY, conversation, open_session
from tests.support.model_server import ModelServer, Text
from tests.support.raw_client import RawClient

pytestmark = pytest.mark.asyncio

RUNS = {"kimi-code": 20}
FEWER_RUNS = 3
MEGABYTE = 1 << 20


async def compacted(client: RawClient, session_id: str) -> str:
    """What became of a session's compaction."""
    asked = client.ask_command("lithify.compact_conversation", {"sessionId": session_id})
    outcome: str = (await client.result_of(asked, 60))["type"]
    return outcome


def descriptors(pid: int) -> int:
    """How many descriptors a process has open."""
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


async def test_many_runs_leave_nothing(start: Starter, model: ModelServer, user: User) -> None:
    model.script = Text(SUMMARY)
    before = user.tree()
    client = await start()
    open_session(client, "first", conversation())
    assert await compacted(client, "first") == "compacted"
    open_before = descriptors(client.process.pid)
    for number in range(RUNS.get(user.agent.profile, FEWER_RUNS) - 1):
        open_session(client, str(number), conversation())
        assert await compacted(client, str(number)) == "compacted"
    assert descriptors(client.process.pid) <= open_before
    assert user.tree() == before
    await nothing_left(user, client.process.pid)


async def test_a_megabyte_arrives_whole(start: Starter, model: ModelServer, user: User) -> None:
    """In one request, or in several where the agent says that it is too long for its model (Claude Code does)."""
    model.script = Text(SUMMARY)
    client = await start(conversation={"maxRequestTokens": 0})
    said = conversation()
    words = [f"Ünumber{number:08}" for number in range(MEGABYTE // 18)]
    said[0]["content"] = " ".join(words)
    open_session(client, "one", said)
    assert await compacted(client, "one") == "compacted"
    sent = set(" ".join(str(question.body) for question in model.questions).split())
    assert len(said[0]["content"].encode()) > MEGABYTE * 0.9
    missing = [word for word in words[1:-1] if word not in sent]
    assert len(missing) < len(model.questions), "only a word that two requests share may be cut"
