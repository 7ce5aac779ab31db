"""Gemini CLI's session file: the conversation it would send again, and the one record a compaction appends."""

from __future__ import annotations

import json
import re
import time

import pytest

from lithify.core.outcomes import LithifyError
from lithify.transcripts import gemini
from lithify.transcripts.registry import recognise
from tests.support import gemini_loader
from tests.support.gemini_loader import GeminiCrash
from tests.support.samples import sample_paths
from tests.transcripts.agent_records import (
    GEMINI_SESSION,
    SUMMARY,
    Json,
    compacted,
    gemini_call,
    gemini_said,
    gemini_user,
    lines,
)
from tests.transcripts.rewriting import STAMP

SUMMARY_TURN = {"role": "user", "parts": [{"text": part["text"]} for part in SUMMARY["content"]]}
SAMPLES = [path for path in sample_paths() if path.parent.name == "gemini-cli"]


def session(*records: Json, ending: str = "\n") -> str:
    return lines(GEMINI_SESSION, *records, ending=ending)


def words(text: str) -> list[str]:
    """Role and text of each message."""
    found = []
    for message in gemini.parse(text).conversation:
        parts = message["content"] or []
        found.append(f"{message['role']}: " + "|".join(part.get("text") or part.get("think") or "?" for part in parts))
    return found


def turns(text: str) -> list[Json]:
    """What Gemini CLI sends."""
    return gemini_loader.load(text.encode()).turns


CHAT = session(
    gemini_user("1", "List it"),
    gemini_said("2", ""),
    gemini_said("2", "", gemini_call("a"), gemini_call("b", "二 😀"), thoughts=[{"subject": "S", "description": "D"}]),
    {"$set": {"lastUpdated": "2026"}},
    gemini_said("3", "Two files"),
    gemini_user("4", "Thanks"),
    {"id": "5", "type": "info", "content": "Request cancelled."},
    gemini_said("6", [{"text": "Bye"}]),
)


def test_a_step_is_one_message_with_its_thoughts_and_calls_and_each_result_one_more() -> None:
    parsed = gemini.parse(CHAT)
    assert words(CHAT) == [
        *("user: List it", "assistant: **S** D", "tool: done", "tool: 二 😀"),
        *("assistant: Two files", "user: Thanks", "assistant: Bye"),
    ]
    calls = parsed.conversation[1]["tool_calls"]
    assert [one["id"] for one in calls] == ["a", "b"]
    assert json.loads(calls[0]["function"]["arguments"]) == {"path": "日本"}
    assert [message.get("tool_call_id") for message in parsed.conversation[2:4]] == ["a", "b"]


def test_the_last_record_of_an_id_counts_in_the_place_of_the_first() -> None:
    text = session(gemini_user("1", "old"), gemini_said("2"), gemini_user("1", "new"))
    assert words(text) == ["user: new", "assistant: done"]
    placed = gemini.parse(text).messages[0]
    assert '"new"' in text[placed.start : placed.end]


@pytest.mark.parametrize("said", ["/help", " ?", "", "  ", "\ufeff\u3000", "<session_context>x", "<hook_context>x"])
def test_what_is_no_prompt_is_no_message(said: str) -> None:
    text = session(gemini_user("1", said), gemini_user("2", "real"))
    assert words(text) == ["user: real"]
    assert len(turns(text)) == 1


def test_a_rewind_takes_back_a_message_and_all_behind_it() -> None:
    text = session(
        gemini_user("1"), gemini_said("2", "stays"), gemini_user("3", "gone"), gemini_said("4"), {"$rewindTo": "3"}
    )
    parsed = gemini.parse(text)
    assert words(text) == ["user: please", "assistant: stays"]
    (fold,) = parsed.folds
    assert fold.title == "Taken back: 2 messages"
    assert text[fold.start : fold.end].count("\n") == 1


def test_a_rewind_to_a_message_that_is_not_there_takes_back_everything() -> None:
    text = session(gemini_user("1"), {"$rewindTo": "9"}, gemini_user("2", "anew"))
    assert words(text) == ["user: anew"]
    assert len(turns(text)) == 1


def test_a_set_with_messages_is_the_whole_conversation_and_what_was_is_folded() -> None:
    text = session(
        gemini_user("1"), gemini_said("2"), {"$set": {"messages": [gemini_user("8", "short")]}}, gemini_said("9")
    )
    parsed = gemini.parse(text)
    assert words(text) == ["user: short", "assistant: done"]
    assert [fold.title for fold in parsed.folds] == ["Compacted away: 2 messages"]
    assert json.loads(text[parsed.messages[0].start : parsed.messages[0].end])["id"] == "8"


