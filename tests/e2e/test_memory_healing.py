"""Files that somebody deletes, damages or replaces while the server runs: it goes on, and no event is lost."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import HANDLES_ALL
from tests.support.editor import (
    MemoryModel,
    Starter,
    buffer_entries,
    buffer_status,
    misplaced,
    note,
    record,
    stored_states,
)
from tests.support.raw_client import Json, RawClient

pytestmark = pytest.mark.asyncio(loop_scope="module")

COMPLETE, CHANGED = "lithify/complete", "lithify/bufferStatusChanged"
QUIET: Json = {"client": HANDLES_ALL, "extraction": {"enabled": False}}
"""Nothing is extracted unasked."""

SMALL: Json = {**QUIET, "buffer": {"extractionBytes": 1024, "compactionBytes": 2048, "ceilingBytes": 4096}}


def the_file(client: RawClient) -> Path:
    """The buffer of the only project."""
    (folder,) = (client.data_dir / "buffers").iterdir()
    return folder / "buffer.ndjson"


async def recorded(client: RawClient, count: int) -> list[str]:
    """Records so many events; their ids."""
    return [one["eventId"] for one in await record(client, *(note(f"event {number}") for number in range(count)))]


async def extracted(client: RawClient) -> Json:
    """What an extraction says that a model helps with."""
    client.answerers[COMPLETE] = MemoryModel()
    done: Json = await client.command("lithify.extract_now", {})
    return done


def buffered(client: RawClient) -> list[str]:
    return [one["event_id"] for one in buffer_entries(client.data_dir)]


# --- lines that are lost ---


async def test_events_of_a_deleted_buffer_are_fed_in_again_by_themselves(start: Starter) -> None:
    fresh = await start(options=QUIET)
    ids = await recorded(fresh, 3)
    the_file(fresh).unlink()
    await fresh.wait_for(lambda said: "are fed in again: 3" in said.get("params", {}).get("message", ""))
    told = await buffer_status(fresh)
    assert (told["state"], told["entries"], buffered(fresh), misplaced(fresh.data_dir)) == ("idle", 3, ids, [])


async def test_events_of_a_deleted_buffer_are_extracted_on_demand(start: Starter) -> None:
    fresh = await start(options=QUIET)
    await recorded(fresh, 3)
    the_file(fresh).unlink()
    done = await extracted(fresh)
    assert (done["extracted"], done["remaining"], misplaced(fresh.data_dir)) == (3, 0, [])


async def test_events_whose_buffer_was_deleted_between_two_runs_are_extracted_by_the_next(start: Starter) -> None:
    first = await start(options=QUIET)
    await recorded(first, 3)
    await first.shut_down()
    the_file(first).unlink()
    again = await start(options=QUIET)
    done = await extracted(again)
    assert (done["extracted"], misplaced(again.data_dir)) == (3, [])


async def test_an_event_whose_line_was_damaged_is_extracted_with_the_others(start: Starter) -> None:
    fresh = await start(options=QUIET)
    await recorded(fresh, 3)
    lines = the_file(fresh).read_bytes().splitlines(keepends=True)
    the_file(fresh).write_bytes(lines[0] + b"#" + lines[1][5:] + lines[2])
    done = await extracted(fresh)
    assert (done["extracted"], set(stored_states(fresh.data_dir).values())) == (3, {"extracted"})
    assert the_file(fresh).read_bytes() == b"#" + lines[1][5:]


async def test_a_buffer_whose_folder_was_moved_away_goes_on_in_a_new_one(start: Starter, tmp_path: Path) -> None:
    fresh = await start(options=QUIET)
    await recorded(fresh, 2)
    the_file(fresh).parent.rename(tmp_path / "moved away")
    results = await record(fresh, note("after"))
    told = await buffer_status(fresh)
    assert (results[0]["status"], told["state"], told["entries"]) == ("buffered", "idle", 3)
    done = await extracted(fresh)
    assert (done["extracted"], done["remaining"], misplaced(fresh.data_dir)) == (3, 0, [])


# --- something else in the place of a file ---


def put_folder(path: Path) -> None:
    path.mkdir()


def put_pipe(path: Path) -> None:
    os.mkfifo(path)


def put_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def take_away(path: Path) -> None:
    if stat.S_ISDIR(path.lstat().st_mode):
        path.rmdir()
    else:
        path.unlink()


@pytest.mark.parametrize("put", [put_folder, put_pipe, put_device])
async def test_what_is_no_file_in_the_place_of_the_buffer_is_told_and_costs_nothing(start: Starter, put: Any) -> None:
    fresh = await start(options=QUIET)
    ids = await recorded(fresh, 2)
    the_file(fresh).unlink()
    put(the_file(fresh))
    results = await record(fresh, note("waits"))
    ids.append(results[0]["eventId"])
    told = await buffer_status(fresh)
    assert (results[0]["status"], told["state"], told["waiting"], told["entries"]) == ("stored", "degraded", 1, 0)
    assert told["problem"].startswith(f"{the_file(fresh)}: it is a ")
    take_away(the_file(fresh))
    fresh.start_afresh()
    after = await fresh.notification(CHANGED, entries=3, waiting=0, state="idle")
    assert ("problem" in after, buffered(fresh), misplaced(fresh.data_dir)) == (False, ids, [])


async def test_an_extraction_of_a_buffer_that_is_no_file_says_what_is_in_the_way(start: Starter) -> None:
    fresh = await start(options=QUIET)
    await recorded(fresh, 1)
    the_file(fresh).unlink()
    put_pipe(the_file(fresh))
    failure = await fresh.failure("workspace/executeCommand", {"command": "lithify.extract_now", "arguments": [{}]})
    assert (failure.type, "it is a named pipe" in failure.message) == ("storage_failed", True)


async def test_a_database_that_is_no_file_is_told(start: Starter, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    put_pipe(tmp_path / "data" / "lithify.db")
    fresh = await start(options=QUIET)
    failure = await fresh.failure("lithify/recordEvents", {"events": [note()]})
    told = await buffer_status(fresh)
    assert (failure.type, told["state"]) == ("storage_failed", "degraded")
    assert f"{tmp_path / 'data' / 'lithify.db'}: it is a named pipe" in told["problem"]


async def test_a_database_that_another_process_holds_is_told_until_it_is_free(start: Starter) -> None:
    fresh = await start(options=QUIET)
    await recorded(fresh, 1)
    other = sqlite3.connect(fresh.data_dir / "lithify.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    failure = await fresh.failure("lithify/recordEvents", {"events": [note()]})
    told = [await buffer_status(fresh) for _ in range(3)]
    assert (failure.type, {one["state"] for one in told}) == ("storage_failed", {"degraded"})
    fresh.start_afresh()
    other.close()
    after = await fresh.notification(CHANGED, state="idle")
    assert "problem" not in after


# --- room ---


async def test_an_event_larger_than_the_ceiling_does_not_hold_up_its_project(start: Starter) -> None:
    fresh = await start(options=SMALL)
    results = await record(fresh, note("x" * 10_000), note("behind it"))
    assert [one["status"] for one in results] == ["stored", "stored"]
    await fresh.notification(CHANGED, entries=1, waiting=1, state="full")
    done = await extracted(fresh)
    assert (done["extracted"], done["remaining"], misplaced(fresh.data_dir)) == (2, 0, [])


async def test_a_line_that_nobody_can_read_does_not_hold_up_its_project(start: Starter) -> None:
    fresh = await start(options=SMALL)
    await recorded(fresh, 1)
    junk = b"nobody can read this " * 500 + b"\n"
    with the_file(fresh).open("ab") as file:
        file.write(junk)
    await extracted(fresh)
    assert [one["status"] for one in await record(fresh, note("behind it"))] == ["stored"]
    await fresh.notification(CHANGED, entries=2, waiting=0)
    done = await extracted(fresh)
    assert (done["extracted"], done["remaining"], the_file(fresh).read_bytes()) == (1, 0, junk)


# --- a database that is lost, and lines of somebody else ---


async def test_what_is_in_the_buffer_of_a_deleted_database_is_extracted_once(start: Starter) -> None:
    fresh = await start(options=QUIET)
    ids = await recorded(fresh, 2)
    for file in fresh.data_dir.glob("lithify.db*"):
        file.unlink()
    ids += await recorded(fresh, 1)
    assert (list(stored_states(fresh.data_dir)), misplaced(fresh.data_dir)) == (ids, [])
    done = await extracted(fresh)
    assert (done["extracted"], misplaced(fresh.data_dir)) == (3, [])


async def test_the_buffer_of_a_database_deleted_between_two_runs_is_extracted_by_itself(start: Starter) -> None:
    first = await start(options=QUIET)
    await recorded(first, 2)
    await first.shut_down()
    for file in first.data_dir.glob("lithify.db*"):
        file.unlink()
    again = await start(options={"client": HANDLES_ALL, "buffer": {"idleMs": 5000}})
    again.answerers[COMPLETE] = MemoryModel()
    await again.notification(CHANGED, entries=0, records=1, state="idle")
    assert set(stored_states(again.data_dir).values()) == {"extracted"}


async def test_what_is_private_in_a_line_that_was_copied_in_is_shown_to_no_model(start: Starter) -> None:
    fresh = await start(options=QUIET)
    await recorded(fresh, 1)
    (entry,) = buffer_entries(fresh.data_dir)
    body = {"type": "text", "content": "<private>secret</private> open"}
    with the_file(fresh).open("a") as file:
        file.write(json.dumps({**entry, "event_id": "01KC0000000000000000000ABC", "body": body}) + "\n")
    fresh.answerers[COMPLETE] = model = MemoryModel()
    done = await fresh.command("lithify.extract_now", {})
    shown = json.dumps(model.questions)
    assert (done["extracted"], "secret" in shown, "[REDACTED] open" in shown) == (2, False, True)


async def test_a_line_of_another_project_is_shown_to_no_model_and_kept(start: Starter) -> None:
    fresh = await start(options=QUIET)
    await recorded(fresh, 1)
    (entry,) = buffer_entries(fresh.data_dir)
    foreign = {**entry, "event_id": "01KC0000000000000000000ABC", "namespace": "/actor/ann/project/another/"}
    with the_file(fresh).open("a") as file:
        file.write(json.dumps(foreign) + "\n")
    fresh.answerers[COMPLETE] = model = MemoryModel()
    done = await fresh.command("lithify.extract_now", {})
    assert (done["extracted"], done["remaining"], len(model.questions)) == (1, 0, 1)
    assert (foreign["event_id"] in json.dumps(model.questions), buffer_entries(fresh.data_dir)) == (False, [foreign])
