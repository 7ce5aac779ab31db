"""Settings that change while the server runs."""

from __future__ import annotations

import json
from typing import Any

import pytest
import pytest_asyncio

from tests.support.editor import ASKED_FOR_SETTINGS, Starter, note, project_folder, settled
from tests.support.raw_client import NEVER, RawClient, Refusal

pytestmark = pytest.mark.asyncio(loop_scope="module")


def change(client: RawClient, settings: Any) -> None:
    client.notify("workspace/didChangeConfiguration", {"settings": {"lithify": settings}})


@pytest_asyncio.fixture(autouse=True, loop_scope="module")
async def defaults(client: RawClient) -> None:
    """The settings that the editor started with are in force again."""
    change(client, {})
    await settled(client)
    client.start_afresh()


async def thresholds(client: RawClient) -> Any:
    return (await client.request("lithify/bufferStatus", {}))["thresholds"]


async def test_a_valid_change_is_in_force_for_the_next_request(client: RawClient) -> None:
    change(client, {"buffer": {"extractionBytes": 2048}})
    assert (await thresholds(client))["extractionBytes"] == 2048


async def test_a_change_is_laid_over_what_the_editor_started_with(start: Starter) -> None:
    fresh = await start(options={"buffer": {"ceilingBytes": 9_000_000}})
    change(fresh, {"buffer": {"extractionBytes": 2048}})
    assert (await thresholds(fresh))["ceilingBytes"] == 9_000_000


async def test_a_change_that_names_a_setting_no_more_takes_it_back(client: RawClient) -> None:
    change(client, {"buffer": {"extractionBytes": 2048}})
    change(client, {})
    assert (await thresholds(client))["extractionBytes"] == 262_144


async def test_an_invalid_change_is_shown_as_an_error_that_names_every_setting(client: RawClient) -> None:
    change(client, {"buffer": {"idleMs": 1}, "sessions": {"record": "some"}})
    shown = await client.notification("window/showMessage")
    assert shown["type"] == 1
    assert "lithify.buffer.idleMs" in shown["message"]
    assert "lithify.sessions.record" in shown["message"]


async def test_an_invalid_change_leaves_the_last_valid_settings_in_force(client: RawClient) -> None:
    change(client, {"buffer": {"extractionBytes": 2048}})
    change(client, {"buffer": {"extractionBytes": 4096, "idleMs": 1}})
    assert (await thresholds(client))["extractionBytes"] == 2048


@pytest.mark.parametrize("section", [7, "on", [], True])
async def test_settings_that_are_no_object_are_shown_as_an_error(client: RawClient, section: Any) -> None:
    change(client, section)
    assert (await client.notification("window/showMessage"))["type"] == 1


async def test_a_change_cannot_move_the_data_folder(start: Starter) -> None:
    fresh = await start()
    change(fresh, {"dataDir": str(fresh.data_dir / "elsewhere"), "buffer": {"extractionBytes": 2048}})
    await fresh.request("lithify/recordEvents", {"events": [note()]})
    assert not (fresh.data_dir / "elsewhere").exists()
    assert (await thresholds(fresh))["extractionBytes"] == 2048


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"dataDir": "/tmp/x"}, "dataDir"),
        ({"model": {"acp": {"command": ["sh"]}}}, "model.acp"),
        ({"model": {"http": {"baseUrl": "http://evil"}}}, "model.http"),
    ],
)
async def test_a_machine_scoped_setting_in_a_change_is_ignored_and_said_so(
    client: RawClient, settings: Any, name: str
) -> None:
    change(client, settings)
    logged = await client.notification("window/logMessage")
    assert logged["message"].startswith(f"lithify.{name} can only be set when the editor starts the server")
    assert client.received("window/showMessage") == []


async def test_a_change_cannot_switch_recording_on(start: Starter) -> None:
    fresh = await start(options={"recording": {"enabled": False}})
    change(fresh, {"recording": {"enabled": True}})
    assert (await fresh.request("lithify/bufferStatus", {}))["recording"] is False


