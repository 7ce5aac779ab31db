"""kimi-code's session file: the context it would send again, and the one record a compaction appends."""

from __future__ import annotations

import json
import re
import time
from typing import Any

import pytest

from lithify.core.messages import text_of
from lithify.core.outcomes import LithifyError
from lithify.transcripts import kimi_code
from lithify.transcripts.model import Problem
from lithify.transcripts.registry import recognise
from tests.support import kimi_code_loader
from tests.transcripts.agent_records import (
    KIMI_METADATA,
    SUMMARY,
    Json,
    compacted,
    kimi_counted,
    kimi_event,
    kimi_message,
    kimi_reminder,
    kimi_step,
    kimi_text,
    kimi_user,
    lines,
)
from tests.transcripts.rewriting import STAMP

THOUGHT = {"type": "think", "think": "Hm.", "reasoningKey": "reasoning_content"}
CHAT_RECORDS = [
    {"type": "turn.prompt", "agentId": "main", "input": [], "time": 1},
    kimi_user("List 日本", id="msg_1"),
    kimi_reminder("<system-reminder>\nIt is Monday.\n</system-reminder>"),
    *kimi_step("s1", kimi_text("I look. 😀"), calls=("a", "b"), results=("b", "a")),
    *kimi_step("s2", THOUGHT, kimi_text("Two files")),
    kimi_user("Thanks", id="msg_2"),
    *kimi_step("s3", kimi_text("Bye")),
    {"type": "agent.turn.ended", "turnId": 0, "time": 2, "kind": "event"},
    kimi_counted(8),
]


def session(*records: Json, ending: str = "\n") -> str:
    return lines(KIMI_METADATA, *records, ending=ending)


CHAT = session(*CHAT_RECORDS)


def words(text: str) -> list[str]:
    """Role and text of each message."""
    return [f"{message['role']}: {text_of(message)}" for message in kimi_code.parse(text).conversation]


def context(text: str) -> list[Json]:
    """What kimi-code sends."""
    return kimi_code_loader.load(text.encode()).context


def why_not(text: str) -> str:
    """Why the file is read-only."""
    parsed = kimi_code.parse(text)
    assert not parsed.writable
    assert parsed.read_only_reason
    with pytest.raises(LithifyError, match=re.escape(parsed.read_only_reason)):
        kimi_code.write(text, parsed, 0, 1, SUMMARY, STAMP)
    return parsed.read_only_reason


def test_a_step_is_one_message_in_the_places_of_its_events_and_each_result_one_more() -> None:
    parsed = kimi_code.parse(CHAT)
    assert [one.split(":")[0] for one in words(CHAT)] == [
        *("user", "user", "assistant", "tool", "tool", "assistant", "user", "assistant")
    ]
    called = parsed.messages[2]
    assert [one["id"] for one in called.message["tool_calls"]] == ["a", "b"]
    assert [json.loads(CHAT[start:end])["event"]["type"] for start, end in called.more] == [
        *("content.part", "tool.call", "tool.call")
    ]
    assert [message.get("tool_call_id") for message in parsed.conversation[3:5]] == ["b", "a"]
    assert parsed.conversation[5]["content"][0] == THOUGHT
    assert len(context(CHAT)) == len(parsed.messages)


def test_what_is_said_while_calls_are_unanswered_comes_behind_their_results() -> None:
    begin, call, result, end = kimi_step("s", calls=("a",), results=("a",))
    text = session(kimi_user("1"), begin, call, kimi_user("meanwhile"), result, end)
    assert words(text) == ["user: 1", "assistant: ", "tool: of a", "user: meanwhile"]
    assert [message["role"] for message in context(text)] == ["user", "assistant", "tool", "user"]


