"""Compactions of live sessions: applied, refused, undone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from lithify.core.agents import CompactionCommand
from lithify.core.compaction_results import Preview
from lithify.core.conversation import Noop, Range
from lithify.core.messages import estimate_tokens
from lithify.core.model_calls import ModelFailure, ModelReply, Usage
from lithify.core.outcomes import LithifyError
from lithify.workers.session_compaction import Compacted
from tests.support.messages import assistant, calling, exactly, orphans, result, said, system, text, user
from tests.support.scripted_model import ScriptedModel
from tests.support.stores import SESSION, Bench, change, rows, session_dump
from tests.support.workbench import PREFIX, GatedModel, Hold, Workbench, summary, ten, until_queued


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    yield made
    made.store.close()


# --- applied --------------------------------------------------------------------------------------------------


def test_the_summary_stands_in_the_place_of_its_range(bench: Bench) -> None:
    bench.open(ten())
    bench.compact(2, 6)
    assert bench.messages() == [*ten()[:2], summary(), *ten()[6:]]


def test_the_session_is_answered_as_it_is_stored(bench: Bench) -> None:
    bench.open(ten())
    changed = bench.apply(bench.prepared(2, 6))
    assert (changed.revision, changed.messages) == (bench.info().revision, bench.messages())


def test_what_was_appended_meanwhile_is_kept_after_the_tail(bench: Bench) -> None:
    bench.open(ten())
    prepared = bench.prepared(0, 8)
    bench.append(user("meanwhile"), calling("c1"), result("c1"))
    bench.apply(prepared)
    assert bench.messages() == [summary(), *ten()[8:], user("meanwhile"), calling("c1"), result("c1")]


def test_a_change_behind_the_range_is_kept(bench: Bench) -> None:
    bench.open(ten())
    prepared = bench.prepared(0, 6)
    bench.splice(8, 1, user("edited"))
    bench.apply(prepared)
    assert bench.messages() == [summary(), *ten()[6:8], user("edited"), ten()[9]]


def test_a_change_before_the_range_that_moves_nothing_is_kept(bench: Bench) -> None:
    bench.open(ten())
    prepared = bench.prepared(4, 6)
    bench.splice(0, 1, user("edited"))
    bench.apply(prepared)
    assert bench.messages() == [user("edited"), *ten()[1:4], summary(), *ten()[6:]]


def test_a_leading_system_message_stays_in_front(bench: Bench) -> None:
    bench.open([system(), *ten()])
    bench.compact(0, 5)
    assert bench.messages() == [system(), summary(), *ten()[4:]]


def test_a_compaction_is_listed_with_its_range_and_stats(bench: Bench) -> None:
    bench.open(ten())
    compaction_id = bench.compact(2, 6)
    (listed,) = bench.store.compactions.of_session(SESSION)
    assert (listed.compaction_id, listed.range, listed.stats, listed.undone) == (
        compaction_id,
        Range(2, 6),
        {"messages_before": 10},
        False,
    )


def test_compactions_are_listed_the_oldest_first(bench: Bench) -> None:
    bench.open(ten())
    made = [bench.compact(6, 8), bench.compact(0, 3), bench.compact(0, 2)]
    assert [one.compaction_id for one in bench.store.compactions.of_session(SESSION)] == made


# --- stale ----------------------------------------------------------------------------------------------------

STALE: dict[str, Callable[[Bench], None]] = {
    "a message inside is edited": lambda bench: bench.splice(3, 1, user("edited")),
    "a message inside is deleted": lambda bench: bench.splice(3, 1),
    "a message inside is inserted": lambda bench: bench.splice(3, 0, user("inserted")),
    "the first is edited": lambda bench: bench.splice(2, 1, user("edited")),
    "the last is edited": lambda bench: bench.splice(5, 1, user("edited")),
    "it is shifted down": lambda bench: bench.splice(0, 0, user("inserted")),
    "it is shifted up": lambda bench: bench.splice(0, 1),
    "it is cut off": lambda bench: bench.splice(4, 6),
    "a key is added": lambda bench: bench.splice(3, 1, {**ten()[3], "id": "m3"}),
    "the session is replaced": lambda bench: bench.open([user("others")] * 10),
    "the session is emptied": lambda bench: bench.open([]),
    "another compaction lands": lambda bench: bench.apply(bench.prepared(4, 7)) and None,
}


@pytest.mark.parametrize("what", STALE)
def test_a_range_that_changed_is_stale_and_nothing_is_written(bench: Bench, what: str) -> None:
    bench.open(ten())
    prepared = bench.prepared(2, 6)
    STALE[what](bench)
    before = bench.dump()
    with pytest.raises(LithifyError, match=r"messages 2 to 5 of session s1 changed while") as problem:
        bench.apply(prepared)
    assert (problem.value.type, problem.value.retryable, bench.dump()) == ("stale", True, before)


@pytest.mark.parametrize("call_id", ["c1", ""])
def test_a_late_result_of_a_compacted_call_is_stale_and_nothing_is_written(bench: Bench, call_id: str) -> None:
    bench.open([user(), calling(call_id or None)])
    prepared = bench.prepared(0, 2)
    bench.append(result(call_id or None))
    before = bench.dump()
    with pytest.raises(LithifyError, match="the result of tool call") as problem:
        bench.apply(prepared)
    assert (problem.value.type, bench.dump()) == ("stale", before)


def test_a_late_result_with_an_id_that_was_used_before_is_stale(bench: Bench) -> None:
    bench.open([calling("c1"), result("c1"), user(), calling("c1")])
    prepared = bench.prepared(2, 4)
    bench.append(result("c1"))
    with pytest.raises(LithifyError, match="c1"):
        bench.apply(prepared)


def test_a_late_result_of_an_exact_range_is_kept(bench: Bench) -> None:
    bench.open([user(), calling("c1")])
    prepared = bench.prepared(0, 2, exact=True)
    bench.append(result("c1"))
    bench.apply(prepared)
    assert bench.messages()[1:] == [result("c1")]


def test_a_late_result_of_a_call_in_the_tail_is_kept(bench: Bench) -> None:
    bench.open([user(), assistant(), user(), calling("c1")])
    prepared = bench.prepared(0, 2)
    bench.append(result("c1"))
    bench.apply(prepared)
    assert orphans(bench.messages()) == []


# --- undone ---------------------------------------------------------------------------------------------------


def test_an_undo_puts_the_originals_back(bench: Bench) -> None:
    bench.open(ten())
    compaction_id = bench.compact(2, 6)
    undone = bench.undo()
    assert (undone.compaction_id, undone.messages, bench.messages()) == (compaction_id, ten(), ten())


def test_an_undo_after_a_restart_puts_the_originals_back(bench: Bench) -> None:
    messages = [system(), {**user("odd"), "n": 1.0, "class": None}, *ten()]
    bench.open(messages)
    bench.compact(0, 7)
    bench.restart()
    assert exactly(bench.undo().messages) == exactly(messages)


def test_what_was_appended_stays_after_the_originals(bench: Bench) -> None:
    bench.open(ten())
    bench.compact(0, 8)
    bench.append(user("after"))
    assert bench.undo().messages == [*ten(), user("after")]


def test_what_was_put_in_front_stays_in_front(bench: Bench) -> None:
    bench.open(ten())
    bench.compact(0, 8)
    bench.splice(0, 0, system(), user("before"))
    assert bench.undo().messages == [system(), user("before"), *ten()]


def test_a_leading_system_message_stays_in_front_after_an_undo(bench: Bench) -> None:
    bench.open([system(), *ten()])
    bench.compact(0, 5)
    bench.append(user("after"))
    assert bench.undo().messages == [system(), *ten(), user("after")]


def test_two_compactions_in_a_row_are_undone_the_newest_first(bench: Bench) -> None:
    bench.open(ten())
    first, second = bench.compact(0, 4), bench.compact(0, 3)
    between = [summary(), *ten()[4:]]
    assert bench.undo().messages == between
    bench.restart()
    assert bench.undo().messages == ten()
    assert [one.undone for one in bench.store.compactions.of_session(SESSION)] == [True, True]
    assert first != second


def test_two_compactions_of_different_ranges_are_undone_in_any_order(bench: Bench) -> None:
    bench.open(ten())
    late = bench.compact(6, 8, "late")
    early = bench.compact(0, 4, "early")
    assert bench.undo(late).messages == [summary("early"), *ten()[4:]]
    assert bench.undo(early).messages == ten()


def test_the_newest_that_is_not_undone_yet_is_the_default(bench: Bench) -> None:
    bench.open(ten())
    early, late = bench.compact(0, 2), bench.compact(5, 7)
    assert [bench.undo().compaction_id, bench.undo().compaction_id] == [late, early]


def test_a_compaction_after_an_undo_can_be_undone(bench: Bench) -> None:
    bench.open(ten())
    bench.compact(0, 4)
    bench.undo()
    bench.compact(2, 6, "again")
    assert bench.undo().messages == ten()


REFUSED: dict[str, Callable[[Bench], object]] = {
    "edited": lambda bench: bench.splice(0, 1, user("edited")),
    "removed": lambda bench: bench.splice(0, 1),
    "removed with others": lambda bench: bench.splice(0, 3),
    "compacted again": lambda bench: bench.compact(0, 2),
}


@pytest.mark.parametrize("what", REFUSED)
def test_an_undo_is_stale_when_the_summary_was(bench: Bench, what: str) -> None:
    bench.open(ten())
    compaction_id = bench.compact(0, 6)
    REFUSED[what](bench)
    before = bench.dump()
    with pytest.raises(LithifyError, match="The summary of that compaction is no longer in this chat") as problem:
        bench.undo(compaction_id)
    assert (problem.value.type, problem.value.retryable, bench.dump()) == ("stale", False, before)


def refused_undo(bench: Bench, compaction_id: str | None) -> tuple[str, str]:
    """The failure of an undo that must leave everything as it is."""
    before = bench.dump()
    with pytest.raises(LithifyError) as problem:
        bench.undo(compaction_id)
    assert bench.dump() == before
    return problem.value.type, problem.value.message


def test_a_compaction_that_was_undone_is_unknown(bench: Bench) -> None:
    bench.open(ten())
    compaction_id = bench.compact(0, 6)
    bench.undo()
    assert refused_undo(bench, compaction_id) == (
        "unknown_compaction",
        "That compaction was undone already",
    )


def test_when_all_is_undone_there_is_none_left(bench: Bench) -> None:
    bench.open(ten())
    bench.compact(0, 6)
    bench.undo()
    assert refused_undo(bench, None) == ("unknown_compaction", "This chat has no compaction that could be undone")


def test_a_compaction_that_never_was_is_unknown(bench: Bench) -> None:
    bench.open(ten())
    assert refused_undo(bench, "X") == ("unknown_compaction", "This chat has no compaction with the id 'X'")


def test_a_compaction_of_another_session_is_unknown(bench: Bench) -> None:
    bench.open(ten())
    compaction_id = bench.compact(0, 6)
    bench.open(ten(), "other")
    with pytest.raises(LithifyError, match=f"This chat has no compaction with the id '{compaction_id}'"):
        bench.undo(compaction_id, "other")


def test_without_originals_nothing_is_kept(bench: Bench) -> None:
    bench.open([user("the secret"), assistant("ok"), user("thanks")])
    compaction_id = bench.compact(0, 2, keep_originals=False)
    kept = str({table: rows for table, rows in bench.dump().items() if table != "session_messages"})
    assert "the secret" not in kept
    assert refused_undo(bench, compaction_id) == (
        "unknown_compaction",
        "That compaction kept no originals, because conversation.keepOriginals was off",
    )


# --- opened again ---------------------------------------------------------------------------------------------


def compactions(bench: Bench) -> list[str]:
    return [one.compaction_id for one in bench.store.compactions.of_session(SESSION)]


def test_opened_with_the_same_messages_a_session_keeps_its_compactions(bench: Bench) -> None:
    bench.open(ten())
    bench.compact(0, 6)
    before = bench.dump()
    bench.open(bench.messages())
    assert bench.dump() == before
    assert bench.undo().messages == ten()


def test_opened_with_more_messages_a_session_keeps_its_compactions(bench: Bench) -> None:
    bench.open(ten())
    bench.compact(0, 6)
    bench.open([*bench.messages(), user("more")])
    assert bench.undo().messages == [*ten(), user("more")]


def test_opened_with_another_tail_a_session_keeps_the_compactions_before_it(bench: Bench) -> None:
    bench.open(ten())
    bench.compact(0, 6)
    bench.open([*bench.messages()[:2], user("other")])
    assert bench.undo().messages == [*ten()[:7], user("other")]


def test_opened_with_others_a_session_drops_its_compactions(bench: Bench) -> None:
    bench.open(ten())
    bench.compact(0, 4)
    bench.compact(0, 3)
    bench.open([user("others")])
    assert compactions(bench) == []
    assert rows(bench.data_dir, "SELECT count(*) FROM compaction_originals") == [(0,)]


def test_opened_with_its_originals_a_session_drops_its_compactions(bench: Bench) -> None:
    bench.open(ten())
    bench.compact(0, 6)
    bench.open(ten())
    assert (bench.messages(), compactions(bench)) == (ten(), [])


def test_a_session_that_drops_its_compactions_leaves_those_of_others(bench: Bench) -> None:
    bench.open(ten(), "other")
    bench.compact(0, 4, session_id="other")
    bench.open(ten())
    bench.compact(0, 6)
    bench.open([user("others")])
    assert bench.undo(session_id="other").messages == ten()


def test_opened_with_another_tail_a_session_keeps_what_an_outer_compaction_needs(bench: Bench) -> None:
    bench.open(ten())
    inner, outer = bench.compact(0, 4), bench.compact(0, 3)
    bench.open([*bench.messages()[:1], user("other")])
    assert compactions(bench) == [inner, outer]
    bench.undo()
    assert bench.undo().messages == [*ten()[:6], user("other")]


# --- with a model ---------------------------------------------------------------------------------------------


@pytest_asyncio.fixture
async def work(tmp_path: Path) -> AsyncIterator[Workbench]:
    made = Workbench(tmp_path)
    yield made
    assert made.thread.close(10)


@pytest.mark.asyncio
async def test_a_compaction_answers_with_the_session_as_it_is_then(work: Workbench) -> None:
    await work.open(ten())
    done = await work.compacted()
    assert done.changed.messages == [summary(), *ten()[8:]] == await work.messages()
    assert (done.changed.revision, done.summarised.plan.range) == (2, Range(0, 8))


@pytest.mark.asyncio
async def test_a_session_with_parts_gets_a_summary_in_two_parts(work: Workbench) -> None:
    await work.open([said("user", text("question")), assistant(), user(), assistant()])
    await work.compacted()
    assert (await work.messages())[0] == said("user", text(PREFIX, "summary"))


@pytest.mark.asyncio
async def test_a_session_may_grow_while_the_model_works(work: Workbench) -> None:
    work.model = model = GatedModel()
    await work.open(ten())
    running = asyncio.ensure_future(work.compacted())
    await model.asked.wait()
    await work.append(user("meanwhile"))
    model.answer.set()
    assert (await running).changed.messages == [summary(), *ten()[8:], user("meanwhile")]


@pytest.mark.asyncio
async def test_the_figures_hold_what_was_said_while_the_model_worked(work: Workbench) -> None:
    work.model = model = GatedModel()
    await work.open([system(), *ten()])
    running = asyncio.ensure_future(work.compacted())
    await model.asked.wait()
    later = user("m" * 270)
    await work.append(later)
    model.answer.set()
    stats = (await running).summarised.stats
    before, after = [system(), *ten(), later], [system(), summary(), *ten()[8:], later]
    assert (stats.messages_before, stats.messages_after) == (12, 5)
    assert (stats.tokens_before, stats.tokens_after) == (estimate_tokens(before), estimate_tokens(after))
    (listed,) = await work.thread.run(lambda store: store.compactions.of_session(SESSION))
    assert listed.stats == asdict(stats)


@pytest.mark.asyncio
async def test_a_range_that_changes_while_the_model_works_is_stale(work: Workbench) -> None:
    work.model = model = GatedModel()
    await work.open(ten())
    running = asyncio.ensure_future(work.compact())
    await model.asked.wait()
    await work.splice(0, 1, user("edited"))
    before = session_dump(work.data_dir)
    model.answer.set()
    with pytest.raises(LithifyError) as problem:
        await running
    assert (problem.value.type, session_dump(work.data_dir)) == ("stale", before)


@pytest.mark.asyncio
async def test_a_second_compaction_of_a_session_is_busy(work: Workbench) -> None:
    work.model = model = GatedModel()
    await work.open(ten())
    running = asyncio.ensure_future(work.compact())
    await model.asked.wait()
    with pytest.raises(LithifyError, match="already running") as problem:
        await work.compact()
    model.answer.set()
    assert (problem.value.type, isinstance(await running, Compacted)) == ("busy", True)


@pytest.mark.asyncio
async def test_an_undo_while_a_compaction_runs_is_busy(work: Workbench) -> None:
    work.model = model = GatedModel()
    await work.open(ten())
    running = asyncio.ensure_future(work.compact())
    await model.asked.wait()
    with pytest.raises(LithifyError) as problem:
        await work.compactor.undo(SESSION, None)
    model.answer.set()
    await running
    assert problem.value.type == "busy"


@pytest.mark.asyncio
async def test_another_session_can_be_compacted_at_the_same_time(work: Workbench) -> None:
    work.model = model = GatedModel()
    await work.open(ten())
    running = asyncio.ensure_future(work.compact())
    await model.asked.wait()
    with pytest.raises(LithifyError, match="there is no session 'other'"):
        await work.compact("other")
    model.answer.set()
    await running


@pytest.mark.asyncio
@pytest.mark.parametrize("ending", ["done", "no-op", "failure", "cancel"])
async def test_after_a_compaction_the_next_one_can_start(work: Workbench, ending: str) -> None:
    await work.open(ten())
    if ending == "done":
        await work.compact()
    elif ending == "no-op":
        await work.compact(start=10)
    elif ending == "failure":
        work.model = ModelFailure("model_unavailable", "none")
        with pytest.raises(LithifyError, match="none"):
            await work.compact()
    else:
        await cancelled_compaction(work)
    work.model = ScriptedModel("summary")
    assert isinstance(await work.compact(start=0, end=2), Compacted)


async def cancelled_compaction(work: Workbench) -> None:
    work.model = model = GatedModel()
    running = asyncio.ensure_future(work.compact())
    await model.asked.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


@pytest.mark.asyncio
async def test_a_cancel_while_the_model_works_changes_nothing(work: Workbench) -> None:
    await work.open(ten())
    before = session_dump(work.data_dir)
    await cancelled_compaction(work)
    await work.ledger()
    assert session_dump(work.data_dir) == before


@pytest.mark.asyncio
async def test_a_cancel_before_the_session_is_changed_changes_nothing(work: Workbench) -> None:
    work.model = model = GatedModel()
    await work.open(ten())
    running = asyncio.ensure_future(work.compact())
    await model.asked.wait()
    before = session_dump(work.data_dir)
    await work.messages()  # what was queued before is done
    hold = Hold(work)
    model.answer.set()
    await until_queued(work, 2)  # the change and the ledger's line, behind what holds the thread
    running.cancel()
    await asyncio.sleep(0)
    hold.release()
    with pytest.raises(LithifyError) as problem:
        await running
    assert (problem.value.type, session_dump(work.data_dir)) == ("cancelled", before)


@pytest.mark.asyncio
async def test_a_cancel_after_the_session_was_changed_is_answered_with_the_change(work: Workbench) -> None:
    work.model = model = GatedModel()
    await work.open(ten())
    running = asyncio.ensure_future(work.compacted())
    await model.asked.wait()
    await work.messages()
    hold = Hold(work)
    model.answer.set()
    await until_queued(work, 2)
    hold.release()
    hold.wait_for_the_thread(work)  # the change is made, and this event loop has not heard of it yet
    running.cancel()
    assert (await running).changed.messages == await work.messages() == [summary(), *ten()[8:]]


NOOPS = {
    "empty": {"start": 10},
    "preserve_none": {"max_preserved_messages": 0},
    "too_few_messages": {"max_preserved_messages": 11},
    "nothing_before_tail": {"max_preserved_messages": 10},
}


@pytest.mark.asyncio
@pytest.mark.parametrize("reason", NOOPS)
async def test_a_no_op_changes_nothing_and_asks_no_model(work: Workbench, reason: str) -> None:
    await work.open(ten())
    work.model = model = ScriptedModel("summary")
    before = session_dump(work.data_dir)
    assert await work.compact(**NOOPS[reason]) == Noop(reason)  # type: ignore[arg-type]
    assert (session_dump(work.data_dir), model.requests, await work.ledger()) == (before, [], [])


FAILURES: dict[str, tuple[str, ModelReply | ModelFailure]] = {
    "unavailable": ("model_unavailable", ModelFailure("model_unavailable", "words")),
    "error": ("model_error", ModelFailure("model_error", "words")),
    "timeout": ("timeout", ModelFailure("timeout", "words")),
    "too long": ("model_error", ModelFailure("context_too_long", "words")),
    "not built": ("not_built", ModelFailure("not_built", "words", retryable=False)),
    "blank": ("empty_response", ModelReply(" \n", provider="scripted")),
}


@pytest.mark.asyncio
@pytest.mark.parametrize("what", FAILURES)
async def test_a_model_that_fails_changes_nothing(work: Workbench, what: str) -> None:
    failure_type, answer = FAILURES[what]
    work.model = ScriptedModel(answer)
    await work.open(ten())
    before = session_dump(work.data_dir)
    with pytest.raises(LithifyError) as problem:
        await work.compact()
    assert (problem.value.type, session_dump(work.data_dir)) == (failure_type, before)


@pytest.mark.asyncio
async def test_without_a_model_nothing_changes(work: Workbench) -> None:
    work.model = ModelFailure("model_unavailable", "no editor", retryable=False)
    await work.open(ten())
    before = session_dump(work.data_dir)
    with pytest.raises(LithifyError, match="no editor") as problem:
        await work.compact()
    assert (problem.value.type, problem.value.retryable) == ("model_unavailable", False)
    assert session_dump(work.data_dir) == before


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("command", "failure_type"),
    [
        ({"start": -1}, "invalid_range"),
        ({"start": 5, "end": 3}, "invalid_range"),
        ({"end": 11}, "invalid_range"),
        ({"up_to": 10}, "invalid_range"),
        ({"up_to_id": "nobody"}, "unknown_message"),
    ],
)
async def test_a_range_that_does_not_fit_changes_nothing(
    work: Workbench, command: dict[str, Any], failure_type: str
) -> None:
    await work.open(ten())
    before = session_dump(work.data_dir)
    with pytest.raises(LithifyError) as problem:
        await work.compact(**command)
    assert (problem.value.type, session_dump(work.data_dir)) == (failure_type, before)


@pytest.mark.asyncio
async def test_a_message_id_that_is_there_twice_is_told(work: Workbench) -> None:
    await work.open([{**user(), "id": "m"}, assistant(), {**user(), "id": "m"}])
    with pytest.raises(LithifyError, match=r"has 2 messages with the id 'm', at \[0, 2\]; give the index"):
        await work.compact(up_to_id="m")


@pytest.mark.asyncio
async def test_up_to_a_message_takes_it_with_it(work: Workbench) -> None:
    await work.open([{**message, "id": f"m{each}"} for each, message in enumerate(ten())])
    assert (await work.compacted(up_to_id="m4")).summarised.plan.range == Range(0, 5)


@pytest.mark.asyncio
async def test_an_agent_whose_compaction_is_off_is_told(work: Workbench) -> None:
    await work.open(ten(), agent={"compaction": {"enabled": False, "type": "kimi"}})
    before = session_dump(work.data_dir)
    with pytest.raises(LithifyError) as problem:
        await work.compact()
    assert (problem.value.type, session_dump(work.data_dir)) == ("disabled", before)


@pytest.mark.asyncio
async def test_a_preview_changes_nothing_and_asks_no_model(work: Workbench) -> None:
    work.model = model = ScriptedModel("summary")
    await work.open(ten())
    before = session_dump(work.data_dir)
    assert isinstance(await work.compactor.preview(SESSION, CompactionCommand()), Preview)
    assert (session_dump(work.data_dir), model.requests, await work.ledger()) == (before, [], [])


@pytest.mark.asyncio
async def test_a_session_that_is_not_there_is_unknown_to_every_command(work: Workbench) -> None:
    for command in (
        work.compact("nobody"),
        work.compactor.preview("nobody", CompactionCommand()),
        work.compactor.undo("nobody", None),
    ):
        with pytest.raises(LithifyError, match="there is no session 'nobody'") as problem:
            await command
        assert problem.value.type == "unknown_session"


@pytest.mark.asyncio
async def test_a_session_deleted_while_the_model_works_is_unknown(work: Workbench) -> None:
    work.model = model = GatedModel()
    await work.open(ten())
    running = asyncio.ensure_future(work.compact())
    await model.asked.wait()
    await work.thread.run(lambda store: work.bench.keeper.delete(store, SESSION))
    model.answer.set()
    with pytest.raises(LithifyError) as problem:
        await running
    assert problem.value.type == "unknown_session"


@pytest.mark.asyncio
async def test_an_undo_answers_with_the_session_as_it_is_then(work: Workbench) -> None:
    await work.open(ten())
    done = await work.compacted()
    undone = await work.compactor.undo(SESSION, done.compaction_id)
    assert (undone.compaction_id, undone.revision, undone.messages) == (done.compaction_id, 3, ten())


@pytest.mark.asyncio
async def test_without_keep_originals_an_undo_is_refused(work: Workbench) -> None:
    work.set(keepOriginals=False)
    await work.open(ten())
    await work.compacted()
    with pytest.raises(LithifyError, match="keepOriginals was off"):
        await work.compactor.undo(SESSION, None)


@pytest.mark.asyncio
async def test_after_several_compactions_in_a_row_no_call_or_result_is_alone(work: Workbench) -> None:
    chat = [user("start")]
    for each in range(8):
        chat += [user(f"q{each}"), calling("c"), result("c"), calling(f"d{each}", "e"), result("e"), result(f"d{each}")]
    await work.open(chat)
    for start, end in ((3, 8), (5, 9), (0, 6), (2, 20), (4, 9)):
        await work.compacted(start=start, end=end)
        assert orphans(await work.messages()) == []
    for _ in range(5):
        await work.compactor.undo(SESSION, None)
    assert await work.messages() == chat


# --- the ledger -----------------------------------------------------------------------------------------------


@pytest.mark.asyncio
async def test_a_model_call_is_one_line_of_the_ledger(work: Workbench) -> None:
    work.model = ScriptedModel(ModelReply("summary", "scripted", model="m1", usage=Usage(100, 20)))
    await work.open(ten())
    await work.compacted()
    ((purpose, provider, model, host, size, tokens, asked, outcome),) = await work.ledger()
    assert (purpose, provider, model, host, tokens, asked, outcome) == (
        "conversation",
        "scripted",
        "m1",
        None,
        120,
        1,
        "answered",
    )
    assert size > 100


@pytest.mark.asyncio
async def test_the_tokens_of_a_model_that_does_not_count_are_estimated(work: Workbench) -> None:
    await work.open(ten())
    await work.compacted()
    ((*_, size, tokens, _, _),) = await work.ledger()
    assert tokens == -(-size * 10 // 27) + 3


@pytest.mark.asyncio
async def test_no_line_of_the_ledger_holds_any_text(work: Workbench) -> None:
    await work.open([user("the question"), assistant("the answer"), user("next"), assistant("last")])
    await work.compacted()
    assert {word for row in await work.ledger() for word in row if isinstance(word, str)} == {
        "conversation",
        "scripted",
        "answered",
    }


@pytest.mark.asyncio
async def test_every_part_of_a_folded_conversation_is_a_line(work: Workbench) -> None:
    work.set(maxRequestTokens=200)
    work.model = model = ScriptedModel("part")
    await work.open([user("x" * 300), assistant("y" * 300)] * 4)
    await work.compacted()
    assert len(await work.ledger()) == len(model.requests) > 1


@pytest.mark.asyncio
@pytest.mark.parametrize("what", ["error", "timeout", "unavailable"])
async def test_a_call_that_failed_is_a_line_with_its_failure(work: Workbench, what: str) -> None:
    failure_type, answer = FAILURES[what]
    work.model = ScriptedModel(answer)
    await work.open(ten())
    with pytest.raises(LithifyError, match="words"):
        await work.compact()
    assert [row[-1] for row in await work.ledger()] == [failure_type]


@pytest.mark.asyncio
async def test_a_call_that_was_cancelled_is_a_line(work: Workbench) -> None:
    await work.open(ten())
    await cancelled_compaction(work)
    assert [row[-1] for row in await work.ledger()] == ["cancelled"]


@pytest.mark.asyncio
async def test_a_ledger_that_cannot_be_kept_costs_no_compaction(work: Workbench, tmp_path: Path) -> None:
    await work.open(ten())
    await work.thread.run(lambda _: _without_ledger(tmp_path))
    assert isinstance(await work.compact(), Compacted)


def _without_ledger(data_dir: Path) -> None:
    change(data_dir, "DROP TABLE model_calls")
