"""Whatever a rollout looks like, Codex takes up the summary and the exact rest, and no line of the file changes."""

from __future__ import annotations

import json
import re
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from lithify.transcripts import codex
from tests.support import codex_loader
from tests.support.codex_loader import Item
from tests.transcripts import made_files
from tests.transcripts.made_files import broken_lines, json_lines_files, scalars
from tests.transcripts.rewriting import replaceable, rewrite

SEALED: Item = {"type": "compaction", "encrypted_content": "gAAAA"}
ANSWER = "The answer: ü 😀\r\n```"

texts = made_files.texts.filter(lambda text: not re.search("[\ud800-\udfff]", text))
call_ids = st.sampled_from(["c1", "c2", "c3"])


def of(kind: str, **values: st.SearchStrategy[Any]) -> st.SearchStrategy[Item]:
    return st.fixed_dictionaries({"type": st.just(kind), **values})


def messages_of(role: str, part: str) -> st.SearchStrategy[Item]:
    parts = of(part, text=texts) | of("input_image", image_url=texts)
    return of("message", role=st.just(role), content=st.lists(parts, max_size=2))


environment = texts.map(
    lambda text: {
        "type": "message",
        "role": "user",
        "content": [{"type": "input_text", "text": f"<environment_context>{text}</environment_context>"}],
    }
)
items = st.one_of(
    messages_of("user", "input_text"),
    messages_of("assistant", "output_text"),
    messages_of("system", "input_text"),
    messages_of("developer", "input_text"),
    environment,
    of("reasoning", summary=st.lists(of("summary_text", text=texts), max_size=2), encrypted_content=texts),
    of("function_call", name=texts, arguments=texts, call_id=call_ids),
    of("custom_tool_call", name=texts, input=texts, call_id=call_ids),
    of("function_call_output", call_id=call_ids, output=texts | st.lists(of("input_text", text=texts), max_size=2)),
    of("custom_tool_call_output", call_id=call_ids, output=texts),
    of("web_search_call", status=texts),
    st.just(SEALED),
)


def records(kind: str, payloads: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return payloads.map(lambda payload: {"timestamp": "2026", "type": kind, "payload": payload})


spoken = records("response_item", items)
compactions = records(
    "compacted", st.fixed_dictionaries({"message": texts, "replacement_history": st.lists(items, max_size=4)})
)
products = spoken.map(lambda record: {**record, "metadata": {"compaction_output": True}})
others = records("event_msg", st.fixed_dictionaries({"type": st.just("user_message"), "message": texts})) | records(
    "turn_context", st.dictionaries(texts, scalars.filter(lambda value: value != "\ud800"), max_size=2)
)
files = json_lines_files(st.one_of(spoken, spoken, spoken, spoken, compactions, products, others), broken_lines)
odd_records = records(
    "response_item", st.dictionaries(st.sampled_from(["type", "role", "content"]), scalars)
) | records("compacted", st.fixed_dictionaries({"replacement_history": scalars | st.lists(scalars)}))

patient = settings(deadline=None)


def lines_of_codex(text: str) -> str:
    """The text with no carriage return alone at the end of a line, which ends none for Codex."""
    return re.sub(r"\r(?!\n)", "\n", text)


def numbered(text: str) -> str:
    """The file as a newer Codex writes it, an ordinal in each record."""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if '"timestamp"' in line:
            lines[number] = line.replace("{", f'{{"ordinal": {number}, ', 1)
    return "\n".join(lines)


@patient
@given(files, st.booleans(), st.data())
def test_codex_takes_up_the_summary_and_the_exact_rest(made: str, ordinals: bool, data: st.DataObject) -> None:
    text = numbered(lines_of_codex(made)) if ordinals else lines_of_codex(made)
    parsed = codex.parse(text)
    assert parsed.writable
    if not parsed.messages:
        return
    start = data.draw(st.integers(0, len(parsed.messages) - 1), "start")
    end = data.draw(st.integers(start + 1, len(parsed.messages)), "end")
    if not replaceable(parsed, start, end):
        return
    result = rewrite(codex, text, start, end, ANSWER).text
    assert result.startswith(text)
    assert result[len(text) :].count("\n") <= 2
    before, after = codex_loader.load(text.encode()).history, codex_loader.load(result.encode()).history
    place = next(
        at for at, item in enumerate(after) if ANSWER in [part.get("text") for part in item.get("content") or []]
    )
    head, tail = [item for item in after[:place] if item != SEALED], after[place + 1 :]
    assert before[len(before) - len(tail) :] == tail
    assert [item for item in before if item != SEALED][: len(head)] == head
    assert before.count(SEALED) == after.count(SEALED)


@patient
@given(json_lines_files(st.one_of(spoken, compactions, odd_records), broken_lines) | made_files.any_text)
def test_any_text_is_read_and_every_place_lies_within_it(text: str) -> None:
    parsed = codex.parse(text)
    codex.recognise(text, "rollout-1.jsonl")
    for placed in parsed.messages:
        for start, end in ((placed.start, placed.end), *placed.more):
            assert isinstance(json.loads(text[start:end]), dict)
    assert all(0 <= fold.start < fold.end <= len(text) and fold.messages > 0 for fold in parsed.folds)
    assert parsed.writable or parsed.read_only_reason