def test_an_interrupted_call_is_answered_when_the_next_step_begins() -> None:
    begin, call, *_ = kimi_step("s", calls=("a",))
    text = session(kimi_user("1"), begin, call, kimi_user("2"), *kimi_step("t", kimi_text("on")), kimi_counted(5))
    assert [one.split(":")[0] for one in words(text)] == ["user", "assistant", "tool", "user", "assistant"]
    assert [message["role"] for message in context(text)] == ["user", "assistant", "tool", "user", "assistant"]
    compacted(kimi_code, text, 3)


def test_a_step_that_says_nothing_is_no_message() -> None:
    text = session(kimi_user("1"), *kimi_step("s", kimi_text(" ")), *kimi_step("t", kimi_text("on")))
    assert words(text) == ["user: 1", "assistant: on"]
    assert len(context(text)) == 2


def test_an_undo_takes_back_the_last_prompts_and_no_more_than_there_are() -> None:
    chat = [
        kimi_user("1"),
        *kimi_step("s", kimi_text("a")),
        kimi_reminder("r"),
        kimi_user("2"),
        kimi_message("x", "assistant"),
    ]
    for count, left in ((1, 3), (2, 0), (3, 5)):
        text = session(*chat, {"type": "context.undo", "agentId": "main", "count": count, "time": 1})
        assert len(kimi_code.parse(text).messages) == left == len(context(text))
        assert sum(fold.messages for fold in kimi_code.parse(text).folds) == 5 - left


def test_a_prompt_that_is_undone_takes_its_own_reminders_along() -> None:
    owned = kimi_message("r", origin={"kind": "injection", "ownerPromptId": "msg_1"})
    undo = {"type": "context.undo", "agentId": "main", "count": 1, "time": 1}
    assert words(session(kimi_user("0"), owned, kimi_user("1", id="msg_1"), undo)) == ["user: 0"]


def test_a_clear_leaves_nothing_and_folds_all() -> None:
    text = session(kimi_user("1"), kimi_user("2"), {"type": "context.clear", "agentId": "main"}, kimi_user("3"))
    parsed = kimi_code.parse(text)
    assert words(text) == ["user: 3"]
    assert [fold.title for fold in parsed.folds] == ["Cleared: 2 messages"]


def native(**more: Json | int | str) -> Json:
    """A compaction as kimi-code itself appends it."""
    shape = {"summary": "raw", "contextSummary": "in short", "compactedCount": 2, "keptUserMessageCount": 1}
    return {"type": "context.apply_compaction", "agentId": "main", **shape, **more, "time": 1}


def test_an_undo_does_not_reach_behind_a_summary() -> None:
    undo = {"type": "context.undo", "agentId": "main", "count": 1, "time": 1}
    text = session(kimi_user("1"), *kimi_step("s", kimi_text("a")), native(), undo)
    assert len(kimi_code.parse(text).messages) == 3 == len(context(text))


def test_a_step_that_was_interrupted_still_takes_its_results() -> None:
    begin, call, result, _ = kimi_step("s", calls=("a",), results=("a",))
    text = session(kimi_user("1"), begin, call, kimi_event("step.end", uuid="s", finishReason="interrupted"), result)
    assert words(text)[-1] == "tool: of a"
    assert kimi_code_loader.text(context(text)[-1]) == "of a"


def test_a_compaction_of_kimi_code_keeps_what_the_user_said_the_summary_and_a_note() -> None:
    text = session(kimi_user("1"), *kimi_step("s", kimi_text("a")), native(), kimi_counted(3, "rebased"))
    assert words(text)[:2] == ["user: 1", "user: in short"]
    assert len(kimi_code.parse(text).messages) == 3 == len(context(text))
    assert kimi_code.parse(text).writable
    assert [fold.title for fold in kimi_code.parse(text).folds] == ["Compacted away: 1 message"]


def test_a_compaction_that_left_prompts_out_is_trusted_only_when_kimi_code_counts_as_many() -> None:
    chat = [kimi_user(str(number)) for number in range(5)]
    left_out = native(keptUserMessageCount=3, keptHeadUserMessageCount=1)
    assert words(session(*chat, left_out))[0::2] == ["user: 0", "user: 3", "user: in short"]
    assert "left messages of the user out" in why_not(session(*chat, left_out))
    assert kimi_code.parse(session(*chat, left_out, kimi_counted(6, "rebased"))).writable
    assert "counts 7 messages where 6 were read" in why_not(session(*chat, left_out, kimi_counted(7, "rebased")))


