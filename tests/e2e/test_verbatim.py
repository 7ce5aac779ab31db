"""What an editor sends comes back as it was, whatever keys and characters it holds."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.editor import (
    Starter,
    buffer_entries,
    conversation,
    database,
    json_event,
    open_session,
    session,
)
from tests.support.raw_client import RawClient

pytestmark = pytest.mark.asyncio(loop_scope="module")

MESSAGE_OF_LSP = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}}}
ANSWER_OF_LSP = {"jsonrpc": "2.0", "id": 1, "result": {"capabilities": {}}}


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels // 2):
        value = {"a": [value]}
    return value


@pytest.fixture(autouse=True, scope="module")
def deep_json() -> Iterator[None]:
    """Lets this process, too, read and write JSON of some thousand levels."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    yield
    sys.setrecursionlimit(limit)


ODD = {
    "a message of LSP": MESSAGE_OF_LSP,
    "an answer of LSP": ANSWER_OF_LSP,
    "an error of LSP": {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "x"}},
    "a version alone": {"jsonrpc": "2.0"},
    "messages of LSP in each other": {"jsonrpc": "2.0", "params": [MESSAGE_OF_LSP, {"jsonrpc": [ANSWER_OF_LSP]}]},
    "keys that are no names": {"class": 1, "_meta": {"a-b": 2}, "": 3, " ": 4, "0": 5, "def": None, "__class__": 6},
    "keys of our own models": {
        "type_name": "x",
        "model_config": 1,
        "sessionId": 2,
        "session_id": 3,
        "body": {"type": 4},
    },
    "keys of JSON-RPC": {"id": [1], "method": {"params": None}, "params": "x", "result": 0, "error": False},
    "500 levels": nested(500),
    "3,000 levels": nested(3000),
    "characters beyond the basic plane": "𝒳 😀 \U0010ffff",
    "keys beyond the basic plane": {"😀": {"𝒳": "ü"}},
    "lone halves of surrogate pairs": ["\ud800", "\udfff x", {"\ud83d": "\ude00 y"}],
    "control characters": '\x00\x01\x1f\x7f\x80\u2028\u2029\ufeff\r\n\t\\"/',
    "big numbers": [2**63, -(2**70), 10**300, 1e308, -1e-308, 5e-324],
    "small differences": [0, -0.0, 1.0, 1, True, False, None, "1", 0.1, 1.7976931348623157e308],
    "empty things": [{}, [], "", {"": {}}],
    "a long number": int("7" * 4000),
    "HTML and entities": "<script>&amp;&lt;</script>",
    "text that looks like a frame": "Content-Length: 5\r\n\r\n{}",
}
"""Every one is the data of one event, and a key of one message."""

odd = pytest.mark.parametrize("value", ODD.values(), ids=ODD.keys())


def text(value: Any) -> str:
    """The JSON of a value, which tells 1 from 1.0 and from true, and keeps the order of keys."""
    return json.dumps(value)


@odd
async def test_the_body_of_an_event_is_in_the_buffer_as_it_was_sent(client: RawClient, value: Any) -> None:
    event = json_event({"tool_name": "t", "tool_input": value})
    (result,) = (await client.request("lithify/recordEvents", {"events": [event]}))["results"]
    entry = buffer_entries(client.data_dir)[-1]
    assert (entry["event_id"], result["status"]) == (result["eventId"], "buffered")
    assert text(entry["body"]) == text(event["body"])


@pytest.mark.parametrize(
    "body",
    [
        {"type": "text", "content": "x", "extra": {"jsonrpc": "2.0"}},
        {"more": 1, "type": "message", "turns": [{"role": "user", "content": "x", "id": 7}], "class": None},
        {"data": None, "type": "json", "_meta": {}},
    ],
)
async def test_keys_of_a_body_that_nobody_knows_are_kept_in_their_order(client: RawClient, body: Any) -> None:
    await client.request("lithify/recordEvents", {"events": [{"sessionId": "s", "kind": "note", "body": body}]})
    assert text(buffer_entries(client.data_dir)[-1]["body"]) == text(body)


