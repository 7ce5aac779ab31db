"""Drafts of compactions: kept, edited, applied, discarded."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from lithify.core.agents import CompactionCommand
from lithify.core.conversation import Noop, Range
from lithify.core.messages import estimate_tokens
from lithify.core.model_calls import ModelFailure, ModelReply
from lithify.core.outcomes import LithifyError
from lithify.workers.drafts import Draft, Drafts
from lithify.workers.session_compaction import Compacted
from tests.support.messages import assistant, calling, result, said, system, text, user
from tests.support.scripted_model import ScriptedModel
from tests.support.stores import SESSION, session_dump
from tests.support.workbench import PREFIX, GatedModel, Hold, Workbench, summary, ten

pytestmark = pytest.mark.asyncio


@pytest_asyncio.fixture
async def work(tmp_path: Path) -> AsyncIterator[Workbench]:
    made = Workbench(tmp_path)
    yield made
    assert made.thread.close(10)


async def applied(work: Workbench, draft: Draft, words: str | None = None) -> Compacted:
    return await work.compactor.apply_draft(draft.draft_id, words)


async def refused(work: Workbench, draft: Draft, words: str | None = None) -> LithifyError:
    """The failure of applying a draft, which must leave the session as it is, and the draft there."""
    before = session_dump(work.data_dir)
    with pytest.raises(LithifyError) as problem:
        await applied(work, draft, words)
    assert session_dump(work.data_dir) == before
    assert work.compactor.drafts.found(draft.draft_id) == draft
    return problem.value


async def is_unknown(work: Workbench, draft: Draft) -> None:
    """Fails unless a draft can neither be applied nor discarded."""
    for tried in (work.compactor.apply_draft(draft.draft_id, None), _discarding(work, draft)):
        with pytest.raises(LithifyError, match=f"there is no draft '{draft.draft_id}'") as problem:
            await tried
        assert (problem.value.type, problem.value.retryable) == ("unknown_draft", False)


async def _discarding(work: Workbench, draft: Draft) -> None:
    work.compactor.discard_draft(draft.draft_id)


# --- made -----------------------------------------------------------------------------------------------------


async def test_a_draft_changes_nothing(work: Workbench) -> None:
    await work.open(ten())
    before = session_dump(work.data_dir)
    drafted = await work.draft()
    assert session_dump(work.data_dir) == before
    assert (drafted.summarised.summary, drafted.summarised.plan.range) == (summary(), Range(0, 8))


async def test_the_call_of_a_draft_is_one_line_of_the_ledger_and_applying_it_none(work: Workbench) -> None:
    await work.open(ten())
    drafted = await work.draft()
    await applied(work, drafted)
    assert [(row[0], row[-2], row[-1]) for row in await work.ledger()] == [("conversation", 1, "answered")]


async def test_a_draft_of_nothing_is_a_no_op_and_asks_no_model(work: Workbench) -> None:
    await work.open(ten())
    drafted = await work.compactor.draft(SESSION, CompactionCommand(start=10), lambda _: None)
    assert (drafted, await work.ledger()) == (Noop("empty"), [])


async def test_a_model_that_fails_makes_no_draft(work: Workbench) -> None:
    work.model = ScriptedModel(ModelFailure("model_error", "words"))
    await work.open(ten())
    before = session_dump(work.data_dir)
    with pytest.raises(LithifyError, match="words"):
        await work.draft()
    assert session_dump(work.data_dir) == before


async def test_a_draft_that_is_cancelled_changes_nothing(work: Workbench) -> None:
    work.model = model = GatedModel()
    await work.open(ten())
    before = session_dump(work.data_dir)
    running = asyncio.ensure_future(work.draft())
    await model.asked.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert [row[-1] for row in await work.ledger()] == ["cancelled"]
    assert session_dump(work.data_dir) == before


# --- applied --------------------------------------------------------------------------------------------------


async def test_an_applied_draft_is_the_compaction_it_showed(work: Workbench) -> None:
    await work.open(ten())
    drafted = await work.draft(start=2, end=6)
    done = await applied(work, drafted)
    assert done.changed.messages == await work.messages() == [*ten()[:2], summary(), *ten()[6:]]
    assert done.summarised == drafted.summarised
    assert (done.session_id, done.changed.revision) == (SESSION, 2)


async def test_an_applied_draft_can_be_undone(work: Workbench) -> None:
    await work.open([system(), *ten()])
    done = await applied(work, await work.draft(), "edited")
    undone = await work.compactor.undo(SESSION, None)
    assert (undone.compaction_id, undone.messages) == (done.compaction_id, [system(), *ten()])


async def test_an_edit_stands_in_the_place_of_the_models_text(work: Workbench) -> None:
    await work.open(ten())
    await applied(work, await work.draft(), " an edit\n")
    assert (await work.messages())[0] == summary(" an edit\n")


async def test_an_edit_is_the_second_part_where_the_summary_has_two(work: Workbench) -> None:
    await work.open([said("user", text("question")), assistant(), user(), assistant()])
    await applied(work, await work.draft(), "an edit")
    assert (await work.messages())[0] == said("user", text(PREFIX, "an edit"))


async def test_the_figures_of_an_applied_draft_are_those_of_the_session_then(work: Workbench) -> None:
    await work.open([system(), *ten()])
    drafted = await work.draft(end=5)
    await work.splice(9, 2, user("m" * 270))
    done = await applied(work, drafted, "an edit")
    before = [system(), *ten()[:8], user("m" * 270)]
    after = [system(), summary("an edit"), *before[5:]]
    stats = done.summarised.stats
    assert done.changed.messages == after
    assert (stats.messages_before, stats.messages_after) == (len(before), len(after))
    assert (stats.tokens_before, stats.tokens_after) == (estimate_tokens(before), estimate_tokens(after))
    assert stats.duration_ms == drafted.summarised.stats.duration_ms
    (listed,) = await work.thread.run(lambda store: store.compactions.of_session(SESSION))
    assert listed.stats == asdict(stats)


async def test_what_was_appended_since_is_kept_after_the_tail(work: Workbench) -> None:
    await work.open(ten())
    drafted = await work.draft()
    await work.append(user("since"))
    assert (await applied(work, drafted)).changed.messages == [summary(), *ten()[8:], user("since")]


async def test_a_change_in_the_tail_is_kept(work: Workbench) -> None:
    await work.open(ten())
    drafted = await work.draft()
    await work.splice(8, 2, user("another tail"))
    assert (await applied(work, drafted)).changed.messages == [summary(), user("another tail")]


async def test_a_session_opened_again_with_the_same_messages_still_takes_the_draft(work: Workbench) -> None:
    await work.open(ten())
    drafted = await work.draft()
    await work.thread.run(lambda store: work.bench.keeper.delete(store, SESSION))
    await work.open(ten())
    assert (await applied(work, drafted)).changed.messages == [summary(), *ten()[8:]]


async def test_drafts_of_ranges_that_do_not_meet_can_both_be_applied_the_later_first(work: Workbench) -> None:
    await work.open(ten())
    early, late = await work.draft(start=0, end=4), await work.draft(start=4, end=8)
    await applied(work, late, "late")
    await applied(work, early, "early")
    assert await work.messages() == [summary("early"), summary("late"), *ten()[8:]]


# --- what is warned of ----------------------------------------------------------------------------------------


def codes(done: Compacted | Draft) -> set[str]:
    return {one.code for one in done.summarised.warnings}


async def test_what_was_said_of_the_models_text_is_not_said_of_an_edit(work: Workbench) -> None:
    picture = said("user", [*text("o" * 5000), {"type": "image_url", "image_url": {"url": "x"}}])
    work.model = ScriptedModel(ModelReply("[what was done] " + "x" * 9999, "scripted", stop_reason="max_tokens"))
    await work.open([picture, *ten()])
    drafted = await work.draft()
    about_text = {"missing_sections", "echoed_template", "cut_off", "not_smaller"}
    assert codes(drafted) == about_text | {"media_dropped"}
    assert codes(await applied(work, drafted, "an edit")) == {"media_dropped"}


@pytest.mark.parametrize("words", [None, "summary"])
async def test_what_was_said_of_the_models_text_stays_where_it_is_applied(work: Workbench, words: str | None) -> None:
    await work.open(ten())
    drafted = await work.draft()
    assert codes(await applied(work, drafted, words)) == codes(drafted) >= {"missing_sections"}


async def test_an_edit_that_is_not_smaller_is_told(work: Workbench) -> None:
    await work.open(ten())
    done = await applied(work, await work.draft(), "x" * 999)
    (told,) = done.summarised.warnings
    stats = done.summarised.stats
    assert told.code == "not_smaller"
    assert f"({stats.tokens_before} tokens before, {stats.tokens_after} after)" in told.message


@pytest.mark.parametrize(("limit", "is_refused"), [(1, True), (0, False), (10_000, False)])
async def test_an_edit_of_a_large_range_that_is_not_smaller_is_refused(
    work: Workbench, limit: int, is_refused: bool
) -> None:
    await work.open([user("o" * 900), *ten()])
    drafted = await work.draft()
    work.set(refuseLargerFrom=limit)
    if is_refused:
        assert (await refused(work, drafted, "x" * 9999)).type == "not_smaller"
        await applied(work, drafted, "shorter")
    else:
        assert codes(await applied(work, drafted, "x" * 9999)) == {"not_smaller"}


# --- refused --------------------------------------------------------------------------------------------------

Change = Callable[[Workbench], Coroutine[Any, Any, object]]

STALE: dict[str, Change] = {
    "a message inside is edited": lambda work: work.splice(3, 1, user("edited")),
    "a message inside is deleted": lambda work: work.splice(3, 1),
    "it is shifted down": lambda work: work.splice(0, 0, user("inserted")),
    "it is shifted up": lambda work: work.splice(0, 1),
    "it is cut off": lambda work: work.splice(4, 6),
    "the session is replaced": lambda work: work.open([user("others")] * 10),
    "a compaction lands in it": lambda work: work.compact(start=4, end=7),
}


@pytest.mark.parametrize("what", STALE)
async def test_a_draft_whose_range_changed_is_stale_and_stays(work: Workbench, what: str) -> None:
    await work.open(ten())
    drafted = await work.draft(start=2, end=6)
    await STALE[what](work)
    problem = await refused(work, drafted, "edited")
    assert (problem.type, problem.retryable) == ("stale", False)
    assert "This draft no longer fits the chat: its messages 2 to 5" in problem.message


async def test_a_draft_fits_again_when_the_change_is_taken_back(work: Workbench) -> None:
    await work.open(ten())
    drafted = await work.draft()
    await work.compacted(start=0, end=4)
    await refused(work, drafted)
    await work.compactor.undo(SESSION, None)
    assert (await applied(work, drafted)).changed.messages == [summary(), *ten()[8:]]


async def test_a_late_result_of_a_call_in_the_range_makes_the_draft_stale(work: Workbench) -> None:
    await work.open([user(), calling("c1")])
    drafted = await work.draft(end=2)
    await work.append(result("c1"))
    assert (await refused(work, drafted)).type == "stale"


async def test_the_draft_of_an_exact_range_takes_a_late_result(work: Workbench) -> None:
    await work.open([user(), calling("c1")])
    drafted = await work.draft(end=2, exact=True)
    await work.append(result("c1"))
    assert (await applied(work, drafted)).changed.messages == [(await work.messages())[0], result("c1")]


async def test_the_draft_of_a_session_that_was_deleted_meets_an_unknown_session(work: Workbench) -> None:
    await work.open(ten())
    drafted = await work.draft()
    await work.thread.run(lambda store: work.bench.keeper.delete(store, SESSION))
    assert (await refused(work, drafted)).type == "unknown_session"


async def test_a_draft_is_not_applied_where_compaction_was_switched_off(work: Workbench) -> None:
    await work.open(ten())
    drafted = await work.draft()
    await work.open(ten(), agent={"compaction": {"enabled": False, "type": "kimi"}})
    assert (await refused(work, drafted)).type == "disabled"


@pytest.mark.parametrize("ended", ["applied", "discarded", "never made"])
async def test_a_draft_that_is_used_up_is_unknown(work: Workbench, ended: str) -> None:
    await work.open(ten())
    drafted = await work.draft()
    if ended == "applied":
        await applied(work, drafted)
    elif ended == "discarded":
        work.compactor.discard_draft(drafted.draft_id)
    else:
        drafted = replace(drafted, draft_id="X")
    before = session_dump(work.data_dir)
    await is_unknown(work, drafted)
    assert session_dump(work.data_dir) == before


async def test_an_applied_draft_stays_used_up_after_the_undo(work: Workbench) -> None:
    await work.open(ten())
    drafted = await work.draft()
    await applied(work, drafted)
    await work.compactor.undo(SESSION, None)
    await is_unknown(work, drafted)


# --- one at a time --------------------------------------------------------------------------------------------


async def test_while_a_draft_is_made_all_else_of_the_session_is_busy(work: Workbench) -> None:
    await work.open(ten())
    earlier = await work.draft()
    work.model = model = GatedModel()
    running = asyncio.ensure_future(work.draft())
    await model.asked.wait()
    for tried in (work.draft(), work.compact(), applied(work, earlier), work.compactor.undo(SESSION, None)):
        with pytest.raises(LithifyError, match="A compaction of this chat is") as problem:
            await tried
        assert (problem.value.type, problem.value.retryable) == ("busy", True)
    model.answer.set()
    await running
    await applied(work, earlier)


async def test_a_draft_can_be_discarded_while_another_is_made(work: Workbench) -> None:
    await work.open(ten())
    earlier = await work.draft()
    work.model = model = GatedModel()
    running = asyncio.ensure_future(work.draft())
    await model.asked.wait()
    work.compactor.discard_draft(earlier.draft_id)
    model.answer.set()
    await applied(work, await running)
    await is_unknown(work, earlier)


async def test_while_a_draft_is_applied_it_cannot_be_applied_or_discarded(work: Workbench) -> None:
    await work.open(ten())
    drafted = await work.draft()
    hold = Hold(work)
    running = asyncio.ensure_future(applied(work, drafted))
    await asyncio.sleep(0)
    failures = await asyncio.gather(applied(work, drafted), _discarding(work, drafted), return_exceptions=True)
    hold.release()
    await running
    assert [one.type for one in failures if isinstance(one, LithifyError)] == ["busy", "busy"]
    await is_unknown(work, drafted)


@pytest.mark.parametrize("ending", ["draft", "failure", "cancel"])
async def test_after_a_draft_the_session_can_be_compacted(work: Workbench, ending: str) -> None:
    await work.open(ten())
    if ending == "draft":
        await work.draft()
    elif ending == "failure":
        work.model = ModelFailure("model_unavailable", "none")
        with pytest.raises(LithifyError, match="none"):
            await work.draft()
    else:
        work.model = model = GatedModel()
        running = asyncio.ensure_future(work.draft())
        await model.asked.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    work.model = ScriptedModel("summary")
    await work.compacted()


# --- how many are kept ----------------------------------------------------------------------------------------


async def kept(work: Workbench, drafts: Drafts, *characters: int) -> list[int]:
    """The sizes of the drafts that are still there after some of these sizes were made, the oldest first."""
    await work.open(ten())
    made = await work.draft()
    sized = [replace(made, draft_id=str(number), characters=size) for number, size in enumerate(characters)]
    for draft in sized:
        drafts.keep(draft)
    return [draft.characters for draft in sized if is_there(drafts, draft)]


def is_there(drafts: Drafts, draft: Draft) -> bool:
    try:
        return drafts.found(draft.draft_id) == draft
    except LithifyError:
        return False


async def test_the_oldest_draft_makes_room_for_a_new_one(work: Workbench) -> None:
    assert await kept(work, Drafts(), *range(34)) == list(range(2, 34))


async def test_a_draft_that_was_discarded_takes_no_room(work: Workbench) -> None:
    drafts = Drafts(most=2)
    await kept(work, drafts, 1, 2)
    drafts.forget("1")
    drafts.keep(replace(drafts.found("0"), draft_id="2"))
    assert [drafts.found(one).draft_id for one in ("0", "2")] == ["0", "2"]


async def test_long_conversations_make_room_sooner(work: Workbench) -> None:
    assert await kept(work, Drafts(most_characters=10), 3, 3, 4, 5) == [4, 5]


async def test_the_newest_draft_is_kept_whatever_its_size(work: Workbench) -> None:
    assert await kept(work, Drafts(most_characters=10), 3, 99) == [99]


async def test_a_draft_knows_how_long_its_conversation_is(work: Workbench) -> None:
    await work.open([user("o" * 5000), *ten()])
    assert 5000 < (await work.draft()).characters < 6000
