"""Buffer compaction: `lithify.compact_buffer`, what the model is shown, and what becomes of its answer."""

from __future__ import annotations

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
    record,
    record_reply,
    refuse,
    shown_ids,
    stored_states,
)
from tests.support.raw_client import Json, RawClient

pytestmark = pytest.mark.asyncio(loop_scope="module")

COMPLETE = "lithify/complete"
ON: Json = {"client": HANDLES_ALL, "bufferCompaction": {"enabled": True}}


async def compact(client: RawClient) -> Json:
    done: Json = await client.command("lithify.compact_buffer", {})
    return done


async def filled(start: Starter, model: Any, count: int = 4, **more: Any) -> tuple[RawClient, list[str]]:
    """A server with events in its buffer and a model, and the ids of the events."""
    fresh = await start(options={**ON, **more})
    fresh.answerers[COMPLETE] = model
    times = [f"2026-01-0{number + 1}T00:00:00Z" for number in range(count)]
    results = await record(fresh, *(note(f"{time} " + "lore " * 100, validTime=time) for time in times))
    return fresh, [one["eventId"] for one in results]


async def test_a_compaction_tells_the_sizes_before_and_after_and_by_what(start: Starter) -> None:
    fresh, _ = await filled(start, MemoryModel())
    before = await buffer_status(fresh)
    done = await compact(fresh)
    after = await buffer_status(fresh)
    assert done == {
        "sizeBefore": before["sizeBytes"],
        "sizeAfter": after["sizeBytes"],
        "entriesBefore": 4,
        "entriesAfter": 1,
        "method": "model",
        "provider": "editor",
    }
    assert 0 < after["sizeBytes"] < before["sizeBytes"]


async def test_switched_off_it_is_disabled(start: Starter) -> None:
    fresh = await start()
    failure = await fresh.command_failure("lithify.compact_buffer", {})
    assert (failure.code, failure.type) == (-32803, "disabled")


async def test_the_model_is_asked_as_the_contract_says(start: Starter) -> None:
    model = MemoryModel()
    fresh, ids = await filled(start, model)
    await compact(fresh)
    (asked,) = model.questions
    told = {key: asked[key] for key in set(asked) - {"message", "systemPrompt", "requestId"}}
    assert shown_ids(asked) == ids
    assert asked["systemPrompt"]
    assert told == {
        "purpose": "buffer",
        "userInitiated": True,
        "model": "claude-haiku-4.5",
        "tools": [],
        "timeoutMs": 120_000,
        "settings": {"disable_all_tools": True},
    }


async def test_a_summary_in_the_buffer_has_just_the_keys_of_the_contract(start: Starter) -> None:
    fresh, ids = await filled(start, answers("<compacted_entry>all of it</compacted_entry>"))
    namespace = buffer_entries(fresh.data_dir)[0]["namespace"]
    await compact(fresh)
    (summary,) = buffer_entries(fresh.data_dir)
    prefix, _, ulid = summary.pop("event_id").partition("_")
    assert (prefix, len(ulid)) == ("compact", 26)
    assert summary == {
        "namespace": namespace,
        "kind": "session_summary",
        "body": {"type": "text", "content": "all of it"},
        "timestamp": "2026-01-04T00:00:00Z",
        "surface": "raw",
        "source_event_ids": ids,
    }


async def test_each_event_belongs_to_the_first_summary_that_names_it(start: Starter) -> None:
    silent_ids: list[str] = []

    def answer(question: Json) -> Json:
        one, two, three, four = silent_ids[:] = shown_ids(question)
        first = f'<compacted_entry sources="{two} {one}">first</compacted_entry>'
        return {"text": f'{first}<compacted_entry sources="{two} {three} {four}">second</compacted_entry>'}

    fresh, ids = await filled(start, answer)
    await compact(fresh)
    covered = [set(one["source_event_ids"]) for one in buffer_entries(fresh.data_dir)]
    assert covered == [set(ids[:2]), set(ids[2:])]


async def test_a_summary_comes_first_and_what_came_meanwhile_behind_it(start: Starter) -> None:
    fresh, _ = await filled(start, None)
    silent = SilentModel(fresh)
    asked = fresh.ask_command("lithify.compact_buffer", {})
    await silent.asked()
    (later,) = await record(fresh, note("meanwhile"))
    await silent.answer({"text": "<compacted_entry>summary</compacted_entry>"})
    await fresh.result_of(asked)
    first, second = buffer_entries(fresh.data_dir)
    assert first["kind"] == "session_summary"
    assert second["event_id"] == later["eventId"]


