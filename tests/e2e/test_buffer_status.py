"""The state of a project's buffer: what the request answers, and what the notification tells."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.editor import Starter, conversation, note, open_session, project_folder, settled
from tests.support.raw_client import Json, RawClient

pytestmark = pytest.mark.asyncio(loop_scope="module")

SMALL = {"buffer": {"extractionBytes": 1024, "compactionBytes": 2048, "ceilingBytes": 4096}}


async def status(client: RawClient, **params: Any) -> Json:
    told: Json = await client.request("lithify/bufferStatus", params)
    return told


async def test_a_fresh_project_has_the_status_of_the_contract_field_by_field(start: Starter, tmp_path: Path) -> None:
    told = await status(await start())
    assert len(told.pop("projectId")) == 32
    assert told == {
        "projectUri": (tmp_path / "project").as_uri(),
        "sizeBytes": 0,
        "entries": 0,
        "thresholds": {"extractionBytes": 262_144, "compactionBytes": 1_048_576, "ceilingBytes": 4_194_304},
        "state": "idle",
        "extraction": {"enabled": True, "inFlight": False, "breaker": "closed", "failures": 0},
        "compaction": {"enabled": False, "inFlight": False, "breaker": "closed", "failures": 0},
        "waiting": 0,
        "records": 0,
        "recording": True,
        "background": {"modelCallsLastHour": 0, "tokensLastHour": 0, "paused": False},
    }


async def test_size_and_entries_are_those_of_the_file(start: Starter) -> None:
    fresh = await start()
    await fresh.request("lithify/recordEvents", {"events": [note(), note("ü" * 99)]})
    told = await status(fresh)
    file = fresh.data_dir / "buffers" / told["projectId"] / "buffer.ndjson"
    assert (told["sizeBytes"], told["entries"]) == (file.stat().st_size, 2)


async def test_a_status_counts_all_notifications_before_it(start: Starter) -> None:
    fresh = await start()
    for _ in range(100):
        fresh.notify("lithify/didRecordEvents", {"events": [note()]})
    assert (await status(fresh))["entries"] == 100


async def test_events_that_wait_are_counted_and_the_state_is_full(start: Starter) -> None:
    fresh = await start(options=SMALL)
    await fresh.request("lithify/recordEvents", {"events": [note("x" * 900) for _ in range(5)]})
    told = await status(fresh)
    assert (told["waiting"], told["state"], told["entries"]) == (2, "full", 3)


async def test_the_status_of_a_project_that_was_named_is_its_own(start: Starter, tmp_path: Path) -> None:
    fresh = await start()
    other = project_folder(tmp_path, "other")
    await fresh.request("lithify/recordEvents", {"events": [note(source={"projectPath": str(other / "a.py")})]})
    told = await status(fresh, projectUri=other.as_uri())
    assert (told["entries"], told["projectUri"]) == (1, other.as_uri())
    assert (await status(fresh))["entries"] == 0


async def test_the_first_workspace_folder_is_the_project_of_events_that_name_none(
    start: Starter, tmp_path: Path
) -> None:
    folders = [{"uri": project_folder(tmp_path, name).as_uri(), "name": name} for name in ("first", "second")]
    told = await status(await start(workspaceFolders=folders, rootUri=folders[1]["uri"]))
    assert told["projectUri"] == folders[0]["uri"]


async def test_the_root_is_the_project_where_there_are_no_workspace_folders(start: Starter, tmp_path: Path) -> None:
    root = project_folder(tmp_path, "root with a space").as_uri()
    told = await status(await start(rootUri=root))
    assert told["projectUri"] == root


async def test_a_data_folder_that_cannot_be_used_is_a_degraded_state_that_says_why(
    start: Starter, tmp_path: Path
) -> None:
    blocked = tmp_path / "a file"
    blocked.write_text("no folder")
    fresh = await start(data_dir=blocked)
    failure = await fresh.failure("lithify/recordEvents", {"events": [note()]})
    told = await status(fresh)
    assert (failure.code, failure.type, failure.data["retryable"]) == (-32803, "storage_failed", True)
    assert told["state"] == "degraded"
    assert str(blocked) in told["problem"]


async def test_switched_off_recording_is_in_the_status(start: Starter) -> None:
    fresh = await start()
    answer = await fresh.command("lithify.set_recording", {"enabled": False})
    assert answer["recording"] is False
    assert (await status(fresh))["recording"] is False
    assert (await fresh.command("lithify.set_recording", {"enabled": True}))["recording"] is True


async def test_the_editor_is_told_of_every_change_and_last_of_the_last_one(start: Starter) -> None:
    fresh = await start()
    for number in range(300):
        fresh.notify("lithify/didRecordEvents", {"events": [note(f"event {number}")]})
        if number % 50 == 0:
            await settled(fresh)
    final = await status(fresh)
    told = await fresh.notification("lithify/bufferStatusChanged", entries=300)
    assert told == final
    await settled(fresh)
    assert fresh.received("lithify/bufferStatusChanged")[-1] == final


async def test_a_burst_is_told_in_at_most_ten_notifications_a_second(start: Starter) -> None:
    fresh = await start()
    began = fresh.clock()
    for number in range(600):
        fresh.notify("lithify/didRecordEvents", {"events": [note(f"event {number}")]})
        if number % 20 == 0:
            await settled(fresh)
    await fresh.notification("lithify/bufferStatusChanged", entries=600)
    told = len(fresh.received("lithify/bufferStatusChanged"))
    assert 1 < told <= (fresh.clock() - began) * 10 + 2


async def test_what_is_said_in_a_session_changes_the_status_too(start: Starter) -> None:
    fresh = await start()
    open_session(fresh, "a", conversation())
    assert (await fresh.notification("lithify/bufferStatusChanged", entries=8))["waiting"] == 0


async def test_the_editor_is_told_that_recording_was_switched_off(start: Starter) -> None:
    fresh = await start()
    await fresh.command("lithify.set_recording", {"enabled": False})
    await fresh.notification("lithify/bufferStatusChanged", recording=False)


async def test_the_editor_is_told_of_thresholds_that_changed(start: Starter) -> None:
    fresh = await start()
    await fresh.request("lithify/recordEvents", {"events": [note()]})
    fresh.notify("workspace/didChangeConfiguration", {"settings": {"lithify": SMALL}})
    await fresh.notification("lithify/bufferStatusChanged", thresholds=SMALL["buffer"])


async def test_sessions_are_listed_by_page_the_newest_first(start: Starter) -> None:
    fresh = await start()
    for number in range(5):
        open_session(fresh, f"session {number}", conversation(number), title=f"title {number}")
        await settled(fresh)
    first = await fresh.request("lithify/listSessions", {"limit": 3})
    second = await fresh.request("lithify/listSessions", {"limit": 3, "cursor": first["cursor"]})
    listed = [*first["sessions"], *second["sessions"]]
    assert sorted(one["sessionId"] for one in listed) == [f"session {number}" for number in range(5)]
    assert [one["updatedAt"] for one in listed] == sorted((one["updatedAt"] for one in listed), reverse=True)
    assert "cursor" not in second
    assert set(listed[0]) == {"sessionId", "title", "projectUri", "messages", "tokens", "updatedAt"}


async def test_sessions_of_another_project_are_not_listed(start: Starter, tmp_path: Path) -> None:
    fresh = await start()
    other = project_folder(tmp_path, "other").as_uri()
    open_session(fresh, "here", conversation())
    open_session(fresh, "there", conversation(), projectUri=other)
    listed = await fresh.request("lithify/listSessions", {"projectUri": other})
    assert [one["sessionId"] for one in listed["sessions"]] == ["there"]


NO_PROJECT = ["http://x", "http://x/y", "", "untitled:x", "src/app", "file://x", "file:///a%00b", 7, {}]
ABOUT_A_PROJECT: list[tuple[str, Json]] = [
    ("lithify/bufferStatus", {}),
    ("lithify/listSessions", {}),
    ("lithify.extract_now", {}),
    ("lithify.compact_buffer", {}),
    ("lithify.search_memory", {"query": "x"}),
    ("lithify.list_memory", {}),
    ("lithify.set_recording", {"enabled": False}),
]


@pytest.mark.parametrize("named", NO_PROJECT)
@pytest.mark.parametrize(("method", "params"), ABOUT_A_PROJECT, ids=[method for method, _ in ABOUT_A_PROJECT])
async def test_what_names_no_project_is_refused_with_what_is_expected(
    client: RawClient, method: str, params: Json, named: Any
) -> None:
    ask = client.failure if "/" in method else client.command_failure
    failure = await ask(method, {**params, "projectUri": named})
    assert (failure.code, failure.type, failure.data["retryable"]) == (-32602, "invalid_params", False)
    assert "projectUri: must be a " in failure.message


@pytest.mark.parametrize("named", NO_PROJECT)
async def test_a_session_with_an_unfit_project_is_kept_in_the_default_one_with_a_warning(
    client: RawClient, named: Any
) -> None:
    open_session(client, "lost?", conversation(), projectUri=named)
    told = await client.request("lithify/getSession", {"sessionId": "lost?"})
    default = await status(client)
    logged = await client.notification("window/logMessage")
    assert (len(told["messages"]), told["projectUri"]) == (8, default["projectUri"])
    assert (logged["type"], "projectUri: must be a " in logged["message"]) == (2, True)


async def test_a_project_is_named_by_its_path_as_well(client: RawClient, tmp_path: Path) -> None:
    other = project_folder(tmp_path, "other")
    for named in (str(other), other.as_uri(), other.as_uri().replace("file://", "file:")):
        assert (await status(client, projectUri=named))["projectUri"] == other.as_uri()


async def test_the_status_of_a_session_tells_its_share_of_a_known_window(client: RawClient) -> None:
    open_session(client, "window", [{"role": "user", "content": "x" * 270}], agent={"contextWindow": 1000})
    open_session(client, "no window", [{"role": "user", "content": "x" * 270}])
    known = await client.request("lithify/sessionStatus", {"sessionId": "window"})
    unknown = await client.request("lithify/sessionStatus", {"sessionId": "no window"})
    assert known == {"messages": 1, "tokens": 100, "window": 1000, "share": 0.1}
    assert unknown == {"messages": 1, "tokens": 100}


async def test_the_revision_of_a_session_grows_by_one_with_every_change(client: RawClient) -> None:
    said = [{"role": "user", "content": "x"}]
    revisions = []
    for method, params in (
        ("didOpenSession", {"agent": None, "messages": said}),
        ("didOpenSession", {"agent": None, "messages": said}),
        ("didAppendMessages", {"messages": said}),
        ("didSpliceMessages", {"start": 0, "deleteCount": 1, "messages": []}),
        ("didChangeSession", {"title": "new"}),
        ("didChangeSession", {"title": "new"}),
    ):
        client.notify(f"lithify/{method}", {"sessionId": "revised", **params})
        revisions.append((await client.request("lithify/getSession", {"sessionId": "revised"}))["revision"])
    assert revisions == [1, 1, 2, 3, 4, 4]


async def test_null_in_a_change_of_a_session_clears_and_absence_keeps(client: RawClient) -> None:
    open_session(client, "changed", [], title="t", agent={"model": "m"}, compactionModel="c")
    client.notify("lithify/didChangeSession", {"sessionId": "changed", "title": None, "agent": None})
    told = await client.request("lithify/getSession", {"sessionId": "changed"})
    assert (told.get("title"), told["agent"], told["compactionModel"]) == (None, None, "c")
