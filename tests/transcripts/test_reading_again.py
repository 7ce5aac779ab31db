"""A text that is read again after edits: what comes out is what a first reading finds, and no more is read than was
changed."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lithify.core.bare_messages import bare
from lithify.core.messages import counted_bytes
from lithify.transcripts import claude_code, codex, kimi_context, line_reading, openai_json, openai_jsonl
from lithify.transcripts.json_lines import LOOKED_AT
from lithify.transcripts.line_format import LineFormat
from lithify.transcripts.line_reading import LineReading
from lithify.transcripts.lines import Lines
from lithify.transcripts.outline import Outline
from lithify.transcripts.places import PlacesInText
from lithify.transcripts.reading import Reading, read, read_again
from tests.support.claude_code_session import Session
from tests.support.messages import assistant, calling, result, user
from tests.support.transcripts import json_lines
from tests.transcripts import made_files, test_claude_code_made_files, test_codex_made, test_specstory_made

NAME = "chat.jsonl"
CHARACTERS = ["", "x", "ü😀", '"', "\\", "{", "}", ",", " ", "\t", "\n", "\r", "\r\n", "\ufeff"]
WORDS = ["null", "user", "r1", "c1", '"content":[{"type":"tool_use","id":"a"}]']
WHOLE_LINES = [
    '{"role":"user","content":"new"}\n',
    '\n{"role":"_checkpoint","id":0}\n',
    '{"type":"response_item","payload":{"type":"message","role":"user","content":[]}}\n',
]
PIECES = st.sampled_from([*CHARACTERS, *WORDS, *WHOLE_LINES])
FILES = {
    "openai-jsonl": made_files.openai_lines_files,
    "kimi-context": made_files.kimi_files,
    "claude-code": test_claude_code_made_files.texts(),
    "codex": test_codex_made.files,
    "openai-json": made_files.json_documents(),
    "specstory": test_specstory_made.exports(),
}
LINES_OF_JSON = [one for one in FILES if one not in ("openai-json", "specstory")]


@st.composite
def edits(draw: st.DrawFn, text: str) -> tuple[int, int, str]:
    """An edit: a few characters, or a line put in once more, or what lies between two places."""
    start = draw(st.integers(0, len(text)))
    end = draw(st.integers(start, min(len(text), start + 3)) | st.integers(start, len(text)))
    lines = text.splitlines(keepends=True)
    return start, end, draw(PIECES | st.sampled_from(lines) if lines else PIECES)


def told(reading: Reading | None) -> Any:
    """All that a reading says."""
    if reading is None:
        return None
    made, outline = reading.transcript, reading.outline
    count = len(made.messages)
    return (
        reading.format.name,
        [(one.message, one.start, one.end, one.more) for one in made.messages],
        (made.problems, made.folds, made.writable, made.read_only_reason, made.prefix_only),
        [(outline.title(one), outline.tokens(one), outline.up_to(one)) for one in range(count)],
        [outline.whole(2), outline.between(0, count), outline.between(min(1, count), count, exact=True)],
    )


def assert_as_read_first(reading: Reading | None, text: str) -> None:
    """Whether a reading says what a first reading of the text says, and its parts fit its messages."""
    assert told(reading) == told(read(text, NAME))
    if reading is None or reading.by_line is None:
        return
    conversation = reading.transcript.conversation
    assert list(reading.by_line.arrangement.bare) == list(map(bare, conversation))
    assert reading.by_line.sizes == list(map(counted_bytes, conversation))


def follow(text: str, changes: list[list[tuple[int, int, str]]]) -> Iterator[tuple[Reading | None, str]]:
    """The readings of a text after each group of edits, each with its text."""
    lines = Lines(text)
    reading = read_again(lines, NAME, None)
    for group in changes:
        for start, end, replacement in group:
            text = text[:start] + replacement + text[end:]
            lines = lines.edited(start, end, replacement)
        reading = read_again(lines, NAME, reading)
        yield reading, text


@st.composite
def edited(draw: st.DrawFn, text: str) -> list[list[tuple[int, int, str]]]:
    """Groups of edits of a text, each made to what the one before it left."""
    groups = []
    for _ in range(draw(st.integers(1, 3))):
        group = []
        for _ in range(draw(st.integers(1, 2))):
            start, end, replacement = draw(edits(text))
            text = text[:start] + replacement + text[end:]
            group.append((start, end, replacement))
        groups.append(group)
    return groups


@pytest.mark.parametrize("kind", FILES)
@settings(max_examples=150)
@given(data=st.data())
def test_what_is_read_after_edits_is_what_a_first_reading_finds(kind: str, data: st.DataObject) -> None:
    text = data.draw(FILES[kind], "text")
    for reading, after in follow(text, data.draw(edited(text), "edits")):
        assert_as_read_first(reading, after)


def long_beginning(kind: str) -> str:
    """More lines and characters than a format is told by."""
    said = "word " * 300
    session = Session()
    for _ in range(LOOKED_AT + 10):
        session.user(said)
    payload = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": said}]}
    beginnings = {
        "openai-jsonl": json_lines([user(said)] * 60),
        "kimi-context": json_lines([{"role": "_system_prompt", "content": said}, *[user(said)] * 60]),
        "claude-code": session.text(),
        "codex": json_lines([{"type": "response_item", "payload": payload}] * 60),
    }
    return beginnings[kind]


@pytest.mark.parametrize("kind", LINES_OF_JSON)
@settings(max_examples=25)
@given(data=st.data())
def test_the_format_of_a_long_text_is_the_one_that_all_of_it_has(kind: str, data: st.DataObject) -> None:
    text = long_beginning(kind) + data.draw(FILES[kind], "text")
    for reading, after in follow(text, data.draw(edited(text), "edits")):
        assert_as_read_first(reading, after)


@given(made_files.any_text, made_files.any_text)
def test_a_text_that_was_changed_wholly_is_read_anew(before: str, after: str) -> None:
    assert told(read_again(Lines(after), NAME, read(before, NAME))) == told(read(after, NAME))


@given(st.sampled_from(LINES_OF_JSON).flatmap(FILES.__getitem__), st.data())
def test_messages_known_by_lines_are_found_where_those_known_by_characters_are(text: str, data: st.DataObject) -> None:
    reading = read(text, NAME)
    if reading is None or reading.by_line is None:
        return
    by_line, in_text = reading.outline._places, PlacesInText(reading.transcript.messages)
    for offset in (data.draw(st.integers(0, len(text))), 0, len(text)):
        assert (by_line.ended(offset), by_line.begun(offset)) == (in_text.ended(offset), in_text.begun(offset))
    everything = in_text.ended(len(text))
    assert list(by_line.messages(0, everything)) == list(in_text.messages(0, everything))


def test_a_message_is_decoded_when_it_is_asked_for_and_no_other_one(monkeypatch: pytest.MonkeyPatch) -> None:
    reading = read(json_lines([user("a"), assistant("b"), user("c")]), NAME)
    assert reading is not None
    decoded: list[int] = []
    known = LineReading.decoded

    def noticed(self: LineReading, line: int) -> Any:
        decoded.append(line)
        return known(self, line)

    monkeypatch.setattr(LineReading, "decoded", noticed)
    assert reading.outline.title(1) == "assistant: b"
    assert reading.outline.up_to(2) is not None
    assert decoded == [1]


def counted_reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The lines that are read from now on."""
    seen: list[str] = []
    known = line_reading._facts

    def noticed(line_format: LineFormat, lines: Lines, line: int) -> Any:
        seen.append(lines.all[line])
        return known(line_format, lines, line)

    monkeypatch.setattr(line_reading, "_facts", noticed)
    return seen


