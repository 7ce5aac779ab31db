"""The contract of the model port, the same for every provider and for the fakes that stand for one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import pytest

from lithify.core.model_calls import ModelFailure, ModelFailureType, ModelReply, ModelRequest
from lithify.llm.editor import EditorError, EditorModel
from lithify.llm.offline import OfflineModel
from lithify.workers.ports import Model
from tests.llm.acp.stub import Stub, ends
from tests.llm.http.asking import model_at
from tests.support.chats import said, user
from tests.support.clock import Ids
from tests.support.model_server import ModelServer, Silent, Text, server_error
from tests.support.scripted_model import ScriptedModel
from tests.support.workers import GatedModel

Mood: TypeAlias = Literal["answers", "fails", "waits"]


async def _nothing() -> None:
    """There is nothing to wait for, or nothing that could be left."""


@dataclass
class Bench:
    """A provider at work. `is_asked` returns when a call waits for its answer, `is_left` when nothing of it is left;
    in `timeout_ms` a question is on its way."""

    model: Model
    is_asked: Callable[[], Awaitable[Any]] = _nothing
    is_left: Callable[[], Awaitable[Any]] = _nothing
    timeout_ms: int = 300


Provider: TypeAlias = Callable[[Mood, Path], AbstractAsyncContextManager[Bench]]


@asynccontextmanager
async def offline(mood: Mood, folder: Path) -> AsyncIterator[Bench]:
    """It answers whatever holds words, and waits for nobody."""
    yield Bench(OfflineModel())


class Client:
    """An editor in a mood."""

    def __init__(self, mood: Mood) -> None:
        self._mood = mood
        self.asked = asyncio.Event()
        self.stopped = asyncio.Event()

    async def complete(self, params: dict[str, Any]) -> Any:
        self.asked.set()
        if self._mood == "fails":
            raise EditorError("unknown", "it hurts")
        if self._mood == "waits":
            await asyncio.Event().wait()
        return {"text": "a summary", "stopReason": "end"}

    def cancel_complete(self, request_id: str) -> None:
        self.stopped.set()


@asynccontextmanager
async def editor(mood: Mood, folder: Path) -> AsyncIterator[Bench]:
    client = Client(mood)
    yield Bench(EditorModel(client, Ids()), client.asked.wait, client.stopped.wait)


@asynccontextmanager
async def http(wire: str, mood: Mood, folder: Path) -> AsyncIterator[Bench]:
    answer = {"answers": Text("a summary"), "fails": server_error(), "waits": Silent()}[mood]
    async with ModelServer(answer) as server:
        yield Bench(model_at(server.base_url, wire), server.asked, server.hung_up)


@asynccontextmanager
async def acp(mood: Mood, folder: Path) -> AsyncIterator[Bench]:
    stub = Stub(folder, **{"answers": {}, "fails": {"crash": "prompt"}, "waits": {"hang": "prompt"}}[mood])
    if mood == "answers":
        del stub.script["record"]  # Agents that run at the same time would write the same file.

    async def is_left() -> None:
        with suppress(FileNotFoundError):
            await ends(stub.record()["pid"])
        assert stub.left() == []

    yield Bench(stub.model(), stub.waits, is_left, timeout_ms=1500)


@asynccontextmanager
async def scripted(mood: Mood, folder: Path) -> AsyncIterator[Bench]:
    answer = ModelReply("a summary", "scripted", stop_reason="end")
    yield Bench(ScriptedModel(answer if mood == "answers" else ModelFailure("model_error", "it hurts")))


@asynccontextmanager
async def gated(mood: Mood, folder: Path) -> AsyncIterator[Bench]:
    model = GatedModel(lambda _: "never")

    async def is_left() -> None:
        assert model.cancelled == 1

    yield Bench(model, model.asked.get, is_left)


REAL: dict[str, Provider] = {
    "offline": offline,
    "editor": editor,
    "openai": partial(http, "openai"),
    "anthropic": partial(http, "anthropic"),
    "acp": acp,
}

ALL = [*REAL.values(), scripted]
NAMES = [*REAL, "scripted"]
THAT_WAIT = {name: provider for name, provider in REAL.items() if name != "offline"}
"""Those that wait for somebody else's answer."""


def request(mood: Mood = "answers", timeout_ms: int = 20_000) -> ModelRequest:
    """A request that every provider can answer; one without any words, which the offline model cannot, for failures."""
    messages = () if mood == "fails" else (user("Fix the build."), said("It is green."))
    return ModelRequest("conversation", "You sum up.", ("one", "two"), timeout_ms, messages=messages)


@pytest.mark.asyncio
@pytest.mark.parametrize("provider", ALL, ids=NAMES)
async def test_an_answer_is_text_with_the_providers_name_and_an_end(provider: Provider, tmp_path: Path) -> None:
    async with provider("answers", tmp_path) as bench:
        found = await bench.model.ask(request())
    assert isinstance(found, ModelReply)
    assert (found.provider, found.stop_reason, found.missing_model) == (bench.model.name, "end", None)
    assert found.text.strip()


@pytest.mark.asyncio
@pytest.mark.parametrize("provider", ALL, ids=NAMES)
async def test_a_model_answers_again_and_several_at_once(provider: Provider, tmp_path: Path) -> None:
    async with provider("answers", tmp_path) as bench:
        found = await asyncio.gather(*(bench.model.ask(request()) for _ in range(3)))
    assert [isinstance(one, ModelReply) for one in found] == [True] * 3


@pytest.mark.asyncio
@pytest.mark.parametrize("provider", ALL, ids=NAMES)
async def test_a_failure_is_a_value_with_a_type_of_the_contract_and_one_line_of_words(
    provider: Provider, tmp_path: Path
) -> None:
    async with provider("fails", tmp_path) as bench:
        found = await bench.model.ask(request("fails"))
    assert isinstance(found, ModelFailure)
    assert found.type in get_args(ModelFailureType)
    assert len(found.message.splitlines()) == 1


@pytest.mark.asyncio
@pytest.mark.parametrize("provider", [*ALL, gated], ids=[*NAMES, "gated"])
async def test_the_host_is_a_name_or_unknown(provider: Provider, tmp_path: Path) -> None:
    async with provider("answers", tmp_path) as bench:
        assert bench.model.host is None or bench.model.host


@pytest.mark.asyncio
@pytest.mark.parametrize("provider", [*REAL.values(), gated], ids=[*REAL, "gated"])
async def test_a_cancel_ends_the_call_at_once_and_leaves_nothing(provider: Provider, tmp_path: Path) -> None:
    async with provider("waits", tmp_path) as bench:
        asking = asyncio.ensure_future(bench.model.ask(request()))
        await asyncio.sleep(0)
        await bench.is_asked()
        asking.cancel()
        async with asyncio.timeout(10):
            await asyncio.wait([asking])
            assert asking.cancelled()
            await bench.is_left()


@pytest.mark.asyncio
@pytest.mark.parametrize("provider", THAT_WAIT.values(), ids=THAT_WAIT)
async def test_out_of_time_is_a_failure_of_that_type_and_leaves_nothing(provider: Provider, tmp_path: Path) -> None:
    async with provider("waits", tmp_path) as bench:
        found = await bench.model.ask(request(timeout_ms=bench.timeout_ms))
        assert isinstance(found, ModelFailure)
        assert (found.type, found.retryable) == ("timeout", True)
        async with asyncio.timeout(10):
            await bench.is_left()
