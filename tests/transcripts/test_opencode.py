"""opencode's export: the messages it would send, and the two messages a compaction adds."""

from __future__ import annotations

import json
import re
import time

import pytest

from lithify.core.messages import text_of
from lithify.core.outcomes import LithifyError
from lithify.transcripts import opencode
from lithify.transcripts.registry import recognise
from tests.support import opencode_loader
from tests.support.opencode_loader import asks, keys
from tests.transcripts.agent_records import (
    SUMMARY,
    Json,
    compacted,
    export,
    opencode_key,
    opencode_message,
    opencode_text,
    opencode_tool,
)
from tests.transcripts.rewriting import STAMP

CHAT_MESSAGES = [
    opencode_message(1, "user", opencode_text("List 日本")),
    opencode_message(
        2,
        "assistant",
        {"type": "step-start"},
        {"type": "reasoning", "text": "Hm."},
        opencode_text("I look. 😀"),
        opencode_tool("a", "two files"),
        opencode_tool("b", status="error", error="no such file"),
        opencode_tool("c", status="running"),
    ),
    opencode_message(3, "assistant", opencode_text("Two files")),
    opencode_message(4, "user", opencode_text("Thanks")),
    opencode_message(5, "assistant", opencode_text("Bye")),
]
CHAT = export(*CHAT_MESSAGES)


def words(text: str) -> list[str]:
    """Role and text of each message."""
    return [f"{message['role']}: {text_of(message)}" for message in opencode.parse(text).conversation]


def sent(text: str) -> list[Json]:
    """What opencode sends."""
    return opencode_loader.load(text.encode())


def why_not(text: str) -> str:
    """Why the file is read-only."""
    parsed = opencode.parse(text)
    assert not parsed.writable
    assert parsed.read_only_reason
    with pytest.raises(LithifyError, match=re.escape(parsed.read_only_reason)):
        opencode.write(text, parsed, 0, 1, SUMMARY, STAMP)
    return parsed.read_only_reason


def test_a_step_is_one_message_with_its_calls_and_each_result_one_more_in_the_same_place() -> None:
    parsed = opencode.parse(CHAT)
    assert words(CHAT) == [
        *("user: List 日本", "assistant: I look. 😀", "tool: two files", "tool: no such file"),
        *("tool: The tool was interrupted.", "assistant: Two files", "user: Thanks", "assistant: Bye"),
    ]
    assert [one["id"] for one in parsed.conversation[1]["tool_calls"]] == ["a", "b", "c"]
    assert parsed.conversation[1]["content"][0] == {"type": "think", "think": "Hm."}
    assert len({(one.start, one.end) for one in parsed.messages[1:5]}) == 1
    assert json.loads(CHAT[parsed.messages[1].start : parsed.messages[1].end])["info"]["id"] == opencode_key(2)


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (opencode_text("x", ignored=True), None),
        (opencode_text(""), None),
        ({"type": "file", "mime": "text/plain", "url": "file:///a"}, None),
        ({"type": "snapshot", "snapshot": "a"}, None),
        (
            {"type": "file", "mime": "image/png", "url": "data:image/png;base64,AA"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}},
        ),
    ],
)
def test_what_the_user_attached_is_read_where_opencode_sends_it(part: Json, expected: Json | None) -> None:
    conversation = opencode.parse(export(opencode_message(1, "user", part))).conversation
    assert [message["content"] for message in conversation] == ([[expected]] if expected else [])


def test_a_step_that_failed_is_no_message_unless_it_was_stopped_when_it_had_said_something() -> None:
    for name, parts, count in (
        ("APIError", [opencode_text("x")], 0),
        ("MessageAbortedError", [opencode_text("x")], 1),
        ("MessageAbortedError", [{"type": "reasoning", "text": "x"}], 0),
    ):
        failed = opencode_message(2, "assistant", *parts, error={"name": name, "data": {}})
        assert len(opencode.parse(export(failed)).messages) == count


def test_a_cleared_result_and_an_attachment_are_read_as_they_are_sent() -> None:
    shot = [{"type": "file", "mime": "image/png", "url": "data:x"}]
    cleared = opencode_tool("a", "long", time={"start": 1, "end": 2, "compacted": 3}, attachments=shot)
    kept = opencode_tool("b", "short", attachments=shot)
    first, second = opencode.parse(export(opencode_message(1, "assistant", cleared, kept))).conversation[1:]
    assert first["content"] == [{"type": "text", "text": "This result was cleared."}]
    assert [part["type"] for part in second["content"]] == ["text", "image_url"]