def test_the_last_of_several_keys_of_one_name_counts() -> None:
    twice = [json.dumps({"messages": [gemini_user(key, key)]}) for key in ("8", "9")]
    text = session(gemini_user("1")) + f'{{"$set":{twice[0]},"$set":{twice[1]}}}\n'
    assert words(text) == ["user: 9"]
    assert turns(text) == [{"role": "user", "parts": [{"text": "9"}]}]
    parsed = gemini.parse(text)
    assert json.loads(text[parsed.messages[0].start : parsed.messages[0].end])["id"] == "9"


def test_calls_in_the_content_and_results_in_a_user_record_are_read_too() -> None:
    asked = gemini_said("1", [{"functionCall": {"id": "c", "name": "ls", "args": {}}}])
    answered = gemini_user("2", [{"functionResponse": {"id": "c", "name": "ls", "response": {"error": "no"}}}])
    parsed = gemini.parse(session(gemini_user("0"), asked, answered))
    assert [message["role"] for message in parsed.conversation] == ["user", "assistant", "tool"]
    assert parsed.conversation[2]["content"] == [{"type": "text", "text": "no"}]


def test_a_result_answers_the_call_it_names_else_the_one_it_stands_at() -> None:
    named = {"functionResponse": {"id": "other", "name": "ls", "response": {"output": "1"}}}
    unnamed = {"functionResponse": {"name": "ls", "response": {"output": "2"}}}
    calls = (
        gemini_call("a", None, result=[named]),
        gemini_call("b", None, result=unnamed),
        gemini_call("c", None, result="3"),
    )
    conversation = gemini.parse(session(gemini_user("1"), gemini_said("2", "", *calls))).conversation
    assert [message["tool_call_id"] for message in conversation[2:]] == ["other", "b", "c"]
    assert [message["content"][0]["text"] for message in conversation[2:]] == ["1", "2", "3"]


def test_an_image_is_a_part_that_holds_it() -> None:
    text = session(gemini_user("1", [{"text": "see"}, {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}]))
    (message,) = gemini.parse(text).conversation
    assert message["content"][1] == {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}


def test_a_compaction_is_one_record_behind_the_text_and_gemini_sends_the_summary_and_the_exact_tail() -> None:
    made = compacted(gemini, CHAT, 4)
    assert made.startswith(CHAT)
    record = json.loads(made[len(CHAT) :])
    assert list(record) == ["$set"]
    assert record["$set"]["lastUpdated"] == STAMP.now
    assert record["$set"]["messages"][0] | {"id": "x"} == {
        "id": "x",
        "timestamp": STAMP.now,
        "type": "user",
        "content": SUMMARY_TURN["parts"],
    }
    assert turns(made) == [SUMMARY_TURN, *turns(CHAT)[3:]]


def test_what_is_not_sent_stays_behind_the_first_kept_message() -> None:
    made = compacted(gemini, CHAT, 4)
    kept = gemini_loader.load(made.encode()).messages
    assert list(kept)[1:] == ["3", "4", "5", "6"]


def test_a_range_in_the_middle_keeps_what_is_in_front_of_it() -> None:
    made = compacted(gemini, CHAT, 6, 4)
    assert turns(made) == [*turns(CHAT)[:3], SUMMARY_TURN, *turns(CHAT)[5:]]


def test_kept_messages_are_spelled_as_they_stand() -> None:
    odd = '{"id":"7","type":"user", "content":[{"text":"\\u65e5 \\ud800"}],"n":1e400,"z":1.0}'
    made = gemini.write(CHAT + odd, gemini.parse(CHAT + odd), 0, 7, SUMMARY, STAMP)
    assert made.count(odd) == 2


def test_the_calls_and_results_of_one_record_are_not_parted() -> None:
    parsed = gemini.parse(CHAT)
    for start, end in ((0, 2), (0, 3), (2, 5)):
        with pytest.raises(LithifyError, match="a call and its results are one record"):
            gemini.write(CHAT, parsed, start, end, SUMMARY, STAMP)


def test_a_second_compaction_starts_from_the_first() -> None:
    once = compacted(gemini, CHAT, 4)
    more = once + lines(gemini_user("7", "more"), gemini_said("8", "yes"))
    twice = compacted(gemini, more, 3)
    assert turns(twice) == [SUMMARY_TURN, *turns(more)[3:]]
    assert [fold.title for fold in gemini.parse(twice).folds] == ["Compacted away: 7 messages"], (
        "the first summary is one of them"
    )
    assert len(gemini.parse(more).messages) + 4 == len(gemini.parse(twice).messages) - 1 + 7


def test_what_a_compaction_keeps_is_not_counted_as_compacted_away() -> None:
    assert len(gemini.parse(CHAT).messages) == 7
    for start, end, title in ((0, 4, "4 messages"), (0, 1, "1 message"), (4, 5, "1 message"), (0, 7, "7 messages")):
        (fold,) = gemini.parse(compacted(gemini, CHAT, end, start)).folds
        assert fold.title == f"Compacted away: {title}"


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_a_torn_last_line_and_any_line_ending_are_no_hindrance(ending: str) -> None:
    whole = session(gemini_user("1"), gemini_said("2"), gemini_user("3"), ending=ending)
    for text in (whole, whole.rstrip(), whole + '{"id":"4","type":"us'):
        made = compacted(gemini, text, 2)
        assert turns(made) == [SUMMARY_TURN, turns(text)[2]]
        assert turns(gemini_loader.append(made.encode(), gemini_user("5")).decode())[-1]["parts"] == [
            {"text": "please"}
        ]