CHAT = json_lines([user("first"), calling("c1"), result("c1"), assistant("last")])


@pytest.mark.parametrize(
    ("old", "new", "lines_read"),
    [
        ("first", "fixed", ["fixed"]),
        ("last", "last\\n", ["last\\n"]),
        ("first", 'fi"rst', ['fi"rst']),
        (CHAT[: CHAT.index("\n") + 1], "", []),
        ("first", "fi\nrst", ["fi", "rst"]),
    ],
)
def test_only_the_lines_that_an_edit_changed_are_read_again(
    old: str, new: str, lines_read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = Lines(CHAT)
    reading = read_again(lines, NAME, None)
    seen = counted_reads(monkeypatch)
    start = CHAT.index(old)
    read_again(lines.edited(start, start + len(old), new), NAME, reading)
    assert len(seen) == len(lines_read)
    assert all(word in line for word, line in zip(lines_read, seen, strict=True))


def test_lines_that_lie_between_two_edits_are_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = Lines(CHAT)
    reading = read_again(lines, NAME, None)
    seen = counted_reads(monkeypatch)
    for word in ("first", "last"):
        lines = lines.edited(lines.text.index(word), lines.text.index(word), "x")
    read_again(lines, NAME, reading)
    assert len(seen) == 2


def test_a_text_that_comes_whole_is_read_again_where_it_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    reading = read(CHAT, NAME)
    seen = counted_reads(monkeypatch)
    read_again(Lines(CHAT.replace("last", "changed")), NAME, reading)
    assert len(seen) == 1


def test_the_arrangement_holds_on_while_only_words_are_changed() -> None:
    lines = Lines(CHAT)
    readings = [read_again(lines, NAME, None)]
    for old, new in (("first", "other"), ("last", 'la\\"st'), ("c1", "c2")):
        start = lines.text.index(old)
        lines = lines.edited(start, start + len(old), new)
        readings.append(read_again(lines, NAME, readings[-1]))
    arrangements = [one.by_line.arrangement for one in readings if one is not None and one.by_line is not None]
    assert [before is after for before, after in pairwise(arrangements)] == [True, True, False]


def test_a_title_that_is_known_is_kept_until_its_message_changes() -> None:
    lines = Lines(CHAT)
    reading = read_again(lines, NAME, None)
    assert reading is not None
    assert (reading.outline.title(0), reading.outline.title(3)) == ("user: first", "assistant: last")
    start = CHAT.index("last")
    again = read_again(lines.edited(start, start + 4, "words"), NAME, reading)
    assert again is not None
    assert again.outline._titles == {0: "user: first"}
    assert again.outline.title(3) == "assistant: words"


def test_a_format_that_was_told_does_not_stay_when_nobody_tells_it_any_more() -> None:
    lines = Lines(long_beginning("openai-jsonl"))
    read_as_kimi = read_again(lines, NAME, None, "kimi-context")
    found = read_again(lines, NAME, read_as_kimi)
    assert found is not None
    assert found.format.name == "openai-jsonl"


def test_a_history_of_many_messages_in_one_line_is_decoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    history = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "a"}]}] * 500
    record = {"type": "compacted", "payload": {"message": "", "replacement_history": history}}
    parsed = codex.parse(json.dumps(record))
    seen: list[str] = []
    known = codex.record_of
    monkeypatch.setattr(codex, "record_of", lambda source: seen.append("") or known(source))
    assert len(parsed.conversation) == 500
    assert len(seen) == 1