def test_a_compaction_is_one_record_and_kimi_code_sends_the_summary_and_the_exact_tail() -> None:
    made = compacted(kimi_code, CHAT, 5)
    assert made.startswith(CHAT)
    record = json.loads(made[len(CHAT) :])
    assert record == {
        "type": "context.apply_compaction",
        "agentId": "main",
        "summary": text_of(SUMMARY),
        "compactedCount": 5,
        "legacyTail": True,
        "time": 1767323045000,
    }
    sent = context(made)
    assert kimi_code_loader.text(sent[0]) == text_of(SUMMARY)
    assert sent[1:] == context(CHAT)[5:]
    assert [fold.title for fold in kimi_code.parse(made).folds] == ["Compacted away: 5 messages"]


def test_a_count_in_the_middle_of_a_step_is_widened_over_it() -> None:
    assert json.loads(compacted(kimi_code, CHAT, 3).splitlines()[-1])["compactedCount"] == 5


def test_a_second_compaction_starts_from_the_first() -> None:
    once = compacted(kimi_code, CHAT, 5) + lines(kimi_user("more"), kimi_counted(5))
    twice = compacted(kimi_code, once, 3)
    assert [kimi_code_loader.text(one) for one in context(twice)] == [text_of(SUMMARY), "Bye", "more"]
    titles = [fold.title for fold in kimi_code.parse(twice).folds]
    assert titles == ["Compacted away: 7 messages", "Compacted away: 1 message"]


def test_no_more_is_compacted_than_kimi_code_has_counted() -> None:
    text = session(kimi_user("1"), *kimi_step("s", kimi_text("a")), kimi_counted(2), kimi_user("2"), kimi_user("3"))
    parsed = kimi_code.parse(text)
    assert parsed.writable
    with pytest.raises(LithifyError, match="has counted the first 2 messages only"):
        kimi_code.write(text, parsed, 0, 3, SUMMARY, STAMP)
    compacted(kimi_code, text, 2)


def test_only_the_first_messages_can_be_compacted() -> None:
    with pytest.raises(LithifyError, match="from its first message on"):
        kimi_code.write(CHAT, kimi_code.parse(CHAT), 1, 2, SUMMARY, STAMP)


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_a_last_line_without_an_ending_is_no_hindrance(ending: str) -> None:
    whole = session(*CHAT_RECORDS, ending=ending)
    for text in (whole, whole.rstrip(), "\ufeff" + whole):
        made = compacted(kimi_code, text, 5)
        assert not kimi_code_loader.load(made.encode()).lost
        assert context(made)[1:] == context(CHAT)[5:]
        assert (
            context(kimi_code_loader.append(made.encode(), kimi_user("on")).decode())[-1]["content"][0]["text"] == "on"
        )


def test_behind_a_broken_line_nothing_is_read_and_nothing_is_written() -> None:
    torn = CHAT + '{"type":"context.append_mess'
    assert len(kimi_code.parse(torn).messages) == 8
    assert kimi_code.parse(torn).problems == (Problem(CHAT.count("\n"), "cut off in the middle"),)
    assert "kimi-code reads nothing behind it" in why_not(torn)
    broken = CHAT + "nonsense\n" + lines(kimi_user("lost"))
    assert "Line 22 is not JSON" in why_not(broken)
    assert len(kimi_code.parse(broken).messages) == 8 == len(context(broken))
    assert kimi_code_loader.load((CHAT + " \n").encode()).lost
    assert "Line 22 is blank" in why_not(CHAT + " \n")


