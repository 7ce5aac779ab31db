"""People with real agents that resume what Lithify compacted. Collected only where a path of this folder is named."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.resume.agents import INSTALLED, Agent
from tests.resume.person import Person, new_person
from tests.support.model_server import ServedModel, serve

HERE = Path(__file__).parent

Meet = Callable[[Agent], Person]


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Real agents take minutes and must be installed: `make test-resume` does both, `make test` does neither."""
    named = (Path(config.invocation_params.dir, argument.split("::")[0]) for argument in config.args)
    return None if any(path == HERE or HERE in path.parents for path in named) else True


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Says at once what is missing."""
    if any(HERE in item.path.parents for item in items) and not (INSTALLED / ".installed").is_file():
        pytest.exit("The agents are not installed; call `make test-resume`.", returncode=3)


@pytest.fixture
def model() -> Iterator[ServedModel]:
    """The model that the agent asks."""
    with serve() as server:
        yield server


@pytest.fixture
def meet(model: ServedModel, tmp_path: Path) -> Meet:
    """Somebody new who uses that agent."""
    return lambda agent: new_person(agent, tmp_path / "person", model)
