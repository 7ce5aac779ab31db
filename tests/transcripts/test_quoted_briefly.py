"""What is said of a session that holds something long and unknown quotes the beginning of that."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lithify.transcripts.registry import by_name

LONG = "9.9.9 " + "q" * 30_000
SAID = {"type": "user", "uuid": "1", "parentUuid": None, "sessionId": "s", "message": {"role": "user", "content": "hi"}}
RESULT = {"type": "tool_result", "tool_use_id": LONG, "content": "x"}

SESSIONS: dict[str, tuple[str, list[dict[str, Any]]]] = {
    "version of Claude Code": ("claude-code", [{**SAID, "version": LONG}]),
    "parent": ("claude-code", [{**SAID, "parentUuid": LONG}]),
    "call": ("claude-code", [SAID, {**SAID, "uuid": "2", "parentUuid": "1", "message": {"content": [RESULT]}}]),
    "item of Codex": ("codex", [{"type": "response_item", "payload": {"type": LONG}}]),
    "record of kimi-code": (
        "kimi-code",
        [{"type": "metadata", "protocol_version": "1.5"}, {"type": f"context.{LONG}", "agentId": "main"}],
    ),
    "role of kimi-cli": ("kimi-context", [{"role": LONG, "content": "hi"}]),
    "message of Gemini CLI": (
        "gemini",
        [{"sessionId": "1", "projectHash": "x"}, {"id": "1", "type": LONG, "content": "hi"}],
    ),
    "version of opencode": ("opencode", [{"info": {"id": "ses_1", "version": LONG}, "messages": []}]),
}


@pytest.mark.parametrize("session", SESSIONS)
def test_a_reason_or_a_problem_is_no_longer_than_a_sentence(session: str) -> None:
    name, records = SESSIONS[session]
    chat_format = by_name(name)
    assert chat_format is not None
    transcript = chat_format.parse("".join(json.dumps(one) + "\n" for one in records))
    told = [one.message for one in transcript.problems] + [transcript.read_only_reason or ""]
    quoting = [one for one in told if "9.9.9" in one or "qqq" in one]
    assert quoting, told
    assert max(map(len, quoting)) < 400
