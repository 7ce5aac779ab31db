"""The ledger of model calls, and the background budget."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from lithify.core.model_calls import ModelFailure, ModelReply, ModelRequest, Usage
from lithify.core.pipeline import Extraction
from lithify.workers.model_use import ask_first
from tests.support.scripted_model import Answer, ScriptedModel
from tests.support.stores import change, rows
from tests.support.workers import BROKEN, NO_CONSENT, SKIP, GatedModel, Rig, compacted, one_record


@pytest_asyncio.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    made = Rig(tmp_path)
    yield made
    await made.close()


@pytest_asyncio.fixture
async def other(tmp_path: Path) -> AsyncIterator[Rig]:
    made = Rig(tmp_path, maker_of_ids=1)
    yield made
    await made.close()


async def extracted(rig: Rig, *answers: Answer, by_user: bool = False) -> None:
    rig.model = ScriptedModel(*answers)
    await rig.record("one")
    await rig.extract(by_user=by_user)


@pytest.mark.asyncio
async def test_every_call_is_a_line(rig: Rig) -> None:
    await extracted(rig, BROKEN, "prose", one_record)
    assert [row[4] for row in await rig.ledger()] == ["model_error", "answered", "answered"]


@pytest.mark.asyncio
async def test_a_line_says_for_what_and_whom_and_what_answered(rig: Rig) -> None:
    await extracted(rig, ModelReply(SKIP, "scripted", model="m1", usage=Usage(100, 20)))
    assert await rig.ledger() == [("extraction", "scripted", "m1", 0, "answered", 120)]


@pytest.mark.asyncio
async def test_a_buffer_compaction_is_a_line_of_its_own_kind(rig: Rig) -> None:
    rig.configure(bufferCompaction={"enabled": True, "model": "tiny"})
    rig.model = ScriptedModel(compacted("short"))
    await rig.record("x" * 5000)
    await rig.compact(by_user=True)
    assert [row[:5] for row in await rig.ledger()] == [("buffer", "scripted", "tiny", 1, "answered")]


@pytest.mark.asyncio
async def test_no_line_holds_any_text(rig: Rig) -> None:
    await extracted(rig, one_record)
    assert {word for row in await rig.ledger() for word in row if isinstance(word, str)} == {
        "extraction",
        "scripted",
        "answered",
    }


@pytest.mark.asyncio
@pytest.mark.parametrize("failure", [BROKEN, NO_CONSENT, ModelFailure("timeout", "too slow")], ids=lambda one: one.type)
async def test_a_failed_call_is_a_line_with_its_kind(rig: Rig, failure: ModelFailure) -> None:
    await extracted(rig, failure)
    assert {row[4] for row in await rig.ledger()} == {failure.type}


@pytest.mark.asyncio
async def test_a_cancelled_call_is_a_line(rig: Rig) -> None:
    rig.model = model = GatedModel(one_record)
    await rig.record("one")
    running = asyncio.ensure_future(rig.extract())
    await model.asked.get()
    running.cancel()
    await asyncio.wait([running])
    assert [row[4] for row in await rig.ledger()] == ["cancelled"]


@pytest.mark.asyncio
async def test_a_model_that_breaks_the_rules_and_raises_is_a_line(rig: Rig) -> None:
    def raises(request: ModelRequest) -> str:
        raise RuntimeError("a bug")

    with pytest.raises(RuntimeError):
        await extracted(rig, raises)
    assert [row[4] for row in await rig.ledger()] == ["model_error"]


@pytest.mark.asyncio
async def test_a_ledger_that_cannot_be_kept_costs_no_extraction(rig: Rig) -> None:
    await rig.record("one")
    change(rig.data_dir, "CREATE TRIGGER no BEFORE INSERT ON model_calls BEGIN SELECT RAISE(ABORT, 'no'); END")
    assert (await rig.extract()).extracted == 1


@pytest.mark.asyncio
async def test_where_no_model_is_there_no_line_is_written(rig: Rig) -> None:
    await rig.record("one")
    rig.model = ModelFailure("model_unavailable", "no model")
    await rig.extract()
    assert await rig.ledger() == []


@pytest.mark.asyncio
async def test_a_line_names_the_host_that_the_text_went_to(rig: Rig) -> None:
    model = ScriptedModel(one_record)
    model.host = "models.example:443"
    rig.model = model
    await rig.record("one")
    await rig.extract()
    await rig.thread.run(lambda _: None)
    assert rows(rig.data_dir, "SELECT host FROM model_calls") == [("models.example:443",)]


# --- models in order ------------------------------------------------------------------------------------------

ABSENT = ModelFailure("model_unavailable", "it is not there", absent=True)
REQUEST = ModelRequest("conversation", "You sum up.", ("one",), timeout_ms=1000)


async def first_of(*answers: Answer) -> tuple[ModelReply | ModelFailure, list[int]]:
    """What comes of models that give these answers, and how often each was asked."""
    models = [ScriptedModel(answer) for answer in answers]
    said = await ask_first(models, REQUEST)
    return said, [len(model.requests) for model in models]


@pytest.mark.asyncio
async def test_the_first_model_answers_and_no_other_is_asked() -> None:
    assert await first_of("first", "second") == (ModelReply("first", "scripted"), [1, 0])


@pytest.mark.asyncio
async def test_where_a_model_does_not_exist_the_next_one_answers() -> None:
    assert await first_of(ABSENT, "second") == (ModelReply("second", "scripted"), [1, 1])


@pytest.mark.asyncio
@pytest.mark.parametrize("failure", [BROKEN, NO_CONSENT, ModelFailure("timeout", "too slow")], ids=lambda one: one.type)
async def test_a_model_that_fails_has_the_last_word(failure: ModelFailure) -> None:
    assert await first_of(failure, "second") == (failure, [1, 0])


@pytest.mark.asyncio
async def test_where_no_model_exists_the_first_one_says_why() -> None:
    other = ModelFailure("model_unavailable", "nor this", absent=True)
    assert (await first_of(ABSENT, other))[0] == ABSENT


# --- the budget -----------------------------------------------------------------------------------------------


async def held(rig: Rig) -> bool:
    """Whether background work is held by its budget now."""
    await rig.record("something")
    done: Extraction = await rig.extract()
    return done.problem == "the background budget of this hour is used up"


@pytest.mark.asyncio
@pytest.mark.parametrize(("calls", "is_held"), [(1, True), (2, False)])
async def test_calls_are_counted(rig: Rig, calls: int, is_held: bool) -> None:
    rig.configure(background={"maxModelCallsPerHour": calls})
    await extracted(rig, one_record)
    assert await held(rig) is is_held


@pytest.mark.asyncio
@pytest.mark.parametrize(("tokens", "is_held"), [(120, True), (121, False)])
async def test_tokens_are_counted(rig: Rig, tokens: int, is_held: bool) -> None:
    rig.configure(background={"maxTokensPerHour": tokens})
    await extracted(rig, ModelReply(SKIP, "scripted", usage=Usage(100, 20)))
    assert await held(rig) is is_held


@pytest.mark.asyncio
async def test_calls_of_another_process_count(rig: Rig, other: Rig) -> None:
    rig.configure(background={"maxModelCallsPerHour": 1})
    await extracted(other, one_record)
    assert await held(rig)


@pytest.mark.asyncio
async def test_calls_of_both_workers_count(rig: Rig) -> None:
    rig.configure(background={"maxModelCallsPerHour": 1}, bufferCompaction={"enabled": True})
    rig.model = ScriptedModel(compacted("short"))
    await rig.record("x" * 5000)
    await rig.compact()
    assert await held(rig)


@pytest.mark.asyncio
async def test_cancelled_calls_count(rig: Rig) -> None:
    rig.configure(background={"maxModelCallsPerHour": 1})
    rig.model = model = GatedModel(one_record)
    await rig.record("one")
    running = asyncio.ensure_future(rig.extract())
    await model.asked.get()
    running.cancel()
    await asyncio.wait([running])
    assert await held(rig)


@pytest.mark.asyncio
async def test_a_call_that_goes_on_in_another_process_counts(rig: Rig, other: Rig) -> None:
    rig.configure(background={"maxModelCallsPerHour": 1})
    other.model = model = GatedModel(one_record)
    another = Rig.project_of("/nowhere/another")
    await other.record("one", project=another)
    running = asyncio.ensure_future(other.extract(project=another))
    await model.asked.get()
    await other.thread.run(lambda _: None)
    assert await held(rig)
    model.let_go()
    await running


@pytest.mark.asyncio
async def test_work_that_begins_at_the_same_time_in_one_process_stays_in_the_budget(rig: Rig) -> None:
    rig.configure(background={"maxModelCallsPerHour": 1}, bufferCompaction={"enabled": True})
    rig.model = model = ScriptedModel(one_record)
    projects = [Rig.project_of(f"/nowhere/{name}") for name in ("a", "b", "c")]
    for project in projects:
        await rig.record("x" * 5000, project=project)
    first, second, third = projects
    await asyncio.gather(rig.extract(project=first), rig.extract(project=second), rig.compact(project=third))
    assert len(model.requests) == 1


@pytest.mark.asyncio
async def test_calls_that_a_user_asked_for_do_not_count(rig: Rig) -> None:
    rig.configure(background={"maxModelCallsPerHour": 1})
    await extracted(rig, one_record, by_user=True)
    assert not await held(rig)


@pytest.mark.asyncio
async def test_calls_more_than_an_hour_ago_do_not_count(rig: Rig) -> None:
    rig.configure(background={"maxModelCallsPerHour": 1})
    await extracted(rig, one_record)
    rig.hour_ago = "2026-01-02T04:30:00.000+00:00"
    assert not await held(rig)


@pytest.mark.asyncio
async def test_calls_noted_before_the_clock_was_put_back_do_not_count(rig: Rig) -> None:
    rig.configure(background={"maxModelCallsPerHour": 1})
    await extracted(rig, one_record)
    rig.hour_ago = "2026-01-01T02:30:00.000+00:00"
    assert not await held(rig)


# --- while a call goes on ---------------------------------------------------------------------------------------


@pytest.mark.asyncio
async def test_a_call_is_a_line_while_it_goes_on_so_that_a_dying_process_leaves_it(rig: Rig) -> None:
    rig.model = model = GatedModel(one_record)
    await rig.record("one")
    running = asyncio.ensure_future(rig.extract())
    await model.asked.get()
    assert [row[4] for row in await rig.ledger()] == ["pending"]
    model.let_go()
    await running
    assert [row[4] for row in await rig.ledger()] == ["answered"]


@pytest.mark.asyncio
async def test_a_call_that_gave_nothing_to_anybody_is_no_line(rig: Rig) -> None:
    await extracted(rig, ModelFailure("model_unavailable", "no key", retryable=False, sent=False), by_user=True)
    assert await rig.ledger() == []


@pytest.mark.asyncio
async def test_a_failed_call_names_the_model_that_would_have_answered(rig: Rig) -> None:
    rig.model = model = ScriptedModel(BROKEN)
    model.default_model = "tiny"
    await rig.record("one")
    await rig.extract()
    assert {row[2] for row in await rig.ledger()} == {"tiny"}
