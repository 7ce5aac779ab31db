"""Whatever a session of these agents looks like, the agent takes up the summary and the exact rest."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from lithify.core import tool_groups
from lithify.core.messages import text_of
from lithify.core.outcomes import LithifyError
from lithify.transcripts import gemini, kimi_code, opencode
from lithify.transcripts.model import TranscriptFormat
from lithify.transcripts.registry import formats
from tests.support import gemini_loader, kimi_code_loader, opencode_loader
from tests.transcripts import made_files
from tests.transcripts.agent_records import (
    GEMINI_SESSION,
    KIMI_METADATA,
    SUMMARY,
    Json,
    compacted,
    export,
    gemini_call,
    gemini_said,
    gemini_user,
    kimi_counted,
    kimi_event,
    kimi_message,
    kimi_reminder,
    kimi_text,
    kimi_user,
    opencode_key,
    opencode_message,
    opencode_text,
    opencode_tool,
)
from tests.transcripts.made_files import broken_lines, json_lines_files, on_one_line, texts
from tests.transcripts.rewriting import STAMP

patient = settings(deadline=None)
names = st.sampled_from(["1", "2", "3", "4", "5"])
calls = st.sampled_from(["c1", "c2", "c3"])


def drawn_end(text: str, chat_format: TranscriptFormat, data: st.DataObject) -> int | None:
    """Where some compaction from the first message on ends; None where there is none."""
    parsed = chat_format.parse(text)
    if not parsed.writable or not parsed.messages:
        return None
    end = data.draw(st.integers(1, len(parsed.messages)), "end")
    return tool_groups.widen(parsed.conversation, 0, end)[1]


# --- Gemini CLI -----------------------------------------------------------------------------------------------

gemini_parts = st.lists(
    st.fixed_dictionaries({"text": texts})
    | st.just({"inlineData": {"mimeType": "image/png", "data": "AA"}})
    | calls.map(lambda one: {"functionResponse": {"id": one, "name": "ls", "response": {"output": "x"}}}),
    max_size=3,
)
gemini_said_strategy = st.builds(
    lambda key, text, made, thought: gemini_said(key, text, *map(gemini_call, made), thoughts=thought),
    names,
    texts | gemini_parts,
    st.lists(calls, max_size=3),
    st.lists(st.fixed_dictionaries({"description": texts}), max_size=1),
)
gemini_messages = st.builds(gemini_user, names, texts | gemini_parts) | gemini_said_strategy
gemini_records = st.one_of(
    gemini_messages,
    gemini_messages,
    gemini_messages,
    names.map(lambda key: {"id": key, "type": "info", "content": "x"}),
    names.map(lambda key: {"$rewindTo": key}),
    st.lists(gemini_messages, max_size=4).map(lambda some: {"$set": {"messages": some}}),
    st.just({"$set": {"lastUpdated": "2026"}}),
    st.just(GEMINI_SESSION),
)
gemini_files = json_lines_files(gemini_records, broken_lines)


@patient
@given(gemini_files, st.data())
def test_gemini_sends_the_summary_and_the_exact_rest(made: str, data: st.DataObject) -> None:
    text = json.dumps(GEMINI_SESSION) + "\n" + made
    parsed = gemini.parse(text)
    assert parsed.writable
    if not parsed.messages:
        return
    start = data.draw(st.integers(0, len(parsed.messages) - 1), "start")
    end = data.draw(st.integers(start + 1, len(parsed.messages)), "end")
    first, last = tool_groups.widen(parsed.conversation, start, end)
    places = [(one.start, one.end) for one in parsed.messages]
    if (first and places[first - 1] == places[first]) or (last < len(places) and places[last - 1] == places[last]):
        return  # one record that holds more than a call and its results is not parted
    result = compacted(gemini, text, end, start)
    assert result.startswith(text)
    before, after = gemini_loader.load(text.encode()), gemini_loader.load(result.encode())
    assert after.skipped == before.skipped
    summary = {"role": "user", "parts": [{"text": part["text"]} for part in SUMMARY["content"]]}
    place = after.turns.index(summary)
    tail = after.turns[place + 1 :]
    assert after.turns[:place] == before.turns[:place]
    assert before.turns[len(before.turns) - len(tail) :] == tail
    gemini_loader.load(gemini_loader.append(result.encode(), gemini_user("next")))


# --- kimi-code ------------------------------------------------------------------------------------------------

steps = st.sampled_from(["s1", "s2"])
kimi_records = st.one_of(
    texts.map(kimi_user),
    texts.map(kimi_reminder),
    texts.map(lambda text: kimi_message(text, "assistant")),
    steps.map(lambda key: kimi_event("step.begin", uuid=key)),
    steps.map(lambda key: kimi_event("step.begin", uuid=key)),
    st.builds(lambda key, text: kimi_event("content.part", stepUuid=key, part=kimi_text(text)), steps, texts),
    st.builds(lambda key, one: kimi_event("tool.call", stepUuid=key, toolCallId=one, name="Bash"), steps, calls),
    calls.map(lambda one: kimi_event("tool.result", toolCallId=one, result={"output": one})),
    calls.map(lambda one: kimi_event("tool.result", toolCallId=one, result={"output": [kimi_text(one)]})),
    st.sampled_from(["end_turn", "error"]).map(lambda why: kimi_event("step.end", uuid="s1", finishReason=why)),
    st.builds(lambda count: {"type": "context.undo", "agentId": "main", "count": count}, st.integers(0, 3)),
    st.builds(
        lambda text, count: {
            "type": "context.apply_compaction",
            "agentId": "main",
            "summary": text,
            "compactedCount": count,
            "legacyTail": True,
        },
        texts,
        st.integers(0, 6),
    ),
    st.just({"type": "turn.ended", "agentId": "main"}),
)


@st.composite
def kimi_files(draw: st.DrawFn) -> str:
    ending = draw(st.sampled_from(["\n", "\r\n"]))
    records = [KIMI_METADATA, *draw(st.lists(kimi_records, max_size=14))]
    text = "".join(draw(on_one_line(record)) + ending for record in records)
    counted = draw(on_one_line(kimi_counted(len(kimi_code.parse(text).messages))))
    return text + counted + draw(st.sampled_from(["", ending, ending + ending]))


@patient
@given(kimi_files(), st.data())
def test_kimi_code_sends_the_summary_and_the_exact_rest(text: str, data: st.DataObject) -> None:
    before = kimi_code_loader.load(text.encode())
    assert kimi_code.parse(text).writable is not bool(before.unanswered or before.waiting)
    end = drawn_end(text, kimi_code, data)
    if end is None:
        return
    assert len(before.context) == len(kimi_code.parse(text).messages)
    result = compacted(kimi_code, text, end)
    assert result.startswith(text)
    after = kimi_code_loader.load(result.encode())
    assert not after.lost
    assert kimi_code_loader.text(after.context[0]) == text_of(SUMMARY)
    assert after.context[1:] == before.context[end:]


# --- opencode -------------------------------------------------------------------------------------------------

opencode_of_user = st.lists(
    texts.map(opencode_text) | st.just({"type": "file", "mime": "image/png", "url": "data:x"}), max_size=2
)
opencode_of_model = st.lists(
    texts.map(opencode_text)
    | texts.map(lambda text: {"type": "reasoning", "text": text})
    | st.just({"type": "step-start"})
    | st.builds(opencode_tool, calls, texts, st.sampled_from(["completed", "running"])),
    max_size=3,
)


@st.composite
def opencode_messages(draw: st.DrawFn) -> list[Json]:
    made: list[Json] = []
    for kind in draw(
        st.lists(st.sampled_from(["user", "model", "user", "model", "compaction"]), min_size=1, max_size=9)
    ):
        number = len(made) + 1
        if kind == "user":
            made.append(opencode_message(number, "user", *draw(opencode_of_user)))
        elif kind == "model":
            made.append(opencode_message(number, "assistant", *draw(opencode_of_model)))
        else:
            first = {} if draw(st.booleans()) else {"tail_start_id": opencode_key(draw(st.integers(0, number)))}
            made.append(opencode_message(number, "user", {"type": "compaction", "auto": False, **first}))
            told = {"summary": True, "parentID": opencode_key(number), "finish": draw(st.sampled_from(["stop", None]))}
            made.append(opencode_message(number + 1, "assistant", opencode_text(draw(texts)), **told))
    return made


@patient
@given(opencode_messages(), st.sampled_from([None, 2, 4]), st.data())
def test_opencode_sends_the_summary_and_the_exact_rest(
    made: list[Json], indent: int | None, data: st.DataObject
) -> None:
    text = _encodable(export(*made, indent=indent))
    end = drawn_end(text, opencode, data)
    if end is None or _refused(text, end):
        return
    before = opencode_loader.load(text.encode())
    result = compacted(opencode, text, end)
    after = opencode_loader.load(result.encode())
    assert opencode_loader.text(after[1]) == text_of(SUMMARY)
    tail = after[2:]
    assert before[len(before) - len(tail) :] == tail
    parsed = json.loads(result)
    assert parsed["messages"][: len(made)] == json.loads(text)["messages"]


def _encodable(text: str) -> str:
    return text.replace("\ud800", "\\ud800")


def _refused(text: str, end: int) -> bool:
    """Whether nothing is written, because what stays would be sent with an earlier compaction in the middle of it."""
    try:
        opencode.write(text, opencode.parse(text), 0, end, SUMMARY, STAMP)
    except LithifyError:
        return '"compaction"' in text
    return False


@patient
@given(
    st.sampled_from(formats()),
    gemini_files | kimi_files() | opencode_messages().map(lambda made: export(*made)) | made_files.any_text,
    st.integers(0, 400),
    st.sampled_from(["", '"', "{", "]", ",", "\\", "\n", "\ufeff"]),
)
def test_any_text_is_read_and_every_place_lies_within_it(
    chat_format: TranscriptFormat, text: str, place: int, garbage: str
) -> None:
    damaged = text[:place] + garbage + text[place:]
    parsed = chat_format.parse(damaged)
    chat_format.recognise(damaged, "x")
    assert parsed.writable or parsed.read_only_reason
    for placed in parsed.messages:
        for start, end in ((placed.start, placed.end), *placed.more):
            assert 0 <= start < end <= len(damaged)
    assert all(0 <= fold.start < fold.end <= len(damaged) and fold.messages > 0 for fold in parsed.folds)
    first: Any = next(iter(parsed.conversation), {"role": "user"})
    assert isinstance(first, dict)