@pytest.mark.parametrize("indent", [2, None, 4])
def test_a_compaction_is_two_messages_at_the_end_and_all_else_stays(indent: int | None) -> None:
    text = export(*CHAT_MESSAGES, indent=indent)
    made = compacted(opencode, text, 5)
    end = opencode.parse(text).messages[-1].end
    assert made.startswith(text[:end])
    assert made.endswith(text[end:])
    assert made == export(*json.loads(made)["messages"], indent=indent)
    question, summary, *tail = sent(made)
    assert tail == sent(text)[2:]
    assert opencode_loader.text(summary) == text_of(SUMMARY)
    assert asks(question) == {
        **(asks(question) or {}),
        "type": "compaction",
        "auto": False,
        "tail_start_id": opencode_key(3),
    }


def test_the_two_messages_name_the_session_the_model_and_each_other() -> None:
    question, summary = json.loads(compacted(opencode, CHAT, 5))["messages"][-2:]
    asked, answered = question["info"], summary["info"]
    assert (asked["role"], asked["agent"], asked["model"]) == ("user", "build", CHAT_MESSAGES[3]["info"]["model"])
    assert (answered["role"], answered["mode"], answered["finish"]) == ("assistant", "compaction", "stop")
    assert answered["summary"] is True
    assert answered["parentID"] == asked["id"]
    assert answered["path"] == {"cwd": "/project", "root": "/"}
    assert {asked["sessionID"], answered["sessionID"]} == {"ses_1"}
    assert asked["time"]["created"] == 1767323045000 < answered["time"]["created"]
    assert opencode_key(5) < asked["id"] < answered["id"]


def test_the_two_messages_come_last_also_where_the_clock_or_the_ids_are_behind() -> None:
    late = opencode_message(5, "assistant", opencode_text("Bye"))
    late["info"] |= {"id": "msg_zzz", "time": {"created": 9_999_999_999_999}}
    late["parts"][0]["messageID"] = "msg_zzz"
    text = export(*CHAT_MESSAGES[:4], late)
    made = compacted(opencode, text, 6)
    question, summary, *tail = keys(sent(made))
    assert tail == [opencode_key(4), "msg_zzz"]
    assert "msg_zzz" < question < summary


def test_a_compaction_of_everything_names_no_first_message() -> None:
    made = compacted(opencode, CHAT, 8)
    assert len(sent(made)) == 2
    assert "tail_start_id" not in (asks(sent(made)[0]) or {})
    assert words(made) == [f"user: {text_of(SUMMARY)}"]


def test_a_summary_is_one_message_in_the_places_of_both() -> None:
    made = compacted(opencode, CHAT, 5)
    first = opencode.parse(made).messages[0]
    places = [(first.start, first.end), *first.more]
    assert [json.loads(made[start:end])["info"]["role"] for start, end in places] == ["user", "assistant"]
    assert [fold.title for fold in opencode.parse(made).folds] == ["Compacted away: 5 messages"]


def said_after(made: str, *messages: Json) -> str:
    """The export of a session that went on."""
    document = json.loads(made)
    for number, one in enumerate(messages):
        one["info"]["time"]["created"] = document["messages"][-1]["info"]["time"]["created"] + number + 1
        one["info"]["id"] = f"msg_z{number}"
        for part in one["parts"]:
            part["messageID"] = f"msg_z{number}"
    return export(*document["messages"], *messages)


def test_a_second_compaction_starts_from_the_first() -> None:
    more = said_after(
        compacted(opencode, CHAT, 5),
        opencode_message(9, "user", opencode_text("more")),
        opencode_message(10, "assistant", opencode_text("yes")),
    )
    assert words(more)[1:] == ["assistant: Two files", "user: Thanks", "assistant: Bye", "user: more", "assistant: yes"]
    twice = compacted(opencode, more, 4)
    assert keys(sent(twice))[2:] == ["msg_z0", "msg_z1"]


