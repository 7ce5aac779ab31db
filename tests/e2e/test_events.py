"""Events: what becomes of each, and that none is lost once it was answered."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.support.editor import (
    Starter,
    buffer_entries,
    database,
    json_event,
    note,
    project_folder,
    settled,
    stored_states,
)
from tests.support.raw_client import RawClient

pytestmark = pytest.mark.asyncio(loop_scope="module")

ULID = re.compile(r"[0-9A-HJKMNP-TV-Z]{26}")


def event_id(number: int) -> str:
    return f"01ARZ3NDEKTSV4RRFFQ69G{number:04d}"


async def record(client: RawClient, *events: Any) -> list[Any]:
    answer = await client.request("lithify/recordEvents", {"events": list(events)})
    results: list[Any] = answer["results"]
    return results


async def test_the_results_come_in_the_order_of_the_events(client: RawClient) -> None:
    events = [note(eventId=event_id(1)), {"kind": "note"}, note(eventId=event_id(2)), 7, note(eventId=event_id(1))]
    results = await record(client, *events)
    assert [(one["eventId"], one["status"]) for one in results] == [
        (event_id(1), "buffered"),
        (None, "rejected"),
        (event_id(2), "buffered"),
        (None, "rejected"),
        (event_id(1), "duplicate"),
    ]


async def test_no_events_are_answered_with_no_results(client: RawClient) -> None:
    assert await record(client) == []


async def test_an_event_without_an_id_gets_a_ulid(client: RawClient) -> None:
    (result,) = await record(client, note())
    assert ULID.fullmatch(result["eventId"])


async def test_results_hold_a_reason_only_where_there_is_one(client: RawClient) -> None:
    accepted, rejected = await record(client, note(), note(sessionId=""))
    assert set(accepted) == {"eventId", "status"}
    assert set(rejected) == {"eventId", "status", "reason"}


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"sessionId": None}, "sessionId"),
        ({"sessionId": ""}, "sessionId"),
        ({"sessionId": "x" * 129}, "sessionId"),
        ({"sessionId": "\ud800"}, "sessionId"),
        ({"actorId": ""}, "actorId"),
        ({"actorId": 7}, "actorId"),
        ({"kind": "thought"}, "kind"),
        ({"kind": None}, "kind"),
        ({"body": None}, "body"),
        ({"body": "text"}, "body"),
        ({"body": {"type": "xml", "content": "x"}}, "body"),
        ({"body": {"content": "x"}}, "body"),
        ({"body": {"type": "text", "content": 7}}, "body"),
        ({"body": {"type": "text"}}, "body"),
        ({"body": {"type": "message", "turns": [{"role": "user"}]}}, "body"),
        ({"body": {"type": "json"}}, "body"),
        ({"body": {"type": "json", "data": float("nan")}}, "body"),
        ({"body": {"type": "json", "data": [float("-inf")]}}, "body"),
        ({"body": {"type": "text", "content": "x" * 1_048_576}}, "body"),
        ({"eventId": "short"}, "eventId"),
        ({"eventId": event_id(3) + "\n"}, "eventId"),
        ({"eventId": 7}, "eventId"),
        ({"parentEventId": "x"}, "parentEventId"),
        ({"validTime": "yesterday"}, "validTime"),
        ({"validTime": "2026-01-01T00:00:00"}, "validTime"),
        ({"validTime": 0}, "validTime"),
        ({"source": "editor"}, "source"),
        ({"source": {"projectPath": "/a\x00b"}}, "projectPath"),
        ({"source": {"projectPath": "file:///a%00b"}}, "projectPath"),
        ({"source": {"projectPath": "http://[x"}}, "projectPath"),
        ({"source": {"surface": 7}}, "surface"),
        ({"schemaVersion": 2}, "schemaVersion"),
        ({"contentHash": "md5:x"}, "contentHash"),
    ],
)
async def test_a_bad_event_is_rejected_by_its_field_and_costs_its_neighbours_nothing(
    client: RawClient, wrong: Any, named: str
) -> None:
    params = {"events": [note("before"), note(**wrong), note("after")]}
    message = {"jsonrpc": "2.0", "id": f"bad {wrong}"[:99], "method": "lithify/recordEvents", "params": params}
    client.send_body(json.dumps(message).encode())
    results = (await client.result_of(message["id"]))["results"]
    assert [one["status"] for one in results] == ["buffered", "rejected", "buffered"]
    assert named in results[1]["reason"]


@pytest.mark.parametrize(
    "bad", [note(kind="thought"), note(source={"projectPath": "/a\x00b"}), 7, note(sessionId="\ud800")]
)
async def test_a_bad_event_in_a_notification_is_logged_and_costs_its_neighbours_nothing(
    start: Starter, bad: Any
) -> None:
    fresh = await start()
    fresh.notify("lithify/didRecordEvents", {"events": [note("before"), bad, note("after")]})
    fresh.notify("lithify/didRecordEvents", {"events": [note("later")]})
    logged = await fresh.notification("window/logMessage")
    await record(fresh)
    assert logged["type"] == 2
    assert "rejected" in logged["message"]
    assert fresh.received("window/showMessage") == []
    assert [entry["body"]["content"] for entry in buffer_entries(fresh.data_dir)] == ["before", "after", "later"]


async def test_an_event_of_every_kind_takes_a_body_of_every_type(client: RawClient) -> None:
    bodies = [
        {"type": "text", "content": ""},
        {"type": "message", "turns": []},
        {"type": "message", "turns": [{"role": "anything", "content": "x", "more": 1}]},
        {"type": "json", "data": None},
        {"type": "json", "data": {"no": "tool keys"}},
    ]
    kinds = ["prompt", "tool_use", "session_summary", "note"]
    results = await record(client, *(note(kind=kind, body=body) for kind in kinds for body in bodies))
    assert {one["status"] for one in results} == {"buffered"}


async def test_a_body_of_exactly_one_mebibyte_is_taken(client: RawClient) -> None:
    frame = len('{"type":"text","content":""}')
    source = {"projectPath": "/tmp/one-mebibyte"}
    (result,) = await record(client, note("x" * (1_048_576 - frame), source=source))
    assert result["status"] == "buffered"


async def test_an_answered_event_is_in_the_database_and_in_the_buffer(start: Starter) -> None:
    fresh = await start()
    results = await record(fresh, note("one"), json_event({"tool_name": "t"}))
    ids = [one["eventId"] for one in results]
    assert stored_states(fresh.data_dir) == dict.fromkeys(ids, "buffered")
    assert [entry["event_id"] for entry in buffer_entries(fresh.data_dir)] == ids


async def test_an_answer_comes_after_all_earlier_notifications_are_durable(start: Starter) -> None:
    fresh = await start()
    for number in range(500):
        fresh.notify("lithify/didRecordEvents", {"events": [note(f"event {number}")]})
    await record(fresh)
    entries = buffer_entries(fresh.data_dir)
    assert [entry["body"]["content"] for entry in entries] == [f"event {number}" for number in range(500)]
    assert list(stored_states(fresh.data_dir)) == [entry["event_id"] for entry in entries]


async def test_killing_the_server_right_after_the_answer_loses_nothing(start: Starter) -> None:
    fresh = await start()
    for number in range(100):
        fresh.notify("lithify/didRecordEvents", {"events": [note(eventId=event_id(number))]})
    await record(fresh, note(eventId=event_id(100)))
    fresh.process.kill()
    await fresh.process.wait()
    again = await start()
    assert (await again.request("lithify/bufferStatus", {}))["entries"] == 101
    assert list(stored_states(fresh.data_dir)) == [event_id(number) for number in range(101)]


async def test_an_id_seen_before_is_a_duplicate_also_after_a_restart(start: Starter) -> None:
    first = await start()
    await record(first, note(eventId=event_id(1)))
    await first.shut_down()
    again = await start()
    results = await record(again, note(eventId=event_id(1)), note(eventId=event_id(1).lower()))
    assert [one["status"] for one in results] == ["duplicate", "duplicate"]
    assert len(buffer_entries(again.data_dir)) == 1


async def test_two_servers_on_one_data_folder_share_their_events(start: Starter) -> None:
    first, second = await start(), await start()
    for number in range(50):
        for one in (first, second):
            one.notify("lithify/didRecordEvents", {"events": [note(eventId=event_id(number))]})
    results = [await record(one, note(eventId=event_id(0))) for one in (first, second)]
    assert [result[0]["status"] for result in results] == ["duplicate", "duplicate"]
    assert sorted(entry["event_id"] for entry in buffer_entries(first.data_dir)) == [event_id(n) for n in range(50)]


async def test_an_entry_of_the_buffer_has_just_the_keys_of_the_contract(start: Starter) -> None:
    fresh = await start()
    time = "2026-01-02T03:04:05+02:00"
    await record(fresh, note(eventId=event_id(1), actorId="me", validTime=time, source={"surface": "cli"}))
    status = await fresh.request("lithify/bufferStatus", {})
    assert buffer_entries(fresh.data_dir) == [
        {
            "event_id": event_id(1),
            "namespace": f"/actor/me/project/{status['projectId']}/",
            "kind": "note",
            "body": {"type": "text", "content": "a note"},
            "timestamp": time,
            "surface": "cli",
        }
    ]


async def test_an_event_without_a_surface_has_the_name_of_the_client(start: Starter) -> None:
    fresh = await start()
    await record(fresh, note())
    assert buffer_entries(fresh.data_dir)[0]["surface"] == "raw"


async def test_private_spans_are_replaced_before_anything_is_stored(start: Starter) -> None:
    fresh = await start()
    secret = "marzipan"
    await record(fresh, note(f"a <private>{secret}</private> b"), json_event({"k": f"<PRIVATE >{secret}"}))
    await fresh.shut_down()
    files = [path for path in fresh.data_dir.rglob("*") if path.is_file()]
    assert not [path for path in files if secret.encode() in path.read_bytes()]
    assert buffer_entries(fresh.data_dir)[0]["body"]["content"] == "a [REDACTED] b"


async def test_past_the_ceiling_events_are_stored_and_wait(start: Starter) -> None:
    fresh = await start(options={"buffer": {"extractionBytes": 1024, "compactionBytes": 2048, "ceilingBytes": 4096}})
    results = await record(fresh, *(note("x" * 900) for _ in range(5)))
    assert [one["status"] for one in results] == ["buffered", "buffered", "buffered", "stored", "stored"]
    assert list(stored_states(fresh.data_dir).values()) == ["buffered"] * 3 + ["waiting"] * 2


async def test_while_events_wait_a_small_one_waits_behind_them(start: Starter) -> None:
    fresh = await start(options={"buffer": {"extractionBytes": 1024, "compactionBytes": 2048, "ceilingBytes": 4096}})
    await record(fresh, *(note("x" * 900) for _ in range(5)))
    (result,) = await record(fresh, note("small"))
    assert result["status"] == "stored"


async def test_an_event_that_names_an_excluded_path_is_rejected_by_the_setting(start: Starter) -> None:
    fresh = await start(options={"recording": {"exclude": ["**/secret/**"]}})
    events = [json_event({"tool_name": "read", "tool_input": {"path": path}}) for path in ("/a/secret/b", "/a/open/b")]
    results = await record(fresh, *events)
    assert [one["status"] for one in results] == ["rejected", "buffered"]
    assert "recording.exclude" in results[0]["reason"]


async def test_a_change_of_the_settings_adds_to_what_is_excluded(start: Starter) -> None:
    fresh = await start(options={"recording": {"exclude": ["**/a"]}})
    fresh.notify("workspace/didChangeConfiguration", {"settings": {"lithify": {"recording": {"exclude": ["**/b"]}}}})
    results = await record(fresh, *(json_event({"tool_input": {"path": f"/x/{name}"}}) for name in ("a", "b", "c")))
    assert [one["status"] for one in results] == ["rejected", "rejected", "buffered"]


async def test_with_recording_disabled_events_are_rejected_by_the_setting(start: Starter) -> None:
    fresh = await start(options={"recording": {"enabled": False}})
    (result,) = await record(fresh, note(eventId=event_id(1)))
    assert (result["eventId"], result["status"]) == (event_id(1), "rejected")
    assert "recording.enabled" in result["reason"]
    assert stored_states(fresh.data_dir) == {}


async def test_paused_recording_rejects_events_by_the_name_of_the_command(start: Starter) -> None:
    fresh = await start()
    await fresh.command("lithify.set_recording", {"enabled": False})
    (result,) = await record(fresh, note())
    assert result["status"] == "rejected"
    assert "lithify.set_recording" in result["reason"]


async def test_paused_recording_stays_paused_after_a_restart_until_it_is_resumed(start: Starter) -> None:
    first = await start()
    await first.command("lithify.set_recording", {"enabled": False})
    await first.shut_down()
    again = await start()
    paused = await record(again, note())
    await again.command("lithify.set_recording", {"enabled": True})
    resumed = await record(again, note())
    assert [one["status"] for one in (*paused, *resumed)] == ["rejected", "buffered"]


async def test_recording_is_paused_for_one_project_alone(start: Starter, tmp_path: Any) -> None:
    fresh = await start()
    other = project_folder(tmp_path, "other")
    await fresh.command("lithify.set_recording", {"enabled": False, "projectUri": other.as_uri()})
    results = await record(fresh, note(), note(source={"projectPath": str(other)}))
    assert [one["status"] for one in results] == ["buffered", "rejected"]


async def test_what_is_said_in_a_session_is_recorded_once_however_often_it_is_opened(start: Starter) -> None:
    fresh = await start()
    opening = {"sessionId": "a", "agent": None, "messages": [{"role": "user", "content": "said <private>x</private>"}]}
    for _ in range(3):
        fresh.notify("lithify/didOpenSession", opening)
    await settled(fresh)
    assert [entry["body"]["turns"] for entry in buffer_entries(fresh.data_dir)] == [
        [{"role": "user", "content": "said [REDACTED]"}]
    ]


async def test_two_thousand_small_events_are_stored_within_seconds(start: Starter) -> None:
    fresh = await start()
    for number in range(2000):
        fresh.notify("lithify/didRecordEvents", {"events": [note("x" * 1000 + str(number))]})
    await fresh.request("lithify/recordEvents", {"events": []}, seconds=5)
    with database(fresh.data_dir) as connection:
        assert connection.execute("SELECT count(*) FROM events").fetchone() == (2000,)
