"""What never leaves the server by the wrong door: other text on standard output, the user's words in a log."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.editor import PROGRESS, SUMMARY, Starter, conversation, json_event, note, open_session, settled
from tests.support.raw_client import RawClient, Refusal

pytestmark = pytest.mark.asyncio(loop_scope="module")

MARKER = "marzipan-4711"


def marked_messages() -> list[Any]:
    return [{**one, "content": f"{MARKER} {one['content']}", MARKER: MARKER} for one in conversation()]


async def say_everything(client: RawClient) -> None:
    """Sends the marker in every place that holds the user's words, in messages that fit and in others that do not."""
    bodies: list[Any] = [
        {"type": "text", "content": MARKER},
        {"type": MARKER, "content": MARKER},
        {"type": "json", "data": {MARKER: MARKER, "path": f"/{MARKER}/x.txt"}},
        {"type": "json", "data": float("nan"), MARKER: MARKER},
        {"type": "message", "turns": [{"role": 7, "content": MARKER}]},
        {"type": "message", "turns": MARKER},
        {"type": "text", "content": MARKER * 99_999},
        [MARKER],
        MARKER,
    ]
    events = [note(body=body) for body in bodies] + [MARKER, {MARKER: MARKER}, json_event({"\ud800": MARKER})]
    for method in ("lithify/didRecordEvents", "lithify/recordEvents"):
        for params in ({"events": events}, {"events": MARKER}, MARKER, [MARKER], {MARKER: MARKER}):
            message = {"jsonrpc": "2.0", "method": method, "params": params}
            client.send_body(json.dumps(message).encode())
            client.send_body(json.dumps({**message, "id": f"{method} {params}"[:60]}).encode())
    for messages in (
        marked_messages(),
        [{"role": 7, "content": MARKER}],
        [{"role": MARKER, "content": {MARKER: 1}}],
        MARKER,
    ):
        for method in ("didOpenSession", "didAppendMessages", "didSpliceMessages"):
            params = {"sessionId": "a", "agent": None, "messages": messages, "start": 0, "deleteCount": 0}
            client.notify(f"lithify/{method}", params)
    client.notify(
        "lithify/didOpenSession", {"sessionId": "b", "messages": [], "agent": {"compaction": {"prompt": [MARKER]}}}
    )
    client.notify(
        "lithify/didSpliceMessages", {"sessionId": "a", "start": 9999, "deleteCount": 0, "messages": [MARKER]}
    )
    client.notify("lithify/didAppendMessages", {"sessionId": "none", "messages": marked_messages()})
    client.send_body(f'{{"jsonrpc":"2.0","method":"x","params":"{MARKER}'.encode())
    client.send({"jsonrpc": "1.0", "method": MARKER, "params": MARKER})
    client.send({"jsonrpc": "2.0", "id": "lithify-99", "result": {"text": MARKER}})
    client.ask("textDocument/hover", {"textDocument": {"uri": MARKER}, "position": MARKER})
    client.ask("workspace/executeCommand", {"command": "lithify.undo_compaction", "arguments": MARKER})
    await settled(client)
    open_session(client, "a", marked_messages())
    argument = {"sessionId": "a", "instructions": MARKER, "prompt": MARKER, "settingsOverrides": {MARKER: MARKER}}
    for extra in ({}, {"start": MARKER}, {"dryRun": True}, {"settingsOverrides": MARKER}):
        await client.answer_to(client.ask_command("lithify.compact_conversation", {**argument, **extra}))
    await client.answer_to(client.ask_command("lithify.undo_compaction", {"sessionId": "a"}))
    await settled(client)


def refuse(_: Any) -> Any:
    raise Refusal(-32000, f"the model says {MARKER}", {"reason": "unknown", "text": MARKER})


MODELS = pytest.mark.parametrize(
    "model", [lambda _: {"text": MARKER + SUMMARY}, lambda _: {MARKER: MARKER}, lambda _: MARKER, refuse]
)


@MODELS
async def test_none_of_the_users_words_reach_a_log_above_debug(start: Starter, model: Any) -> None:
    fresh = await start(options={"client": {"complete": True}, "log": {"level": "info"}}, capabilities=PROGRESS)
    fresh.answerers["lithify/complete"] = model
    await say_everything(fresh)
    await fresh.shut_down()
    assert MARKER not in fresh.stderr
    assert MARKER not in json.dumps(fresh.received("window/logMessage"))
    assert fresh.received("window/logMessage") != []
    assert fresh.received("window/showMessage") == []


async def test_at_debug_nothing_but_the_protocol_is_on_standard_output(start: Starter) -> None:
    fresh = await start(options={"log": {"level": "debug"}})
    await say_everything(fresh)
    assert await fresh.shut_down() == 0
    assert fresh.not_protocol == b""


async def test_a_quiet_session_logs_nothing(start: Starter) -> None:
    fresh = await start()
    open_session(fresh, "a", conversation())
    await fresh.request("lithify/recordEvents", {"events": [note()]})
    await fresh.shut_down()
    assert fresh.stderr == ""
    assert fresh.received("window/logMessage") == []