async def test_a_record_of_a_summary_names_the_original_events(start: Starter) -> None:
    fresh, ids = await filled(start, MemoryModel())
    await compact(fresh)
    (summary,) = buffer_entries(fresh.data_dir)
    fresh.answerers[COMPLETE] = answers(record_reply([summary["event_id"]]))
    done = await fresh.command("lithify.extract_now", {})
    (known,) = (await fresh.command("lithify.list_memory", {}))["records"]
    assert (done["extracted"], known["sourceEventIds"]) == (4, ids)


async def test_a_summary_is_compacted_again_and_still_covers_all_events(start: Starter) -> None:
    fresh, ids = await filled(start, MemoryModel())
    await compact(fresh)
    (more,) = await record(fresh, note("later " * 99))
    await compact(fresh)
    (summary,) = buffer_entries(fresh.data_dir)
    assert summary["source_event_ids"] == [*ids, more["eventId"]]


@pytest.mark.parametrize(
    "model",
    [fail, answers("nothing"), answers(""), answers(f"<compacted_entry>{'longer ' * 999}</compacted_entry>")],
    ids=["error", "no entry", "empty", "not smaller"],
)
async def test_after_two_attempts_that_fail_the_older_half_is_evicted(start: Starter, model: Any) -> None:
    fresh, ids = await filled(start, model)
    done = await compact(fresh)
    assert (done["method"], done["entriesBefore"], done["entriesAfter"]) == ("eviction", 4, 2)
    assert len(fresh.received(COMPLETE)) == 2
    assert stored_states(fresh.data_dir) == dict(zip(ids, ["evicted", "evicted", "buffered", "buffered"], strict=True))


async def test_what_an_eviction_keeps_is_unchanged_byte_for_byte(start: Starter) -> None:
    fresh, _ = await filled(start, fail)
    (file,) = (fresh.data_dir / "buffers").glob("*/buffer.ndjson")
    lines = file.read_bytes().splitlines()
    await compact(fresh)
    assert file.read_bytes().splitlines() == lines[2:]


async def test_a_failed_compaction_is_in_the_status(start: Starter) -> None:
    fresh, _ = await filled(start, fail)
    await compact(fresh)
    told = await buffer_status(fresh)
    work = told["compaction"]
    assert (told["state"], work["failures"], work["lastMethod"]) == ("degraded", 1, "eviction")
    assert "it broke" in work["lastError"]
    assert work["lastRunAt"]


async def test_a_compaction_that_succeeds_is_in_the_status(start: Starter) -> None:
    fresh, _ = await filled(start, MemoryModel())
    await compact(fresh)
    work = (await buffer_status(fresh))["compaction"]
    assert work.pop("lastRunAt")
    assert work == {
        "enabled": True,
        "inFlight": False,
        "breaker": "closed",
        "failures": 0,
        "lastMethod": "model",
        "lastProvider": "editor",
    }


async def test_three_failures_open_the_breaker(start: Starter) -> None:
    fresh, _ = await filled(start, fail, count=9)
    for _ in range(3):
        await compact(fresh)
    work = (await buffer_status(fresh))["compaction"]
    assert (work["breaker"], work["failures"]) == ("open", 3)


async def test_one_success_resets_the_breaker(start: Starter) -> None:
    fresh, _ = await filled(start, fail, bufferCompaction={"enabled": True, "maxFailures": 1})
    await compact(fresh)
    fresh.answerers[COMPLETE] = MemoryModel()
    await compact(fresh)
    told = await buffer_status(fresh)
    assert (told["state"], told["compaction"]["breaker"], told["compaction"]["failures"]) == ("idle", "closed", 0)


@pytest.mark.parametrize("reason", ["consent_required", "quota"])
async def test_consent_and_quota_evict_nothing_and_count_as_no_failure(start: Starter, reason: str) -> None:
    fresh, ids = await filled(start, refuse(reason))
    done = await compact(fresh)
    work = (await buffer_status(fresh))["compaction"]
    assert (done["sizeBefore"], done["entriesAfter"], work["failures"]) == (done["sizeAfter"], 4, 0)
    assert [one["event_id"] for one in buffer_entries(fresh.data_dir)] == ids


async def test_a_cancelled_compaction_ends_the_model_call_and_leaves_the_buffer_as_it_was(start: Starter) -> None:
    fresh, _ = await filled(start, None)
    before = buffer_entries(fresh.data_dir)
    silent = SilentModel(fresh)
    asked = fresh.ask_command("lithify.compact_buffer", {})
    question = (await silent.asked())["params"]
    fresh.notify("$/cancelRequest", {"id": asked})
    failure = await fresh.failure_of(asked)
    told = await fresh.notification("lithify/cancelComplete")
    assert (failure.code, failure.type, told) == (-32800, "cancelled", {"requestId": question["requestId"]})
    assert buffer_entries(fresh.data_dir) == before


