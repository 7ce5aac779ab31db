"""What the server does by itself: thresholds, idle time, the ceiling, the budget, and how the status tells of it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.e2e.conftest import HANDLES_ALL
from tests.support.editor import (
    MemoryModel,
    SilentModel,
    Starter,
    answers,
    buffer_entries,
    buffer_status,
    fail,
    misplaced,
    note,
    project_folder,
    record,
    record_reply,
    refuse,
    shown_ids,
    stored_states,
)
from tests.support.raw_client import Json, RawClient

pytestmark = pytest.mark.asyncio(loop_scope="module")

COMPLETE = "lithify/complete"
CHANGED = "lithify/bufferStatusChanged"
SMALL: Json = {
    "client": HANDLES_ALL,
    "buffer": {"extractionBytes": 1024, "compactionBytes": 2048, "ceilingBytes": 4096},
}
OFF: Json = {**SMALL, "extraction": {"enabled": False}}


async def some_time(client: RawClient, seconds: float) -> None:
    """Lets time pass in which something must not happen: nobody ever answers this."""
    with pytest.raises(AssertionError, match="no such message"):
        await client.wait_for(lambda _: False, seconds)


async def test_a_buffer_of_the_size_of_the_setting_is_extracted_by_itself(start: Starter) -> None:
    fresh = await start(options=SMALL)
    fresh.answerers[COMPLETE] = model = MemoryModel()
    await record(fresh, note("x" * 1024))
    await fresh.notification(CHANGED, records=1, entries=0)
    assert [one["userInitiated"] for one in model.questions] == [False]


async def test_a_smaller_buffer_is_left_alone(start: Starter) -> None:
    fresh = await start(options=SMALL)
    fresh.answerers[COMPLETE] = model = MemoryModel()
    await record(fresh, note("x" * 100))
    await some_time(fresh, 2.5)
    assert model.questions == []


async def test_after_the_idle_time_a_small_buffer_is_extracted_by_itself(start: Starter) -> None:
    fresh = await start(options={"client": HANDLES_ALL, "buffer": {"idleMs": 5000}})
    fresh.answerers[COMPLETE] = MemoryModel()
    began = fresh.clock()
    await record(fresh, note())
    await fresh.notification(CHANGED, seconds=10, records=1, entries=0)
    assert fresh.clock() - began >= 5


async def test_a_buffer_left_by_an_earlier_run_is_extracted_by_itself(start: Starter) -> None:
    first = await start(options=OFF)
    await record(first, note("x" * 1024))
    await first.shut_down()
    again = await start(options=SMALL)
    again.answerers[COMPLETE] = MemoryModel()
    await again.notification(CHANGED, records=1, entries=0)


async def test_extraction_that_is_off_leaves_no_trace(start: Starter) -> None:
    fresh = await start(options=OFF)
    fresh.answerers[COMPLETE] = model = MemoryModel()
    await record(fresh, note("x" * 1024))
    await some_time(fresh, 2.5)
    told = (await buffer_status(fresh))["extraction"]
    assert told == {"enabled": False, "inFlight": False, "breaker": "closed", "failures": 0}
    assert model.questions == []


async def test_the_status_tells_of_an_extraction_from_its_beginning_to_its_end(start: Starter) -> None:
    fresh = await start(options=SMALL)
    silent = SilentModel(fresh)
    await record(fresh, note("x" * 1024))
    during = await fresh.notification(CHANGED, state="extracting")
    await silent.answer({"text": record_reply()})
    after = await fresh.notification(CHANGED, records=1, state="idle")
    assert (during["extraction"]["inFlight"], after["extraction"]["inFlight"]) == (True, False)
    assert after["extraction"]["lastRunAt"]
    assert fresh.received(CHANGED)[-1] == await buffer_status(fresh)


async def test_a_buffer_over_the_compaction_size_is_compacted_by_itself(start: Starter) -> None:
    fresh = await start(options={**OFF, "bufferCompaction": {"enabled": True}})
    fresh.answerers[COMPLETE] = model = MemoryModel()
    await record(fresh, note("x" * 1000), note("y" * 1000))
    told = await fresh.notification(CHANGED, entries=1, state="idle")
    assert told["compaction"]["lastMethod"] == "model"
    assert [(one["purpose"], one["userInitiated"]) for one in model.questions] == [("buffer", False)]


async def test_a_buffer_over_the_compaction_size_is_left_alone_where_compaction_is_off(start: Starter) -> None:
    fresh = await start(options=OFF)
    fresh.answerers[COMPLETE] = model = MemoryModel()
    await record(fresh, note("x" * 1000), note("y" * 1000))
    await some_time(fresh, 2.5)
    told = (await buffer_status(fresh))["compaction"]
    assert told == {"enabled": False, "inFlight": False, "breaker": "closed", "failures": 0}
    assert model.questions == []


async def test_one_append_over_both_sizes_starts_both_and_they_share_no_event(start: Starter) -> None:
    buffer = {**SMALL["buffer"], "idleMs": 5000}
    fresh = await start(options={**SMALL, "buffer": buffer, "bufferCompaction": {"enabled": True}})
    fresh.answerers[COMPLETE] = MemoryModel()
    await record(fresh, *(note(letter * 500) for letter in "abcdef"))
    await fresh.notification(CHANGED, entries=0, state="idle")
    assert misplaced(fresh.data_dir) == []


async def test_what_waits_at_the_ceiling_is_fed_in_order_when_there_is_room(start: Starter) -> None:
    fresh = await start(options=OFF)
    results = await record(fresh, *(note(f"{number} " + "x" * 900) for number in range(6)))
    full = await fresh.notification(CHANGED, state="full")
    fresh.answerers[COMPLETE] = model = MemoryModel()
    done = await fresh.command("lithify.extract_now", {})
    shown = [one for asked in model.questions for one in shown_ids(asked)]
    assert [one["status"] for one in results] == ["buffered"] * 3 + ["stored"] * 3
    assert (full["waiting"], done["extracted"], done["remaining"]) == (3, 6, 0)
    assert shown == [one["eventId"] for one in results]


async def test_what_waits_is_fed_into_the_buffer_after_a_compaction(start: Starter) -> None:
    fresh = await start(options={**OFF, "bufferCompaction": {"enabled": True}})
    silent = SilentModel(fresh)
    results = await record(fresh, *(note(f"{number} " + "x" * 900) for number in range(5)))
    await silent.answer({"text": "<compacted_entry>summary</compacted_entry>"})
    told = await fresh.notification(CHANGED, waiting=0, entries=3)
    entries = buffer_entries(fresh.data_dir)
    assert [one["event_id"] for one in entries[1:]] == [one["eventId"] for one in results[3:]]
    assert told["state"] != "full"


async def test_at_the_budget_background_work_waits_and_the_status_says_so(start: Starter) -> None:
    fresh = await start(options={**SMALL, "background": {"maxModelCallsPerHour": 1}})
    fresh.answerers[COMPLETE] = model = MemoryModel()
    await record(fresh, note("x" * 1024))
    told = await fresh.notification(CHANGED, records=1, entries=0)
    await record(fresh, note("y" * 1024))
    await some_time(fresh, 2.5)
    told = await buffer_status(fresh)
    assert told["background"]["modelCallsLastHour"] == 1
    assert told["background"]["tokensLastHour"] > 0
    assert (told["background"]["paused"], told["entries"], len(model.questions)) == (True, 1, 1)


async def test_at_the_budget_a_users_extraction_goes_on(start: Starter) -> None:
    fresh = await start(options={**SMALL, "background": {"maxModelCallsPerHour": 1}})
    fresh.answerers[COMPLETE] = MemoryModel()
    await record(fresh, note("x" * 1024))
    await fresh.notification(CHANGED, records=1, entries=0, state="idle")  # a run that goes on would be joined
    await record(fresh, note("y" * 1024))
    assert (await fresh.command("lithify.extract_now", {}))["extracted"] == 1
    assert (await buffer_status(fresh))["background"]["modelCallsLastHour"] == 1


@pytest.mark.parametrize("compaction", [False, True], ids=["extraction", "and compaction"])
async def test_without_consent_background_work_asks_once_however_many_events_come(
    start: Starter, compaction: bool
) -> None:
    fresh = await start(options={**SMALL, "bufferCompaction": {"enabled": compaction}})
    fresh.answerers[COMPLETE] = refuse("consent_required")
    await record(fresh, note("x" * 1024), note("y" * 1024))
    await fresh.wait_for(lambda message: message.get("method") == COMPLETE)
    for _ in range(6):
        await record(fresh, note())
        await some_time(fresh, 0.5)
    told = await buffer_status(fresh)
    purposes = [one["purpose"] for one in fresh.received(COMPLETE)]
    assert purposes == ["extraction"]
    assert (told["entries"], told["extraction"]["failures"], told["extraction"]["breaker"]) == (8, 0, "closed")


async def test_consent_given_later_lets_a_users_call_through_and_background_work_after_it(start: Starter) -> None:
    fresh = await start(options={**SMALL, "buffer": {**SMALL["buffer"], "idleMs": 5000}})
    fresh.answerers[COMPLETE] = refuse("consent_required")
    await record(fresh, note("x" * 1024))
    await fresh.notification(CHANGED, state="degraded")
    fresh.answerers[COMPLETE] = MemoryModel()
    await fresh.command("lithify.extract_now", {})
    await record(fresh, note("y" * 1024))
    await fresh.notification(CHANGED, records=2, entries=0, state="idle")


async def test_failures_of_background_work_open_the_breaker_and_then_no_model_is_asked(start: Starter) -> None:
    fresh = await start(options={**SMALL, "extraction": {"maxFailures": 1}})
    fresh.answerers[COMPLETE] = fail
    await record(fresh, note("x" * 1024))
    told = await fresh.notification(CHANGED, state="degraded")
    asked = len(fresh.received(COMPLETE))
    await record(fresh, note("y" * 1024))
    await some_time(fresh, 2.5)
    assert (told["extraction"]["breaker"], asked, len(fresh.received(COMPLETE))) == ("open", 3, 3)


async def test_a_breaker_that_opened_half_opens_after_the_cooldown_and_the_status_says_so(start: Starter) -> None:
    fresh = await start(options={"client": HANDLES_ALL, "extraction": {"maxFailures": 1, "cooldownMs": 1000}})
    fresh.answerers[COMPLETE] = fail
    await record(fresh, note())
    await fresh.command("lithify.extract_now", {})

    def half_open(message: Json) -> Any:
        return message.get("method") == CHANGED and message["params"]["extraction"]["breaker"] == "half_open"

    await fresh.wait_for(half_open, seconds=5)


async def test_a_command_joins_a_background_run_that_is_going_on(start: Starter) -> None:
    fresh = await start(options=SMALL)
    silent = SilentModel(fresh)
    await record(fresh, note("x" * 1024))
    await silent.asked()
    asked = fresh.ask_command("lithify.extract_now", {})
    await buffer_status(fresh)
    await silent.answer({"text": record_reply()})
    assert await fresh.result_of(asked) == {
        "extracted": 1,
        "records": 1,
        "remaining": 0,
        "method": "model",
        "provider": "editor",
    }
    assert len(fresh.received(COMPLETE)) == 1


async def test_a_server_that_is_shut_down_during_an_extraction_leaves_the_buffer_as_it_was(start: Starter) -> None:
    fresh = await start(options=SMALL)
    silent = SilentModel(fresh)
    await record(fresh, note("x" * 1024))
    await silent.asked()
    assert await fresh.shut_down() == 0
    assert list(stored_states(fresh.data_dir).values()) == ["buffered"]
    assert misplaced(fresh.data_dir) == []


async def test_recording_goes_on_while_a_model_works(start: Starter) -> None:
    fresh = await start(options={**SMALL, "buffer": {"extractionBytes": 1024}})
    silent = SilentModel(fresh)
    await record(fresh, note("x" * 1024))
    await silent.asked()
    began = fresh.clock()
    results = await record(fresh, *(note() for _ in range(100)))
    assert {one["status"] for one in results} == {"buffered"}
    assert fresh.clock() - began < 2


async def test_lowered_sizes_start_an_extraction_of_what_is_there(start: Starter) -> None:
    fresh = await start()
    fresh.answerers[COMPLETE] = answers(record_reply())
    await record(fresh, note("x" * 1024))
    fresh.notify("workspace/didChangeConfiguration", {"settings": {"lithify": {"buffer": {"extractionBytes": 1024}}}})
    await fresh.notification(CHANGED, records=1, entries=0)


async def test_several_projects_are_extracted_at_the_same_time(start: Starter, tmp_path: Any) -> None:
    fresh = await start(options=SMALL)
    silent = SilentModel(fresh)
    sources = [{"projectPath": str(project_folder(tmp_path, name))} for name in ("one", "two")]
    await record(fresh, *(note("x" * 1024, source=source) for source in sources))
    await asyncio.gather(silent.asked(0), silent.asked(1))
