"""The watcher: what starts what, and what does not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from lithify.core.model_calls import ModelFailure, ModelReply, ModelRequest
from tests.support.scripted_model import Answer, ScriptedModel
from tests.support.stores import change
from tests.support.workers import BROKEN, NO_CONSENT, SKIP, GatedModel, Rig, compacted, one_record

IDLE_MS = 30_000


def answered(request: ModelRequest) -> str:
    return compacted("s") if request.purpose == "buffer" else one_record(request)


@pytest_asyncio.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    made = Rig(tmp_path)
    made.configure(buffer={"extractionBytes": 4000, "compactionBytes": 8000, "ceilingBytes": 100_000})
    scripted(made, answered)
    yield made
    await made.close()


@pytest_asyncio.fixture
async def other(tmp_path: Path) -> AsyncIterator[Rig]:
    made = Rig(tmp_path, maker_of_ids=1)
    made.configure(buffer={"extractionBytes": 4000, "compactionBytes": 8000, "ceilingBytes": 100_000})
    yield made
    await made.close()


def scripted(rig: Rig, *answers: Answer) -> ScriptedModel:
    rig.model = model = ScriptedModel(*answers)
    return model


def purposes(model: ScriptedModel) -> list[str]:
    return [request.purpose for request in model.requests]


# --- thresholds -----------------------------------------------------------------------------------------------


@pytest.mark.asyncio
@pytest.mark.parametrize(("size_bytes", "asked"), [(3999, []), (4000, ["extraction"])])
async def test_the_size_starts_an_extraction(rig: Rig, size_bytes: int, asked: list[str]) -> None:
    model = scripted(rig, SKIP)
    await rig.record_line(size_bytes)
    await rig.look()
    assert purposes(model) == asked


@pytest.mark.asyncio
@pytest.mark.parametrize(("waited_ms", "asked"), [(IDLE_MS - 1, []), (IDLE_MS, ["extraction"])])
async def test_the_idle_time_starts_an_extraction(rig: Rig, waited_ms: int, asked: list[str]) -> None:
    model = scripted(rig, SKIP)
    await rig.record("one")
    await rig.look()
    rig.at_ms += waited_ms
    await rig.look()
    assert purposes(model) == asked


@pytest.mark.asyncio
async def test_an_append_starts_the_idle_time_anew(rig: Rig) -> None:
    model = scripted(rig, SKIP)
    await rig.record("one")
    await rig.look()
    rig.at_ms += IDLE_MS - 1
    await rig.record("two")
    await rig.look()
    rig.at_ms += IDLE_MS - 1
    await rig.look()
    assert purposes(model) == []


@pytest.mark.asyncio
@pytest.mark.parametrize(("size_bytes", "asked"), [(8000, []), (8001, ["buffer"])])
async def test_the_size_starts_a_compaction(rig: Rig, size_bytes: int, asked: list[str]) -> None:
    rig.configure(bufferCompaction={"enabled": True}, extraction={"enabled": False})
    model = scripted(rig, compacted("s"))
    await rig.record_line(size_bytes)
    await rig.look()
    assert purposes(model) == asked


@pytest.mark.asyncio
async def test_switched_off_a_compaction_leaves_no_trace(rig: Rig) -> None:
    rig.configure(extraction={"enabled": False})
    model = scripted(rig, compacted("s"))
    await rig.record_line(9000)
    await rig.look()
    assert (model.requests, (await rig.state("compaction")).last_run_at, rig.size) == ([], None, 9000)


@pytest.mark.asyncio
async def test_switched_off_an_extraction_is_not_started(rig: Rig) -> None:
    rig.configure(extraction={"enabled": False})
    model = scripted(rig, SKIP)
    await rig.record_line(5000)
    await rig.look()
    rig.at_ms += IDLE_MS
    await rig.look()
    assert model.requests == []


@pytest.mark.asyncio
async def test_an_empty_buffer_starts_nothing(rig: Rig) -> None:
    model = scripted(rig, SKIP)
    await rig.record("one")
    await rig.extract()
    await rig.look()
    rig.at_ms += IDLE_MS
    await rig.look()
    assert len(model.requests) == 1


@pytest.mark.asyncio
async def test_one_append_over_both_thresholds_starts_both_on_disjoint_entries(rig: Rig) -> None:
    rig.configure(
        bufferCompaction={"enabled": True},
        buffer={"extractionBytes": 100_000, "compactionBytes": 150_000, "ceilingBytes": 900_000},
    )
    rig.model = model = GatedModel(answered)
    await rig.record(*["word " * 18_000] * 3)
    await rig.look()
    first, second = await model.asked.get(), await model.asked.get()
    assert {first.purpose, second.purpose} == {"extraction", "buffer"}
    assert {one.event_id for one in first.entries}.isdisjoint(one.event_id for one in second.entries)


@pytest.mark.asyncio
async def test_of_one_append_over_both_thresholds_the_extraction_has_the_oldest_entries(rig: Rig) -> None:
    rig.configure(
        bufferCompaction={"enabled": True},
        buffer={"extractionBytes": 100_000, "compactionBytes": 150_000, "ceilingBytes": 900_000},
    )
    rig.model = model = GatedModel(answered)
    recorded = await rig.record(*["word " * 18_000] * 3)
    await rig.look()
    asked = {(one := await model.asked.get()).purpose: one for _ in range(2)}
    assert [one.event_id for one in asked["extraction"].entries] == recorded[:1]


@pytest.mark.asyncio
async def test_a_compaction_leaves_a_buffer_that_one_request_holds_to_the_extraction(rig: Rig) -> None:
    rig.configure(bufferCompaction={"enabled": True})
    rig.model = model = GatedModel(answered)
    recorded = await rig.record("x" * 5000, "y" * 5000)
    await rig.look()
    asked = await model.asked.get()
    assert (asked.purpose, [one.event_id for one in asked.entries], model.waiting) == ("extraction", recorded, 1)


# --- what it notices ------------------------------------------------------------------------------------------


@pytest.mark.asyncio
async def test_buffers_left_by_an_earlier_run_are_armed(rig: Rig, other: Rig) -> None:
    await other.record("one")
    model = scripted(rig, SKIP)
    await rig.look()
    rig.at_ms += IDLE_MS
    await rig.look()
    assert purposes(model) == ["extraction"]


@pytest.mark.asyncio
async def test_a_large_buffer_left_by_an_earlier_run_is_extracted_at_once(rig: Rig, other: Rig) -> None:
    await other.record_line(5000)
    model = scripted(rig, SKIP)
    await rig.look()
    assert purposes(model) == ["extraction"]


@pytest.mark.asyncio
async def test_what_another_process_wrote_is_told_at_the_next_look(rig: Rig, other: Rig) -> None:
    await rig.look()
    await other.record("one")
    assert rig.changed == []
    await rig.look()
    assert rig.changed == [rig.project.project_id]


@pytest.mark.asyncio
async def test_what_another_process_wrote_counts(rig: Rig, other: Rig) -> None:
    model = scripted(rig, SKIP)
    await rig.record_line(3900)
    await rig.look()
    await other.record("one")
    await rig.look()
    assert purposes(model) == ["extraction"]


@pytest.mark.asyncio
async def test_a_buffer_that_stays_as_it_is_is_told_once(rig: Rig) -> None:
    await rig.record("one")
    for _ in range(3):
        await rig.look()
    assert rig.changed == [rig.project.project_id]


@pytest.mark.asyncio
async def test_two_processes_that_look_at_once_extract_once(rig: Rig, other: Rig) -> None:
    rig.model = other.model = model = ScriptedModel(SKIP)
    await rig.record_line(5000)
    await asyncio.gather(rig.look(), other.look())
    assert (len(model.requests), rig.buffered()) == (1, [])


@pytest.mark.asyncio
async def test_events_that_wait_are_fed_in_when_the_ceiling_rises(rig: Rig) -> None:
    rig.configure(buffer={"ceilingBytes": 9000})
    await rig.record("x" * 5000, "x" * 5000)
    assert len(rig.buffered()) == 1
    rig.configure(buffer={"ceilingBytes": 20_000}, extraction={"enabled": False})
    await rig.look()
    assert len(rig.buffered()) == 2


# --- while and after a run ------------------------------------------------------------------------------------


@pytest.mark.asyncio
async def test_a_trigger_while_a_run_goes_on_starts_nothing(rig: Rig) -> None:
    rig.model = model = GatedModel(answered)
    await rig.record_line(5000)
    await rig.look()
    tasks = len(asyncio.all_tasks())
    for _ in range(3):
        await rig.record("x" * 5000)
        rig.at_ms += IDLE_MS
        await rig.look()
    assert (model.asked.qsize(), len(asyncio.all_tasks())) == (1, tasks)


@pytest.mark.asyncio
async def test_after_a_run_the_size_is_judged_anew(rig: Rig) -> None:
    rig.model = model = GatedModel(answered)
    await rig.record_line(5000)
    await rig.look()
    await rig.record("x" * 5000)
    model.let_go()
    await rig.settle()
    await rig.look()
    assert model.asked.qsize() == 2


@pytest.mark.asyncio
async def test_after_a_run_the_idle_time_is_judged_anew(rig: Rig) -> None:
    rig.model = model = GatedModel(answered)
    await rig.record_line(5000)
    await rig.look()
    await rig.record("small")
    model.let_go()
    await rig.settle()
    await rig.look()
    assert model.asked.qsize() == 1
    rig.at_ms += IDLE_MS
    await rig.look()
    assert model.asked.qsize() == 2


@pytest.mark.asyncio
async def test_after_a_compaction_the_next_one_waits_for_new_input(rig: Rig) -> None:
    rig.configure(bufferCompaction={"enabled": True}, extraction={"enabled": False})
    scripted(rig, halved)
    await rig.record_line(17_000)
    await rig.look()
    left = rig.size
    assert left > 8000
    await rig.record_line(1999)
    await rig.look()
    assert rig.size == left + 1999
    await rig.record_line(500)
    await rig.look()
    assert rig.size < left + 1999


def halved(request: ModelRequest) -> str:
    """A compaction to about half the size."""
    size = sum(len(str(entry.body)) for entry in request.entries)
    return compacted(" ".join(f"w{number}" for number in range(size // 11)))


# --- a run that gets nowhere ----------------------------------------------------------------------------------


async def looks(rig: Rig, count: int = 10) -> None:
    for _ in range(count):
        rig.at_ms += 1000
        await rig.look()


@pytest.mark.asyncio
@pytest.mark.parametrize(("answer", "calls"), [(NO_CONSENT, 1), (BROKEN, 3)], ids=["no consent", "a model that fails"])
async def test_a_model_that_does_not_deliver_is_left_alone_for_the_idle_time(
    rig: Rig, answer: ModelFailure, calls: int
) -> None:
    model = scripted(rig, answer)
    await rig.record_line(5000)
    await looks(rig)
    assert len(model.requests) == calls
    rig.at_ms += IDLE_MS
    await rig.look()
    assert len(model.requests) == 2 * calls


@pytest.mark.asyncio
async def test_appends_do_not_hasten_a_model_that_has_no_consent(rig: Rig) -> None:
    model = scripted(rig, NO_CONSENT)
    await rig.record_line(5000)
    for _ in range(10):
        await rig.record("more")
        await looks(rig, 1)
    assert len(model.requests) == 1


@pytest.mark.asyncio
async def test_a_model_that_fails_opens_the_breaker_and_is_asked_no_more(rig: Rig) -> None:
    model = scripted(rig, BROKEN)
    await rig.record_line(5000)
    for _ in range(6):
        await rig.look()
        rig.at_ms += IDLE_MS
    assert (len(model.requests), await rig.failures()) == (9, 3)


@pytest.mark.asyncio
async def test_after_the_cooldown_the_model_is_asked_again(rig: Rig) -> None:
    scripted(rig, BROKEN)
    await rig.record_line(5000)
    for _ in range(3):
        await rig.look()
        rig.at_ms += IDLE_MS
    model = scripted(rig, SKIP)
    rig.at_ms += 300_000
    await rig.look()
    assert (len(model.requests), rig.buffered()) == (1, [])


@pytest.mark.asyncio
async def test_past_the_budget_nothing_is_asked_and_told(rig: Rig) -> None:
    rig.configure(background={"maxModelCallsPerHour": 1})
    await rig.record_line(5000)
    await rig.look()
    await rig.record("x" * 5000)
    await rig.look()
    rig.changed.clear()
    model = scripted(rig, SKIP)
    await looks(rig, 60)
    assert (model.requests, rig.changed) == ([], [])


@pytest.mark.asyncio
async def test_a_larger_budget_takes_effect_at_once(rig: Rig) -> None:
    rig.configure(background={"maxModelCallsPerHour": 1})
    await rig.record_line(5000)
    await rig.look()
    await rig.record("x" * 5000)
    await rig.look()
    model = scripted(rig, SKIP)
    rig.configure(background={"maxModelCallsPerHour": 2})
    await rig.look()
    assert len(model.requests) == 1


@pytest.mark.asyncio
async def test_what_another_worker_has_claimed_is_left_alone_until_it_changes(rig: Rig) -> None:
    rig.configure(bufferCompaction={"enabled": True}, buffer={"idleMs": 300_000})
    rig.model = model = GatedModel(answered)
    await rig.record_line(5000)
    compacting = asyncio.ensure_future(rig.compact())
    await rig.settle()
    await looks(rig, 1)
    told = len(rig.changed)
    await looks(rig)
    assert (model.asked.qsize(), len(rig.changed)) == (1, told)
    model.let_go()
    await compacting
    await rig.record_line(5000)
    await rig.look()
    assert model.asked.qsize() == 2


@pytest.mark.asyncio
async def test_when_another_process_has_ended_its_run_what_is_left_is_judged_anew(rig: Rig, other: Rig) -> None:
    other.model = gated = GatedModel(answered)
    await rig.record_line(5000)
    await other.look()
    model = scripted(rig, SKIP)
    await looks(rig)
    await rig.record_line(5000)
    await looks(rig)
    assert model.requests == []
    gated.let_go()
    await other.settle()
    await rig.look()
    assert (len(model.requests), rig.buffered()) == (1, [])


@pytest.mark.asyncio
async def test_a_busy_compaction_is_left_alone_for_the_idle_time(rig: Rig, other: Rig) -> None:
    rig.configure(bufferCompaction={"enabled": True}, extraction={"enabled": False})
    other.configure(bufferCompaction={"enabled": True})
    other.model = gated = GatedModel(answered)
    two = rig.project_of("/nowhere/two")
    await other.record("x" * 9000, project=two)
    running = asyncio.ensure_future(other.compact(project=two))
    await gated.asked.get()
    model = scripted(rig, compacted("s"))
    await rig.record_line(9000)
    await looks(rig)
    gated.let_go()
    await running
    rig.at_ms += IDLE_MS
    await rig.look()
    assert len(model.requests) == 1


@pytest.mark.asyncio
async def test_a_buffer_of_broken_lines_is_no_hot_loop(rig: Rig) -> None:
    await rig.record("one")
    await rig.extract()
    model = scripted(rig, SKIP)
    file = rig.data_dir / "buffers" / rig.project.project_id / "buffer.ndjson"
    file.write_bytes(b"no entry at all\n" * 400)
    await looks(rig)
    assert (model.requests, len(rig.changed) < 5, file.stat().st_size) == ([], True, 6400)


@pytest.mark.asyncio
async def test_a_busy_compaction_is_tried_again_when_the_buffer_has_grown(rig: Rig, other: Rig) -> None:
    rig.configure(bufferCompaction={"enabled": True}, extraction={"enabled": False})
    other.configure(bufferCompaction={"enabled": True})
    other.model = gated = GatedModel(answered)
    two = rig.project_of("/nowhere/two")
    await other.record("x" * 9000, project=two)
    running = asyncio.ensure_future(other.compact(project=two))
    await gated.asked.get()
    model = scripted(rig, compacted("s"))
    await rig.record_line(9000)
    await rig.look()
    gated.let_go()
    await running
    await rig.record("more")
    await rig.look()
    assert len(model.requests) == 1


# --- settings, and the end ------------------------------------------------------------------------------------


@pytest.mark.asyncio
async def test_a_changed_threshold_takes_effect_at_the_next_look(rig: Rig) -> None:
    model = scripted(rig, SKIP)
    await rig.record_line(3000)
    await rig.look()
    rig.configure(buffer={"extractionBytes": 3000})
    await rig.look()
    assert purposes(model) == ["extraction"]


@pytest.mark.asyncio
async def test_a_changed_idle_time_takes_effect_at_the_next_look(rig: Rig) -> None:
    model = scripted(rig, SKIP)
    await rig.record("one")
    await rig.look()
    rig.at_ms += 5000
    rig.configure(buffer={"idleMs": 5000})
    await rig.look()
    assert purposes(model) == ["extraction"]


@pytest.mark.asyncio
async def test_a_compaction_that_is_switched_on_starts_at_the_next_look(rig: Rig) -> None:
    rig.configure(extraction={"enabled": False})
    model = scripted(rig, compacted("s"))
    await rig.record_line(9000)
    await rig.look()
    rig.configure(bufferCompaction={"enabled": True})
    await rig.look()
    assert purposes(model) == ["buffer"]


@pytest.mark.asyncio
async def test_the_end_ends_every_run_at_once(rig: Rig) -> None:
    rig.configure(
        bufferCompaction={"enabled": True},
        buffer={"extractionBytes": 100_000, "compactionBytes": 150_000, "ceilingBytes": 900_000},
    )
    rig.model = model = GatedModel(answered)
    recorded = await rig.record(*["word " * 18_000] * 3)
    await rig.look()
    await asyncio.wait_for(rig.watcher.stop(), 5)
    assert (model.cancelled, rig.buffered()) == (2, recorded)
    assert (await rig.failures(), await rig.failures("compaction")) == (0, 0)


@pytest.mark.asyncio
async def test_after_the_end_nothing_starts(rig: Rig) -> None:
    model = scripted(rig, SKIP)
    await rig.record_line(5000)
    looking = asyncio.ensure_future(rig.watcher.look())
    await asyncio.sleep(0)
    await rig.watcher.stop()
    await looking
    await rig.settle()
    assert model.requests == []


@pytest.mark.asyncio
async def test_after_the_end_another_process_may_work(rig: Rig, other: Rig) -> None:
    rig.model = GatedModel(answered)
    await rig.record_line(5000)
    await rig.look()
    await rig.watcher.stop()
    scripted(other, SKIP)
    await other.look()
    assert other.buffered() == []


@pytest.mark.asyncio
async def test_a_run_that_breaks_costs_no_other_look(rig: Rig, caplog: pytest.LogCaptureFixture) -> None:
    def breaks(request: ModelRequest) -> ModelReply:
        raise RuntimeError("a bug")

    scripted(rig, breaks)
    await rig.record_line(5000)
    await rig.look()
    model = scripted(rig, SKIP)
    rig.at_ms += IDLE_MS
    await rig.look()
    assert len(model.requests) == 1
    assert [record.getMessage() for record in caplog.records] == ["extraction of /nowhere/one failed: RuntimeError"]


@pytest.mark.asyncio
async def test_a_data_folder_that_fails_costs_one_look(rig: Rig) -> None:
    model = scripted(rig, SKIP)
    await rig.record_line(5000)
    change(rig.data_dir, "ALTER TABLE projects RENAME TO away")
    await rig.look()
    change(rig.data_dir, "ALTER TABLE away RENAME TO projects")
    await rig.look()
    assert len(model.requests) == 1