def test_what_an_earlier_compaction_kept_is_not_kept_without_its_summary() -> None:
    once = compacted(opencode, CHAT, 5)
    with pytest.raises(LithifyError, match="without the summary before them"):
        opencode.write(once, opencode.parse(once), 0, 2, SUMMARY, STAMP)
    assert words(compacted(opencode, once, 4)) == [f"user: {text_of(SUMMARY)}"]


def test_the_calls_and_results_of_one_message_are_not_parted() -> None:
    for end in (2, 3, 4):
        with pytest.raises(LithifyError, match="a call and its results are one message"):
            opencode.write(CHAT, opencode.parse(CHAT), 0, end, SUMMARY, STAMP)


def test_only_the_first_messages_can_be_compacted() -> None:
    with pytest.raises(LithifyError, match="from its first message on"):
        opencode.write(CHAT, opencode.parse(CHAT), 1, 5, SUMMARY, STAMP)


def test_a_question_without_a_finished_summary_hides_nothing() -> None:
    question = opencode_message(6, "user", {"type": "compaction", "auto": True})
    failed = opencode_message(7, "assistant", opencode_text("x"), summary=True, parentID=opencode_key(6), finish=None)
    text = export(*CHAT_MESSAGES, question, failed)
    assert len(opencode.parse(text).messages) == 10
    assert keys(sent(text)) == [opencode_key(number) for number in range(1, 8)]


def test_what_was_taken_back_is_folded() -> None:
    text = export(*CHAT_MESSAGES, revert={"messageID": opencode_key(4)})
    assert words(text)[-1] == "assistant: Two files"
    assert [fold.title for fold in opencode.parse(text).folds] == ["Taken back: 2 messages"]
    assert "undone" in why_not(text)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (export(*CHAT_MESSAGES, version="1.19.0"), "opencode 1.19.0"),
        (export(*CHAT_MESSAGES, version="1.1.8"), "opencode 1.1.8"),
        (export(*CHAT_MESSAGES[::-1]), "order of their times"),
        (export(CHAT_MESSAGES[2]), "No message of the user"),
        (export(*CHAT_MESSAGES, {"info": {}}), "is not a message of opencode"),
        (CHAT[:-30], "is cut off in the middle"),
        (CHAT + "x", "more text behind the end"),
    ],
    ids=["newer", "older", "order", "no user", "stranger", "torn", "more"],
)
def test_a_file_that_opencode_may_read_otherwise_is_read_only_and_says_why(text: str, told: str) -> None:
    assert told in why_not(text)
    assert opencode.parse(text).messages


def test_a_session_without_messages_has_nothing_to_compact() -> None:
    text = export()
    parsed = opencode.parse(text)
    assert (list(parsed.messages), parsed.problems, parsed.folds, parsed.writable) == ([], (), (), True)
    with pytest.raises(LithifyError, match="holds no message"):
        opencode.write(text, parsed, 0, 0, SUMMARY, STAMP)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (CHAT, True),
        ("\ufeff" + export(indent=None), True),
        (CHAT[:700], True),
        ('{"messages":[{"role":"user","content":"a"}],"info":{"id":"ses_1"}}', False),
        ('{"info":{"id":"x","projectID":"p","version":"1"},"messages":[]}', False),
        ('{"info":', False),
        ("[]", False),
    ],
)
def test_an_export_is_recognised_by_what_the_session_is(text: str, expected: bool) -> None:
    assert opencode.recognise(text, "x") is expected
    assert (recognise(text, "x") is opencode) is expected


def test_windows_line_endings_and_a_mark_are_kept() -> None:
    text = "\ufeff" + CHAT.replace("\n", "\r\n")
    made = compacted(opencode, text, 5)
    assert made.count("\n") == made.count("\r\n")
    assert keys(sent(made))[2:] == keys(sent(text))[2:]


def test_eight_megabytes_are_read_and_compacted_in_seconds() -> None:
    text = export(
        *(
            opencode_message(
                number, *(("user", opencode_text("u")) if number % 2 else ("assistant", opencode_tool("c", "x" * 8000)))
            )
            for number in range(1, 2001)
        )
    )
    assert len(text) > 8_000_000
    begun = time.process_time()
    made = opencode.write(text, opencode.parse(text), 0, 1500, SUMMARY, STAMP)
    assert time.process_time() - begun < 5
    assert len(opencode.parse(made).messages) == 1501
