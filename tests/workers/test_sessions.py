"""Sessions: kept verbatim, and what is said in them recorded once."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lithify.core.outcomes import LithifyError
from lithify.storage.database import open_database
from lithify.storage.paths import database_file
from lithify.storage.store import Store
from tests.support.clock import Clock
from tests.support.messages import Message, assistant, calling, exactly, result, said, system, text, used, user, using
from tests.support.stores import SESSION, Bench, event, states

SUMMARY = "<system>Previous context has been compacted. Here is the compaction output:</system>"

ODD: dict[str, Message] = {
    "odd keys": {"role": "user", "content": "x", "jsonrpc": "2.0", "class": 1, "_meta": {}, "a-b": [], "": None},
    "order of keys": {"z": 1, "content": "x", "a": 2, "role": "user", "m": {"y": 1, "b": 2}},
    "floats": {"role": "user", "content": "x", "n": [0.1, 1.0, 1e300, -0.0, 5e-324, 123456789.123456789]},
    "large integers": {"role": "user", "content": "x", "n": [2**53 + 1, -(2**64), 10**100]},
    "astral characters": {"role": "user", "content": "\U0001f600 \U00010000 é"},
    "lone surrogates": {"role": "user", "content": "a\ud800b\udfffc", "\ud801": "\udc00\ud800"},
    "control characters": {"role": "user", "content": "\u0000\u0001\u2028\u2029\r\n\t"},
    "true, false and null": {"role": "user", "content": None, "yes": True, "no": False, "none": None, "one": 1},
    "parts": {"role": "user", "content": [*text("a", "b"), {"type": "new", "x": {"y": []}}, "odd", 3]},
    "deep nesting": {"role": "user", "content": "x", "deep": json.loads("[" * 400 + "]" * 400)},
    "private spans": {"role": "user", "content": "a <private>secret</private> b"},
}


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    yield made
    made.store.close()


def ten() -> list[Message]:
    return [user(f"question {each // 2}") if each % 2 == 0 else assistant(f"answer {each // 2}") for each in range(10)]


def texts(messages: list[Message]) -> list[str]:
    return [message["content"] for message in messages]


# --- messages stay what they are ------------------------------------------------------------------------------


@pytest.mark.parametrize("odd", ODD)
def test_a_message_comes_back_verbatim(bench: Bench, odd: str) -> None:
    bench.open([ODD[odd]])
    assert exactly(bench.messages()) == exactly([ODD[odd]])


@pytest.mark.parametrize("odd", ODD)
def test_a_message_comes_back_verbatim_after_a_restart(bench: Bench, odd: str) -> None:
    bench.open([user()])
    bench.append(ODD[odd])
    bench.restart()
    assert exactly(bench.messages()) == exactly([user(), ODD[odd]])


@pytest.mark.parametrize("odd", ODD)
def test_a_message_comes_back_verbatim_after_a_compaction_and_its_undoing(bench: Bench, odd: str) -> None:
    bench.open([user(), ODD[odd], assistant(), user()])
    bench.compact(0, 3)
    bench.restart()
    assert exactly(bench.undo().messages) == exactly([user(), ODD[odd], assistant(), user()])


def test_no_id_is_added_to_a_message(bench: Bench) -> None:
    bench.open([user("a"), {**user("b"), "id": "m2"}])
    assert ["id" in message for message in bench.messages()] == [False, True]


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_a_message_that_is_no_json_is_refused_and_changes_nothing(bench: Bench, number: float) -> None:
    bench.open(ten())
    before = bench.dump()
    for change in (bench.append, lambda message: bench.splice(0, 1, message), lambda message: bench.open([message])):
        with pytest.raises(LithifyError, match="cannot be written as JSON") as problem:
            change({**user(), "number": number})
        assert problem.value.type == "invalid_params"
    assert bench.dump() == before


def test_a_message_nested_beyond_measure_is_refused(bench: Bench) -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(LithifyError, match="nested too deeply"):
        bench.open([{**user(), "deep": deep}])
    while deep:
        deep = deep.pop()


def test_lone_surrogates_in_a_title_cost_no_session(bench: Bench) -> None:
    bench.open(ten(), title="a\ud800", compaction_model="b\ud800", surface="c\ud800", agent={"model": "d\ud800"})
    found = bench.info()
    assert (found.title, found.compaction_model, found.agent) == ("a?", "b?", {"model": "d\ud800"})


# --- opening, appending, splicing, closing, deleting ----------------------------------------------------------


def test_a_session_is_what_was_opened(bench: Bench) -> None:
    bench.open(ten())
    assert bench.messages() == ten()


def test_what_is_appended_comes_at_the_end(bench: Bench) -> None:
    bench.open(ten())
    bench.append(user("a"), assistant("b"))
    assert bench.messages() == [*ten(), user("a"), assistant("b")]


@pytest.mark.parametrize(
    ("start", "delete_count", "inserted"),
    [(0, 0, 1), (0, 1, 1), (3, 2, 0), (3, 2, 5), (9, 1, 1), (10, 0, 2), (0, 10, 0), (0, 10, 3), (4, 0, 1), (0, 3, 1)],
)
def test_a_splice_does_what_a_list_does(bench: Bench, start: int, delete_count: int, inserted: int) -> None:
    bench.open(ten())
    fresh = [user(f"fresh {each}") for each in range(inserted)]
    bench.splice(start, delete_count, *fresh)
    expected = ten()
    expected[start : start + delete_count] = fresh
    assert bench.messages() == expected


@pytest.mark.parametrize(("start", "delete_count"), [(11, 0), (0, 11), (10, 1), (-1, 1), (5, -1)])
def test_a_splice_outside_the_session_is_refused_and_changes_nothing(
    bench: Bench, start: int, delete_count: int
) -> None:
    bench.open(ten())
    before, entries = bench.dump(), bench.entries()
    with pytest.raises(LithifyError, match=r"do not fit session s1, which has 10 messages") as problem:
        bench.splice(start, delete_count, user("x"))
    assert problem.value.type == "invalid_range"
    assert (bench.dump(), bench.entries()) == (before, entries)


def test_the_counted_bytes_follow_every_change(bench: Bench) -> None:
    bench.open(ten())
    bench.splice(2, 3, user("something much longer than what was there before"))
    bench.append(calling("c1"), result("c1"))
    bench.compact(0, 4)
    bench.undo()
    known = bench.info()
    bench.open(bench.messages(), "fresh")
    assert (known.message_count, known.counted_bytes) == (
        bench.info("fresh").message_count,
        bench.info("fresh").counted_bytes,
    )


def test_a_session_that_is_closed_stays(bench: Bench) -> None:
    bench.open(ten())
    bench.keeper.close(bench.store, SESSION)
    assert (bench.info().closed, bench.messages()) == (True, ten())


def test_a_session_that_is_opened_again_is_open(bench: Bench) -> None:
    bench.open(ten())
    bench.keeper.close(bench.store, SESSION)
    bench.open(ten())
    assert not bench.info().closed


def test_a_deleted_session_leaves_nothing_of_itself(bench: Bench) -> None:
    bench.open(ten())
    bench.compact(0, 4)
    bench.compact(0, 3)
    bench.keeper.delete(bench.store, SESSION)
    assert {table for table, left in bench.dump().items() if left} == set()


def test_a_deleted_session_leaves_other_sessions_alone(bench: Bench) -> None:
    bench.open(ten(), "other")
    before = bench.dump()
    bench.open(ten())
    bench.compact(0, 4)
    bench.keeper.delete(bench.store, SESSION)
    assert bench.dump() == before


def test_the_events_of_a_deleted_session_stay(bench: Bench) -> None:
    bench.open(ten())
    bench.keeper.delete(bench.store, SESSION)
    assert (bench.said(), len(states(bench.data_dir))) == (texts(ten()), 10)


@pytest.mark.parametrize(
    "what",
    [
        lambda bench: bench.append(user()),
        lambda bench: bench.splice(0, 0, user()),
        lambda bench: bench.keeper.change(bench.store, "s1", {"title": "x"}),
        lambda bench: bench.keeper.close(bench.store, "s1"),
        lambda bench: bench.keeper.delete(bench.store, "s1"),
    ],
)
def test_a_session_that_is_not_there_is_told(bench: Bench, what: Callable[[Bench], None]) -> None:
    with pytest.raises(LithifyError, match="there is no session 's1'; open it with lithify/didOpenSession") as problem:
        what(bench)
    assert problem.value.type == "unknown_session"


def test_two_processes_that_append_to_one_session_lose_no_message(bench: Bench) -> None:
    bench.open(ten())
    other = Bench(bench.data_dir, maker_of_ids=1)
    bench.append(user("a"))
    bench.meanwhile = lambda: other.append(user("b"))
    bench.append(user("c"))
    other.store.close()
    assert texts(bench.messages())[10:] == ["a", "b", "c"]


def test_a_splice_that_does_not_fit_what_another_process_left_is_refused(bench: Bench) -> None:
    bench.open(ten())
    other = Bench(bench.data_dir, maker_of_ids=1)
    bench.meanwhile = lambda: other.splice(5, 5)
    with pytest.raises(LithifyError, match="which has 5 messages"):
        bench.splice(9, 1, user("late"))
    other.store.close()
    assert bench.messages() == ten()[:5]


def test_a_session_that_another_process_deletes_meanwhile_is_told(bench: Bench) -> None:
    bench.open(ten())
    bench.meanwhile = lambda: bench.keeper.delete(bench.store, SESSION)
    with pytest.raises(LithifyError, match="there is no session"):
        bench.append(user("late"))


# --- revisions ------------------------------------------------------------------------------------------------

CHANGES: dict[str, Callable[[Bench], object]] = {
    "append": lambda bench: bench.append(user("more")),
    "append two": lambda bench: bench.append(user("more"), user("and more")),
    "splice": lambda bench: bench.splice(1, 2, user("other")),
    "delete": lambda bench: bench.splice(1, 2),
    "open with more": lambda bench: bench.open([*ten(), user("more")]),
    "open with others": lambda bench: bench.open([user("others")]),
    "open with none": lambda bench: bench.open([]),
    "open with others and a title": lambda bench: bench.open([user("others")], title="new"),
    "open with a title": lambda bench: bench.open(ten(), title="new"),
    "open with an agent": lambda bench: bench.open(ten(), agent={"model": "new"}),
    "change": lambda bench: bench.keeper.change(bench.store, SESSION, {"title": "new", "agent": {}}),
    "compact": lambda bench: bench.compact(0, 4),
}

NO_CHANGES: dict[str, Callable[[Bench], object]] = {
    "append nothing": lambda bench: bench.append(),
    "splice nothing": lambda bench: bench.splice(3, 0),
    "splice the same": lambda bench: bench.splice(3, 2, *ten()[3:5]),
    "open the same": lambda bench: bench.open(ten()),
    "change to the same": lambda bench: bench.keeper.change(bench.store, SESSION, {"title": None}),
}


@pytest.mark.parametrize("what", CHANGES)
def test_the_revision_grows_by_one_with_every_change(bench: Bench, what: str) -> None:
    bench.open(ten())
    before = bench.info().revision
    CHANGES[what](bench)
    assert bench.info().revision == before + 1


@pytest.mark.parametrize("what", NO_CHANGES)
def test_what_changes_nothing_leaves_the_whole_session_as_it_is(bench: Bench, what: str) -> None:
    bench.open(ten())
    before = bench.dump()
    NO_CHANGES[what](bench)
    assert bench.dump() == before


def test_a_new_session_has_revision_one(bench: Bench) -> None:
    bench.open(ten())
    bench.open([], "empty")
    assert (bench.info().revision, bench.info("empty").revision) == (1, 1)


def test_to_close_and_open_a_session_again_is_no_change(bench: Bench) -> None:
    bench.open(ten())
    bench.keeper.close(bench.store, SESSION)
    bench.open(ten())
    assert bench.info().revision == 1


def test_an_undo_is_a_change(bench: Bench) -> None:
    bench.open(ten())
    bench.compact(0, 4)
    assert (bench.undo().revision, bench.info().revision) == (3, 3)


# --- what a client says of a session --------------------------------------------------------------------------


def test_a_change_sets_what_it_names_and_leaves_the_rest(bench: Bench) -> None:
    bench.open(ten(), title="old", agent={"model": "m", "odd": [1.0]}, compaction_model="c")
    bench.keeper.change(bench.store, SESSION, {"title": "new"})
    found = bench.info()
    assert (found.title, found.agent, found.compaction_model) == ("new", {"model": "m", "odd": [1.0]}, "c")


def test_null_clears(bench: Bench) -> None:
    bench.open(ten(), title="old", agent={}, compaction_model="c")
    bench.keeper.change(bench.store, SESSION, {"title": None, "agent": None, "compaction_model": None})
    found = bench.info()
    assert (found.title, found.agent, found.compaction_model) == (None, None, None)


def test_opening_again_replaces_all_that_was_said_of_a_session(bench: Bench) -> None:
    bench.open(ten(), title="old", agent={}, compaction_model="c", record="all")
    bench.open(ten(), title="new")
    found = bench.info()
    assert (found.title, found.agent, found.compaction_model, found.record) == ("new", None, None, None)


def test_a_session_is_kept_over_a_restart(bench: Bench) -> None:
    bench.open(ten(), title="title", agent={"model": "m"})
    before = bench.info()
    bench.restart()
    assert bench.info() == before


def test_sessions_are_listed_by_last_use(bench: Bench) -> None:
    for session_id in ("a", "b", "c"):
        bench.open(ten(), session_id)
    bench.append(user(), session_id="a")
    assert [one.session_id for one in bench.store.sessions.recent(None, 10, None)] == ["a", "c", "b"]


def test_the_list_goes_on_after_any_session(bench: Bench) -> None:
    for session_id in ("a", "b", "c"):
        bench.open([], session_id)
    (first,) = bench.store.sessions.recent(None, 1, None)
    after = (first.updated_at, first.session_id)
    assert [one.session_id for one in bench.store.sessions.recent(None, 10, after)] == ["b", "a"]


def test_sessions_can_be_listed_for_one_project(bench: Bench) -> None:
    bench.open([], "a")
    other = Bench(bench.data_dir, root="/elsewhere")
    other.open([], "b")
    other.store.close()
    assert [one.session_id for one in bench.store.sessions.recent(bench.project.project_id, 10, None)] == ["a"]


# --- what is said becomes events ------------------------------------------------------------------------------


def test_ten_messages_opened_reopened_appended_compacted_undone_and_restarted_are_each_said_once(bench: Bench) -> None:
    messages = [user("a <private>secret</private> b"), *ten()[1:]]
    bench.open(messages)
    bench.open(messages)
    bench.append(user("the eleventh"))
    bench.compact(0, 6)
    bench.open(bench.messages())
    bench.undo()
    bench.restart()
    bench.open(bench.messages())
    assert bench.said() == ["a [REDACTED] b", *texts(ten())[1:], "the eleventh"]
    assert bench.messages() == [*messages, user("the eleventh")]


def test_with_record_none_nothing_is_recorded(bench: Bench) -> None:
    bench.open(ten(), record="none")
    bench.append(user("more"), calling("c"), result("c"))
    bench.compact(0, 6)
    bench.undo()
    assert (bench.entries(), states(bench.data_dir)) == ([], {})


def test_the_record_of_a_session_wins_over_the_setting(tmp_path: Path) -> None:
    bench = Bench(tmp_path, {"sessions": {"record": "none"}})
    bench.open(ten())
    bench.open([user("recorded")], "other", record="turns")
    said_there = bench.said()
    bench.store.close()
    assert said_there == ["recorded"]


def test_a_user_message_is_a_prompt_and_an_assistant_message_a_note(bench: Bench) -> None:
    bench.open([user("a"), assistant("b")])
    assert bench.turns() == [("prompt", "a"), ("note", "b")]


def test_an_event_of_a_session_says_where_it_came_from(bench: Bench) -> None:
    bench.open([user("a")], surface="zed")
    (entry,) = bench.entries()
    assert (entry["surface"], entry["namespace"]) == ("zed", f"/actor/ann/project/{bench.project.project_id}/")
    assert entry["body"] == {"type": "message", "turns": [{"role": "user", "content": "a"}]}


def test_the_text_parts_of_a_message_are_joined_by_newlines(bench: Bench) -> None:
    parts = [*text("a"), {"type": "think", "think": "hm"}, {"type": "image_url", "image_url": {}}, *text("b")]
    bench.open([said("user", parts)])
    assert bench.said() == ["a\nb"]


@pytest.mark.parametrize(
    "message",
    [
        system(),
        said("developer", "rules"),
        user(f"{SUMMARY}\nwhat was done"),
        said("user", text(SUMMARY, "what was done")),
        user(""),
        user(" \n\t "),
        said("assistant", None),
        said("user", []),
        said("assistant", [{"type": "think", "think": "hm"}]),
        result("c", "output"),
    ],
)
def test_what_nobody_said_is_never_recorded(bench: Bench, message: Message) -> None:
    bench.open([message], record="all")
    assert bench.entries() == []


def test_a_summary_that_a_compaction_made_is_never_recorded(bench: Bench) -> None:
    bench.open(ten())
    bench.compact(0, 6)
    bench.open([*bench.messages(), user("more")])
    bench.splice(0, 1, *bench.messages()[:1], user("even more"))
    assert bench.said() == [*texts(ten()), "more", "even more"]


def test_identical_texts_said_twice_are_two_events(bench: Bench) -> None:
    bench.open([user("continue"), assistant("done"), user("continue")])
    bench.append(assistant("done"))
    assert bench.said() == ["continue", "done", "continue", "done"]


def test_a_text_said_again_after_it_was_compacted_is_another_event(bench: Bench) -> None:
    bench.open([user("continue"), assistant("done"), user("thanks")])
    bench.compact(0, 2)
    bench.append(user("continue"))
    assert bench.said().count("continue") == 2


def test_a_text_said_again_after_an_undo_is_another_event(bench: Bench) -> None:
    bench.open([user("continue"), assistant("done"), user("thanks")])
    bench.compact(0, 2)
    bench.open([*bench.messages()[:1], user("thank you")])
    bench.undo()
    bench.append(user("continue"))
    assert bench.said().count("continue") == 2


def test_the_same_text_in_two_sessions_is_two_events(bench: Bench) -> None:
    bench.open([user("a")])
    bench.open([user("a")], "other")
    assert bench.said() == ["a", "a"]


# --- nothing is recorded twice --------------------------------------------------------------------------------


def test_an_edit_records_the_new_text_only(bench: Bench) -> None:
    bench.open(ten())
    bench.splice(4, 1, user("edited"))
    assert bench.said() == [*texts(ten()), "edited"]


def test_an_edit_that_is_taken_back_records_nothing(bench: Bench) -> None:
    bench.open(ten())
    bench.splice(4, 1, user("edited"))
    bench.splice(4, 1, ten()[4])
    assert bench.said() == [*texts(ten()), "edited"]


def test_a_rewind_records_nothing(bench: Bench) -> None:
    bench.open(ten())
    bench.splice(4, 6)
    assert bench.said() == texts(ten())


def test_the_same_answer_generated_again_is_recorded_once(bench: Bench) -> None:
    bench.open(ten())
    bench.splice(9, 1)
    bench.append(ten()[9])
    assert bench.said() == texts(ten())


def test_another_answer_generated_is_recorded(bench: Bench) -> None:
    bench.open(ten())
    bench.splice(9, 1, assistant("another"))
    assert bench.said() == [*texts(ten()), "another"]


def test_a_splice_over_all_messages_records_only_what_is_new(bench: Bench) -> None:
    bench.open(ten())
    bench.splice(0, 10, system(), *ten(), user("new"))
    assert bench.said() == [*texts(ten()), "new"]


def test_opening_with_others_records_only_what_is_new(bench: Bench) -> None:
    bench.open(ten())
    bench.open([system(), *ten()[:6], user("new")])
    assert bench.said() == [*texts(ten()), "new"]


def test_originals_that_the_client_itself_puts_back_are_not_recorded_again(bench: Bench) -> None:
    bench.open(ten())
    bench.compact(0, 6)
    bench.splice(0, 1, *ten()[:6])
    assert bench.said() == texts(ten())


def test_originals_of_two_compactions_that_the_client_puts_back_are_not_recorded_again(bench: Bench) -> None:
    bench.open(ten())
    bench.compact(0, 4)
    bench.compact(0, 3)
    bench.splice(0, 1, *ten()[:6])
    assert bench.said() == texts(ten())


def test_opening_with_the_originals_after_a_compaction_records_nothing(bench: Bench) -> None:
    bench.open(ten())
    bench.compact(0, 6)
    bench.open(ten())
    assert bench.said() == texts(ten())


def test_another_process_records_nothing_again(bench: Bench) -> None:
    bench.open(ten())
    other = Bench(bench.data_dir, maker_of_ids=1)
    other.open(ten())
    other.store.close()
    assert bench.said() == texts(ten())


def test_a_message_that_keeps_its_id_and_gets_another_text_is_recorded(bench: Bench) -> None:
    bench.open([{**user("a"), "id": "m1"}])
    bench.splice(0, 1, {**user("b"), "id": "m1"})
    assert bench.said() == ["a", "b"]


# --- what is not recorded stays so ----------------------------------------------------------------------------


def test_what_was_said_while_recording_was_paused_is_not_recorded_later(bench: Bench) -> None:
    bench.store.events.set_recording(bench.project, False)
    bench.open(ten())
    bench.store.events.set_recording(bench.project, True)
    bench.open([system(), *ten(), user("after")])
    assert bench.said() == ["after"]


def test_what_was_said_with_record_none_is_not_recorded_later(bench: Bench) -> None:
    bench.open(ten(), record="none")
    bench.open([system(), *ten(), user("after")], record="turns")
    assert bench.said() == ["after"]


def test_a_message_over_a_mebibyte_is_not_recorded_and_costs_no_other(bench: Bench) -> None:
    bench.open([user("a"), user("x" * 1_100_000), user("b")])
    assert (bench.said(), len(bench.messages())) == (["a", "b"], 3)


# --- record all -----------------------------------------------------------------------------------------------


def test_a_tool_call_with_its_result_is_one_event(bench: Bench) -> None:
    bench.open([user("list"), calling("c1"), result("c1", "a.py")], record="all")
    assert bench.tool_uses() == [
        {"tool_name": "shell", "tool_input": {"command": "ls"}, "tool_response": "a.py"},
    ]


def test_a_tool_call_whose_result_comes_later_is_recorded_with_it(bench: Bench) -> None:
    bench.open([user("list"), calling("c1")], record="all")
    before = bench.tool_uses()
    bench.append(result("c1", "a.py"))
    assert (before, [one["tool_response"] for one in bench.tool_uses()]) == ([], ["a.py"])


def test_a_tool_call_in_parts_is_one_event(bench: Bench) -> None:
    bench.open([user("list"), using("t1"), used("t1")], record="all")
    assert [one["tool_response"] for one in bench.tool_uses()] == ["output"]


def test_each_call_of_a_message_is_an_event(bench: Bench) -> None:
    bench.open([calling("c1", "c2"), result("c1", "one"), result("c2", "two")], record="all")
    assert [one["tool_response"] for one in bench.tool_uses()] == ["one", "two"]


def test_a_call_without_a_result_is_no_event(bench: Bench) -> None:
    bench.open([calling("c1"), user("stop")], record="all")
    assert bench.tool_uses() == []


def test_with_record_turns_no_tool_call_is_recorded(bench: Bench) -> None:
    bench.open([user("list"), calling("c1"), result("c1")])
    assert bench.tool_uses() == []


def test_a_tool_use_is_recorded_once_however_often_its_session_is_opened(bench: Bench) -> None:
    messages = [user("list"), calling("c1"), result("c1", "a.py")]
    for _ in range(3):
        bench.open(messages, record="all")
    bench.open([system(), *messages], record="all")
    assert len(bench.tool_uses()) == 1


def test_a_tool_use_that_is_spliced_out_and_in_again_is_recorded_once(bench: Bench) -> None:
    bench.open([user("list"), calling("c1"), result("c1", "a.py")], record="all")
    bench.splice(1, 2)
    bench.append(calling("c1"), result("c1", "a.py"))
    bench.splice(2, 1)
    bench.append(result("c1", "a.py"))
    assert len(bench.tool_uses()) == 1


def test_another_result_of_the_same_call_is_another_event(bench: Bench) -> None:
    bench.open([calling("c1"), result("c1", "a.py")], record="all")
    bench.splice(1, 1, result("c1", "b.py"))
    assert [one["tool_response"] for one in bench.tool_uses()] == ["a.py", "b.py"]


def test_the_same_tool_used_twice_with_repeating_ids_is_two_events(bench: Bench) -> None:
    bench.open([calling("c1"), result("c1", "a"), calling("c1"), result("c1", "a")], record="all")
    assert len(bench.tool_uses()) == 2


def test_a_tool_use_is_scrubbed(bench: Bench) -> None:
    bench.open([calling("c1"), result("c1", "<private>x</private>")], record="all")
    assert bench.tool_uses()[0]["tool_response"] == "[REDACTED]"


def test_a_tool_use_that_names_an_excluded_path_is_not_recorded(bench: Bench) -> None:
    call = {"id": "c1", "function": {"name": "Read", "arguments": '{"path": ".env"}'}}
    bench.open([said("assistant", "reading", tool_calls=[call]), result("c1", "KEY=1")], record="all")
    assert (bench.tool_uses(), bench.said()) == ([], ["reading"])


# --- a session and its events change together -----------------------------------------------------------------


def test_events_of_a_session_wait_in_order_at_the_ceiling(tmp_path: Path) -> None:
    bench = Bench(tmp_path, {"buffer": {"ceilingBytes": 1024}})
    bench.open(ten())
    entered = len(bench.entries())
    bench.store.events.feed(bench.project.project_id, 1 << 20)
    assert (0 < entered < 10, bench.said()) == (True, texts(ten()))
    bench.store.close()


def test_an_event_sent_by_the_editor_keeps_its_place_among_the_turns(bench: Bench) -> None:
    bench.open([user("a")])
    bench.store.events.accept([event("E1", project_id=bench.project.project_id)], 1 << 20)
    bench.append(assistant("b"))
    assert [entry["event_id"] == "E1" for entry in bench.entries()] == [False, True, False]


def test_a_project_is_told_of_what_is_said_in_it(bench: Bench) -> None:
    bench.open(ten())
    assert set(bench.changed) == {bench.project}


# --- large sessions -------------------------------------------------------------------------------------------


def test_to_append_a_message_costs_the_same_however_long_the_session_is(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.store.close()
    connection = open_database(database_file(tmp_path))
    bench.store = Store(connection, tmp_path, Clock())
    bench.open([user(f"message {each}") for each in range(3000)], "long")
    bench.open([user("message")], "short")
    cost = {}
    for session_id in ("short", "long"):
        cost[session_id] = steps(connection, bench, session_id)
    bench.store.close()
    assert cost["long"] < cost["short"] + 100


def steps(connection: sqlite3.Connection, bench: Bench, session_id: str) -> int:
    """How many steps SQLite takes for one more message, to the nearest 10."""
    taken = [0]

    def step() -> int:
        taken[0] += 10
        return 0

    connection.set_progress_handler(step, 10)
    bench.append(user("one more"), session_id=session_id)
    connection.set_progress_handler(None, 0)
    return taken[0]
