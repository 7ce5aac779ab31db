"""A small real model on loopback, and editors that use it. Collected only where a path of this folder is named."""

from __future__ import annotations

import select
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.real_model.relay import Relay
from tests.support.editor import project_folder
from tests.support.raw_client import RawClient

HERE = Path(__file__).parent
INSTALLED = HERE.parent.parent / ".real-model"
PYTHON = INSTALLED / "bin" / "python"
ANSWERS = INSTALLED / "answers.txt"
"""All that the model said in the last run, to be looked at."""
START_SECONDS, END_SECONDS = 60, 10

Starter = Callable[..., Awaitable[tuple[RawClient, Relay]]]


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """The model takes minutes and must be installed: `make test-real-model` does both, `make test` does neither."""
    named = (Path(config.invocation_params.dir, argument.split("::")[0]) for argument in config.args)
    return None if any(path == HERE or HERE in path.parents for path in named) else True


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Says at once what is missing."""
    if any(HERE in item.path.parents for item in items) and not (INSTALLED / ".installed").is_file():
        pytest.exit("The small model is not installed; call `make test-real-model`.", returncode=3)


@pytest.fixture(scope="session")
def model_port() -> Iterator[int]:
    """The port at which the model is asked. The model ends with its standard input, so also with a killed test run."""
    ANSWERS.write_text("", encoding="utf-8")
    process = subprocess.Popen(
        [PYTHON, HERE / "serve_model.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    try:
        yield _port_told_by(process)
    finally:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        try:
            process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


def _port_told_by(process: subprocess.Popen[bytes]) -> int:
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], START_SECONDS)
    line = process.stdout.readline() if ready else b""
    assert line.startswith(b"address http://127.0.0.1:"), f"the model did not start: {line!r}"
    return int(line.rpartition(b":")[2])


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def start(tmp_path_factory: pytest.TempPathFactory, model_port: int) -> AsyncIterator[Starter]:
    """Starts servers, each with a data folder and a way to the model of its own, that ask nothing by themselves."""
    started: list[tuple[RawClient, Relay]] = []

    async def starter(**settings: Any) -> tuple[RawClient, Relay]:
        folder = tmp_path_factory.mktemp("editor")
        relay = await Relay(model_port).__aenter__()
        client = await RawClient.start(folder / "data", cwd=project_folder(folder))
        started.append((client, relay))
        model = {"provider": "http", "http": {"baseUrl": relay.base_url, "model": "smollm2"}}
        await client.initialize({"client": {}, "model": model, "extraction": {"enabled": False}, **settings})
        return client, relay

    yield starter
    for client, relay in started:
        await client.stop()
        await relay.__aexit__()
        assert client.not_protocol == b""
        with ANSWERS.open("a", encoding="utf-8") as file:
            for one in relay.exchanges:
                file.write(f"--- {one.status} {one.stop_reason} {one.tokens} tokens\n{one.text}\n")
