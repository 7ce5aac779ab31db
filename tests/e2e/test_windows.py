"""Several windows on one data folder and one project: four servers, each with an editor and a model of its own."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from random import Random
from typing import Any

import pytest

from tests.e2e.conftest import HANDLES_ALL
from tests.support.editor import (
    MemoryModel,
    SilentModel,
    Starter,
    answer_later,
    buffer_entries,
    buffer_status,
    fail,
    misplaced,
    note,
    record,
    record_reply,
    refuse,
    stored_states,
)
from tests.support.raw_client import Json, RawClient, RequestError

pytestmark = pytest.mark.asyncio(loop_scope="module")

WINDOWS = 4
EVENTS = 500
AT_ONCE = 10
TRUE_WITHIN_SECONDS = 2.0 + 1.0
"""Two seconds, and one more for a busy machine."""

BUSY: Json = {
    "client": HANDLES_ALL,
    "buffer": {"extractionBytes": 8192, "compactionBytes": 16_384, "ceilingBytes": 65_536},
    "bufferCompaction": {"enabled": True},
    "background": {"maxModelCallsPerHour": 100_000, "maxTokensPerHour": 1_000_000_000},
}
AT_REST: Json = {**BUSY, "extraction": {"enabled": False}, "bufferCompaction": {"enabled": False}}
"""Nothing is done unasked, so that the audit sees the files at rest."""

QUIET: Json = {"client": HANDLES_ALL}


async def fill(client: RawClient, name: str) -> list[Json]:
    """Records 500 events, some at a time; the results."""
    results = []
    for first in range(0, EVENTS, AT_ONCE):
        events = [note(f"{name} {number} " + "x" * (number % 300)) for number in range(first, first + AT_ONCE)]
        results += await record(client, *events)
    return results


async def goes_on(client: RawClient, filling: asyncio.Future[Any]) -> bool:
    """Whether events are still to come, or wait for room."""
    return not filling.done() or (await buffer_status(client))["waiting"] > 0


async def extract_on(client: RawClient, filling: asyncio.Future[Any], tally: Counter[str]) -> None:
    """Extracts again and again while the windows fill the buffer, and until something was: compactions may leave it
    nothing before."""
    while await goes_on(client, filling) or not tally["events extracted"]:
        done = await client.command("lithify.extract_now", {})
        tally["events extracted"] += done["extracted"]


async def compact_on(client: RawClient, filling: asyncio.Future[Any], tally: Counter[str]) -> None:
    """Compacts again and again while the windows fill the buffer."""
    while await goes_on(client, filling):
        try:
            done = await client.command("lithify.compact_buffer", {})
        except RequestError as error:
            tally[error.type] += 1
        else:
            tally[f"compactions by {done.get('method')}"] += 1


@pytest.mark.timeout(150)
async def test_each_of_two_thousand_events_of_four_windows_is_in_one_place_and_none_was_extracted_twice(
    start: Starter,
) -> None:
    windows = [await start(options=BUSY) for _ in range(WINDOWS)]
    tally: Counter[str] = Counter()
    for number, window in enumerate(windows):
        answer_later(window, MemoryModel(f"w{number}"), Random(number), useless=0.6)
    filling = asyncio.gather(*(fill(window, f"w{number}") for number, window in enumerate(windows)))
    working = [extract_on(windows[0], filling, tally), *(compact_on(one, filling, tally) for one in windows[1:3])]
    await asyncio.gather(filling, *working)
    for window in windows:
        await window.shut_down()
    last = await start(options=AT_REST)
    last.answerers["lithify/complete"] = refuse("consent_required")
    await last.command("lithify.extract_now", {})
    left = misplaced(last.data_dir)
    before = Counter(stored_states(last.data_dir).values())
    last.answerers["lithify/complete"] = MemoryModel("last")
    await last.command("lithify.extract_now", {})
    states = Counter(stored_states(last.data_dir).values())
    sys.stdout.write(f"{dict(tally)}; when the windows closed: {dict(before)}; at the end: {dict(states)}\n")
    assert {one["status"] for results in filling.result() for one in results} <= {"buffered", "stored"}
    assert tally["compactions by model"] > 0
    assert before["extracted"] > 0
    assert set(tally) <= {"busy", "events extracted", *(f"compactions by {one}" for one in ("model", "eviction", None))}
    assert left == []
    assert misplaced(last.data_dir) == []
    assert buffer_entries(last.data_dir) == []
    assert states["extracted"] + states["evicted"] == WINDOWS * EVENTS


async def told_soon(client: RawClient, **wanted: Any) -> Json:
    """The first status told to the editor that holds what is wanted, from now on, within two seconds or so."""
    client.messages.clear()
    told: Json = await client.notification("lithify/bufferStatusChanged", TRUE_WITHIN_SECONDS, **wanted)
    return told


async def test_a_window_is_told_of_events_of_another_one(start: Starter) -> None:
    one, other = await start(options=QUIET), await start(options=QUIET)
    telling = asyncio.ensure_future(told_soon(other, entries=2))
    await record(one, note(), note())
    assert await telling == await buffer_status(one)


async def test_a_window_is_told_of_records_that_another_one_made(start: Starter) -> None:
    one, other = await start(options=QUIET), await start(options=QUIET)
    await record(one, note())
    one.answerers["lithify/complete"] = MemoryModel()
    telling = asyncio.ensure_future(told_soon(other, records=1, entries=0, state="idle"))
    await one.command("lithify.extract_now", {})
    assert await telling == await buffer_status(one)


async def test_a_window_is_told_of_a_record_that_another_one_forgot(start: Starter) -> None:
    one, other = await start(options=QUIET), await start(options=QUIET)
    one.answerers["lithify/complete"] = MemoryModel()
    await record(one, note())
    await one.command("lithify.extract_now", {})
    (known,) = (await one.command("lithify.list_memory", {}))["records"]
    await other.notification("lithify/bufferStatusChanged", records=1)
    telling = asyncio.ensure_future(told_soon(other, records=0))
    await one.command("lithify.forget_memory", {"recordId": known["recordId"]})
    assert await telling == await buffer_status(one)


async def test_a_window_is_told_that_another_one_extracts(start: Starter) -> None:
    one, other = await start(options=QUIET), await start(options=QUIET)
    await record(one, note())
    silent = SilentModel(one)
    telling = asyncio.ensure_future(told_soon(other, state="extracting"))
    one.ask_command("lithify.extract_now", {})
    await silent.asked()
    assert (await telling)["extraction"]["inFlight"] is True


async def test_a_window_is_told_that_an_extraction_of_another_one_died_with_it(start: Starter) -> None:
    one, other = await start(options=QUIET), await start(options=QUIET)
    await record(one, note())
    silent = SilentModel(one)
    one.ask_command("lithify.extract_now", {})
    await silent.asked()
    await other.notification("lithify/bufferStatusChanged", state="extracting")
    telling = asyncio.ensure_future(told_soon(other, state="idle"))
    one.process.kill()
    assert (await telling)["extraction"]["inFlight"] is False


async def test_a_window_is_told_of_failures_that_another_one_had(start: Starter) -> None:
    one, other = await start(options=QUIET), await start(options=QUIET)
    await record(one, note())
    one.answerers["lithify/complete"] = fail
    await one.command("lithify.extract_now", {})
    told = await other.notification("lithify/bufferStatusChanged", TRUE_WITHIN_SECONDS, state="degraded")
    assert told["extraction"]["failures"] == 1


async def test_a_window_is_told_that_another_one_paused_recording(start: Starter) -> None:
    one, other = await start(options=QUIET), await start(options=QUIET)
    telling = asyncio.ensure_future(told_soon(other, recording=False))
    await one.command("lithify.set_recording", {"enabled": False})
    assert await telling == await buffer_status(one)


async def test_an_extraction_of_one_window_is_joined_by_the_command_of_another(start: Starter) -> None:
    one, other = await start(options=QUIET), await start(options=QUIET)
    await record(one, note())
    silent = SilentModel(one)
    first = one.ask_command("lithify.extract_now", {})
    await silent.asked()
    second = other.ask_command("lithify.extract_now", {})
    await buffer_status(other)
    await silent.answer({"text": record_reply()})
    answers = [await one.result_of(first), await other.result_of(second)]
    assert [(done["extracted"], done["remaining"]) for done in answers] == [(1, 0), (0, 0)]
    assert other.received("lithify/complete") == []


async def test_a_second_window_that_compacts_meanwhile_is_told_that_it_is_busy(start: Starter) -> None:
    one, other = await start(options=BUSY), await start(options=BUSY)
    await record(one, note("x" * 500), note("y" * 500))
    silent = SilentModel(one)
    one.ask_command("lithify.compact_buffer", {})
    await silent.asked()
    failure = await other.command_failure("lithify.compact_buffer", {})
    assert (failure.code, failure.type, failure.data["retryable"]) == (-32803, "busy", True)


async def test_the_background_budget_is_one_for_all_windows(start: Starter) -> None:
    spent = {**QUIET, "background": {"maxModelCallsPerHour": 1}}
    small = {**spent, "buffer": {"extractionBytes": 1024}}
    one = await start(options=small)
    one.answerers["lithify/complete"] = MemoryModel()
    await record(one, note("x" * 2000))
    await one.notification("lithify/bufferStatusChanged", records=1)
    other = await start(options=spent)
    assert (await buffer_status(other))["background"]["paused"] is True
