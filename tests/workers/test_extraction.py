"""Extraction: batches, retries, the breaker, one run at a time, and what becomes of events."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from lithify.core.entries import Entry
from lithify.core.messages import tokens_of_bytes, utf8_length
from lithify.core.model_calls import ModelFailure, ModelReply
from lithify.core.observations import MOST_HALVINGS, observation
from lithify.core.pipeline import BACKOFF_SECONDS
from lithify.llm.offline import OfflineModel
from lithify.prompt_files.templates import find_template
from lithify.workers.extraction import BATCH_TOKENS, PARALLEL, PATIENCE_SECONDS
from tests.storage.seam import at_each_call
from tests.support.scripted_model import Answer, ScriptedModel
from tests.support.stores import buffer_file, change
from tests.support.workers import (
    BROKEN,
    NO_CONSENT,
    SKIP,
    TOO_LONG,
    GatedModel,
    Rig,
    compacted,
    one_record,
    record_each,
    within,
)

SMALL = "word " * 1000
"""A text of 5,000 bytes: eight of them fit into one batch."""

BIG = "word " * 12_000
"""A text of 60,000 bytes: two of them and a bit more fill a batch."""


@pytest_asyncio.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    made = Rig(tmp_path)
    yield made
    await made.close()


@pytest_asyncio.fixture
async def other(tmp_path: Path) -> AsyncIterator[Rig]:
    """A second process on the same data folder."""
    made = Rig(tmp_path, maker_of_ids=1)
    yield made
    await made.close()


def scripted(rig: Rig, *answers: Answer) -> ScriptedModel:
    rig.model = model = ScriptedModel(*answers)
    return model


async def failing_runs(rig: Rig, count: int) -> None:
    scripted(rig, BROKEN)
    for _ in range(count):
        await rig.extract()


def asked_ids(model: ScriptedModel) -> list[str]:
    return [entry.event_id for request in model.requests for entry in request.entries]


# --- what a batch is ------------------------------------------------------------------------------------------


@pytest.mark.asyncio
async def test_every_event_is_extracted_by_one_run(rig: Rig) -> None:
    await rig.record("one", "two", "three")
    done = await rig.extract()
    assert (done.extracted, done.records, done.remaining, done.method, done.problem) == (3, 1, 0, "model", None)


@pytest.mark.asyncio
async def test_a_batch_stays_under_the_token_budget(rig: Rig) -> None:
    model = scripted(rig, one_record)
    await rig.record(*[BIG] * 5)
    await rig.extract()
    assert max(tokens_of_bytes(utf8_length(request.parts[1])) for request in model.requests) <= BATCH_TOKENS


@pytest.mark.asyncio
async def test_batches_go_through_the_buffer_oldest_first(rig: Rig) -> None:
    model = scripted(rig, one_record)
    recorded = await rig.record(*[BIG] * 5)
    await rig.extract()
    assert (len(model.requests) > 1, asked_ids(model)) == (True, recorded)


@pytest.mark.asyncio
async def test_a_single_entry_over_the_budget_is_shown_within_it(rig: Rig) -> None:
    model = scripted(rig, one_record)
    await rig.record("word " * 60_000)
    await rig.extract()
    assert tokens_of_bytes(utf8_length(model.requests[0].parts[1])) <= BATCH_TOKENS


@pytest.mark.asyncio
async def test_a_model_is_shown_the_template_and_then_the_observations(rig: Rig) -> None:
    model = scripted(rig, SKIP)
    (first,) = await rig.record("Tom & <Jerry>")
    await rig.extract()
    (request,) = model.requests
    entry = Entry(first, "", "note", {"type": "text", "content": "Tom & <Jerry>"}, "2026-01-02T03:04:05Z", "test")
    assert request.parts == (find_template("extraction").text, observation(entry, 1000))


@pytest.mark.asyncio
async def test_a_request_carries_the_settings_of_extraction(rig: Rig) -> None:
    rig.configure(extraction={"timeoutMs": 7, "model": "small"})
    model = scripted(rig, SKIP)
    await rig.record("one")
    await rig.extract()
    (request,) = model.requests
    assert (request.purpose, request.timeout_ms, request.model, request.settings) == (
        "extraction",
        7,
        "small",
        {"disable_all_tools": True},
    )


@pytest.mark.asyncio
@pytest.mark.parametrize("by_user", [False, True])
async def test_a_request_says_whether_a_user_asked(rig: Rig, by_user: bool) -> None:
    model = scripted(rig, SKIP)
    await rig.record("one")
    await rig.extract(by_user=by_user)
    assert [request.user_initiated for request in model.requests] == [by_user]


# --- what becomes of events -----------------------------------------------------------------------------------


@pytest.mark.asyncio
async def test_extracted_events_leave_the_buffer(rig: Rig) -> None:
    await rig.record("one", "two")
    await rig.extract()
    assert (rig.buffered(), set(rig.states().values())) == ([], {"extracted"})


@pytest.mark.asyncio
async def test_a_record_names_the_events_it_came_from(rig: Rig) -> None:
    first, second = await rig.record("one", "two")
    scripted(rig, record_each)
    await rig.extract()
    assert rig.sources() == {f"About {first}": {first}, f"About {second}": {second}}


@pytest.mark.asyncio
async def test_an_event_that_no_record_names_is_extracted_all_the_same(rig: Rig) -> None:
    first, second = await rig.record("one", "two")
    scripted(rig, lambda request: record_each(request).split("\n")[0])
    await rig.extract()
    assert (rig.sources(), rig.states()[second]) == ({f"About {first}": {first}}, "extracted")


@pytest.mark.asyncio
async def test_a_skip_extracts_without_a_record(rig: Rig) -> None:
    await rig.record("one")
    scripted(rig, SKIP)
    done = await rig.extract()
    assert (done.extracted, done.records, rig.records(), rig.buffered()) == (1, 0, [], [])


@pytest.mark.asyncio
async def test_records_and_marks_are_one_transaction(rig: Rig) -> None:
    await rig.record("one")
    await rig.thread.run(lambda _: None)
    change(
        rig.data_dir,
        "CREATE TRIGGER no_marks BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'no marks'); END",
    )
    with pytest.raises(Exception, match="no marks"):
        await rig.extract()
    assert (rig.records(), set(rig.states().values()), len(rig.buffered())) == ([], {"buffered"}, 1)


@pytest.mark.asyncio
async def test_a_failing_disk_counts_no_failure(rig: Rig) -> None:
    await rig.record("one")
    change(
        rig.data_dir,
        "CREATE TRIGGER no_marks BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'no marks'); END",
    )
    with pytest.raises(Exception, match="no marks"):
        await rig.extract()
    assert await rig.failures() == 0


@pytest.mark.asyncio
async def test_what_is_recorded_meanwhile_stays_in_the_buffer(rig: Rig) -> None:
    rig.model = model = GatedModel(one_record)
    await rig.record("one")
    running = asyncio.ensure_future(rig.extract())
    await model.asked.get()
    later = await rig.record("two")
    model.let_go()
    done = await running
    assert (done.extracted, done.remaining, done.problem, rig.buffered()) == (1, 1, None, later)


@pytest.mark.asyncio
async def test_recording_does_not_wait_for_a_model(rig: Rig) -> None:
    rig.model = model = GatedModel(one_record)
    await rig.record("one")
    running = asyncio.ensure_future(rig.extract())
    await model.asked.get()
    await asyncio.wait_for(rig.record("two"), 5)
    running.cancel()
    assert len(rig.buffered()) == 2


@pytest.mark.asyncio
async def test_a_later_batch_that_fails_leaves_the_earlier_one_extracted(rig: Rig) -> None:
    recorded = await rig.record(*[BIG] * 2)
    scripted(rig, one_record, BROKEN)
    done = await rig.extract()
    assert (done.extracted, done.problem, rig.buffered()) == (1, "the model broke", recorded[1:])


@pytest.mark.asyncio
async def test_an_empty_buffer_asks_no_model(rig: Rig) -> None:
    model = scripted(rig, one_record)
    done = await rig.extract(by_user=True)
    assert (done.extracted, done.remaining, done.problem, model.requests) == (0, 0, None, [])


@pytest.mark.asyncio
async def test_events_that_wait_are_fed_in_as_room_appears(rig: Rig) -> None:
    rig.configure(buffer={"extractionBytes": 1024, "compactionBytes": 2048, "ceilingBytes": 4096})
    model = scripted(rig, one_record)
    recorded = await rig.record(*["x" * 700] * 20)
    assert "waiting" in rig.states().values()
    done = await rig.extract(by_user=True)
    assert (done.extracted, done.remaining, asked_ids(model)) == (20, 0, recorded)


@pytest.mark.asyncio
async def test_events_wait_in_an_empty_buffer_for_no_one(rig: Rig) -> None:
    rig.configure(buffer={"extractionBytes": 1024, "compactionBytes": 2048, "ceilingBytes": 4096})
    await rig.record("x" * 5000)
    rig.configure(buffer={"ceilingBytes": 9000})
    assert (await rig.extract(by_user=True)).extracted == 1


@pytest.mark.asyncio
async def test_the_offline_model_makes_records_marked_as_such(rig: Rig) -> None:
    rig.model = OfflineModel()
    await rig.record("We decided to use SQLite because it needs no server.", "Error: disk full while writing a file")
    done = await rig.extract()
    assert (done.method, done.problem, {method for _, method in rig.records()}) == ("offline", None, {"offline"})


@pytest.mark.asyncio
async def test_what_the_offline_model_made_is_found(rig: Rig) -> None:
    rig.model = OfflineModel()
    await rig.record("We decided to use SQLite because it needs no server.")
    await rig.extract()
    found = await rig.thread.run(lambda store: store.memory.search(rig.project.project_id, "sqlite", 5))
    assert found[0].method == "offline"


@pytest.mark.asyncio
async def test_repetitive_material_is_no_failure_of_the_offline_model(rig: Rig) -> None:
    rig.model = OfflineModel()
    await rig.record("We decided to keep it. " + "it goes on and on " * 200)
    assert (await rig.extract()).problem is None


# --- attempts -------------------------------------------------------------------------------------------------

UNUSABLE: dict[str, str | ModelReply] = {
    "no record and no skip": "I have looked at everything.",
    "empty": " ",
    "cut off by the limit": ModelReply(SKIP, "scripted", stop_reason="max_tokens"),
    "cut off inside a record": "<memory_record><title>One</title><summary>Two",
    "echoed": "<memory_record><title>[what it is about, in one line]</title><summary>x</summary></memory_record>",
    "runaway": f"<memory_record><title>One</title><summary>{'it goes on and on ' * 100}</summary></memory_record>",
}


@pytest.mark.asyncio
@pytest.mark.parametrize("what", UNUSABLE)
async def test_an_unusable_answer_extracts_nothing(rig: Rig, what: str) -> None:
    recorded = await rig.record("one")
    scripted(rig, UNUSABLE[what])
    done = await rig.extract()
    assert (done.extracted, rig.buffered(), await rig.failures()) == (0, recorded, 1)


@pytest.mark.asyncio
@pytest.mark.parametrize("what", UNUSABLE)
async def test_an_unusable_answer_is_followed_by_another_attempt(rig: Rig, what: str) -> None:
    await rig.record("one")
    scripted(rig, UNUSABLE[what], one_record)
    done = await rig.extract()
    assert (done.extracted, done.problem, await rig.failures()) == (1, None, 0)


@pytest.mark.asyncio
async def test_a_batch_is_attempted_three_times_with_growing_waits(rig: Rig) -> None:
    model = scripted(rig, BROKEN)
    await rig.record("one")
    await rig.extract()
    assert (len(model.requests), rig.slept) == (3, list(BACKOFF_SECONDS))


@pytest.mark.asyncio
async def test_every_attempt_is_a_fresh_request(rig: Rig) -> None:
    model = scripted(rig, BROKEN)
    await rig.record("one")
    await rig.extract()
    assert len({id(request) for request in model.requests}) == 3


@pytest.mark.asyncio
async def test_a_failed_run_tells_the_last_failure(rig: Rig) -> None:
    scripted(rig, "prose", ModelFailure("timeout", "too slow"), BROKEN)
    await rig.record("one")
    done = await rig.extract()
    assert (done.problem, (await rig.state()).last_error) == ("the model broke", "the model broke")


@pytest.mark.asyncio
async def test_a_run_that_works_is_noted(rig: Rig) -> None:
    await rig.record("one")
    await rig.extract()
    state = await rig.state()
    assert (state.last_error, state.last_method, state.last_run_at is not None) == (None, "model", True)


# --- a model with a small window ------------------------------------------------------------------------------


def sizes(model: ScriptedModel) -> list[int]:
    """How many entries each request showed."""
    return [len(request.entries) for request in model.requests]


@pytest.mark.asyncio
async def test_a_batch_that_is_too_long_is_halved_until_it_fits(rig: Rig) -> None:
    model = scripted(rig, within(11_000, one_record))
    recorded = await rig.record(*[SMALL] * 8)
    done = await rig.extract()
    assert (done.extracted, done.problem, sizes(model)[:3]) == (8, None, [8, 4, 2])
    assert model.requests[2].entries[0].event_id == recorded[0]


@pytest.mark.asyncio
async def test_the_size_that_fits_is_remembered_for_the_run(rig: Rig) -> None:
    model = scripted(rig, within(11_000, one_record))
    await rig.record(*[SMALL] * 8)
    await rig.extract()
    assert sizes(model) == [8, 4, 2, 2, 2, 2]


@pytest.mark.asyncio
async def test_halving_is_neither_an_attempt_nor_a_failure(rig: Rig) -> None:
    scripted(rig, within(11_000, one_record))
    await rig.record(*[SMALL] * 8)
    await rig.extract()
    assert (rig.slept, await rig.failures(), (await rig.state()).last_error) == ([], 0, None)


@pytest.mark.asyncio
async def test_a_smaller_batch_has_all_its_attempts(rig: Rig) -> None:
    model = scripted(rig, BROKEN, TOO_LONG, BROKEN, BROKEN, one_record)
    await rig.record(*[SMALL] * 2)
    done = await rig.extract()
    assert (done.extracted, sizes(model)) == (2, [2, 2, 1, 1, 1, 1])


@pytest.mark.asyncio
async def test_a_lone_entry_that_is_too_long_is_shown_shortened(rig: Rig) -> None:
    model = scripted(rig, within(11_000, one_record))
    await rig.record(SMALL * 8)
    done = await rig.extract()
    shown = [utf8_length(request.parts[1]) for request in model.requests]
    assert (done.extracted, len(shown), shown == sorted(shown, reverse=True)) == (1, 3, True)
    assert "characters left out" in model.requests[-1].parts[1]


@pytest.mark.asyncio
async def test_many_small_entries_come_down_to_one(rig: Rig) -> None:
    model = scripted(rig, lambda request: TOO_LONG if len(request.entries) > 1 else one_record(request))
    await rig.record(*["small"] * 100)
    done = await rig.extract(by_user=True)
    assert (done.extracted, done.problem, sizes(model)[:8]) == (100, None, [100, 50, 25, 12, 6, 3, 1, 1])


@pytest.mark.asyncio
async def test_a_model_that_finds_everything_too_long_fails_once_and_says_what_helps(rig: Rig) -> None:
    model = scripted(rig, TOO_LONG)
    recorded = await rig.record(*[SMALL] * 8)
    done = await rig.extract()
    assert (rig.buffered(), rig.slept, await rig.failures()) == (recorded, [], 1)
    assert len(model.requests) <= MOST_HALVINGS + 1
    assert done.problem == (await rig.state()).last_error
    assert done.problem.startswith("too long for the model; ")
    assert "extraction.model" in done.problem


@pytest.mark.asyncio
async def test_the_last_request_to_a_model_that_finds_everything_too_long_shows_little_of_one_entry(rig: Rig) -> None:
    model = scripted(rig, TOO_LONG)
    await rig.record(*[SMALL] * 8)
    await rig.extract()
    assert (sizes(model)[-1], utf8_length(model.requests[-1].parts[1]) < 1000) == (1, True)


@pytest.mark.asyncio
async def test_each_halved_request_is_in_the_budget(rig: Rig) -> None:
    rig.configure(background={"maxModelCallsPerHour": 2})
    model = scripted(rig, TOO_LONG)
    await rig.record(*[SMALL] * 8)
    done = await rig.extract()
    assert (len(model.requests), await rig.failures()) == (2, 0)
    assert done.problem == "the background budget of this hour is used up"


@pytest.mark.asyncio
async def test_a_users_one_try_through_an_open_breaker_is_halved_as_well(rig: Rig) -> None:
    await rig.record(*[SMALL] * 8)
    await failing_runs(rig, 3)
    scripted(rig, within(11_000, one_record))
    assert (await rig.extract(by_user=True)).extracted == 8


@pytest.mark.asyncio
async def test_what_a_smaller_batch_leaves_out_is_free_for_a_compaction(rig: Rig) -> None:
    rig.configure(bufferCompaction={"enabled": True})
    rig.model = model = GatedModel(within(21_000, one_record))
    recorded = await rig.record(*[SMALL] * 8)
    extracting = asyncio.ensure_future(rig.extract())
    await model.asked.get()
    model.let_go()
    smaller = await model.asked.get()
    scripted(rig, compacted("short"))
    await rig.compact()
    assert [one.event_id for one in smaller.entries] == recorded[:4]
    assert [one.get("source_event_ids") for one in rig.entries()] == [recorded[4:], None, None, None, None]
    scripted(rig, one_record)
    model.let_go()
    assert (await extracting).extracted == 8


# --- the breaker ----------------------------------------------------------------------------------------------


@pytest.mark.asyncio
async def test_a_failed_run_counts_once(rig: Rig) -> None:
    await rig.record("one")
    await failing_runs(rig, 1)
    assert await rig.failures() == 1


@pytest.mark.asyncio
async def test_two_processes_share_the_count(rig: Rig, other: Rig) -> None:
    await rig.record("one")
    await failing_runs(rig, 1)
    await failing_runs(other, 1)
    assert await rig.failures() == 2


@pytest.mark.asyncio
async def test_another_project_does_not_share_the_count(rig: Rig) -> None:
    await rig.record("one")
    await failing_runs(rig, 1)
    two = rig.project_of("/nowhere/two")
    await rig.record("one", project=two)
    state = await rig.thread.run(lambda store: store.pipeline.run_state(two.project_id, "extraction"))
    assert state.breaker.failures == 0


@pytest.mark.asyncio
async def test_without_a_model_a_run_fails_after_one_look(rig: Rig) -> None:
    await rig.record("one")
    rig.model = ModelFailure("model_unavailable", "no model", retryable=False)
    done = await rig.extract()
    assert (done.problem, rig.slept, await rig.failures()) == ("no model", [], 1)


@pytest.mark.asyncio
async def test_after_three_failed_runs_no_model_is_asked(rig: Rig) -> None:
    await rig.record("one")
    await failing_runs(rig, 3)
    model = scripted(rig, one_record)
    done = await rig.extract()
    assert (model.requests, done.problem) == ([], "extraction rests after 3 failures: the model broke")


@pytest.mark.asyncio
async def test_an_open_breaker_holds_the_other_process_too(rig: Rig, other: Rig) -> None:
    await rig.record("one")
    await failing_runs(rig, 3)
    model = scripted(other, one_record)
    await other.extract()
    assert model.requests == []


@pytest.mark.asyncio
async def test_an_open_breaker_leaves_the_last_error_as_it_is(rig: Rig) -> None:
    await rig.record("one")
    await failing_runs(rig, 5)
    assert ((await rig.state()).last_error, await rig.failures()) == ("the model broke", 3)


@pytest.mark.asyncio
@pytest.mark.parametrize(("waited_ms", "extracted"), [(299_999, 0), (300_000, 1)])
async def test_a_breaker_half_opens_after_the_cooldown(rig: Rig, waited_ms: int, extracted: int) -> None:
    await rig.record("one")
    await failing_runs(rig, 3)
    scripted(rig, one_record)
    rig.at_ms += waited_ms
    assert (await rig.extract()).extracted == extracted


@pytest.mark.asyncio
async def test_a_failure_while_half_open_opens_the_breaker_again(rig: Rig) -> None:
    await rig.record("one")
    await failing_runs(rig, 3)
    rig.at_ms += 300_000
    await failing_runs(rig, 1)
    model = scripted(rig, one_record)
    await rig.extract()
    assert (model.requests, await rig.failures()) == ([], 4)


@pytest.mark.asyncio
async def test_one_success_resets_the_count(rig: Rig) -> None:
    await rig.record("one")
    await failing_runs(rig, 2)
    scripted(rig, one_record)
    await rig.extract()
    assert await rig.failures() == 0


@pytest.mark.asyncio
async def test_a_batch_that_works_resets_the_count_before_the_next_one_fails(rig: Rig) -> None:
    await rig.record(*[BIG] * 2)
    await failing_runs(rig, 2)
    scripted(rig, one_record, BROKEN)
    await rig.extract()
    assert await rig.failures() == 1


@pytest.mark.asyncio
async def test_with_a_cooldown_of_zero_an_open_breaker_stays_open(rig: Rig) -> None:
    rig.configure(extraction={"cooldownMs": 0})
    await rig.record("one")
    await failing_runs(rig, 3)
    rig.at_ms += 10**12
    assert (await rig.extract()).problem == "extraction rests after 3 failures: the model broke"


@pytest.mark.asyncio
async def test_with_a_cooldown_of_zero_a_users_success_closes_the_breaker(rig: Rig) -> None:
    rig.configure(extraction={"cooldownMs": 0})
    await rig.record("one")
    await failing_runs(rig, 3)
    scripted(rig, one_record)
    await rig.extract(by_user=True)
    assert (await rig.failures(), (await rig.state()).breaker.opened_at_ms) == (0, None)


@pytest.mark.asyncio
async def test_a_users_call_tries_once_through_an_open_breaker(rig: Rig) -> None:
    await rig.record("one")
    await failing_runs(rig, 3)
    model = scripted(rig, BROKEN)
    done = await rig.extract(by_user=True)
    assert (len(model.requests), done.problem) == (1, "the model broke")


@pytest.mark.asyncio
async def test_a_users_success_through_an_open_breaker_goes_on_to_the_end(rig: Rig) -> None:
    await rig.record(*[BIG] * 5)
    await failing_runs(rig, 3)
    scripted(rig, one_record, BROKEN, one_record)
    assert (await rig.extract(by_user=True)).remaining == 0


@pytest.mark.asyncio
async def test_the_setting_says_after_how_many_failures_the_breaker_opens(rig: Rig) -> None:
    rig.configure(extraction={"maxFailures": 1})
    await rig.record("one")
    await failing_runs(rig, 1)
    model = scripted(rig, one_record)
    await rig.extract()
    assert model.requests == []


@pytest.mark.asyncio
async def test_an_opening_breaker_is_warned_of_once(rig: Rig, caplog: pytest.LogCaptureFixture) -> None:
    await rig.record("one")
    with caplog.at_level(logging.WARNING):
        await failing_runs(rig, 5)
        rig.at_ms += 300_000
        await failing_runs(rig, 1)
    assert [record.getMessage() for record in caplog.records] == ["Extraction of /nowhere/one rests after 3 failures"]


# --- what counts nothing --------------------------------------------------------------------------------------


@pytest.mark.asyncio
async def test_a_missing_consent_is_asked_for_once_and_counts_nothing(rig: Rig) -> None:
    recorded = await rig.record("one")
    model = scripted(rig, NO_CONSENT)
    done = await rig.extract()
    assert (len(model.requests), done.problem, rig.buffered(), await rig.failures()) == (1, "no consent", recorded, 0)


@pytest.mark.asyncio
async def test_a_missing_consent_is_told_as_the_last_error(rig: Rig) -> None:
    await rig.record("one")
    scripted(rig, NO_CONSENT)
    await rig.extract()
    assert (await rig.state()).last_error == "no consent"


@pytest.mark.asyncio
async def test_past_the_budget_no_model_is_asked_and_nothing_counts(rig: Rig) -> None:
    rig.configure(background={"maxModelCallsPerHour": 1})
    await rig.record("one")
    await rig.extract()
    recorded = await rig.record("two")
    model = scripted(rig, one_record)
    done = await rig.extract()
    assert (model.requests, rig.buffered(), await rig.failures()) == ([], recorded, 0)
    assert done.problem == "the background budget of this hour is used up"


@pytest.mark.asyncio
async def test_a_run_stops_when_it_has_used_up_the_budget(rig: Rig) -> None:
    rig.configure(background={"maxModelCallsPerHour": 2})
    model = scripted(rig, one_record)
    await rig.record(*[BIG] * 5)
    done = await rig.extract()
    assert (len(model.requests), done.remaining > 0, await rig.failures()) == (2, True, 0)


@pytest.mark.asyncio
async def test_a_users_call_goes_on_past_the_budget(rig: Rig) -> None:
    rig.configure(background={"maxModelCallsPerHour": 1})
    await rig.record("one")
    await rig.extract()
    await rig.record("two")
    assert (await rig.extract(by_user=True)).extracted == 1


@pytest.mark.asyncio
async def test_a_cancelled_run_leaves_everything_as_it_was(rig: Rig) -> None:
    rig.model = model = GatedModel(one_record)
    recorded = await rig.record("one")
    running = asyncio.ensure_future(rig.extract())
    await model.asked.get()
    running.cancel()
    await asyncio.wait([running])
    assert (rig.buffered(), await rig.failures(), (await rig.state()).last_run_at) == (recorded, 0, None)


@pytest.mark.asyncio
async def test_a_cancelled_run_ends_the_models_work(rig: Rig) -> None:
    rig.model = model = GatedModel(one_record)
    await rig.record("one")
    running = asyncio.ensure_future(rig.extract())
    await model.asked.get()
    running.cancel()
    await asyncio.wait([running])
    assert (model.cancelled, rig.extractor.is_running(rig.project.project_id)) == (1, False)


@pytest.mark.asyncio
async def test_after_a_cancel_another_process_may_extract(rig: Rig, other: Rig) -> None:
    rig.model = model = GatedModel(one_record)
    await rig.record("one")
    running = asyncio.ensure_future(rig.extract())
    await model.asked.get()
    running.cancel()
    await asyncio.wait([running])
    assert (await other.extract()).extracted == 1


@pytest.mark.asyncio
async def test_a_cancel_while_the_right_is_being_taken_gives_it_back(rig: Rig, other: Rig) -> None:
    await rig.record("one")
    for turns in range(12):
        running = asyncio.ensure_future(rig.extract())
        for _ in range(turns):
            await asyncio.sleep(0)
        running.cancel()
        await asyncio.wait([running])
    await rig.settle()
    assert (await other.extract()).problem is None


# --- one run at a time ----------------------------------------------------------------------------------------


@pytest.mark.asyncio
async def test_a_call_joins_the_run_that_goes_on(rig: Rig) -> None:
    rig.model = model = GatedModel(one_record)
    await rig.record("one")
    first = asyncio.ensure_future(rig.extract())
    await model.asked.get()
    second = asyncio.ensure_future(rig.extract(by_user=True))
    await rig.settle()
    model.let_go()
    assert (await first, model.asked.qsize()) == (await second, 0)


@pytest.mark.asyncio
async def test_a_users_call_goes_on_with_what_came_after_the_run_it_joined_began(rig: Rig) -> None:
    rig.model = model = GatedModel(one_record)
    await rig.record("one")
    first = asyncio.ensure_future(rig.extract())
    await model.asked.get()
    await rig.record("two")
    second = asyncio.ensure_future(rig.extract(by_user=True))
    model.let_go()
    await model.asked.get()
    model.let_go()
    assert ((await first).extracted, (await second).extracted, rig.buffered()) == (1, 2, [])


@pytest.mark.asyncio
async def test_a_users_call_that_joined_a_failing_run_is_answered_with_its_failure(rig: Rig) -> None:
    await rig.record("one")
    model = scripted(rig, BROKEN)
    _, joined = await asyncio.gather(rig.extract(), rig.extract(by_user=True))
    assert (joined.problem, len(model.requests)) == ("the model broke", 3)


@pytest.mark.asyncio
async def test_a_users_call_that_joined_a_run_without_consent_asks_itself(rig: Rig) -> None:
    await rig.record("one")
    scripted(rig, lambda request: one_record(request) if request.user_initiated else NO_CONSENT)
    _, joined = await asyncio.gather(rig.extract(), rig.extract(by_user=True))
    assert (joined.problem, joined.extracted) == (None, 1)


@pytest.mark.asyncio
async def test_a_call_whose_joined_run_is_cancelled_goes_on_by_itself(rig: Rig) -> None:
    rig.model = model = GatedModel(one_record)
    await rig.record("one")
    first = asyncio.ensure_future(rig.extract(by_user=True))
    await model.asked.get()
    second = asyncio.ensure_future(rig.extract(by_user=True))
    await rig.settle()
    first.cancel()
    await model.asked.get()
    await asyncio.wait([first])
    model.let_go()
    model.let_go()
    assert (await second).extracted == 1


@pytest.mark.asyncio
async def test_a_cancelled_joiner_leaves_the_run_alone(rig: Rig) -> None:
    rig.model = model = GatedModel(one_record)
    await rig.record("one")
    first = asyncio.ensure_future(rig.extract())
    await model.asked.get()
    second = asyncio.ensure_future(rig.extract(by_user=True))
    await rig.settle()
    second.cancel()
    await asyncio.wait([second])
    model.let_go()
    assert (await first).extracted == 1


@pytest.mark.asyncio
async def test_a_background_run_leaves_a_project_alone_that_another_process_extracts(rig: Rig, other: Rig) -> None:
    rig.model = model = GatedModel(one_record)
    await rig.record("one")
    first = asyncio.ensure_future(rig.extract())
    await model.asked.get()
    done = await other.extract()
    model.let_go()
    await first
    assert (done.problem, done.extracted, done.remaining, other.slept) == (None, 0, 1, [])


@pytest.mark.asyncio
async def test_a_users_call_waits_for_another_process_and_goes_on(rig: Rig, other: Rig) -> None:
    rig.model = model = GatedModel(one_record)
    await rig.record("one")
    first = asyncio.ensure_future(rig.extract())
    await model.asked.get()
    later = await rig.record("two")
    other.on_sleep = lambda: model.let_go() if len(other.slept) == 3 else None
    done = await other.extract(by_user=True)
    await first
    assert (done.extracted, done.remaining, rig.states()[later[0]]) == (1, 0, "extracted")


@pytest.mark.asyncio
async def test_a_users_call_does_not_wait_for_another_process_for_ever(rig: Rig, other: Rig) -> None:
    rig.model = model = GatedModel(one_record)
    await rig.record("one")
    first = asyncio.ensure_future(rig.extract())
    await model.asked.get()
    done = await other.extract(by_user=True)
    first.cancel()
    assert (done.problem, done.remaining) == ("another window is extracting this project", 1)
    assert other.slept == list(PATIENCE_SECONDS)


@pytest.mark.asyncio
async def test_a_users_call_waits_for_what_a_compaction_works_on(rig: Rig) -> None:
    rig.configure(bufferCompaction={"enabled": True})
    rig.model = model = GatedModel(lambda request: compacted("short"))
    recorded = await rig.record("x" * 5000)
    compacting = asyncio.ensure_future(rig.compact())
    await model.asked.get()
    scripted(rig, one_record)
    rig.on_sleep = lambda: model.let_go() if len(rig.slept) == 3 else None
    done = await rig.extract(by_user=True)
    await compacting
    assert (done.remaining, rig.states()[recorded[0]], rig.buffered()) == (0, "extracted", [])


@pytest.mark.asyncio
async def test_a_background_run_does_not_wait_for_a_compaction(rig: Rig) -> None:
    rig.configure(bufferCompaction={"enabled": True})
    rig.model = model = GatedModel(lambda request: compacted("short"))
    await rig.record("x" * 5000)
    compacting = asyncio.ensure_future(rig.compact())
    await model.asked.get()
    done = await rig.extract()
    compacting.cancel()
    assert (done.extracted, done.remaining, done.problem, rig.slept) == (0, 1, None, [])


# --- what is left, and why -----------------------------------------------------------------------------------


@pytest.mark.asyncio
async def test_a_user_is_told_of_entries_that_stay_in_the_hands_of_a_compaction(rig: Rig) -> None:
    rig.configure(bufferCompaction={"enabled": True})
    rig.model = model = GatedModel(lambda request: compacted("short"))
    await rig.record("x" * 5000, "y" * 5000)
    compacting = asyncio.ensure_future(rig.compact())
    await model.asked.get()
    done = await rig.extract(by_user=True)
    compacting.cancel()
    assert (done.extracted, done.remaining, rig.slept) == (0, 2, list(PATIENCE_SECONDS))
    assert done.problem == "2 events are left in the hands of a buffer compaction; ask again when it has ended"


@pytest.mark.asyncio
async def test_a_user_is_told_of_events_that_came_after_the_call(rig: Rig) -> None:
    rig.model = model = GatedModel(one_record)
    await rig.record("one")
    running = asyncio.ensure_future(rig.extract(by_user=True))
    await model.asked.get()
    await rig.record("two")
    model.let_go()
    done = await running
    assert (done.extracted, done.remaining) == (1, 1)
    assert done.problem == "1 event is left that came after the call; ask again to extract them too"


@pytest.mark.asyncio
async def test_a_user_is_told_of_a_disk_that_takes_no_line(rig: Rig) -> None:
    def full(_: int, name: str, __: object) -> None:
        if name == "write":
            raise OSError(28, "No space left on device")

    with at_each_call(full):
        await rig.record("one")
        done = await rig.extract(by_user=True)
    assert (done.extracted, done.remaining, rig.states().popitem()[1]) == (0, 1, "waiting")
    assert "No space left on device" in done.problem


@pytest.mark.asyncio
@pytest.mark.parametrize("in_the_way", ["x" * 4096, ""], ids=["a line that is no entry", "its own size"])
async def test_an_event_that_finds_no_room_is_never_left_without_a_word(rig: Rig, in_the_way: str) -> None:
    rig.configure(buffer={"extractionBytes": 1024, "compactionBytes": 2048, "ceilingBytes": 4096})
    file = buffer_file(rig.data_dir, rig.project.project_id)
    if in_the_way:
        file.parent.mkdir(parents=True)
        file.write_text(in_the_way)
    await rig.record("one" if in_the_way else "x" * 5000)
    done = await rig.extract(by_user=True)
    assert done.extracted + done.remaining == 1
    assert (done.problem is not None and "buffer.ceilingBytes" in done.problem) == (done.remaining == 1)


@pytest.mark.asyncio
async def test_at_most_two_projects_are_extracted_at_once(rig: Rig) -> None:
    rig.model = model = GatedModel(one_record)
    projects = [rig.project_of(f"/nowhere/{number}") for number in range(4)]
    for project in projects:
        await rig.record("one", project=project)
    running = [asyncio.ensure_future(rig.extract(project=project)) for project in projects]
    await rig.settle()
    assert model.waiting == PARALLEL
    for _ in projects:
        await model.asked.get()
        model.let_go()
    assert [(await one).extracted for one in running] == [1, 1, 1, 1]


@pytest.mark.asyncio
async def test_a_project_that_waits_for_a_place_is_not_in_flight(rig: Rig) -> None:
    rig.model = model = GatedModel(one_record)
    projects = [rig.project_of(f"/nowhere/{number}") for number in range(3)]
    for project in projects:
        await rig.record("one", project=project)
    running = [asyncio.ensure_future(rig.extract(project=project)) for project in projects]
    await rig.settle()
    assert [rig.extractor.is_running(project.project_id) for project in projects] == [True, True, False]
    for one in running:
        one.cancel()
    await asyncio.wait(running)
    assert model.cancelled == PARALLEL


@pytest.mark.asyncio
async def test_the_last_change_told_of_a_run_comes_after_its_end(rig: Rig) -> None:
    await rig.record("one")
    seen: list[bool] = []
    rig.on_change = lambda project: seen.append(rig.extractor.is_running(project.project_id))
    await rig.extract()
    assert (seen[0], seen[-1]) == (True, False)


@pytest.mark.asyncio
async def test_a_run_that_is_held_tells_of_no_change(rig: Rig) -> None:
    await rig.record("one")
    await failing_runs(rig, 3)
    rig.changed.clear()
    await rig.extract()
    assert rig.changed == []


@pytest.mark.asyncio
async def test_a_summary_is_extracted_like_anything_else(rig: Rig) -> None:
    rig.configure(bufferCompaction={"enabled": True})
    recorded = await rig.record("x" * 3000, "y" * 3000)
    scripted(rig, compacted("short"))
    await rig.compact()
    scripted(rig, one_record)
    done = await rig.extract()
    assert (done.extracted, rig.sources()) == (2, {f"About {recorded[0]}": set(recorded)})


@pytest.mark.asyncio
async def test_the_log_holds_no_text_of_events(rig: Rig, caplog: pytest.LogCaptureFixture) -> None:
    await rig.record("a secret matter")
    with caplog.at_level(logging.DEBUG):
        await failing_runs(rig, 4)
    assert "secret matter" not in caplog.text
