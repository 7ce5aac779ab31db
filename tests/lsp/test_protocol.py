"""The protocol object: what it keeps, and the private names of the library that it needs."""

from __future__ import annotations

import asyncio
import json
from importlib.metadata import version
from typing import Any

import pytest
from pygls.protocol import JsonRPCProtocol, LanguageServerProtocol

from lithify.core.outcomes import LithifyError
from lithify.lsp import wire, work
from lithify.lsp.inbox import Inbox
from lithify.lsp.protocol import LithifyProtocol
from lithify.lsp.running import JsonText
from lithify.lsp.server import LithifyServer
from tests.support.kept_wire import Wire

pytestmark = pytest.mark.asyncio

MANY = 500


class Wired:
    """A protocol object that believes it is initialized, and what it sends."""

    def __init__(self) -> None:
        self.protocol: LithifyProtocol = LithifyServer(work.begin).protocol
        self.protocol._initialized = True
        self.wire = Wire()
        self.protocol.set_writer(self.wire)
        self.release = asyncio.Event()

        async def answer(_: wire.SessionParams) -> str:
            return "answer"

        async def wait(_: wire.SessionParams) -> None:
            await self.release.wait()

        async def fail(_: wire.SessionParams) -> None:
            raise KeyError("the user's words")

        self.protocol.on_request("test/answer", wire.SessionParams, answer)
        self.protocol.on_request("test/wait", wire.SessionParams, wait)
        self.protocol.on_request("test/fail", wire.SessionParams, fail)
        self.protocol.on_command("test.wait", wire.SessionParams, wait, cancellable=True)

    def receive(self, **message: Any) -> None:
        self.protocol.receive(json.dumps({"jsonrpc": "2.0", **message}).encode())

    async def settle(self) -> None:
        while len(self.protocol.inbox):
            await asyncio.sleep(0)
        for _ in range(5):
            await asyncio.sleep(0)

    def answers(self, message_id: Any) -> list[dict[str, Any]]:
        return [message for message in self.wire.messages if message.get("id") == message_id]

    def kept(self) -> dict[str, int]:
        protocol = self.protocol
        return {
            "request futures": len(protocol._request_futures),
            "result types": len(protocol._result_types),
            "running": len(protocol.running),
            "asking": len(protocol.asking),
            "tasks": len(asyncio.all_tasks()),
        }


async def test_a_result_that_is_json_already_is_sent_as_it_is() -> None:
    wired = Wired()

    async def written(_: wire.SessionParams) -> JsonText:
        return JsonText('[{"a": "\u00e9"}]')

    wired.protocol.on_request("test/written", wire.SessionParams, written)
    wired.receive(id='"7', method="test/written", params={"sessionId": "s"})
    await wired.settle()
    assert wired.answers('"7') == [{"jsonrpc": "2.0", "id": '"7', "result": [{"a": "\u00e9"}]}]


async def test_the_pinned_library_has_the_private_names_that_are_overridden() -> None:
    assert version("pygls") == "2.1.1"
    for name in ("_execute_handler", "_handle_request", "_handle_notification", "_send_data", "_serialize_message"):
        assert callable(getattr(JsonRPCProtocol, name)), name
    wired = Wired()
    assert isinstance(wired.protocol, LanguageServerProtocol)
    assert isinstance(wired.protocol._request_futures, dict)
    assert isinstance(wired.protocol._shutdown, bool)


@pytest.mark.parametrize(
    "message",
    [
        {"method": "lithify/didRecordEvents", "params": {"events": 7}},
        {"method": "workspace/didChangeConfiguration", "params": {"settings": {"python": 1}}},
        {"method": "$/setTrace", "params": {"value": "off"}},
        {"method": "textDocument/didOpen", "params": {}},
        {"method": "no/such", "params": {}},
        {"method": "$/cancelRequest", "params": {"id": 7}},
        {"id": "lithify-9", "result": None},
        {"id": 1, "method": "test/answer", "params": {"sessionId": "a"}},
        {"id": 1, "method": "test/answer", "params": 7},
        {"id": 1, "method": "test/fail", "params": {"sessionId": "a"}},
        {"id": 1, "method": "no/such", "params": {}},
        {"id": 1, "method": "textDocument/hover", "params": {}},
        {"id": 1, "method": "workspace/executeCommand", "params": {"command": "no.such"}},
    ],
)
async def test_nothing_is_kept_of_a_message_that_was_dealt_with(message: dict[str, Any]) -> None:
    wired = Wired()
    before = wired.kept()
    for _ in range(MANY):
        wired.receive(**message)
    await wired.settle()
    assert wired.kept() == before


async def test_every_one_of_many_requests_is_answered_once() -> None:
    wired = Wired()
    for number in range(MANY):
        wired.receive(id=number, method="test/answer", params={"sessionId": "a"})
    await wired.settle()
    assert [len(wired.answers(number)) for number in range(MANY)] == [1] * MANY


async def test_nothing_is_kept_of_a_question_whose_asker_gave_up() -> None:
    wired = Wired()
    before = wired.kept()
    asking = [asyncio.ensure_future(wired.protocol.asking.ask("x", {})) for _ in range(MANY)]
    await wired.settle()
    for one in asking:
        one.cancel()
    await asyncio.gather(*asking, return_exceptions=True)
    assert wired.kept() == before


