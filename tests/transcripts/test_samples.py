"""Real chat files are read whole and written back with nothing but the range changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from lithify.core.messages import estimate_tokens
from lithify.transcripts import kimi_context, openai_json, openai_jsonl
from lithify.transcripts.line_reading import tokens_of
from lithify.transcripts.registry import recognise
from tests.support import kimi_loader
from tests.support.samples import DATA, sample_paths
from tests.transcripts.rewriting import replaceable, rewrite

OPENAI = [path for path in sample_paths() if path.parent.name in ("openai-messages", "cline")]
KIMI = [path for path in sample_paths() if path.parent.name == "kimi-cli"]
AGENTS = [
    path
    for path in sample_paths()
    if path.parent.name in ("claude-code", "codex", "specstory", "gemini-cli", "copilot-cli")
]
FORMATS = {"gemini-cli": "gemini"}
"""Formats that are not called as the folder of their samples."""
CLINE = DATA / "transcripts" / "cline"


def read(path: Path) -> str:
    return path.read_bytes().decode("utf-8")


def ranges(length: int) -> list[tuple[int, int]]:
    return [(start, end) for start in range(0, length, 3) for end in range(start + 1, length + 1)]


def test_each_sample_is_recognised_and_read_without_a_problem() -> None:
    for path in [*OPENAI, *KIMI]:
        text = read(path)
        found = recognise(text, path.name)
        assert found is (kimi_context if path in KIMI else openai_json), path
        parsed = found.parse(text)
        assert parsed.messages, path
        assert not parsed.problems, path
        assert parsed.writable, path


def test_the_tokens_of_a_transcript_are_those_of_its_conversation() -> None:
    for path in sample_paths():
        text = read(path)
        found = recognise(text, path.name)
        parsed = found.parse(text) if found else None
        assert parsed is None or tokens_of(parsed) == estimate_tokens(parsed.conversation), path


def test_each_agents_sample_is_recognised_as_that_agents() -> None:
    assert AGENTS
    for path in AGENTS:
        found = recognise(read(path), "a file")
        assert found is not None, path
        assert found.name == FORMATS.get(path.parent.name, path.parent.name), path
        assert found.parse(read(path)).messages, path


@pytest.mark.parametrize(
    "text",
    [
        '{"kind":0,"v":{"version":3,"responderUsername":"GitHub Copilot","requests":[]}}\n{"kind":1,"k":["x"]}\n',
        '[{"role":"model","parts":[{"text":"a"}]}]',
    ],
    ids=["vs code", "a saved chat of gemini"],
)
def test_chat_files_of_other_tools_are_not_taken_for_one_of_ours(text: str) -> None:
    assert recognise(text, "session.jsonl") is None


def test_any_range_of_an_openai_sample_is_replaced_with_every_other_byte_kept() -> None:
    for path in OPENAI:
        text = read(path)
        parsed = openai_json.parse(text)
        for start, end in ranges(len(parsed.messages)):
            if replaceable(parsed, start, end):
                made = rewrite(openai_json, text, start, end)
                assert made.text.endswith(made.tail), (path, start, end)


def test_the_summary_in_a_pretty_printed_sample_is_indented_like_its_neighbours() -> None:
    text = read(CLINE / "sdk-agentic.compaction.json")
    made = rewrite(openai_json, text, 0, 1, "done")
    assert made.text.startswith(
        made.head + '{\n\t\t\t"role": "user",\n\t\t\t"content": [\n\t\t\t\t{\n\t\t\t\t\t"type": "text",'
    )
    assert made.text.endswith('"text": "done"\n\t\t\t\t}\n\t\t\t]\n\t\t}' + made.tail)


def test_any_range_of_a_kimi_sample_is_replaced_and_kimi_loads_just_that_conversation() -> None:
    for path in KIMI:
        text = read(path)
        for start, end in ranges(len(kimi_context.parse(text).messages)):
            made = rewrite(kimi_context, text, start, end)
            session = kimi_loader.load(made.text.encode())
            assert session.messages == made.parsed.conversation, (path, start, end)
            assert session.skipped == [], (path, start, end)


def test_the_lines_of_an_openai_sample_made_one_a_line_round_trip_as_json_lines() -> None:
    import json

    parsed = openai_json.parse(read(CLINE / "sdk-agentic.compaction.json"))
    text = "".join(json.dumps(message) + "\r\n" for message in parsed.conversation)
    assert recognise(text, "chat.jsonl") is openai_jsonl
    made = rewrite(openai_jsonl, text, 1, 3)
    assert made.text.endswith(made.tail)