def test_a_stub_without_prompts_is_recognised_and_has_nothing_to_compact() -> None:
    text = session({"$set": {"lastUpdated": "2026"}})
    assert recognise(text, "x") is gemini
    parsed = gemini.parse(text)
    assert (parsed.messages, parsed.problems, parsed.folds) == ((), (), ())
    with pytest.raises(LithifyError, match="holds no message"):
        gemini.write(text, parsed, 0, 0, SUMMARY, STAMP)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("\ufeff" + CHAT, "byte order mark"),
        (lines(gemini_user("1"), gemini_said("2")), "which session it is"),
        (session(gemini_user("1"), {"$merge": {}}), "Line 3 is a `$merge`"),
        (session(gemini_user("1"), {"id": "2", "type": "later"}), "a message of the type `later`"),
        (session(gemini_user("1"), {"$set": {"kind": "subagent"}}), "subagent"),
        (session(gemini_user("1")) + '{"id":"2","a":' + "[" * 300 + "]" * 300 + "}\n", "nested too deeply"),
    ],
    ids=["mark", "no session", "unknown record", "unknown message", "subagent", "too deep"],
)
def test_a_file_that_gemini_may_read_otherwise_is_read_only_and_says_why(text: str, told: str) -> None:
    parsed = gemini.parse(text)
    assert not parsed.writable
    assert told in (parsed.read_only_reason or "")
    assert parsed.messages
    with pytest.raises(LithifyError, match=re.escape(parsed.read_only_reason or "no reason")):
        gemini.write(text, parsed, 0, 1, SUMMARY, STAMP)


def test_gemini_does_not_take_up_what_is_said_to_be_no_session() -> None:
    for text in ("\ufeff" + CHAT, lines(gemini_user("1"))):
        with pytest.raises(GeminiCrash):
            turns(text)


def test_a_session_of_an_older_gemini_is_read_with_the_place_of_each_message() -> None:
    document = {**GEMINI_SESSION, "messages": [gemini_user("1"), gemini_said("2", "", gemini_call("a"))]}
    text = json.dumps(document, indent=2)
    assert recognise(text, "session-1.json") is gemini
    parsed = gemini.parse(text)
    assert [message["role"] for message in parsed.conversation] == ["user", "assistant", "tool"]
    assert json.loads(text[parsed.messages[1].start : parsed.messages[1].end])["id"] == "2"
    assert "resume it once" in (parsed.read_only_reason or "")


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        (lines(gemini_said("1")), "x", True),
        (lines({"$rewindTo": "1"}), "x", True),
        ("", "/home/me/.gemini/tmp/project/chats/session-1.jsonl", True),
        ("", "session-1.jsonl", False),
        (lines(gemini_user("1")), "session-1.jsonl", False),
        ('{"projectHash": "h"}', "x.json", False),
    ],
)
def test_a_session_is_recognised_by_its_records_and_an_empty_one_by_its_place(
    text: str, name: str, expected: bool
) -> None:
    assert gemini.recognise(text, name) is expected


def test_each_sample_is_compacted_and_taken_up_with_its_exact_tail() -> None:
    for path in SAMPLES:
        text = path.read_bytes().decode()
        assert recognise(text, "a file") is gemini
        parsed = gemini.parse(text)
        assert parsed.problems == ()
        for end in range(1, len(parsed.messages) + 1):
            sent = turns(compacted(gemini, text, end))
            assert sent[0] == SUMMARY_TURN
            assert turns(text)[len(turns(text)) - len(sent) + 1 :] == sent[1:]


def test_eight_megabytes_are_read_and_compacted_in_seconds() -> None:
    step = [gemini_user("u"), gemini_said("g", "x" * 4000, gemini_call("c", "y" * 4000))]
    text = session(*({**one, "id": f"{one['id']}{number}"} for number in range(1000) for one in step))
    assert len(text) > 8_000_000
    begun = time.process_time()
    made = gemini.write(text, gemini.parse(text), 0, 1500, SUMMARY, STAMP)
    assert time.process_time() - begun < 5
    assert len(gemini.parse(made).messages) == 1501


def test_many_rewinds_are_read_in_linear_time() -> None:
    text = session(
        *(one for at in range(10_000) for one in (gemini_user(f"{at}"), gemini_user("z"), {"$rewindTo": "z"}))
    )
    begun = time.process_time()
    assert len(gemini.parse(text).messages) == 10_000
    assert time.process_time() - begun < 5