async def test_a_request_cancelled_before_it_began_is_still_answered() -> None:
    wired = Wired()
    params = {"command": "test.wait", "arguments": [{"sessionId": "a"}]}
    wired.receive(id=1, method="workspace/executeCommand", params=params)
    wired.receive(method="$/cancelRequest", params={"id": 1})
    await wired.settle()
    assert [answer["error"]["data"]["type"] for answer in wired.answers(1)] == ["cancelled"]


async def test_all_requests_under_one_id_are_cancelled_by_it() -> None:
    wired = Wired()
    params = {"command": "test.wait", "arguments": [{"sessionId": "a"}]}
    for _ in range(3):
        wired.receive(id="same", method="workspace/executeCommand", params=params)
    await wired.settle()
    wired.receive(method="$/cancelRequest", params={"id": "same"})
    await wired.settle()
    assert len(wired.answers("same")) == 3
    assert len(wired.protocol.running) == 0


async def test_a_request_that_takes_no_time_is_not_cancelled() -> None:
    wired = Wired()
    wired.receive(id=1, method="test/wait", params={"sessionId": "a"})
    await wired.settle()
    wired.receive(method="$/cancelRequest", params={"id": 1})
    await wired.settle()
    assert wired.answers(1) == []
    wired.release.set()
    await wired.settle()
    assert wired.answers(1)[0]["result"] is None


async def test_a_failure_of_ours_is_answered_without_the_words_it_holds() -> None:
    wired = Wired()
    wired.receive(id=1, method="test/fail", params={"sessionId": "a"})
    await wired.settle()
    error = wired.answers(1)[0]["error"]
    assert error["code"] == -32603
    assert "KeyError" in error["message"]
    assert "words" not in error["message"]


async def test_a_notification_handler_that_fails_costs_no_message_after_it() -> None:
    wired = Wired()

    def fail(_: wire.SessionParams) -> None:
        raise KeyError("broken")

    wired.protocol.on_notification("test/broken", wire.SessionParams, fail)
    wired.receive(method="test/broken", params={"sessionId": "a"})
    wired.receive(id=1, method="test/answer", params={"sessionId": "a"})
    await wired.settle()
    assert wired.answers(1)[0]["result"] == "answer"
    assert not [message for message in wired.wire.messages if message.get("method") == "window/showMessage"]


async def test_objects_inside_a_message_are_never_structured() -> None:
    wired = Wired()
    taken: list[Any] = []
    wired.protocol.on_notification("test/take", wire.RecordEvents, lambda params: taken.append(params.events))
    inner = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"jsonrpc": "2.0", "result": {}}}
    wired.receive(method="test/take", params={"events": [inner, {"class": 1, "_meta": {}, "": None}]})
    assert taken == [[inner, {"class": 1, "_meta": {}, "": None}]]


async def test_a_result_that_json_cannot_hold_is_answered_as_an_error_of_ours() -> None:
    wired = Wired()

    async def nan(_: wire.SessionParams) -> float:
        return float("nan")

    wired.protocol.on_request("test/nan", wire.SessionParams, nan)
    wired.receive(id=1, method="test/nan", params={"sessionId": "a"})
    await wired.settle()
    assert wired.answers(1)[0]["error"]["code"] == -32603


async def test_a_failure_that_is_named_is_answered_with_its_type() -> None:
    wired = Wired()

    async def busy(_: wire.SessionParams) -> None:
        raise LithifyError("busy", "it is busy")

    wired.protocol.on_request("test/busy", wire.SessionParams, busy)
    wired.receive(id=1, method="test/busy", params={"sessionId": "a"})
    await wired.settle()
    assert wired.answers(1)[0]["error"] == {
        "code": -32803,
        "message": "it is busy",
        "data": {"type": "busy", "retryable": True},
    }


async def test_no_message_overtakes_the_first_step_of_a_request_before_it() -> None:
    order: list[str] = []

    async def begin(body: bytes) -> None:
        order.append(f"{body.decode()} begun")

    def take(body: bytes) -> None:
        order.append(f"{body.decode()} taken")
        if body.startswith(b"request"):
            tasks.append(asyncio.ensure_future(begin(body)))

    tasks: list[asyncio.Task[None]] = []
    inbox = Inbox(take, lambda: len(tasks))
    for body in (b"request 1", b"note 2", b"request 3", b"note 4"):
        inbox.put(body)
    await asyncio.gather(*tasks)
    while len(inbox):
        await asyncio.sleep(0)
    await asyncio.gather(*tasks)
    assert order == [
        "request 1 taken",
        "request 1 begun",
        "note 2 taken",
        "request 3 taken",
        "request 3 begun",
        "note 4 taken",
    ]


async def test_at_the_end_of_the_stream_all_that_waits_is_taken() -> None:
    taken: list[bytes] = []
    inbox = Inbox(taken.append, lambda: len(taken))
    for body in (b"1", b"2", b"3"):
        inbox.put(body)
    inbox.take_all()
    assert taken == [b"1", b"2", b"3"]
