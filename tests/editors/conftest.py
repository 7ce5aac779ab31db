"""Users of real editors. Collected only where a path of this folder is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.editors.installed import FOLDER
from tests.editors.users import SECONDS, SERVER_SECONDS

HERE = Path(__file__).parent
TEST_SECONDS = SECONDS + SERVER_SECONDS + 20


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Real editors must be installed: `make test-editors` installs and runs them, `make test` does neither."""
    named = (Path(config.invocation_params.dir, argument.split("::")[0]) for argument in config.args)
    return None if any(path == HERE or HERE in path.parents for path in named) else True


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Says at once what is missing; a first test waits for its whole session, which ends itself before this limit."""
    mine = [item for item in items if HERE in item.path.parents]
    if mine and not (FOLDER / ".installed").is_file():
        pytest.exit("The editors are not installed; call `make test-editors`.", returncode=3)
    for item in mine:
        item.add_marker(pytest.mark.timeout(TEST_SECONDS))
