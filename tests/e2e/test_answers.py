"""Every request is answered, whatever it holds; nothing that an editor sends brings the server down."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.editor import Starter, conversation, note, open_session, settled
from tests.support.raw_client import RawClient, framed_body

pytestmark = pytest.mark.asyncio(loop_scope="module")

REQUESTS = {
    "lithify/recordEvents": [("events", None), ("events", {}), ("events", "all")],
    "lithify/bufferStatus": [("projectUri", 7), ("projectUri", "file://[x"), ("projectUri", "file:///a%00b")],
    "lithify/getSession": [("sessionId", None), ("sessionId", 7), ("sessionId", ""), ("sessionId", "x" * 129)],
    "lithify/listSessions": [
        ("limit", 0),
        ("limit", "many"),
        ("limit", -1),
        ("cursor", 7),
        ("cursor", "?"),
        ("cursor", "ü"),
    ],
    "lithify/deleteSession": [("sessionId", None), ("sessionId", ["a"])],
    "lithify/sessionStatus": [("sessionId", None), ("sessionId", {"id": "a"})],
    "lithify/sessionActions": [("agent", 7), ("agent", []), ("agent", {"compaction": {"enabled": "yes"}})],
}
COMPACTIONS = [
    ("sessionId", 7),
    ("sessionId", ""),
    ("instructions", 7),
    ("prompt", []),
    ("compactionModel", 7),
    ("settingsOverrides", []),
    ("exact", "yes"),
    ("dryRun", 1),
    ("draft", "no"),
]
COMMANDS = {
    "lithify.compact_conversation": [*COMPACTIONS, ("start", "0"), ("end", 1.5), ("maxPreservedMessages", True)],
    "lithify.compact_up_to_here": [*COMPACTIONS, ("messageId", 7), ("index", "0"), ("start", 0), ("end", 1)],
    "lithify.undo_compaction": [("sessionId", 7), ("compactionId", 7)],
    "lithify.set_recording": [("enabled", None), ("enabled", "yes"), ("projectUri", 7)],
}
NO_OBJECTS = ["all", 7, True, [{}], [1]]

ALL_REQUESTS = [(method, name, value) for method, wrong in REQUESTS.items() for name, value in wrong]
ALL_COMMANDS = [(command, name, value) for command, wrong in COMMANDS.items() for name, value in wrong]


@pytest.mark.parametrize(("method", "name", "value"), ALL_REQUESTS)
async def test_a_field_of_the_wrong_type_in_a_request_is_named(
    client: RawClient, method: str, name: str, value: Any
) -> None:
    failure = await client.failure(method, {name: value})
    assert (failure.code, failure.type, failure.data["retryable"]) == (-32602, "invalid_params", False)
    assert name in failure.message


@pytest.mark.parametrize(("command", "name", "value"), ALL_COMMANDS)
async def test_a_field_of_the_wrong_type_in_a_command_is_named(
    client: RawClient, command: str, name: str, value: Any
) -> None:
    failure = await client.command_failure(command, {"sessionId": "a", "index": 0, name: value})
    assert (failure.code, failure.type, failure.data["retryable"]) == (-32602, "invalid_params", False)
    assert name in failure.message


@pytest.mark.parametrize("params", NO_OBJECTS)
@pytest.mark.parametrize("method", REQUESTS)
async def test_params_that_are_no_object_are_refused(client: RawClient, method: str, params: Any) -> None:
    failure = await client.failure(method, params)
    assert (failure.code, failure.type) == (-32602, "invalid_params")
    assert "must be an object" in failure.message


@pytest.mark.parametrize("argument", NO_OBJECTS)
@pytest.mark.parametrize("command", COMMANDS)
async def test_an_argument_that_is_no_object_is_refused(client: RawClient, command: str, argument: Any) -> None:
    failure = await client.command_failure(command, argument)
    assert (failure.code, failure.type) == (-32602, "invalid_params")
    assert "must be an object" in failure.message


@pytest.mark.parametrize("arguments", [{}, {"arguments": None}, {"arguments": []}, {"arguments": [None]}])
@pytest.mark.parametrize("command", COMMANDS)
async def test_a_command_without_its_argument_says_what_is_missing(
    client: RawClient, command: str, arguments: Any
) -> None:
    failure = await client.failure("workspace/executeCommand", {"command": command, **arguments})
    assert (failure.code, failure.type) == (-32602, "invalid_params")
    assert ("enabled" if command == "lithify.set_recording" else "sessionId") in failure.message


@pytest.mark.parametrize("command", COMMANDS)
async def test_a_command_with_two_arguments_is_refused(client: RawClient, command: str) -> None:
    params = {"command": command, "arguments": [{"sessionId": "a"}, {"sessionId": "a"}]}
    failure = await client.failure("workspace/executeCommand", params)
    assert (failure.code, failure.type) == (-32602, "invalid_params")
    assert "arguments" in failure.message


@pytest.mark.parametrize(
    "params", [None, {}, {"command": 7}, {"command": "lithify.set_recording", "arguments": {}}, []]
)
async def test_execute_command_with_params_of_the_wrong_type_is_refused(client: RawClient, params: Any) -> None:
    failure = await client.failure("workspace/executeCommand", params)
    assert (failure.code, failure.type) == (-32602, "invalid_params")


async def test_an_unknown_command_is_named(client: RawClient) -> None:
    failure = await client.command_failure("lithify.no_such_command", {})
    assert (failure.code, failure.type) == (-32602, "invalid_params")
    assert "lithify.no_such_command" in failure.message


@pytest.mark.parametrize(
    "method", ["lithify/noSuchRequest", "$/unknown", "textDocument/definition", "lithify/didRecordEvents", ""]
)
async def test_an_unknown_request_is_answered_as_such(client: RawClient, method: str) -> None:
    assert (await client.failure(method, {})).code == -32601


@pytest.mark.parametrize(
    "command",
    [
        "lithify.compact_memory",
    ],
)
async def test_a_command_of_a_later_version_says_that_it_is_not_built(client: RawClient, command: str) -> None:
    failure = await client.command_failure(command, {"query": "x", "recordId": "x", "draftId": "x"})
    assert (failure.code, failure.type, failure.data["retryable"]) == (-32803, "not_built", False)


@pytest.mark.parametrize("message_id", ["a", "", "1", 0, -1, 2**53, 2**80, "\ud800", "lithify-1", "x" * 1000])
async def test_an_answer_carries_the_id_of_its_request(client: RawClient, message_id: Any) -> None:
    client.ask("lithify/listSessions", {}, message_id)
    assert "result" in await client.answer_to(message_id)


async def test_a_request_whose_id_is_in_use_is_answered_as_well(client: RawClient) -> None:
    for _ in range(3):
        client.ask("lithify/listSessions", {}, "twice")
    await settled(client)
    assert len([message for message in client.messages if message.get("id") == "twice"]) == 3


@pytest.mark.parametrize("message_id", [None, True, 1.5, [], {}])
async def test_a_request_whose_id_is_none_is_refused(client: RawClient, message_id: Any) -> None:
    client.send({"jsonrpc": "2.0", "id": message_id, "method": "lithify/listSessions", "params": {}})
    refused = await client.wait_for(lambda message: "error" in message)
    assert refused["error"]["code"] == -32600


@pytest.mark.parametrize(
    "body", [b"{", b"", b"nonsense", b"\xff\xfe", b'{"jsonrpc":"2.0",}', b"\xef\xbb\xbf{", b"{]" * 9]
)
async def test_a_body_that_is_no_json_is_answered_with_a_parse_error(client: RawClient, body: bytes) -> None:
    before = len(client.messages)
    client.send_body(body)
    await settled(client)
    refused = next(message for message in client.messages[before:] if "error" in message)
    assert (refused["id"], refused["error"]["code"]) == (None, -32700)


@pytest.mark.parametrize(
    "body",
    [
        b'{"jsonrpc":"2.0","id":"broken","method":"lithify/listSessions","params":{}',
        b'{"params":{"id":5,"x":[{"id":6}]},"jsonrpc":"2.0","method":"a","id":"broken" oops',
        b'{"method":"id","id" : "broken", "params": {"id": 5}, "jsonrpc": 2.0.0}',
    ],
)
async def test_a_broken_request_is_answered_under_its_own_id_where_it_can_be_found(
    client: RawClient, body: bytes
) -> None:
    client.send_body(body)
    assert (await client.failure_of("broken")).code == -32700


async def test_an_id_inside_the_params_of_a_broken_notification_is_not_answered(client: RawClient) -> None:
    client.send_body(b'{"jsonrpc":"2.0","method":"lithify/didRecordEvents","params":{"events":[{"id":5}]}')
    refused = await client.wait_for(lambda message: "error" in message)
    assert refused["id"] is None


@pytest.mark.parametrize(
    "message", [[], [{"jsonrpc": "2.0", "id": 1, "method": "shutdown"}], 7, "text", None, True, {}]
)
async def test_json_that_is_no_message_is_answered_as_an_invalid_request(client: RawClient, message: Any) -> None:
    before = len(client.messages)
    client.send(message)
    await settled(client)
    refused = next(one for one in client.messages[before:] if "error" in one)
    assert (refused["id"], refused["error"]["code"]) == (None, -32600)


async def test_a_request_without_the_version_of_json_rpc_is_answered_under_its_id(client: RawClient) -> None:
    client.send({"id": "no version", "method": "lithify/listSessions", "params": {}})
    assert (await client.failure_of("no version")).code == -32600


async def test_a_request_too_deeply_nested_to_be_read_is_answered_under_its_id(client: RawClient) -> None:
    deep = "[" * 100_000 + "]" * 100_000
    client.send_body(f'{{"jsonrpc":"2.0","method":"lithify/recordEvents","params":{deep},"id":"deep"}}'.encode())
    assert (await client.failure_of("deep")).code == -32700


@pytest.mark.parametrize(
    "header",
    [
        "content-length: {}\r\n\r\n",
        "CONTENT-LENGTH:{}\r\n\r\n",
        "Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: {}\r\n\r\n",
        "Content-Length: {}\r\nContent-Type: application/vscode-jsonrpc; charset=utf8\r\n\r\n",
        "X-Other: 1\r\ncontent-Length:  {} \r\n\r\n",
    ],
)
async def test_headers_in_any_case_and_order_are_read(client: RawClient, header: str) -> None:
    message_id = f"header {header}"
    client.send_body(framed_body({"jsonrpc": "2.0", "id": message_id, "method": "lithify/listSessions"}), header)
    assert "result" in await client.answer_to(message_id)


async def test_messages_that_come_byte_by_byte_are_read(client: RawClient) -> None:
    body = framed_body({"jsonrpc": "2.0", "id": "bytes", "method": "lithify/listSessions", "params": {}})
    assert client.process.stdin is not None
    for byte in b"Content-Length: %d\r\n\r\n%b" % (len(body), body):
        client.send_bytes(bytes([byte]))
        await client.process.stdin.drain()
    assert "result" in await client.answer_to("bytes")


async def test_a_stream_without_frames_ends_the_process_after_what_came_before_it(start: Starter) -> None:
    fresh = await start()
    asked = framed_body({"jsonrpc": "2.0", "method": "lithify/didRecordEvents", "params": {"events": [note()]}})
    fresh.send_bytes(b"Content-Length: %d\r\n\r\n%bno frame\r\n\r\n" % (len(asked), asked))
    assert await fresh.exit_code() == 1
    again = await start()
    assert (await again.request("lithify/bufferStatus", {}))["entries"] == 1


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("lithify/didRecordEvents", {"events": 7}),
        ("lithify/didRecordEvents", None),
        ("lithify/didOpenSession", {"sessionId": "bad", "messages": [{"role": 7}]}),
        ("lithify/didOpenSession", {"sessionId": "bad", "messages": [], "projectUri": "file:///a%00b"}),
        ("lithify/didOpenSession", {"sessionId": "bad", "messages": [], "projectUri": "http://[x"}),
        ("lithify/didOpenSession", {"sessionId": "bad", "messages": [], "agent": {"compaction": 7}}),
        ("lithify/didAppendMessages", {"sessionId": "no such session", "messages": []}),
        ("lithify/didSpliceMessages", {"sessionId": "a", "start": -1, "deleteCount": 0, "messages": []}),
        ("lithify/didSpliceMessages", {"sessionId": "kept", "start": 90, "deleteCount": 1, "messages": []}),
        ("lithify/didChangeSession", {"sessionId": "no such session", "title": "x"}),
        ("lithify/didCloseSession", {"sessionId": 7}),
        ("lithify/recordEvents", {"events": []}),
        ("workspace/didChangeConfiguration", 7),
        ("workspace/didChangeWorkspaceFolders", {"event": {"added": [{"uri": 7}], "removed": []}}),
    ],
)
async def test_a_notification_that_does_not_fit_is_logged_and_never_pops_up(
    client: RawClient, method: str, params: Any
) -> None:
    open_session(client, "kept", conversation())
    client.notify(method, params)
    await settled(client)
    logged = await client.notification("window/logMessage")
    assert logged["type"] == 2
    assert client.received("window/showMessage") == []
    assert (await client.request("lithify/sessionStatus", {"sessionId": "kept"}))["messages"] == 8


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("$/cancelRequest", {"id": 4711}),
        ("$/cancelRequest", {"id": [1]}),
        ("$/cancelRequest", None),
        ("$/cancelRequest", {"id": {}}),
        ("window/workDoneProgress/cancel", {"token": "no such token"}),
        ("window/workDoneProgress/cancel", {"token": [1]}),
        ("window/workDoneProgress/cancel", 7),
        ("$/setTrace", {"value": "verbose"}),
        ("$/setTrace", {"value": 7}),
        ("$/unknown", {}),
        ("exitt", None),
    ],
)
async def test_a_notification_about_nothing_does_no_harm(client: RawClient, method: str, params: Any) -> None:
    client.notify(method, params)
    await settled(client)
    assert client.received("window/showMessage") == []


@pytest.mark.parametrize(
    "answer", [{"result": 7}, {"error": {"code": 1, "message": "x"}}, {}, {"error": 7}, {"error": None}]
)
async def test_an_answer_that_nobody_waits_for_does_no_harm(client: RawClient, answer: Any) -> None:
    client.send({"jsonrpc": "2.0", "id": "lithify-4711", **answer})
    await settled(client)
    assert client.received("window/showMessage") == []


async def test_a_request_and_its_cancel_in_one_piece_are_answered(client: RawClient) -> None:
    open_session(client, "cancelled at once", conversation())
    compaction = {"command": "lithify.compact_conversation", "arguments": [{"sessionId": "cancelled at once"}]}
    asked = framed_body({"jsonrpc": "2.0", "id": "c", "method": "workspace/executeCommand", "params": compaction})
    cancel = framed_body({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": "c"}})
    client.send_bytes(b"".join(b"Content-Length: %d\r\n\r\n%b" % (len(body), body) for body in (asked, cancel)))
    assert (await client.failure_of("c")).code == -32800


async def test_a_cancel_of_a_request_that_takes_no_time_leaves_it_its_result(client: RawClient) -> None:
    recording = client.ask("lithify/recordEvents", {"events": [note()]})
    client.notify("$/cancelRequest", {"id": recording})
    assert (await client.result_of(recording))["results"][0]["status"] == "buffered"


async def test_a_cancel_names_its_request_by_type_too(client: RawClient) -> None:
    client.answerers.clear()
    open_session(client, "a", conversation())
    client.ask(
        "workspace/executeCommand", {"command": "lithify.compact_conversation", "arguments": [{"sessionId": "a"}]}, 7
    )
    client.notify("$/cancelRequest", {"id": "7"})
    client.notify("$/cancelRequest", {"id": True})
    assert (await client.failure_of(7)).type != "cancelled"


async def test_a_request_of_twenty_megabytes_is_answered(client: RawClient) -> None:
    events = [note(f"{number}" + "x" * 1_000_000, source={"projectPath": "/tmp/huge"}) for number in range(20)]
    results = (await client.request("lithify/recordEvents", {"events": events}))["results"]
    assert {result["status"] for result in results} <= {"buffered", "stored"}


async def test_five_thousand_requests_at_once_are_all_answered(client: RawClient) -> None:
    asked = [client.ask("lithify/listSessions", {}) for _ in range(5000)]
    await client.answer_to(asked[-1], 30)
    answered = {message["id"] for message in client.messages if "result" in message}
    assert answered >= set(asked)


async def test_numbers_that_json_does_not_know_are_refused_by_the_field_they_stand_in(client: RawClient) -> None:
    argument = {"sessionId": "a", "settingsOverrides": {"temperature": float("nan")}}
    params = {"command": "lithify.compact_conversation", "arguments": [argument]}
    request = {"jsonrpc": "2.0", "id": "nan", "method": "workspace/executeCommand", "params": params}
    client.send_body(json.dumps(request).encode())
    failure = await client.failure_of("nan")
    assert (failure.code, failure.type) == (-32602, "invalid_params")
    assert "settingsOverrides" in failure.message


async def test_a_notification_does_not_overtake_the_request_before_it(client: RawClient) -> None:
    """All of these leave in one piece: nothing is sent until we wait."""
    open_session(client, "a", [])
    client.ask("lithify/deleteSession", {"sessionId": "a"})
    open_session(client, "a", conversation())
    assert (await client.request("lithify/getSession", {"sessionId": "a"}))["messages"] == conversation()


async def test_an_event_right_after_recording_was_switched_off_is_not_recorded(client: RawClient) -> None:
    before = (await client.request("lithify/bufferStatus", {}))["entries"]
    paused = client.ask_command("lithify.set_recording", {"enabled": False})
    client.notify("lithify/didRecordEvents", {"events": [note()]})
    await client.result_of(paused)
    await client.command("lithify.set_recording", {"enabled": True})
    assert (await client.request("lithify/bufferStatus", {}))["entries"] == before


async def test_an_empty_list_is_taken_for_an_empty_object(client: RawClient) -> None:
    """Lua has one empty table for both."""
    assert await client.request("lithify/listSessions", []) == await client.request("lithify/listSessions", {})
