"""Users of real agents with a server and a scripted model. Collected only where a path of this folder is named."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.agents.users import AGENTS, INSTALLED, Agent, User, new_user
from tests.support.model_server import ModelServer, Text
from tests.support.raw_client import RawClient

HERE = Path(__file__).parent

Starter = Callable[..., Awaitable[RawClient]]


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Real agents take minutes and must be installed: `make test-agents` does both, `make test` does neither."""
    named = (Path(config.invocation_params.dir, argument.split("::")[0]) for argument in config.args)
    return None if any(path == HERE or HERE in path.parents for path in named) else True


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Says at once what is missing."""
    if any(HERE in item.path.parents for item in items) and not (INSTALLED / ".installed").is_file():
        pytest.exit("The agents are not installed; call `make test-agents`.", returncode=3)


@pytest.fixture(scope="module", params=AGENTS, ids=lambda agent: agent.profile)
def agent(request: pytest.FixtureRequest) -> Agent:
    """Each of the agents in turn."""
    chosen: Agent = request.param
    return chosen


@pytest_asyncio.fixture
async def model() -> AsyncIterator[ModelServer]:
    """The model that the agents ask."""
    async with ModelServer(Text("unasked")) as server:
        yield server


@pytest.fixture
def user(agent: Agent, model: ModelServer, tmp_path: Path) -> User:
    """Somebody who uses the agent."""
    return new_user(agent, tmp_path / "user", model)


@pytest_asyncio.fixture
async def start(user: User) -> AsyncIterator[Starter]:
    """Starts servers for the user; all are ended afterwards."""
    started: list[RawClient] = []

    async def starter(**settings: Any) -> RawClient:
        client = await RawClient.start(user.folder / "data", environment=user.environment, cwd=user.project)
        started.append(client)
        await client.initialize(user.options(**settings))
        return client

    yield starter
    for client in started:
        await client.stop()
        assert client.not_protocol == b""