def test_lines_that_are_json_but_no_records_are_problems_and_hide_nothing() -> None:
    text = session(kimi_user("1"), 17, {}, kimi_user("2"), kimi_counted(2))
    parsed = kimi_code.parse(text)
    assert [problem.line for problem in parsed.problems] == [2, 3]
    assert words(text) == ["user: 1", "user: 2"]
    assert parsed.writable


def odd_compaction(**changed: Any) -> dict[str, Any]:
    return {"type": "context.apply_compaction", "agentId": "main", "summary": "s", "compactedCount": 1, **changed}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (lines(*CHAT_RECORDS), "does not say what file it is"),
        (CHAT.replace('"1.5"', '"1.4"'), "protocol 1.4"),
        (CHAT.replace('"1.5"', '"1.6"'), "protocol 1.6"),
        (CHAT.replace('"main"', '"agent-1"'), "subagent"),
        (session(kimi_user("1"), kimi_event("step.begin", uuid="s"), kimi_step("s", calls=("a",))[1]), "interrupted"),
        (session(kimi_user("1"), kimi_counted(2)), "Line 3 counts 2 messages where 1 were read"),
        (CHAT + lines({"type": "agent.switched", "branch": "b"}), "begins a branch"),
        (CHAT + lines({"type": "context.later", "agentId": "main"}), "context.later"),
        (CHAT + lines(kimi_message("x", "system")), "not a message of kimi-code"),
        (CHAT + lines(odd_compaction(compactedCount=True)), "not a compaction of kimi-code"),
        (CHAT + lines(odd_compaction(keptUserMessageCount="2")), "not a compaction of kimi-code"),
        (CHAT + lines(odd_compaction(keptUserMessageCount=[2])), "not a compaction of kimi-code"),
        (CHAT + '{"type":"x","a":' + "[" * 300 + "]" * 300 + "}\n", "nested too deeply"),
    ],
    ids=[
        *("no head", "older", "newer", "subagent", "open", "count", "branch", "unknown", "role"),
        *("true as a count", "a text as a count", "a list as a count", "deep"),
    ],
)
def test_a_file_that_kimi_code_may_read_otherwise_is_read_only_and_says_why(text: str, told: str) -> None:
    assert told in why_not(text)
    assert kimi_code.parse(text).messages


def test_a_doubt_ends_where_kimi_code_counts_as_many_messages_as_were_read() -> None:
    assert kimi_code.parse(CHAT + lines({"type": "agent.switched", "branch": "b"}, kimi_counted(8))).writable


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        (CHAT, "x", True),
        (lines(KIMI_METADATA), "x", True),
        (lines(kimi_user("1")), "x", True),
        ("", "/home/me/.kimi-code/sessions/wd_1/session_1/agents/main/wire.jsonl", True),
        ("", "wire.jsonl", False),
        ('{"type":"metadata"}\n', "wire.jsonl", False),
    ],
)
def test_a_session_is_recognised_by_its_records_and_an_empty_one_by_its_place(
    text: str, name: str, expected: bool
) -> None:
    assert kimi_code.recognise(text, name) is expected
    assert (recognise(text, name) is kimi_code) is expected


def test_eight_megabytes_are_read_and_compacted_in_seconds() -> None:
    one = [kimi_user("u"), *kimi_step("s", kimi_text("x" * 7500), calls=("a",), results=("a",))]
    text = session(*one * 1000, kimi_counted(3000))
    assert len(text) > 8_000_000
    begun = time.process_time()
    made = kimi_code.write(text, kimi_code.parse(text), 0, 1500, SUMMARY, STAMP)
    assert time.process_time() - begun < 5
    assert len(kimi_code.parse(made).messages) == 1501


def test_a_step_with_very_many_calls_is_read_in_linear_time() -> None:
    calls = tuple(f"c{number}" for number in range(10_000))
    text = session(*kimi_step("s", calls=calls, results=calls))
    begun = time.process_time()
    assert len(kimi_code.parse(text).messages) == 10_001
    assert time.process_time() - begun < 5
