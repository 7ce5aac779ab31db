"""Chat files that are read and never written: Copilot CLI, VS Code's exports, Cline and Roo Code."""

from __future__ import annotations

import json
import re
import time
from typing import Any

import pytest

from lithify.core.kimi import summary_message
from lithify.core.messages import text_of
from lithify.core.outcomes import LithifyError
from lithify.transcripts import cline, copilot_cli, openai_json, vscode_chat
from lithify.transcripts.model import Transcript, TranscriptFormat
from lithify.transcripts.registry import recognise
from tests.support.messages import orphans
from tests.support.samples import sample, sample_paths
from tests.transcripts.agent_records import lines
from tests.transcripts.rewriting import STAMP

Json = dict[str, Any]

COPILOT_SAMPLES = [path for path in sample_paths() if path.parent.name == "copilot-cli"]


def read(chat_format: TranscriptFormat, text: str) -> Transcript:
    """The transcript, of which nothing is written."""
    parsed = chat_format.parse(text)
    assert not parsed.writable
    assert parsed.read_only_reason
    with pytest.raises(LithifyError, match=re.escape(parsed.read_only_reason)):
        chat_format.write(text, parsed, 0, 1, summary_message([], "short"), STAMP)
    return parsed


def words(parsed: Transcript) -> list[str]:
    return [f"{message['role']}: {text_of(message)}" for message in parsed.conversation]


# --- Copilot CLI ----------------------------------------------------------------------------------------------


def event(kind: str, **data: Any) -> Json:
    return {"type": kind, "data": data, "id": "1", "timestamp": "2026", "parentId": None}


COPILOT = lines(
    event("session.start", sessionId="s", version=1),
    event("system.message", role="system", content="You are a helper."),
    event("user.message", content="List 日本", transformedContent="<now/>\nList 日本"),
    event(
        "assistant.message",
        content="I look. 😀",
        reasoningText="Hm.",
        toolRequests=[
            {"toolCallId": "a", "name": "ls", "arguments": {"path": "日本"}},
            {"toolCallId": "b", "name": "x"},
        ],
    ),
    event("tool.execution_start", toolCallId="a", toolName="ls"),
    event("tool.execution_complete", toolCallId="a", success=True, result={"content": "two files"}),
    event("tool.execution_complete", toolCallId="b", success=False, error={"message": "no such tool"}),
    event("assistant.message", content="Two files"),
)


def test_a_copilot_session_is_what_was_sent_with_calls_and_results() -> None:
    parsed = read(copilot_cli, COPILOT)
    assert words(parsed) == [
        *("user: <now/>\nList 日本", "assistant: I look. 😀", "tool: two files", "tool: no such tool"),
        "assistant: Two files",
    ]
    assert parsed.conversation[1]["content"][0] == {"type": "think", "think": "Hm."}
    assert orphans(parsed.conversation) == []
    assert parsed.problems == ()


def test_a_compaction_of_copilot_leaves_its_summary_and_what_came_after() -> None:
    done = event("session.compaction_complete", success=True, summaryContent="In short")
    failed = event("session.compaction_complete", success=False, error="x", summaryContent="half")
    parsed = read(copilot_cli, COPILOT + lines(done, event("user.message", content="more"), failed))
    assert words(parsed) == ["user: In short", "user: more"]
    assert [fold.title for fold in parsed.folds] == ["Compacted away: 5 messages"]


def test_what_a_subagent_of_copilot_says_is_folded() -> None:
    parsed = read(copilot_cli, COPILOT + lines(event("assistant.message", content="x", parentToolCallId="a")))
    assert len(parsed.messages) == 5
    assert [fold.title for fold in parsed.folds] == ["Subagent: 1 message"]


def test_broken_events_are_problems() -> None:
    parsed = read(copilot_cli, COPILOT + '17\n{"type":"user.message","da')
    assert [problem.line for problem in parsed.problems] == [8, 9]


def test_each_copilot_sample_is_read_as_the_throw_away_converter_reads_it() -> None:
    for path in COPILOT_SAMPLES:
        text = path.read_bytes().decode()
        assert recognise(text, "a file") is copilot_cli
        parsed = read(copilot_cli, text)
        expected = [message for message in sample(path) if message["role"] != "system"]
        assert parsed.problems == ()
        assert words(parsed) == [f"{message['role']}: {text_of(message)}" for message in expected]
        assert orphans(parsed.conversation) == []


# --- VS Code --------------------------------------------------------------------------------------------------


def export(*requests: Any, **more: Any) -> str:
    document = {"responderUsername": "GitHub Copilot", "initialLocation": "panel", "requests": list(requests), **more}
    return json.dumps(document, indent=2, ensure_ascii=False)


