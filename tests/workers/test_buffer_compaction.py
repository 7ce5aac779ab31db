"""Buffer compaction: rewritten chunk by chunk, evicted where no model helps, never undone by an extraction."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from lithify.core.messages import tokens_of_bytes, utf8_length
from lithify.core.model_calls import ModelFailure, ModelReply, ModelRequest
from lithify.core.observations import MOST_HALVINGS
from lithify.core.outcomes import LithifyError
from lithify.core.pipeline import BACKOFF_SECONDS, enough_new_input
from lithify.llm.offline import OfflineModel
from lithify.workers.buffer_compaction import CHUNK_TOKENS
from lithify.workers.extraction import PARALLEL
from tests.support.scripted_model import Answer, ScriptedModel
from tests.support.stores import buffer_file
from tests.support.workers import BROKEN, NO_CONSENT, TOO_LONG, GatedModel, Rig, compacted, one_record, within

MIDDLE = "x y z w " * 400
"""A text of 3,200 bytes."""

SMALL = "word " * 1000
"""A text of 5,000 bytes: eight of them fit into one chunk."""

BIG = "word " * 18_000
"""A text of 90,000 bytes: one of them fills a chunk, two do not fit."""


NO_MODEL = ModelFailure("model_unavailable", "the editor has no language model to offer")


def words(count: int) -> str:
    """So many different words."""
    return " ".join(f"w{number}" for number in range(count))


@pytest_asyncio.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    made = Rig(tmp_path)
    made.configure(bufferCompaction={"enabled": True})
    yield made
    await made.close()


@pytest_asyncio.fixture
async def other(tmp_path: Path) -> AsyncIterator[Rig]:
    made = Rig(tmp_path, maker_of_ids=1)
    made.configure(bufferCompaction={"enabled": True})
    yield made
    await made.close()


def scripted(rig: Rig, *answers: Answer) -> ScriptedModel:
    rig.model = model = ScriptedModel(*answers)
    return model


async def failing_runs(rig: Rig, count: int) -> None:
    """Runs that all fail, each on a buffer of four entries at least."""
    scripted(rig, BROKEN)
    for _ in range(count):
        await rig.record(*[MIDDLE] * 4)
        await rig.compact()


# --- when it runs ---------------------------------------------------------------------------------------------


@pytest.mark.asyncio
async def test_switched_off_it_is_refused(rig: Rig) -> None:
    rig.configure(bufferCompaction={"enabled": False})
    await rig.record(MIDDLE, MIDDLE)
    with pytest.raises(LithifyError) as problem:
        await rig.compact(by_user=True)
    assert (problem.value.type, len(rig.buffered()), rig.changed) == ("disabled", 2, [])


@pytest.mark.asyncio
async def test_an_empty_buffer_is_left_alone(rig: Rig) -> None:
    model = scripted(rig, compacted("short"))
    done = await rig.compact(by_user=True)
    assert (done.method, done.size_after, model.requests, (await rig.state("compaction")).last_run_at) == (
        None,
        0,
        [],
        None,
    )


@pytest.mark.asyncio
async def test_a_user_is_told_that_an_empty_buffer_is_empty(rig: Rig) -> None:
    done = await rig.compact(by_user=True)
    assert (done.method, done.problem) == (None, "the buffer is empty: there is nothing to compact")


@pytest.mark.asyncio
async def test_a_user_is_told_of_a_buffer_without_an_entry_that_can_be_read(rig: Rig) -> None:
    await rig.record("one")
    buffer_file(rig.data_dir, rig.project.project_id).write_text("no entry\nat all\n")
    done = await rig.compact(by_user=True)
    assert (done.method, done.entries_after) == (None, 2)
    assert done.problem == "no line of the buffer is an entry that can be read: there is nothing to compact"


@pytest.mark.asyncio
@pytest.mark.parametrize("by_user", [True, False])
async def test_a_user_and_nobody_else_is_told_that_an_extraction_has_it_all(rig: Rig, by_user: bool) -> None:
    rig.model = model = GatedModel(one_record)
    await rig.record(MIDDLE, MIDDLE)
    extracting = asyncio.ensure_future(rig.extract())
    await model.asked.get()
    done = await rig.compact(by_user=by_user)
    model.let_go()
    await extracting
    told = "an extraction has all entries of the buffer in hand; ask again when it has ended"
    assert (done.method, done.problem) == (None, told if by_user else None)


@pytest.mark.asyncio
async def test_a_run_that_found_nothing_to_do_is_not_noted(rig: Rig) -> None:
    await rig.compact(by_user=True)
    assert (await rig.state("compaction")).last_error is None


@pytest.mark.asyncio
async def test_while_one_runs_another_is_busy(rig: Rig) -> None:
    rig.model = model = GatedModel(lambda _: compacted("short"))
    await rig.record(MIDDLE)
    running = asyncio.ensure_future(rig.compact())
    await model.asked.get()
    with pytest.raises(LithifyError) as problem:
        await rig.compact(by_user=True)
    model.let_go()
    assert (problem.value.type, problem.value.retryable, (await running).method) == ("busy", True, "model")


@pytest.mark.asyncio
async def test_a_busy_call_leaves_the_run_that_goes_on_alone(rig: Rig) -> None:
    rig.model = model = GatedModel(lambda _: compacted("short"))
    await rig.record(MIDDLE)
    running = asyncio.ensure_future(rig.compact())
    await model.asked.get()
    with pytest.raises(LithifyError):
        await rig.compact(by_user=True)
    assert rig.compactor.is_running(rig.project.project_id)
    model.let_go()
    await running


@pytest.mark.asyncio
async def test_while_one_of_another_project_runs_another_is_busy(rig: Rig) -> None:
    rig.model = model = GatedModel(lambda _: compacted("short"))
    two = rig.project_of("/nowhere/two")
    await rig.record(MIDDLE)
    await rig.record(MIDDLE, project=two)
    running = asyncio.ensure_future(rig.compact())
    await model.asked.get()
    with pytest.raises(LithifyError) as problem:
        await rig.compact(project=two)
    model.let_go()
    assert (problem.value.type, (await running).method) == ("busy", "model")


@pytest.mark.asyncio
async def test_while_one_runs_in_another_process_another_is_busy(rig: Rig, other: Rig) -> None:
    rig.model = model = GatedModel(lambda _: compacted("short"))
    await rig.record(MIDDLE)
    running = asyncio.ensure_future(rig.compact())
    await model.asked.get()
    with pytest.raises(LithifyError) as problem:
        await other.compact()
    model.let_go()
    assert (problem.value.type, (await running).method) == ("busy", "model")


@pytest.mark.asyncio
async def test_after_one_ended_another_may_run(rig: Rig, other: Rig) -> None:
    scripted(rig, compacted("short"))
    await rig.record(MIDDLE)
    await rig.compact()
    scripted(other, compacted("s"))
    assert (await other.compact()).method == "model"


@pytest.mark.asyncio
async def test_after_a_cancel_another_may_run(rig: Rig, other: Rig) -> None:
    rig.model = model = GatedModel(lambda _: compacted("short"))
    recorded = await rig.record(MIDDLE)
    running = asyncio.ensure_future(rig.compact())
    await model.asked.get()
    running.cancel()
    await asyncio.wait([running])
    assert (rig.buffered(), await rig.failures("compaction"), model.cancelled) == (recorded, 0, 1)
    scripted(other, compacted("short"))
    assert (await other.compact()).method == "model"


@pytest.mark.asyncio
async def test_a_cancel_while_the_right_is_being_taken_gives_it_back(rig: Rig, other: Rig) -> None:
    await rig.record(MIDDLE)
    scripted(rig, NO_CONSENT)
    for turns in range(12):
        running = asyncio.ensure_future(rig.compact())
        for _ in range(turns):
            await asyncio.sleep(0)
        running.cancel()
        await asyncio.wait([running])
    await rig.settle()
    scripted(other, compacted("short"))
    assert (await other.compact()).method == "model"


# --- summaries ------------------------------------------------------------------------------------------------


@pytest.mark.asyncio
async def test_entries_are_replaced_by_their_summaries(rig: Rig) -> None:
    await rig.record(MIDDLE, MIDDLE, MIDDLE)
    scripted(rig, compacted("One matter.", "Another one."))
    done = await rig.compact()
    assert [entry["body"]["content"] for entry in rig.entries()] == ["One matter.", "Another one."]
    assert (done.entries_before, done.entries_after, done.method, done.problem) == (3, 2, "model", None)


@pytest.mark.asyncio
async def test_the_sizes_reported_are_those_of_the_file(rig: Rig) -> None:
    await rig.record(MIDDLE, MIDDLE)
    before = rig.size
    scripted(rig, compacted("short"))
    done = await rig.compact()
    assert (done.size_before, done.size_after) == (before, rig.size)


@pytest.mark.asyncio
async def test_a_summary_has_an_id_and_a_kind_of_its_own(rig: Rig) -> None:
    await rig.record(MIDDLE)
    scripted(rig, compacted("short"))
    await rig.compact()
    (entry,) = rig.entries()
    assert (re.fullmatch(r"compact_[0-9A-Z]{26}", entry["event_id"]) is not None, entry["kind"]) == (
        True,
        "session_summary",
    )


@pytest.mark.asyncio
async def test_a_summary_has_the_latest_timestamp_and_its_surface(rig: Rig) -> None:
    await rig.record(MIDDLE, valid_time="2026-03-01T00:00:00Z", surface="old")
    await rig.record(MIDDLE, valid_time="2026-05-01T00:00:00Z", surface="new")
    await rig.record(MIDDLE, valid_time="2026-04-01T00:00:00Z", surface="middle")
    scripted(rig, compacted("short"))
    await rig.compact()
    (entry,) = rig.entries()
    assert (entry["timestamp"], entry["surface"]) == ("2026-05-01T00:00:00Z", "new")


@pytest.mark.asyncio
async def test_a_summary_names_the_events_it_covers(rig: Rig) -> None:
    recorded = await rig.record(MIDDLE, MIDDLE)
    scripted(rig, compacted("short"))
    await rig.compact()
    assert [entry["source_event_ids"] for entry in rig.entries()] == [recorded]


@pytest.mark.asyncio
async def test_covered_events_stay_buffered(rig: Rig) -> None:
    await rig.record(MIDDLE, MIDDLE)
    scripted(rig, compacted("short"))
    await rig.compact()
    assert list(rig.states().values()) == ["buffered", "buffered"]


@pytest.mark.asyncio
async def test_a_summary_of_a_summary_names_the_original_events(rig: Rig) -> None:
    earlier = await rig.record(MIDDLE, MIDDLE)
    scripted(rig, compacted("A longer first summary."))
    await rig.compact()
    later = await rig.record(MIDDLE)
    scripted(rig, compacted("short"))
    await rig.compact()
    assert [entry["source_event_ids"] for entry in rig.entries()] == [earlier + later]


@pytest.mark.asyncio
async def test_what_is_recorded_meanwhile_stands_after_the_summaries(rig: Rig) -> None:
    rig.model = model = GatedModel(lambda _: compacted("short"))
    await rig.record(MIDDLE)
    running = asyncio.ensure_future(rig.compact())
    await model.asked.get()
    later = await rig.record("later")
    model.let_go()
    await running
    assert rig.buffered()[1:] == later


@pytest.mark.asyncio
async def test_what_is_recorded_meanwhile_is_left_to_the_next_run(rig: Rig) -> None:
    rig.model = model = GatedModel(lambda _: compacted("short"))
    await rig.record(MIDDLE)
    running = asyncio.ensure_future(rig.compact())
    await model.asked.get()
    later = await rig.record(MIDDLE * 2)
    model.let_go()
    await asyncio.wait_for(running, 5)
    assert rig.buffered()[1:] == later


@pytest.mark.asyncio
async def test_chunks_stay_under_the_token_budget(rig: Rig) -> None:
    model = scripted(rig, compacted("short"))
    await rig.record(*[BIG] * 4)
    await rig.compact()
    shown = [tokens_of_bytes(utf8_length(request.parts[1])) for request in model.requests]
    assert (len(shown) > 1, max(shown) <= CHUNK_TOKENS) == (True, True)


@pytest.mark.asyncio
async def test_chunks_do_not_mix_namespaces(rig: Rig) -> None:
    model = scripted(rig, compacted("short"))
    for namespace in ("/a/", "/b/", "/a/", "/b/"):
        await rig.record(MIDDLE * 2, namespace=namespace)
    await rig.compact()
    assert [[entry.namespace for entry in request.entries] for request in model.requests] == [["/a/"] * 2, ["/b/"] * 2]


@pytest.mark.asyncio
async def test_a_summary_keeps_the_namespace_of_its_chunk(rig: Rig) -> None:
    scripted(rig, compacted("short"))
    for namespace in ("/a/", "/b/"):
        await rig.record(MIDDLE * 2, namespace=namespace)
    await rig.compact()
    assert sorted(entry["namespace"] for entry in rig.entries()) == ["/a/", "/b/"]


@pytest.mark.asyncio
async def test_a_small_rest_is_left_as_it_is_after_larger_chunks(rig: Rig) -> None:
    model = scripted(rig, compacted("short"))
    await rig.record(MIDDLE * 2, namespace="/b/")
    small = await rig.record("tiny", namespace="/a/")
    done = await rig.compact()
    assert (len(model.requests), done.problem, small[0] in rig.buffered()) == (1, None, True)


@pytest.mark.asyncio
async def test_a_request_carries_the_settings_of_buffer_compaction(rig: Rig) -> None:
    rig.configure(bufferCompaction={"timeoutMs": 7})
    model = scripted(rig, compacted("short"))
    await rig.record(MIDDLE)
    await rig.compact(by_user=True)
    (request,) = model.requests
    assert (request.purpose, request.timeout_ms, request.model, request.user_initiated) == (
        "buffer",
        7,
        "claude-haiku-4.5",
        True,
    )


@pytest.mark.asyncio
async def test_the_offline_model_compacts_and_says_so(rig: Rig) -> None:
    rig.model = OfflineModel()
    await rig.record(*[f"We looked at file{number}.py and found bug {number}. " * 40 for number in range(8)])
    before = rig.size
    done = await rig.compact()
    assert (done.method, done.problem, rig.size < before, set(rig.states().values())) == (
        "offline",
        None,
        True,
        {"buffered"},
    )


# --- attempts and eviction ------------------------------------------------------------------------------------

UNUSABLE: dict[str, str | ModelReply] = {
    "no entry": "I have looked at everything.",
    "not smaller": compacted(words(3000)),
    "cut off": ModelReply(compacted("short"), "scripted", stop_reason="max_tokens"),
    "cut off inside an entry": "<compacted_entry>short",
    "echoed": compacted("[the text of the entry]"),
    "runaway": compacted("it goes on and on " * 100),
}


@pytest.mark.asyncio
@pytest.mark.parametrize("what", UNUSABLE)
async def test_an_unusable_answer_is_followed_by_another_attempt(rig: Rig, what: str) -> None:
    model = scripted(rig, UNUSABLE[what], compacted("short"))
    await rig.record(*[MIDDLE] * 4)
    done = await rig.compact()
    assert (len(model.requests), done.method, await rig.failures("compaction")) == (2, "model", 0)


@pytest.mark.asyncio
@pytest.mark.parametrize("what", UNUSABLE)
async def test_after_unusable_answers_the_older_half_goes(rig: Rig, what: str) -> None:
    model = scripted(rig, UNUSABLE[what])
    recorded = await rig.record(*[MIDDLE] * 4)
    done = await rig.compact()
    assert (len(model.requests), done.method, rig.buffered()) == (2, "eviction", recorded[2:])


@pytest.mark.asyncio
@pytest.mark.parametrize("attempts", [1, 4])
async def test_the_setting_says_how_many_attempts_there_are(rig: Rig, attempts: int) -> None:
    rig.configure(bufferCompaction={"maxAttempts": attempts})
    model = scripted(rig, BROKEN)
    await rig.record(*[MIDDLE] * 2)
    await rig.compact()
    assert len(model.requests) == attempts


@pytest.mark.asyncio
@pytest.mark.parametrize("answer", [BROKEN, "prose", NO_MODEL], ids=["broken", "unusable", "no model in the editor"])
async def test_attempts_are_apart_by_growing_waits(rig: Rig, answer: Answer) -> None:
    rig.configure(bufferCompaction={"maxAttempts": 4})
    scripted(rig, answer)
    await rig.record(*[MIDDLE] * 2)
    await rig.compact()
    assert rig.slept == [*BACKOFF_SECONDS, BACKOFF_SECONDS[-1]]


@pytest.mark.asyncio
async def test_there_is_no_wait_after_the_last_attempt(rig: Rig) -> None:
    scripted(rig, BROKEN)
    await rig.record(*[MIDDLE] * 2)
    await rig.compact()
    assert rig.slept == [BACKOFF_SECONDS[0]]


@pytest.mark.asyncio
async def test_where_no_model_is_configured_nobody_waits_for_one(rig: Rig) -> None:
    rig.model = ModelFailure("model_unavailable", "no model", retryable=False)
    await rig.record(*[MIDDLE] * 2)
    await rig.compact()
    assert (rig.slept, await rig.failures("compaction")) == ([], 1)


@pytest.mark.asyncio
async def test_an_eviction_tells_why_how_much_went_and_where_it_stays(rig: Rig) -> None:
    scripted(rig, BROKEN)
    await rig.record(*[MIDDLE] * 5)
    done = await rig.compact(by_user=True)
    assert done.problem == (
        "the model broke; so the oldest half of the entries (2 of 5) left the buffer without a summary; "
        "their events can still be found in the database, where their state is 'evicted'"
    )


@pytest.mark.asyncio
async def test_an_eviction_of_a_lone_entry_tells_that_it_was_cut(rig: Rig) -> None:
    scripted(rig, BROKEN)
    await rig.record(MIDDLE)
    done = await rig.compact(by_user=True)
    assert done.problem == (
        "the model broke; so the only entry was cut to about half; what it was made of stays whole in the database"
    )


@pytest.mark.asyncio
async def test_the_last_error_of_an_eviction_is_the_reason_alone(rig: Rig) -> None:
    await failing_runs(rig, 4)
    assert (await rig.state("compaction")).last_error == "the model broke"


@pytest.mark.asyncio
async def test_what_was_evicted_is_listed_in_the_database(rig: Rig) -> None:
    recorded = await rig.record(*[MIDDLE] * 3)
    scripted(rig, BROKEN)
    await rig.compact()
    assert rig.states() == dict(zip(recorded, ["evicted", "buffered", "buffered"], strict=True))


@pytest.mark.asyncio
async def test_an_evicted_summary_evicts_the_events_it_covers(rig: Rig) -> None:
    covered = await rig.record(MIDDLE, MIDDLE, valid_time="2026-01-01T00:00:00Z")
    scripted(rig, compacted("short"))
    await rig.compact()
    await rig.record(MIDDLE)
    scripted(rig, BROKEN)
    await rig.compact()
    assert [rig.states()[event_id] for event_id in covered] == ["evicted", "evicted"]


@pytest.mark.asyncio
async def test_a_lone_entry_is_cut(rig: Rig) -> None:
    recorded = await rig.record(MIDDLE)
    before = rig.size
    scripted(rig, BROKEN)
    done = await rig.compact()
    assert (rig.buffered(), done.method, rig.size < before, set(rig.states().values())) == (
        recorded,
        "eviction",
        True,
        {"buffered"},
    )


@pytest.mark.asyncio
@pytest.mark.parametrize(
    "answer", [BROKEN, compacted("short"), compacted(words(3000))], ids=["broken", "good", "large"]
)
async def test_the_file_shrinks_whatever_the_model_does(rig: Rig, answer: Answer) -> None:
    scripted(rig, answer)
    for _ in range(4):
        await rig.record(MIDDLE, "small", MIDDLE)
        before = rig.size
        await rig.compact()
        assert rig.size < before


@pytest.mark.asyncio
async def test_without_a_model_the_older_half_goes(rig: Rig) -> None:
    recorded = await rig.record(*[MIDDLE] * 4)
    rig.model = ModelFailure("model_unavailable", "no model", retryable=False)
    done = await rig.compact()
    assert (done.method, done.problem.split("; ")[0], rig.buffered()) == ("eviction", "no model", recorded[2:])


@pytest.mark.asyncio
async def test_after_a_chunk_that_worked_only_what_is_left_is_evicted(rig: Rig) -> None:
    recorded = await rig.record(*[BIG] * 5)
    scripted(rig, compacted("short"), BROKEN)
    done = await rig.compact()
    first, *rest = rig.entries()
    assert (first["source_event_ids"], [entry["event_id"] for entry in rest]) == (recorded[:1], recorded[3:])
    assert (done.method, await rig.failures("compaction")) == ("eviction", 1)


@pytest.mark.asyncio
async def test_events_that_wait_are_fed_in_after_it(rig: Rig) -> None:
    rig.configure(buffer={"extractionBytes": 1024, "compactionBytes": 2048, "ceilingBytes": 9000})
    recorded = await rig.record(*[MIDDLE] * 4)
    scripted(rig, compacted("short"))
    await rig.compact()
    assert rig.buffered()[1:] == recorded[2:]


# --- a model with a small window ------------------------------------------------------------------------------


def sizes(model: ScriptedModel) -> list[int]:
    """How many entries each request showed."""
    return [len(request.entries) for request in model.requests]


@pytest.mark.asyncio
async def test_a_chunk_that_is_too_long_is_halved_and_the_size_that_fits_remembered(rig: Rig) -> None:
    model = scripted(rig, within(11_000, lambda _: compacted("short")))
    recorded = await rig.record(*[SMALL] * 8)
    done = await rig.compact()
    assert (done.method, done.problem, sizes(model)) == ("model", None, [8, 4, 2, 2, 2, 2])
    assert [entry["source_event_ids"] for entry in rig.entries()[::-1]] == [
        recorded[at : at + 2] for at in (0, 2, 4, 6)
    ]


@pytest.mark.asyncio
async def test_halving_is_neither_an_attempt_nor_a_failure(rig: Rig) -> None:
    rig.configure(bufferCompaction={"maxAttempts": 1})
    scripted(rig, within(11_000, lambda _: compacted("short")))
    await rig.record(*[SMALL] * 8)
    await rig.compact()
    assert (rig.slept, await rig.failures("compaction"), (await rig.state("compaction")).last_error) == ([], 0, None)


@pytest.mark.asyncio
async def test_a_lone_entry_that_is_too_long_is_shown_shortened(rig: Rig) -> None:
    model = scripted(rig, within(11_000, lambda _: compacted("short")))
    await rig.record(SMALL * 8)
    done = await rig.compact()
    assert (done.method, sizes(model)) == ("model", [1, 1, 1])
    assert "characters left out" in model.requests[-1].parts[1]


@pytest.mark.asyncio
async def test_a_model_with_a_tiny_window_rewrites_all_the_same(rig: Rig) -> None:
    scripted(rig, within(3000, lambda _: compacted("s")))
    await rig.record(*["word " * 500] * 8)
    await rig.compact()
    assert [len(entry["source_event_ids"]) for entry in rig.entries()] == [1] * 8


@pytest.mark.asyncio
async def test_a_model_that_finds_everything_too_long_fails_once_and_says_what_helps(rig: Rig) -> None:
    model = scripted(rig, TOO_LONG)
    recorded = await rig.record(*[SMALL] * 8)
    done = await rig.compact()
    assert (done.method, rig.buffered(), await rig.failures("compaction")) == ("eviction", recorded[4:], 1)
    assert len(model.requests) <= MOST_HALVINGS + 1
    assert "bufferCompaction.model" in (await rig.state("compaction")).last_error


@pytest.mark.asyncio
async def test_each_halved_request_is_in_the_budget(rig: Rig) -> None:
    rig.configure(background={"maxModelCallsPerHour": 2})
    model = scripted(rig, TOO_LONG)
    recorded = await rig.record(*[SMALL] * 8)
    done = await rig.compact()
    assert (len(model.requests), done.method, rig.buffered()) == (2, None, recorded)


@pytest.mark.asyncio
async def test_what_a_smaller_chunk_leaves_out_is_free_for_an_extraction(rig: Rig) -> None:
    rig.model = model = GatedModel(within(21_000, lambda _: compacted("short")))
    recorded = await rig.record(*[SMALL] * 8)
    compacting = asyncio.ensure_future(rig.compact())
    await model.asked.get()
    model.let_go()
    await model.asked.get()
    scripted(rig, one_record)
    done = await rig.extract()
    model.let_go()
    await compacting
    assert (done.extracted, rig.sources()) == (4, {f"About {recorded[4]}": set(recorded[4:])})


# --- the breaker ----------------------------------------------------------------------------------------------


@pytest.mark.asyncio
async def test_a_run_that_ends_in_an_eviction_counts_once(rig: Rig) -> None:
    await failing_runs(rig, 1)
    assert await rig.failures("compaction") == 1


@pytest.mark.asyncio
async def test_after_three_failed_runs_eviction_comes_at_once(rig: Rig) -> None:
    await failing_runs(rig, 3)
    model = scripted(rig, compacted("short"))
    await rig.record(*[MIDDLE] * 4)
    before = rig.size
    done = await rig.compact()
    assert (model.requests, done.method, rig.size < before) == ([], "eviction", True)
    assert done.problem.startswith("the model broke; so the oldest half")


@pytest.mark.asyncio
async def test_an_eviction_through_an_open_breaker_counts_nothing(rig: Rig) -> None:
    await failing_runs(rig, 5)
    assert await rig.failures("compaction") == 3


@pytest.mark.asyncio
async def test_two_processes_share_the_count(rig: Rig, other: Rig) -> None:
    await failing_runs(rig, 1)
    await failing_runs(other, 1)
    assert await rig.failures("compaction") == 2


@pytest.mark.asyncio
@pytest.mark.parametrize(("waited_ms", "method"), [(299_999, "eviction"), (300_000, "model")])
async def test_a_breaker_half_opens_after_the_cooldown(rig: Rig, waited_ms: int, method: str) -> None:
    await failing_runs(rig, 3)
    rig.at_ms += waited_ms
    scripted(rig, compacted("short"))
    assert (await rig.compact()).method == method


@pytest.mark.asyncio
async def test_a_users_call_asks_the_model_through_an_open_breaker(rig: Rig) -> None:
    await failing_runs(rig, 3)
    scripted(rig, compacted("short"))
    assert (await rig.compact(by_user=True)).method == "model"


@pytest.mark.asyncio
async def test_one_success_resets_the_count(rig: Rig) -> None:
    await failing_runs(rig, 2)
    scripted(rig, compacted("short"))
    await rig.compact()
    assert await rig.failures("compaction") == 0


@pytest.mark.asyncio
async def test_an_opening_breaker_is_warned_of_once(rig: Rig, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        await failing_runs(rig, 5)
        rig.at_ms += 300_000
        await failing_runs(rig, 1)
    assert [record.getMessage() for record in caplog.records] == [
        "Buffer compaction of /nowhere/one rests after 3 failures"
    ]


# --- what counts nothing --------------------------------------------------------------------------------------


@pytest.mark.asyncio
async def test_a_missing_consent_leaves_the_buffer_and_counts_nothing(rig: Rig) -> None:
    model = scripted(rig, NO_CONSENT)
    recorded = await rig.record(*[MIDDLE] * 2)
    done = await rig.compact()
    assert (len(model.requests), done.method, done.problem) == (1, None, "no consent")
    assert (rig.buffered(), await rig.failures("compaction")) == (recorded, 0)


@pytest.mark.asyncio
async def test_past_the_budget_the_buffer_is_left_and_nothing_counts(rig: Rig) -> None:
    rig.configure(background={"maxModelCallsPerHour": 1})
    scripted(rig, compacted("short"))
    await rig.record(MIDDLE)
    await rig.compact()
    await rig.record(*[MIDDLE] * 2)
    before = rig.buffered()
    done = await rig.compact()
    assert (done.method, done.problem) == (None, "the background budget of this hour is used up")
    assert (rig.buffered(), await rig.failures("compaction")) == (before, 0)


@pytest.mark.asyncio
async def test_a_run_that_the_budget_holds_notes_nothing(rig: Rig) -> None:
    rig.configure(background={"maxModelCallsPerHour": 1})
    scripted(rig, compacted("short"))
    await rig.record(MIDDLE)
    await rig.compact()
    before = await rig.state("compaction")
    await rig.record(*[MIDDLE] * 2)
    await rig.compact()
    assert await rig.state("compaction") == before


@pytest.mark.asyncio
async def test_a_run_that_the_budget_ends_half_way_is_a_success(rig: Rig) -> None:
    rig.configure(background={"maxModelCallsPerHour": 1})
    scripted(rig, compacted("short"))
    await rig.record(*[BIG] * 4)
    done = await rig.compact()
    state = await rig.state("compaction")
    assert (done.method, done.problem) == ("model", "the background budget of this hour is used up")
    assert (state.last_error, state.last_method) == (None, "model")


@pytest.mark.asyncio
async def test_a_run_that_did_nothing_leaves_the_progress_rule_as_it_was(rig: Rig) -> None:
    scripted(rig, NO_CONSENT)
    await rig.record(*[MIDDLE] * 2)
    await rig.compact()
    assert (await rig.state("compaction")).size_after_bytes is None


# --- the progress rule ----------------------------------------------------------------------------------------


@pytest.mark.asyncio
async def test_new_input_counts_from_what_a_run_left(rig: Rig) -> None:
    scripted(rig, compacted("short"))
    await rig.record(*[MIDDLE] * 2)
    await rig.compact()
    assert (await rig.state("compaction")).size_after_bytes == rig.size


@pytest.mark.asyncio
async def test_what_was_fed_in_after_a_run_is_new_input(rig: Rig) -> None:
    rig.configure(buffer={"extractionBytes": 1024, "compactionBytes": 2048, "ceilingBytes": 9000})
    await rig.record(*[MIDDLE] * 4)
    scripted(rig, compacted("short"))
    done = await rig.compact()
    assert ((await rig.state("compaction")).size_after_bytes == done.size_after, rig.size > done.size_after) == (
        True,
        True,
    )


@pytest.mark.asyncio
async def test_a_buffer_at_its_ceiling_has_always_enough_new_input(rig: Rig) -> None:
    rig.configure(buffer={"extractionBytes": 1024, "compactionBytes": 8000, "ceilingBytes": 10_000})
    await rig.record("x" * 9700)
    scripted(rig, compacted(words(1660)))
    await rig.compact()
    left = (await rig.state("compaction")).size_after_bytes
    assert (rig.size + 8000 // 4 > 10_000, enough_new_input(rig.size, left, 8000)) == (True, True)


# --- together with extraction ---------------------------------------------------------------------------------


class Both:
    """A model with one answer for each of the two workers, whose buffer compactions wait until they are let go."""

    name = "scripted"
    host = None
    default_model = None

    def __init__(self) -> None:
        self.compaction = GatedModel(lambda _: compacted("short"))
        self.extraction = ScriptedModel(one_record)

    async def ask(self, request: ModelRequest) -> ModelReply | ModelFailure:
        return await (self.compaction if request.purpose == "buffer" else self.extraction).ask(request)


@pytest.mark.asyncio
async def test_a_compaction_lands_though_extractions_end_all_the_time(rig: Rig) -> None:
    rig.model = model = Both()
    covered = await rig.record(*[MIDDLE] * 3)
    compacting = asyncio.ensure_future(rig.compact())
    await model.compaction.asked.get()
    for number in range(40):
        await rig.record(f"small {number}")
        assert (await rig.extract()).extracted == 1
    model.compaction.let_go()
    done = await compacting
    assert (done.method, done.problem, [entry["source_event_ids"] for entry in rig.entries()]) == (
        "model",
        None,
        [covered],
    )


@pytest.mark.asyncio
async def test_a_compaction_lands_though_another_process_extracts_all_the_time(rig: Rig, other: Rig) -> None:
    rig.model = model = Both()
    await rig.record(*[MIDDLE] * 3)
    compacting = asyncio.ensure_future(rig.compact())
    await model.compaction.asked.get()
    for number in range(40):
        await other.record(f"small {number}")
        assert (await other.extract()).extracted == 1
    model.compaction.let_go()
    assert ((await compacting).method, len(rig.buffered())) == ("model", 1)


@pytest.mark.asyncio
async def test_both_work_at_once_on_disjoint_entries(rig: Rig) -> None:
    rig.model = model = GatedModel(
        lambda request: compacted("s") if request.purpose == "buffer" else one_record(request)
    )
    recorded = await rig.record(*[BIG] * 3)
    extracting = asyncio.ensure_future(rig.extract())
    first = await model.asked.get()
    compacting = asyncio.ensure_future(rig.compact())
    second = await model.asked.get()
    assert {entry.event_id for entry in first.entries}.isdisjoint(entry.event_id for entry in second.entries)
    while not (extracting.done() and compacting.done()):
        if model.waiting:
            model.let_go()
        await asyncio.sleep(0)
    assert (await compacting).method == "model"
    assert sorted(event_id for one in rig.entries() for event_id in one["source_event_ids"]) == sorted(
        event_id for event_id in recorded if rig.states()[event_id] == "buffered"
    )


def either(request: ModelRequest) -> str:
    return compacted("s") if request.purpose == "buffer" else one_record(request)


async def ended(model: GatedModel, *running: asyncio.Future[Any]) -> None:
    """Lets every call of the model go until all runs have ended."""
    while not all(one.done() for one in running):
        if model.waiting:
            model.let_go()
        await asyncio.sleep(0)


@pytest.mark.asyncio
async def test_an_extraction_asked_right_after_a_compaction_has_the_oldest_entries(rig: Rig) -> None:
    rig.model = model = GatedModel(either)
    recorded = await rig.record(*[BIG] * 3)
    running = [asyncio.ensure_future(rig.compact()), asyncio.ensure_future(rig.extract())]
    asked = {(one := await model.asked.get()).purpose: one for _ in running}
    assert [one.event_id for one in asked["extraction"].entries] == recorded[:1]
    assert [one.event_id for one in asked["buffer"].entries] == recorded[1:2]
    await ended(model, *running)


@pytest.mark.asyncio
async def test_a_compaction_leaves_a_small_buffer_to_an_extraction_asked_right_after_it(rig: Rig) -> None:
    rig.model = model = GatedModel(either)
    recorded = await rig.record(*[MIDDLE] * 3)
    running = [asyncio.ensure_future(rig.compact()), asyncio.ensure_future(rig.extract())]
    asked = await model.asked.get()
    await ended(model, *running)
    assert (asked.purpose, [one.event_id for one in asked.entries]) == ("extraction", recorded)
    assert [one.result().problem for one in running] == [None, None]


@pytest.mark.asyncio
async def test_a_compaction_does_not_wait_for_an_extraction_that_has_to_wait_itself(rig: Rig, other: Rig) -> None:
    other.model = gated = GatedModel(one_record)
    await rig.record(BIG)
    extracting = asyncio.ensure_future(other.extract())
    await gated.asked.get()
    await rig.record(BIG)
    scripted(rig, compacted("short"))
    waiting = asyncio.ensure_future(rig.extract(by_user=True))
    assert ((await rig.compact()).method, waiting.done()) == ("model", False)
    waiting.cancel()
    await asyncio.wait([waiting])
    await ended(gated, extracting)


@pytest.mark.asyncio
async def test_a_compaction_does_not_wait_for_an_extraction_without_a_place(rig: Rig) -> None:
    rig.model = model = GatedModel(either)
    others = [rig.project_of(f"/nowhere/{number}") for number in range(PARALLEL)]
    for project in (*others, rig.project):
        await rig.record(MIDDLE, project=project)
    running = [asyncio.ensure_future(rig.extract(project=project)) for project in (*others, rig.project)]
    for _ in others:
        await model.asked.get()
    running.append(asyncio.ensure_future(rig.compact()))
    assert (await model.asked.get()).purpose == "buffer"
    await ended(model, *running)


@pytest.mark.asyncio
async def test_a_compaction_does_not_wait_for_an_extraction_that_was_cancelled(rig: Rig) -> None:
    await rig.record(MIDDLE)
    extracting = asyncio.ensure_future(rig.extract())
    await asyncio.sleep(0)
    extracting.cancel()
    scripted(rig, compacted("short"))
    assert (await asyncio.wait_for(rig.compact(), 10)).method == "model"


@pytest.mark.asyncio
async def test_an_extraction_goes_on_with_what_a_long_compaction_has_not_reached(rig: Rig) -> None:
    rig.model = model = Both()
    await rig.record(*[BIG] * 4)
    compacting = asyncio.ensure_future(rig.compact())
    await model.compaction.asked.get()
    done = await rig.extract()
    model.compaction.let_go()
    assert (done.extracted, (await compacting).method) == (3, "model")


@pytest.mark.asyncio
async def test_an_eviction_leaves_what_an_extraction_works_on(rig: Rig) -> None:
    rig.model = model = GatedModel(one_record)
    recorded = await rig.record(*[BIG] * 5)
    extracting = asyncio.ensure_future(rig.extract())
    await model.asked.get()
    scripted(rig, BROKEN)
    await rig.compact()
    assert (rig.states()[recorded[0]], rig.states()[recorded[1]]) == ("buffered", "evicted")
    extracting.cancel()
    await asyncio.wait([extracting])


@pytest.mark.asyncio
async def test_what_was_evicted_is_never_extracted(rig: Rig) -> None:
    scripted(rig, BROKEN)
    recorded = await rig.record(*[MIDDLE] * 4)
    await rig.compact()
    scripted(rig, one_record)
    await rig.extract()
    assert list(rig.states().values()) == ["evicted", "evicted", "extracted", "extracted"]
    assert rig.sources() == {f"About {recorded[2]}": set(recorded[2:])}


@pytest.mark.asyncio
async def test_the_last_change_told_of_a_run_comes_after_its_end(rig: Rig) -> None:
    scripted(rig, compacted("short"))
    await rig.record(MIDDLE)
    seen: list[bool] = []
    rig.on_change = lambda project: seen.append(rig.compactor.is_running(project.project_id))
    await rig.compact()
    assert (seen[0], seen[-1]) == (True, False)