@pytest.mark.parametrize("module", [claude_code, codex, kimi_context, openai_jsonl])
def test_each_format_that_reads_lines_is_used_by_lines(module: Any) -> None:
    assert isinstance(module.LINES, LineFormat)
    assert module.LINES.name == module.name


def test_an_outline_of_decoded_messages_says_the_same_as_one_of_kept_ones() -> None:
    parsed = openai_jsonl.parse(CHAT)
    kept = openai_jsonl.parse(CHAT).messages[:]
    assert isinstance(kept, tuple)
    assert parsed.messages == kept
    assert [Outline(parsed).title(one) for one in range(4)][-1] == "assistant: last"


MARKED = f"{made_files.MARK}{CHAT}"


@pytest.mark.parametrize(
    ("text", "start", "end", "replacement"),
    [
        (MARKED, 0, 1, ""),
        (CHAT, 0, 0, made_files.MARK),
        (MARKED, 0, 0, f"{made_files.MARK}{json.dumps(user('new'))}\n"),
        (MARKED, 0, MARKED.index("\n") + 1, made_files.MARK),
        (CHAT, CHAT.index("\n"), CHAT.index("\n"), "\r\n"),
        (CHAT, CHAT.index("\n") + 1, CHAT.index("\n") + 1, made_files.MARK),
    ],
)
@pytest.mark.parametrize("format_name", ["kimi-context", "claude-code", "codex", "openai-jsonl"])
def test_a_byte_order_mark_or_a_lone_return_that_comes_or_goes_is_noticed(
    format_name: str, text: str, start: int, end: int, replacement: str
) -> None:
    lines = Lines(text)
    reading = read_again(lines, NAME, None, format_name)
    after = lines.edited(start, end, replacement)
    assert told(read_again(after, NAME, reading, format_name)) == told(read(after.text, NAME, format_name))


def test_a_byte_order_mark_counts_in_front_of_the_text_alone() -> None:
    first, second = json_lines([user("one")]), json_lines([user("two")])
    reading = read(f"{made_files.MARK}{first}{made_files.MARK}{second}", NAME)
    assert reading is not None
    assert [one.message["content"] for one in reading.transcript.messages] == ["one"]


