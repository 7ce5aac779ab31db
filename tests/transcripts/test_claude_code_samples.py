"""Real sessions of Claude Code are read whole, compacted at every message, and loaded as meant."""

from __future__ import annotations

from pathlib import Path

from lithify.transcripts import claude_code
from tests.support.claude_code_session import compacted, widened
from tests.support.samples import sample_paths

SAMPLES = [path for path in sample_paths() if path.parent.name == "claude-code"]
OTHERS = [path for path in sample_paths() if path not in SAMPLES]
PROBLEMS = {"ccl-edge_cases.jsonl": [9, 10, 12, 14, 15, 16]}
MESSAGES = {
    "ccl-edge_cases.jsonl": 12,
    "ccl-representative_messages.jsonl": 11,
    "copilotchat-b3a7bd3c.jsonl": 7,
    "copilotchat-vn-98b76fb9.jsonl": 5,
    "simonw-sample_session.jsonl": 7,
    "vct-claude_code.jsonl": 75,
}


def read(path: Path) -> str:
    return path.read_bytes().decode("utf-8")


def test_each_session_is_recognised_and_read_with_the_problems_it_has() -> None:
    assert SAMPLES
    for path in SAMPLES:
        assert claude_code.recognise(read(path), path.name), path
        parsed = claude_code.parse(read(path))
        assert len(parsed.messages) == MESSAGES[path.name], path
        assert [problem.line for problem in parsed.problems] == PROBLEMS.get(path.name, []), path
        assert parsed.writable, path


def test_chat_files_of_other_tools_are_not_recognised() -> None:
    for path in OTHERS:
        assert not claude_code.recognise(read(path), path.name), path


def test_a_native_compaction_leaves_what_came_before_it_under_one_fold() -> None:
    (path,) = (path for path in SAMPLES if path.name == "copilotchat-vn-98b76fb9.jsonl")
    parsed = claude_code.parse(read(path))
    assert [fold.title for fold in parsed.folds] == ["Compacted away: 6 messages"]
    assert parsed.conversation[0]["content"].startswith("This session is being continued")


def test_a_session_compacted_up_to_any_message_is_loaded_as_the_summary_and_the_exact_tail() -> None:
    for path in SAMPLES:
        text = read(path)
        parsed = claude_code.parse(text)
        for end in range(1, len(parsed.messages) + 1):
            made = compacted(text, widened(parsed, end))
            if len(claude_code.parse(made).messages) > 2:
                compacted(made, widened(claude_code.parse(made), 2))