async def test_the_bodies_of_events_in_notifications_are_in_the_database_as_they_were_sent(start: Starter) -> None:
    fresh = await start()
    events = [json_event(value) for value in ODD.values()]
    fresh.notify("lithify/didRecordEvents", {"events": events})
    await fresh.request("lithify/recordEvents", {"events": []})
    with database(fresh.data_dir) as connection:
        stored = [row[0] for row in connection.execute("SELECT body FROM events ORDER BY sequence")]
    assert [text(json.loads(body)) for body in stored] == [text(event["body"]) for event in events]


@odd
async def test_a_message_of_a_session_comes_back_as_it_was_sent(client: RawClient, value: Any) -> None:
    message = {"role": "user", "content": [{"type": "text", "text": "hi"}, {"type": "x", "y": value}], "extra": value}
    open_session(client, "odd", [message, {"role": "assistant", "content": None, "tool_calls": value}])
    told = await session(client, "odd")
    assert text(told["messages"][0]) == text(message)
    assert text(told["messages"][1]["tool_calls"]) == text(value)


@odd
async def test_a_message_appended_or_spliced_in_comes_back_as_it_was_sent(client: RawClient, value: Any) -> None:
    first, second = {"role": "user", "content": "", "n": 1, "v": value}, {"role": "tool", "content": [], "v": value}
    open_session(client, "grown", [])
    client.notify("lithify/didAppendMessages", {"sessionId": "grown", "messages": [first]})
    client.notify(
        "lithify/didSpliceMessages", {"sessionId": "grown", "start": 0, "deleteCount": 0, "messages": [second]}
    )
    assert text((await session(client, "grown"))["messages"]) == text([second, first])


@odd
async def test_an_agent_comes_back_as_it_was_sent(client: RawClient, value: Any) -> None:
    agent = {"model": "m", "compaction": {"enabled": True, "type": "kimi", "extra": value}, "custom": value}
    open_session(client, "agent", [], agent=agent)
    assert text((await session(client, "agent"))["agent"]) == text(agent)


@odd
async def test_settings_overrides_are_in_the_request_as_they_were_sent(client: RawClient, value: Any) -> None:
    open_session(client, "overrides", conversation())
    argument = {"sessionId": "overrides", "dryRun": True, "settingsOverrides": {"custom": value}}
    preview = await client.command("lithify.compact_conversation", argument)
    assert text(preview["request"]["settings"]["custom"]) == text(value)


@odd
async def test_the_tail_of_a_compaction_and_the_undone_range_are_as_they_were_sent(
    client: RawClient, value: Any
) -> None:
    messages = [{**message, "extra": value} for message in conversation()]
    client.answerers["lithify/complete"] = lambda _: {"text": "a summary"}
    open_session(client, "compacted", messages)
    compacted = await client.command("lithify.compact_conversation", {"sessionId": "compacted"})
    undone = await client.command("lithify.undo_compaction", {"sessionId": "compacted"})
    assert text(compacted["messages"][1:]) == text(messages[6:])
    assert text(undone["messages"]) == text(messages)


async def test_the_answer_of_a_model_is_kept_with_all_its_characters(client: RawClient) -> None:
    answer = "".join(ODD[name] for name in ("characters beyond the basic plane", "control characters")) + "\ud800"
    client.answerers["lithify/complete"] = lambda _: {"text": answer}
    open_session(client, "answer", conversation())
    compacted = await client.command("lithify.compact_conversation", {"sessionId": "answer"})
    assert compacted["summary"]["content"].endswith("\n" + answer)


@pytest.mark.parametrize("session_id", ["jsonrpc", "a/b", "😀" * 64, " ", "'; DROP TABLE sessions; --", "\x00"])
async def test_any_short_text_is_the_id_of_a_session(client: RawClient, session_id: str) -> None:
    open_session(client, session_id, conversation(1), title=session_id)
    told = await session(client, session_id)
    assert (told["sessionId"], told["title"], len(told["messages"])) == (session_id, session_id, 2)
