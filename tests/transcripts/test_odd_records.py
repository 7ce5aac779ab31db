"""Records with the keys of every agent and values that none of them writes: no format raises on any."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.transcripts.model import TranscriptFormat
from lithify.transcripts.registry import formats

KEYS = (
    *("type", "role", "kind", "id", "uuid", "parentUuid", "sessionId", "message", "messages", "payload", "data"),
    *("content", "parts", "text", "info", "requests", "response", "event", "events", "version", "protocol_version"),
    *("tool_calls", "toolCalls", "tool_call_id", "call_id", "arguments", "output", "result", "name", "input"),
    *("$set", "$rewindTo", "projectHash", "history", "time", "timestamp", "ordinal", "replacement_history"),
    *("compactMetadata", "subtype", "isSidechain", "leafUuid", "summary", "compactedCount", "measured", "rebased"),
)
WORDS = (
    *("user", "assistant", "system", "tool", "gemini", "model", "message", "compacted", "response_item"),
    *("session_meta", "event_msg", "compact_boundary", "context.append_message", "context.apply_compaction"),
    *("session.start", "user.message", "assistant.message", "function_call", "function_call_output", "text", "1.5"),
    *("tool_use", "tool_result", "compaction", "last-prompt", "metadata", "agent.message", "turn.prompt"),
)

USUAL: tuple[dict[str, Any], ...] = (
    {"type": "user", "role": "user", "message": {"role": "user", "content": "a"}, "uuid": "u", "data": {}},
    {"type": "gemini", "id": "m", "content": "a", "timestamp": "2026-07-01T07:31:40.906Z", "projectHash": "h"},
    {"type": "response_item", "payload": {"type": "message", "role": "user", "content": []}, "ordinal": 1},
    {"type": "context.append_message", "message": {"role": "user", "content": [], "toolCalls": []}, "time": 1},
    {"info": {"id": "msg_1", "role": "user"}, "messages": [{"info": {"id": "msg_2", "role": "user"}, "parts": []}]},
    {"requests": [{"message": {"text": "a"}, "response": []}], "responderUsername": "b"},
)

plain = st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.just(1e300), st.sampled_from(WORDS), st.just(""))
odd = st.recursive(
    plain,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(KEYS), inner, max_size=4)),
    max_leaves=8,
)
records = st.lists(st.dictionaries(st.sampled_from(KEYS), odd, min_size=1, max_size=6), min_size=1, max_size=5)


@pytest.mark.parametrize("one", formats(), ids=lambda one: one.name)
@given(found=records)
def test_no_record_makes_a_format_raise(one: TranscriptFormat, found: list[dict[str, Any]]) -> None:
    for text in ("\n".join(map(json.dumps, found)), json.dumps(found), json.dumps(found[0], indent=1)):
        one.recognise(text, "")
        one.parse(text)


@pytest.mark.parametrize("one", formats(), ids=lambda one: one.name)
def test_no_value_of_a_key_makes_a_format_raise(one: TranscriptFormat) -> None:
    for usual in USUAL:
        for key in KEYS:
            for value in (["x"], {"x": 1}, None, 3, True):
                text = f"{json.dumps(usual)}\n{json.dumps({**usual, key: value})}"
                one.recognise(text, "")
                one.parse(text)