async def test_a_compaction_after_a_cancelled_one_works(start: Starter) -> None:
    fresh, _ = await filled(start, None)
    silent = SilentModel(fresh)
    asked = fresh.ask_command("lithify.compact_buffer", {})
    await silent.asked()
    fresh.notify("$/cancelRequest", {"id": asked})
    await fresh.failure_of(asked)
    fresh.answerers[COMPLETE] = MemoryModel()
    assert (await compact(fresh))["method"] == "model"


async def test_the_state_is_compacting_while_the_model_works(start: Starter) -> None:
    fresh, _ = await filled(start, None)
    silent = SilentModel(fresh)
    asked = fresh.ask_command("lithify.compact_buffer", {})
    told = await fresh.notification("lithify/bufferStatusChanged", state="compacting")
    await silent.answer({"text": "<compacted_entry>summary</compacted_entry>"})
    await fresh.result_of(asked)
    assert told["compaction"]["inFlight"] is True
    assert (await buffer_status(fresh))["state"] == "idle"


async def test_an_extraction_during_a_compaction_takes_only_what_came_meanwhile(start: Starter) -> None:
    fresh, ids = await filled(start, None)
    silent = SilentModel(fresh)
    compaction = fresh.ask_command("lithify.compact_buffer", {})
    await silent.asked()
    (later,) = await record(fresh, note("meanwhile"))
    extraction = fresh.ask_command("lithify.extract_now", {})
    await silent.answer({"text": record_reply()}, number=1)
    await silent.answer({"text": "<compacted_entry>summary</compacted_entry>"})
    compacted = await fresh.result_of(compaction)
    await silent.answer({"text": record_reply()}, number=2)
    extracted = await fresh.result_of(extraction)
    asked = [shown_ids(one) for one in fresh.received(COMPLETE)]
    assert (asked[0], asked[1]) == (ids, [later["eventId"]])
    assert (compacted["method"], extracted["extracted"], extracted["remaining"]) == ("model", 5, 0)
    assert misplaced(fresh.data_dir) == []


async def test_without_any_model_the_offline_one_compacts_and_says_so(start: Starter) -> None:
    fresh = await start(options={"bufferCompaction": {"enabled": True}})
    await record(fresh, *(note(f"We decided on part {number}. " + "lore " * 200) for number in range(6)))
    done = await compact(fresh)
    assert done["method"] == "offline"
    assert done["sizeAfter"] < done["sizeBefore"]


async def test_an_empty_buffer_is_compacted_into_nothing_without_a_model(start: Starter) -> None:
    fresh = await start(options=ON)
    fresh.answerers[COMPLETE] = model = MemoryModel()
    done = await compact(fresh)
    assert (done["sizeBefore"], done["sizeAfter"], done["entriesBefore"], done["entriesAfter"]) == (0, 0, 0, 0)
    assert (done["method"], done["problem"]) == (None, "the buffer is empty: there is nothing to compact")
    assert model.questions == []


async def test_a_buffer_that_an_extraction_works_on_is_left_to_it_with_a_word(start: Starter) -> None:
    fresh, _ = await filled(start, None)
    silent = SilentModel(fresh)
    extraction = fresh.ask_command("lithify.extract_now", {})
    await silent.asked()
    done = await compact(fresh)
    await silent.answer({"text": record_reply()})
    assert (done["method"], done["sizeAfter"]) == (None, done["sizeBefore"])
    assert "an extraction has all entries" in done["problem"]
    assert (await fresh.result_of(extraction))["extracted"] == 4


async def test_an_eviction_tells_why_how_much_went_and_where_it_stays(start: Starter) -> None:
    fresh, _ = await filled(start, fail)
    done = await compact(fresh)
    assert "it broke" in done["problem"]
    assert "the oldest half of the entries (2 of 4) left the buffer" in done["problem"]
    assert "still be found in the database" in done["problem"]


async def test_a_chunk_that_is_too_long_for_the_model_is_halved_until_it_fits(start: Starter) -> None:
    too_long, model = refuse("context_too_long"), MemoryModel()
    fresh, ids = await filled(start, lambda asked: too_long(asked) if len(shown_ids(asked)) > 1 else model(asked))
    done = await compact(fresh)
    work = (await buffer_status(fresh))["compaction"]
    assert (done["method"], "problem" in done, work["failures"]) == ("model", False, 0)
    assert set(stored_states(fresh.data_dir)) == set(ids)
    assert misplaced(fresh.data_dir) == []


async def test_a_model_that_is_not_there_is_asked_again_after_a_pause(start: Starter) -> None:
    fresh, _ = await filled(start, refuse("no_model"))
    began = fresh.clock()
    done = await compact(fresh)
    assert (done["method"], len(fresh.received(COMPLETE))) == ("eviction", 2)
    assert fresh.clock() - began >= 0.5