async def test_a_change_can_switch_recording_off(client: RawClient) -> None:
    change(client, {"recording": {"enabled": False}})
    recorded = await client.request("lithify/recordEvents", {"events": [note()]})
    assert recorded["results"][0]["status"] == "rejected"
    assert "recording.enabled" in recorded["results"][0]["reason"]


async def test_an_editor_that_sends_no_values_is_asked_for_them(client: RawClient) -> None:
    asked: list[Any] = []
    client.answerers["workspace/configuration"] = lambda p: asked.append(p) or [{"buffer": {"extractionBytes": 2048}}]
    client.notify("workspace/didChangeConfiguration", {"settings": None})
    await client.wait_for(lambda message: message.get("method") == "workspace/configuration")
    await settled(client)
    assert asked == [{"items": [{"section": "lithify"}]}]
    assert (await thresholds(client))["extractionBytes"] == 2048


async def test_values_that_were_asked_for_and_are_invalid_are_shown_as_an_error(client: RawClient) -> None:
    client.answerers["workspace/configuration"] = lambda _: [{"buffer": {"idleMs": 1}}]
    client.notify("workspace/didChangeConfiguration", {"settings": {}})
    assert "lithify.buffer.idleMs" in (await client.notification("window/showMessage"))["message"]


def refuse(_: Any) -> Any:
    raise Refusal(-32603, "no")


@pytest.mark.parametrize("answer", [refuse, lambda _: None, lambda _: [], lambda _: [None], lambda _: 7])
async def test_an_editor_that_does_not_tell_its_settings_keeps_those_before(client: RawClient, answer: Any) -> None:
    change(client, {"buffer": {"extractionBytes": 2048}})
    client.answerers["workspace/configuration"] = answer
    client.notify("workspace/didChangeConfiguration", {"settings": None})
    await client.wait_for(lambda message: message.get("method") == "workspace/configuration")
    await settled(client)
    assert (await thresholds(client))["extractionBytes"] == 2048
    assert client.received("window/showMessage") == []


async def test_an_editor_that_never_tells_its_settings_holds_nothing_up(start: Starter) -> None:
    fresh = await start(capabilities=ASKED_FOR_SETTINGS)
    fresh.answerers["workspace/configuration"] = lambda _: NEVER
    fresh.notify("workspace/didChangeConfiguration", {"settings": None})
    assert (await thresholds(fresh))["extractionBytes"] == 262_144
    assert await fresh.shut_down() == 0


async def test_an_editor_that_cannot_be_asked_is_not_asked(start: Starter) -> None:
    fresh = await start()
    fresh.notify("workspace/didChangeConfiguration", {"settings": None})
    await settled(fresh)
    assert not [message for message in fresh.messages if message.get("method") == "workspace/configuration"]


async def test_settings_of_other_servers_in_the_same_notification_are_none_of_ours(client: RawClient) -> None:
    client.notify("workspace/didChangeConfiguration", {"settings": {"python": {"buffer": {"idleMs": 1}}}})
    await settled(client)
    assert client.received("window/showMessage") == []


async def test_a_change_whose_numbers_json_does_not_know_is_refused_like_any_other(client: RawClient) -> None:
    params = {"settings": {"lithify": {"buffer": {"idleMs": float("inf")}}}}
    message = {"jsonrpc": "2.0", "method": "workspace/didChangeConfiguration", "params": params}
    client.send_body(json.dumps(message).encode())
    assert "lithify.buffer.idleMs" in (await client.notification("window/showMessage"))["message"]


async def test_the_project_of_an_event_follows_a_change_of_the_workspace_folders(start: Starter, tmp_path: Any) -> None:
    fresh = await start()
    other = project_folder(tmp_path, "other")
    folders = {"added": [{"uri": other.as_uri(), "name": "other"}], "removed": []}
    fresh.notify("workspace/didChangeWorkspaceFolders", {"event": folders})
    status = await fresh.request("lithify/bufferStatus", {})
    assert status["projectUri"] == other.as_uri()


async def test_an_unknown_setting_at_the_start_is_told_in_the_editors_log(start: Starter) -> None:
    fresh = await start(options={"bufer": {"idleMs": 30000}})
    told = await fresh.notification("window/logMessage")
    assert "lithify.bufer" in told["message"]
