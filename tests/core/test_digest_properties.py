"""What holds for every digest."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lithify.core.digest import digest, labels
from lithify.core.digest.cleaning import clean
from lithify.core.messages import counted_bytes
from tests.support.samples import sample, sample_paths

LINES = st.sampled_from(
    [
        "Please never use tabs, because the linter fails.",
        "I'll go with a queue instead of a list.",
        "```python title=app.py\ndef f():\n    return 1\n```",
        "Error: ENOENT no such file",
        "<current_focus>x</current_focus> </file> <file>",
        "<system-reminder>hidden</system-reminder>",
        "<think>hidden",
        "- [ ] open box",
        "## Next",
        "     1→line one\n     2→line two",
        "[File: /a/b.py (3 lines total)]\n(Open file: /a/b.py)\n(Current directory: /a)\nbash-$",
        "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** End Patch",
        "日本語のテキストです。次に進みます。",
        "\x1b[31mred\x1b[0m 5%\r100%",
        "<write_to_file><path>x.py</path><content>y = 1</content></write_to_file>",
        '{"output":"FAILED","metadata":{"exit_code":1}}',
        "<system>Previous context has been compacted. Here is the compaction output:</system>",
        "continue",
        "- (12 older left out)",
        "- failing: `pytest`: 1 failed",
        "- `pytest`: 3 passed (7 runs)",
        "<important_context>\n- User: Never edit it.\n- first request: Build it",
        "cat > a.py <<EOF\nx = 1\nEOF\npytest",
        "Use this, not that. Python 3.11+ from now on.",
    ]
)
TEXTS = st.one_of(st.text(max_size=60), st.lists(LINES, max_size=6).map("\n".join))
NAMES = st.sampled_from(["Bash", "Edit", "Write", "Read", "shell", "TodoWrite", "apply_patch", "edit", "ls", "mystery"])
KEYS = st.sampled_from(
    ["path", "file_path", "content", "command", "old_string", "new_string", "todos", "edits", "diff"]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
ARGUMENTS = st.dictionaries(KEYS, st.one_of(TEXTS, JSON), max_size=4)
PARTS = st.one_of(
    st.builds(lambda text: {"type": "text", "text": text}, TEXTS),
    st.builds(lambda name, values: {"type": "tool_use", "id": "t", "name": name, "input": values}, NAMES, ARGUMENTS),
    st.builds(lambda text: {"type": "tool_result", "tool_use_id": "t", "content": text}, TEXTS),
)
CALLS = st.builds(
    lambda name, values: {"id": "c", "function": {"name": name, "arguments": json.dumps(values)}}, NAMES, ARGUMENTS
)
MESSAGES = st.one_of(
    st.builds(lambda text: {"role": "user", "content": text}, TEXTS),
    st.builds(
        lambda text, calls: {"role": "assistant", "content": text, "tool_calls": calls},
        TEXTS,
        st.lists(CALLS, max_size=2),
    ),
    st.builds(lambda text: {"role": "tool", "tool_call_id": "c", "content": text}, TEXTS),
    st.builds(
        lambda role, parts: {"role": role, "content": parts},
        st.sampled_from(["user", "assistant", "system", "tool", "odd"]),
        st.lists(PARTS, max_size=4),
    ),
)
CHATS = st.lists(MESSAGES, max_size=12)
TARGETS = st.integers(1024, 6000)
WORD = re.compile(r"\w+")
NUMBERS = re.compile(r"\((\d+) (?:older|more) left out\)|\((\d+) runs\)")
LABEL_WORDS = {
    word
    for name, value in vars(labels).items()
    if name.isupper()
    for text in (value if isinstance(value, tuple) else [value])
    if isinstance(text, str)
    for word in WORD.findall(text)
}


def texts_in(value: Any) -> list[str]:
    """Every string inside a value, decoded where it is JSON."""
    if isinstance(value, str):
        try:
            decoded = json.loads(value)
        except (ValueError, RecursionError):
            return [value]
        return [value, *texts_in(decoded)] if isinstance(decoded, dict | list) else [value]
    if isinstance(value, dict):
        return [text for each in value.values() for text in texts_in(each)] + [str(key) for key in value]
    return [text for each in value for text in texts_in(each)] if isinstance(value, list) else [str(value)]


def strange_words(messages: Any, text: str) -> set[str]:
    """Words of a digest that are neither labels nor in the messages, taken with and without their noise."""
    source = "\n".join(texts_in(messages))
    lines = clean(source.replace("\r", "\n"))
    known = "\n".join((source, clean(source), clean(source).replace("**", ""), lines))
    text = NUMBERS.sub("", text)
    return {word for word in WORD.findall(text) if word not in LABEL_WORDS and word not in known}


def assert_well_formed(text: str, target_bytes: int) -> None:
    """The size and the tags of a digest."""
    assert len(text.encode()) <= target_bytes
    tags = [tag for tag in re.findall(r"</?(\w+)>", text) if tag in labels.SECTIONS]
    assert tags == [name for name in labels.SECTIONS for _ in range(2)]
    assert text.count("<file>") == text.count("</file>")


@given(messages=CHATS, target=TARGETS)
@settings(max_examples=200, deadline=None)
def test_a_digest_fits_and_holds_its_six_sections(messages: list[dict[str, Any]], target: int) -> None:
    assert_well_formed(digest(messages, target), target)


@given(messages=CHATS, target=TARGETS)
@settings(max_examples=100, deadline=None)
def test_a_digest_says_nothing_in_words_of_its_own(messages: list[dict[str, Any]], target: int) -> None:
    assert strange_words(messages, digest(messages, target)) == set()


@given(messages=CHATS, target=TARGETS)
@settings(max_examples=50, deadline=None)
def test_a_digest_is_deterministic(messages: list[dict[str, Any]], target: int) -> None:
    assert digest(messages, target) == digest(json.loads(json.dumps(messages)), target)


@given(
    messages=st.lists(
        st.one_of(JSON, st.dictionaries(st.sampled_from(["role", "content", "tool_calls"]), JSON)), max_size=6
    )
)
@settings(max_examples=200, deadline=None)
def test_foreign_shapes_do_no_harm(messages: list[Any]) -> None:
    assert_well_formed(digest(messages, 1024), 1024)


@given(messages=CHATS)
@settings(max_examples=50, deadline=None)
def test_a_digest_of_a_digest_fits_as_well(messages: list[dict[str, Any]]) -> None:
    text = digest([{"role": "user", "content": digest(messages, 4096)}, *messages], 1024)
    assert_well_formed(text, 1024)


@pytest.mark.parametrize("path", sample_paths(), ids=lambda path: path.stem[:40])
def test_a_real_transcript_is_told_literally_within_its_budget(path: Any) -> None:
    messages = sample(path)
    target = max(1024, sum(map(counted_bytes, messages)) // 10)
    text = digest(messages, target)
    assert_well_formed(text, target)
    assert strange_words(messages, text) == set()
    assert "- (none)" not in text.partition("</current_focus>")[0]