ROUNDS = {
    "toolCallRounds": [
        {"response": "I look. 😀", "toolCalls": [{"id": "a", "name": "list_dir", "arguments": '{"path":"日本"}'}]},
        {"response": "Two files", "toolCalls": []},
    ],
    "toolCallResults": {"a": {"$mid": 20, "content": [{"$mid": 21, "value": "two files"}]}},
}


def test_an_export_is_read_by_the_rounds_of_tool_calls_where_it_holds_them() -> None:
    asked = {
        "message": {"text": "List 日本", "parts": []},
        "response": [{"value": "shown"}],
        "result": {"metadata": ROUNDS},
    }
    parsed = read(vscode_chat, export(asked))
    assert words(parsed) == [*("user: List 日本", "assistant: I look. 😀", "tool: two files", "assistant: Two files")]
    assert orphans(parsed.conversation) == []
    assert len({(one.start, one.end) for one in parsed.messages}) == 1


def test_an_export_without_rounds_is_read_by_what_was_shown() -> None:
    response = [
        {"kind": "thinking", "value": "Hm."},
        {"value": "Two "},
        {"kind": "toolInvocationSerialized", "toolId": "x"},
        {"kind": "markdownContent", "content": {"value": "files"}},
    ]
    parsed = read(vscode_chat, export({"message": "List it", "response": response}))
    assert words(parsed) == ["user: List it", "assistant: Two files"]
    assert parsed.conversation[1]["content"][0] == {"type": "think", "think": "Hm."}


def test_a_request_has_its_place_and_a_stranger_is_a_problem() -> None:
    text = export({"message": {"text": "a"}}, 17, {"message": {"text": "b"}})
    parsed = read(vscode_chat, text)
    assert [json.loads(text[one.start : one.end])["message"]["text"] for one in parsed.messages] == ["a", "b"]
    assert [problem.message for problem in parsed.problems] == ["not a request: no object"]


def test_a_request_in_which_nothing_was_asked_is_no_message() -> None:
    assert vscode_chat.parse(export({}, {"message": {"text": ""}})).conversation == []


def test_a_torn_export_is_read_as_far_as_it_goes() -> None:
    text = export({"message": {"text": "a"}}, {"message": {"text": "b"}})
    parsed = read(vscode_chat, text[: text.index('"b"')])
    assert words(parsed) == ["user: a"]
    assert [problem.message for problem in parsed.problems] == ["cut off in the middle"]


# --- Cline ----------------------------------------------------------------------------------------------------

CLINE = json.dumps(
    [
        {"role": "user", "content": [{"type": "text", "text": "<task>\nList it\n</task>"}], "ts": 1},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "list_files", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "two files"}]},
    ]
)


def test_the_messages_of_a_task_of_cline_are_told_by_the_name_of_their_file_alone() -> None:
    assert recognise(CLINE, "/home/me/tasks/17/api_conversation_history.json") is cline
    assert recognise(CLINE, "C:\\tasks\\17\\api_conversation_history.json") is cline
    assert recognise(CLINE, "copy.json") is openai_json
    assert recognise("[]", "api_conversation_history.json") is None


def test_the_messages_of_a_task_of_cline_are_read_as_they_stand() -> None:
    parsed = read(cline, CLINE)
    assert parsed.conversation == json.loads(CLINE)
    assert orphans(parsed.conversation) == []
    assert not cline.parse('[{"role":"human","content":"a"}]').messages


# --- all ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        (COPILOT, "x", copilot_cli),
        (lines(event("user.message", content="a")), "x", copilot_cli),
        ("", "/home/me/.copilot/session-state/1/events.jsonl", copilot_cli),
        ("", "events.jsonl", None),
        (lines({"type": "user.message"}), "events.jsonl", None),
        (export(), "chat.json", vscode_chat),
        (export(version=3, sessionId="s"), "x", vscode_chat),
        ('{"responderUsername": "x"}', "chat.json", None),
        ('{"requests": []}', "chat.json", None),
    ],
)
def test_each_is_recognised_by_what_nobody_else_writes(text: str, name: str, expected: TranscriptFormat | None) -> None:
    assert recognise(text, name) is expected


def test_eight_megabytes_are_read_in_seconds() -> None:
    told = {"message": {"text": "a"}, "response": [{"value": "x" * 8000}]}
    shown = lines(*[event("assistant.message", content="x" * 8000)] * 1000)
    begun = time.process_time()
    assert len(vscode_chat.parse(export(*[told] * 1000)).messages) == 2000
    assert len(copilot_cli.parse(shown).messages) == 1000
    assert time.process_time() - begun < 5