def test_where_the_first_line_is_broken_all_of_a_long_text_tells_its_format() -> None:
    text = "{\n" + long_beginning("openai-jsonl")
    ((reading, after),) = follow(text, [[(len(text), len(text), json.dumps({"messages": [user("x")]}))]])
    assert reading is not None
    assert reading.format.name == "openai-json"
    assert_as_read_first(reading, after)


def test_an_edit_of_a_long_text_costs_a_small_part_of_its_first_reading() -> None:
    lines = Lines(json_lines([user("word " * 100)] * 20_000))

    def seconds_of(before: Reading | None, text: Lines) -> tuple[float, Reading | None]:
        begun = time.thread_time()
        found = read_again(text, NAME, before)
        return time.thread_time() - begun, found

    whole, reading = seconds_of(None, lines)
    middle = lines.starts[10_000] + lines.all[10_000].index("word")
    edits_cost = [seconds_of(reading, lines.edited(middle, middle, "x"))[0] for _ in range(5)]
    assert min(edits_cost) < whole / 10


# --- documents that are no lines of JSON ----------------------------------------------------------------------------


ARRAY = json.dumps([user("first"), calling("c1"), result("c1"), assistant("last")], indent=1)
OBJECT = json.dumps({"model": "m", "messages": json.loads(ARRAY), "more": [user("no message")]})
EXPORT = """<!-- Generated by SpecStory -->

# Title

_**User (2026-01-01 10:00Z)**_

first

---

_**Agent (model)**_

```
_**User**_ is no heading here
<think>none</think>
```

<think>a thought</think>
last

---
"""


def followed(text: str, start: int, end: int, new: str, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether a text is read again without reading all of it, after an edit; what is read is right in any case."""
    lines = Lines(text)
    reading = read_again(lines, NAME, None)
    assert reading is not None
    assert [reading.outline.title(one) for one in range(len(reading.transcript.messages))]
    after = lines.edited(start, end, new)
    whole: list[str] = []
    parse = reading.format.parse
    with monkeypatch.context() as patch:
        patch.setattr(reading.format, "parse", lambda text: whole.append(text) or parse(text))
        again = read_again(after, NAME, reading)
    assert_as_read_first(again, after.text)
    return not whole


@pytest.mark.parametrize("text", [ARRAY, OBJECT, EXPORT], ids=["array", "object", "specstory"])
@pytest.mark.parametrize(
    ("old", "new"),
    [("first", "second"), ("first", ""), ("last", "l ü 😀 ast"), ("ast", "a <think> t")],
)
def test_an_edit_in_a_message_costs_no_more_than_its_message(
    text: str, old: str, new: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = text.index(old)
    is_in_place = text is not EXPORT or (old, new) != ("first", "")
    assert followed(text, start, start + len(old), new, monkeypatch) is is_in_place


@pytest.mark.parametrize("text", [ARRAY, OBJECT], ids=["array", "object"])
def test_an_element_that_comes_or_goes_costs_no_more_than_itself(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    places = [(one.start, one.end) for one in openai_json.parse(text).messages]
    new = json.dumps(user("new"))
    last = places[-1][1]
    for start, end, inserted in [
        (places[1][0], places[1][0], f"{new},"),
        (last, last, f", {new}"),
        (places[0][0], places[1][0], ""),
        (places[2][1], last, ""),
        (places[0][0], last, new),
    ]:
        assert followed(text, start, end, inserted, monkeypatch)


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        (ARRAY, "first", 'fi"rst'),
        (ARRAY, "]", ""),
        (ARRAY, '"user"', "7"),
        (OBJECT, '"model"', '"history": [], "model"'),
        (OBJECT, "more", "messages"),
        (EXPORT, "first", "first\n\n_**User**_\n\nsecond"),
        (EXPORT, "```\n_", "````\n_"),
        (EXPORT, "first", "---"),
        (EXPORT, "_**Agent (model)**_", "Agent"),
    ],
)
def test_an_edit_that_may_change_more_is_read_whole(
    text: str, old: str, new: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = text.index(old)
    assert not followed(text, start, start + len(old), new, monkeypatch)


@pytest.mark.parametrize("text", [ARRAY, OBJECT, EXPORT], ids=["array", "object", "specstory"])
@settings(max_examples=100)
@given(data=st.data())
def test_what_is_read_after_edits_of_such_a_document_is_what_a_first_reading_finds(
    text: str, data: st.DataObject
) -> None:
    for reading, after in follow(text, data.draw(edited(text), "edits")):
        assert_as_read_first(reading, after)
