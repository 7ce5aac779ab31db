"""A compaction in Claude Code's session file: two records behind the text, which Claude Code loads as meant."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lithify.core.outcomes import LithifyError
from lithify.transcripts import claude_code
from tests.support import claude_code_loader
from tests.support.claude_code_session import NOW, Session, compacted, stamp, texts

FIRST, SECOND = "00000000-0000-4000-8000-000000000000", "00000000-0000-4000-8000-000000000001"


def conversation(session: Session | None = None) -> Session:
    """Two questions, the second with an attachment and three parallel calls."""
    session = session or Session()
    session.user("q1")
    session.assistant("a1")
    session.add("progress", data={})
    session.user("q2")
    session.attachment()
    session.parallel_calls("t1", "t2", "t3")
    session.assistant("a2")
    session.last_prompt(session.at)
    return session


def appended(before: str, after: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in after[len(before) :].split("\n") if line.strip()]


def test_the_boundary_and_the_summary_are_those_that_claude_code_writes_up_to_a_message() -> None:
    text = conversation().text()
    carried = {"userType": "external", "cwd": "/home/dev/x", "sessionId": "s1", "version": "2.1.332"}
    carried |= {"gitBranch": "main", "isSidechain": False, "timestamp": NOW}
    kept = ["r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11"]
    boundary, summary = appended(text, compacted(text, 2, "done"))
    tokens = boundary["compactMetadata"].pop("preTokens")
    assert 0 < tokens < 200
    assert boundary == {
        **carried,
        "type": "system",
        "subtype": "compact_boundary",
        "uuid": FIRST,
        "parentUuid": None,
        "logicalParentUuid": "r1",
        "isMeta": False,
        "content": "Conversation compacted",
        "level": "info",
        "compactMetadata": {
            "trigger": "manual",
            "messagesSummarized": 2,
            "preservedSegment": {"headUuid": "r3", "anchorUuid": SECOND, "tailUuid": "r11"},
            "preservedMessages": {"anchorUuid": SECOND, "uuids": kept},
        },
    }
    assert summary == {
        **carried,
        "type": "user",
        "uuid": SECOND,
        "parentUuid": FIRST,
        "isCompactSummary": True,
        "summarizeMetadata": {"messagesSummarized": 2, "direction": "up_to"},
        "message": summary["message"],
    }
    assert [part["text"] for part in summary["message"]["content"]][1:] == ["done"]


def test_with_nothing_kept_the_list_is_empty_and_the_summary_alone_is_sent() -> None:
    text = conversation().text()
    boundary, _ = appended(text, made := compacted(text, 8))
    assert "preservedSegment" not in boundary["compactMetadata"]
    assert boundary["compactMetadata"]["preservedMessages"] == {"anchorUuid": SECOND, "uuids": []}
    assert len(claude_code_loader.load(made)) == 1


def test_a_summary_that_is_one_string_is_written_as_two_parts() -> None:
    session = Session()
    session.user("q1")
    session.user("q2")
    made = compacted(session.text(), 1, "done\nwell")
    content = appended(session.text(), made)[1]["message"]["content"]
    assert [part["text"] for part in content][1:] == ["done\nwell"]


def test_claude_code_goes_on_behind_the_kept_messages_and_is_compacted_again_and_again() -> None:
    session = conversation()
    for turn in range(4):
        session.lines = compacted(session.text(), 2 + turn % 2).splitlines()
        session.user(f"more {turn}")
        session.assistant("yes")
        session.last_prompt(session.at)
        if turn == 1:
            session.compact()
            session.user("after")
            session.assistant("own compaction")
    assert texts(claude_code.parse(session.text()))[-2:] == ["more 3", "yes"]


def test_the_folds_after_a_compaction_hold_what_it_replaced() -> None:
    text = conversation().text()
    folds = claude_code.parse(compacted(compacted(text, 2), 2)).folds
    assert {fold.title.split(":")[0] for fold in folds} == {"Compacted away"}
    assert sum(fold.messages for fold in folds) == 4


def test_attachments_and_notes_behind_the_last_message_are_kept_too() -> None:
    session = conversation()
    trailing = [session.add("system", subtype="stop_hook_summary"), session.attachment()]
    boundary, _ = appended(session.text(), compacted(session.text(), 2))
    assert boundary["compactMetadata"]["preservedMessages"]["uuids"][-2:] == trailing


def test_progress_among_the_kept_messages_is_not_listed() -> None:
    text = conversation().text()
    boundary, _ = appended(text, compacted(text, 1))
    assert boundary["compactMetadata"]["preservedMessages"]["uuids"][:2] == ["r1", "r3"]


def test_a_branch_that_was_left_is_not_kept() -> None:
    session = conversation()
    session.at = "r3"
    session.assistant("other")
    session.last_prompt(session.at)
    boundary, _ = appended(session.text(), compacted(session.text(), 2))
    assert boundary["compactMetadata"]["preservedMessages"]["uuids"] == ["r3", session.at]


def test_a_torn_last_line_is_kept_on_a_line_of_its_own() -> None:
    text = conversation().text() + '{"type":"user","uuid":"torn","mess'
    made = compacted(text, 2)
    assert made[len(text) :].startswith('\n{"parentUuid":null')
    assert made.endswith("}\n")


def test_a_missing_final_newline_is_added_first() -> None:
    text = conversation().text().removesuffix("\n")
    assert compacted(text, 2)[len(text) :].startswith("\n{")


@pytest.mark.parametrize("final", ["\r\n", ""])
def test_windows_line_endings_are_used_for_the_new_lines_too(final: str) -> None:
    text = conversation().text("\r\n").removesuffix("\r\n") + final
    made = compacted(text, 2)
    assert made.count("\r\n") == made.count("\n") == len(text.splitlines()) + 2


def test_records_are_spelled_like_those_of_the_file() -> None:
    session = conversation()
    spaced = "".join(json.dumps(json.loads(line)) + "\n" for line in session.lines)
    assert '{"parentUuid": null, "logicalParentUuid": "r1", ' in compacted(spaced, 2)
    session.user("漢")
    escaped = "".join(json.dumps(json.loads(line)) + "\n" for line in session.lines)
    assert compacted(escaped, 2).isascii()
    assert not compacted(session.text(), 2).isascii()


def test_an_older_version_is_written_and_the_record_names_it() -> None:
    text = conversation(Session(version="1.0.95")).text()
    assert [record["version"] for record in appended(text, compacted(text, 2))] == ["1.0.95"] * 2


def test_keys_are_taken_from_the_last_record_that_has_them() -> None:
    session = conversation()
    session.user("moved", cwd="/elsewhere", gitBranch=None)
    boundary, _ = appended(session.text(), compacted(session.text(), 2))
    assert (boundary["cwd"], boundary["gitBranch"]) == ("/elsewhere", "main")


@pytest.mark.parametrize("version", ["2.2.0", "3.0.1", "0.9.1", "next"])
def test_a_version_whose_loading_is_not_known_is_read_only(version: str) -> None:
    text = conversation(Session(version=version)).text()
    transcript = claude_code.parse(text)
    assert len(transcript.messages) == 8
    with pytest.raises(LithifyError, match=f"written by Claude Code {version}") as raised:
        claude_code.write(text, transcript, 0, 1, {"role": "user", "content": "s"}, stamp())
    assert raised.value.type == "unsupported_document"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("\ufeff" + conversation().text(), "byte order mark"),
        (conversation().text("\r"), "lone carriage return"),
        (conversation().text().replace('"sessionId":"s1",', ""), "sessionId"),
        ('{"type":"user","message":{"content":"q"},"sessionId":"s"}\n' * 2, "`uuid`"),
    ],
)
def test_a_file_that_cannot_be_written_safely_is_read_only_and_says_why(text: str, reason: str) -> None:
    if "`uuid`" in reason:
        text += '{"type":"assistant","message":{"content":"a"},"sessionId":"s"}\n'
    transcript = claude_code.parse(text)
    assert transcript.messages
    assert not transcript.writable
    assert reason in (transcript.read_only_reason or "")


BEYOND_US = ["9" * 5000, "[" * 300 + "]" * 300]
"""Values that other readers of JSON take, and ours does not."""


@pytest.mark.parametrize("value", BEYOND_US, ids=["long number", "deep"])
def test_a_record_that_only_claude_code_may_read_makes_the_file_read_only_since_it_would_be_lost(value: str) -> None:
    *lines, last = conversation().text().splitlines(keepends=True)
    torn = "".join([*lines, last[:-20]])
    assert claude_code.parse(torn).writable  # such a line is lost to Claude Code too
    lines.append(last.replace('{"', '{"odd":' + value + ',"', 1))
    transcript = claude_code.parse("".join(lines))
    assert not transcript.writable
    assert f"Line {len(lines)} is n" in (transcript.read_only_reason or "")


@pytest.mark.parametrize(("start", "end"), [(1, 3), (0, 0), (0, 99)])
def test_only_the_first_messages_can_be_replaced(start: int, end: int) -> None:
    text = conversation().text()
    transcript = claude_code.parse(text)
    assert transcript.prefix_only
    with pytest.raises(LithifyError) as raised:
        claude_code.write(text, transcript, start, end, {"role": "user", "content": "s"}, stamp())
    assert raised.value.type == "invalid_range"
