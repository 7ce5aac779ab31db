"""From `initialize` to the first message, and what the server announces."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.editor import (
    SilentModel,
    Starter,
    answers,
    buffer_entries,
    conversation,
    note,
    open_session,
    settled,
)
from tests.support.raw_client import RawClient, initialize_params

pytestmark = pytest.mark.asyncio(loop_scope="module")

COMMANDS = {
    "lithify.compact_conversation",
    "lithify.compact_up_to_here",
    "lithify.apply_compaction",
    "lithify.discard_draft",
    "lithify.undo_compaction",
    "lithify.extract_now",
    "lithify.compact_buffer",
    "lithify.search_memory",
    "lithify.list_memory",
    "lithify.show_memory",
    "lithify.forget_memory",
    "lithify.set_recording",
}


async def test_the_result_of_initialize_names_version_one_of_the_wire_contract(client: RawClient) -> None:
    result = client.initialize_result
    assert result["capabilities"]["experimental"] == {"lithify": {"protocolVersion": 1}}


async def test_the_result_of_initialize_announces_every_command_of_the_contract(client: RawClient) -> None:
    result = client.initialize_result
    assert set(result["capabilities"]["executeCommandProvider"]["commands"]) >= COMMANDS


async def test_the_server_asks_to_be_told_of_documents_and_of_each_change(client: RawClient) -> None:
    result = client.initialize_result
    sync = result["capabilities"]["textDocumentSync"]
    assert (sync["openClose"], sync["change"]) == (True, 2)


async def test_the_server_tells_its_name_and_version(client: RawClient) -> None:
    from lithify import __version__

    assert client.initialize_result["serverInfo"] == {"name": "lithify", "version": __version__}


async def test_document_notifications_of_an_editor_that_sends_them_all_the_same_do_no_harm(client: RawClient) -> None:
    document = {"uri": "file:///a.txt", "languageId": "text", "version": 1, "text": "a"}
    client.notify("textDocument/didOpen", {"textDocument": document})
    client.notify("textDocument/didClose", {"textDocument": {"uri": "file:///a.txt"}})
    assert (await client.request("lithify/listSessions", {}))["sessions"] == []


async def test_nothing_pops_up_at_start(start: Starter) -> None:
    fresh = await start(options={"noSuchSetting": 1})
    await settled(fresh)
    assert fresh.received("window/showMessage") == []


async def test_unknown_settings_are_named_in_the_log_and_not_refused(start: Starter) -> None:
    fresh = await start(options={"buffer": {"noSuchThing": 1}, "madeUp": {"a": 1}})
    await fresh.notification("window/logMessage", message="There is no setting lithify.buffer.noSuchThing")
    await fresh.notification("window/logMessage", message="There is no setting lithify.madeUp")


async def test_the_server_only_answers_before_it_is_initialized(start: Starter) -> None:
    fresh = await start(initialize=False)
    fresh.notify("lithify/didRecordEvents", {"events": [note()]})
    fresh.notify("window/workDoneProgress/cancel", {"token": 1})
    for _ in range(3):
        await fresh.failure("lithify/listSessions", {})
    assert [message["id"] for message in fresh.messages] == [1, 2, 3]


async def test_invalid_settings_make_initialize_fail_with_one_problem_for_each(start: Starter) -> None:
    fresh = await start(initialize=False)
    options = {"buffer": {"idleMs": 1, "extractionBytes": "many"}, "log": {"level": "loud"}}
    failure = await fresh.failure("initialize", initialize_params(options))
    assert (failure.code, failure.type) == (-32602, "invalid_settings")
    problems = {one["setting"]: one["given"] for one in failure.data["problems"]}
    assert problems == {"buffer.idleMs": 1, "buffer.extractionBytes": "many", "log.level": "loud"}
    assert all(isinstance(one["expected"], str) and one["expected"] for one in failure.data["problems"])


@pytest.mark.parametrize(
    ("options", "setting"),
    [
        ({"buffer": {"extractionBytes": 4096, "compactionBytes": 4096}}, "buffer.compactionBytes"),
        ({"buffer": 7}, "buffer"),
        ({"recording": {"exclude": [1]}}, "recording.exclude"),
        ({"conversation": {"compaction": {"enabled": "yes"}}}, "conversation.compaction.enabled"),
        ({"client": {"complete": "yes"}}, "client"),
        ([], "lithify"),
    ],
)
async def test_an_invalid_setting_is_named_by_its_dotted_name(
    client: RawClient, start: Starter, options: Any, setting: str
) -> None:
    fresh = await start(initialize=False)
    failure = await fresh.failure("initialize", initialize_params(options) | {"initializationOptions": options})
    assert setting in [one["setting"] for one in failure.data["problems"]]


async def test_a_setting_that_json_does_not_know_is_refused_like_any_other(start: Starter) -> None:
    fresh = await start(initialize=False)
    options = {"buffer": {"idleMs": float("nan"), "extractionBytes": [float("inf")]}}
    fresh.send_body(
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": initialize_params(options)}).encode()
    )
    failure = await fresh.failure_of(1)
    assert {one["setting"] for one in failure.data["problems"]} == {"buffer.idleMs", "buffer.extractionBytes"}


async def test_after_a_refused_initialize_a_corrected_one_works(start: Starter) -> None:
    fresh = await start(initialize=False)
    await fresh.failure("initialize", initialize_params({"buffer": {"idleMs": 1}}))
    result = await fresh.initialize({"buffer": {"idleMs": 5000}})
    assert result["capabilities"]["experimental"]["lithify"]["protocolVersion"] == 1


async def test_requests_before_initialize_are_refused_as_such(start: Starter) -> None:
    fresh = await start(initialize=False)
    for method in ("lithify/bufferStatus", "workspace/executeCommand", "shutdown", "textDocument/hover"):
        assert (await fresh.failure(method, {})).code == -32002


async def test_a_refused_initialize_initializes_nothing(start: Starter) -> None:
    fresh = await start(initialize=False)
    await fresh.failure("initialize", initialize_params({"buffer": {"idleMs": 1}}))
    assert (await fresh.failure("lithify/bufferStatus", {})).code == -32002
    assert not fresh.data_dir.exists()


async def test_a_second_initialize_is_refused(client: RawClient) -> None:
    assert (await client.failure("initialize", initialize_params())).code == -32600


async def test_initialize_with_params_that_are_none_is_answered(start: Starter) -> None:
    fresh = await start(initialize=False)
    for params in (None, [], 7, {"capabilities": 3}, {}):
        assert (await fresh.failure("initialize", params)).code == -32602
    await fresh.initialize()


@pytest.mark.parametrize("uri", ["file://[x", "file:///a%00b", "no uri at all", "\ud800", ""])
async def test_a_workspace_folder_that_cannot_be_one_costs_nothing_else(start: Starter, uri: str) -> None:
    folders = [{"uri": uri, "name": "odd"}]
    fresh = await start(rootUri=uri, workspaceFolders=folders)
    recorded = await fresh.request("lithify/recordEvents", {"events": [note()]})
    assert recorded["results"][0]["status"] == "buffered"


async def test_a_client_name_that_cannot_be_stored_costs_no_event(start: Starter) -> None:
    fresh = await start(clientInfo={"name": "\ud800"})
    await fresh.request("lithify/recordEvents", {"events": [note()]})
    assert buffer_entries(fresh.data_dir)[0]["surface"] == "unknown"


async def test_requests_after_shutdown_are_refused(start: Starter) -> None:
    fresh = await start()
    await fresh.request("shutdown")
    for method in ("lithify/bufferStatus", "shutdown", "initialize", "workspace/executeCommand"):
        assert (await fresh.failure(method, {})).code == -32600


async def test_an_editor_that_named_no_message_of_ours_gets_none(start: Starter) -> None:
    fresh = await start(options={})
    open_session(fresh, "a", conversation())
    await fresh.request("lithify/recordEvents", {"events": [note()]})
    compacted = await fresh.command("lithify.compact_conversation", {"sessionId": "a"})
    await fresh.command("lithify.undo_compaction", {"sessionId": "a"})
    await fresh.shut_down()
    assert compacted["method"] == "offline"
    assert not [message for message in fresh.messages if str(message.get("method")).startswith("lithify/")]


@pytest.mark.parametrize("named", ["complete", "bufferStatus", "sessionChanged"])
async def test_an_editor_gets_just_the_messages_it_named(start: Starter, named: str) -> None:
    fresh = await start(options={"client": {named: True}})
    fresh.answerers["lithify/complete"] = answers()
    open_session(fresh, "a", conversation())
    await fresh.command("lithify.compact_conversation", {"sessionId": "a"})
    await fresh.shut_down()
    method = {"complete": "lithify/complete", "bufferStatus": "lithify/bufferStatusChanged"}.get(
        named, f"lithify/{named}"
    )
    methods = {str(message.get("method")) for message in fresh.messages}
    assert {one for one in methods if one.startswith("lithify/")} == {method}


async def test_shutdown_ends_a_running_compaction_and_is_answered(start: Starter) -> None:
    fresh = await start()
    model = SilentModel(fresh)
    open_session(fresh, "a", conversation())
    compaction = fresh.ask_command("lithify.compact_conversation", {"sessionId": "a"})
    await model.asked()
    await fresh.request("shutdown", seconds=2)
    assert (await fresh.failure_of(compaction)).code == -32800


async def test_shutdown_is_answered_only_when_all_events_before_it_are_stored(start: Starter) -> None:
    fresh = await start()
    for number in range(300):
        fresh.notify("lithify/didRecordEvents", {"events": [note(f"event {number}")]})
    await fresh.request("shutdown")
    fresh.process.kill()
    await fresh.process.wait()
    assert len(buffer_entries(fresh.data_dir)) == 300


async def test_a_request_just_before_shutdown_still_gets_its_result(start: Starter) -> None:
    fresh = await start()
    recording = fresh.ask("lithify/recordEvents", {"events": [note()]})
    fresh.ask("shutdown")
    assert (await fresh.result_of(recording))["results"][0]["status"] == "buffered"
