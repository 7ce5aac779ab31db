"""Whatever a session of Claude Code looks like, what is written is loaded as meant, and nothing takes too long."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from lithify.transcripts import claude_code
from lithify.transcripts.model import Transcript
from tests.support import claude_code_loader
from tests.support.claude_code_session import Session, call, compacted, widened
from tests.transcripts import made_files

STEPS = ("ask", "answer", "calls", "serial calls", "attachment", "progress", "note", "back", "root", "subagent")
RARE_STEPS = ("compact", "compact up to", "last prompt", "snapshot", "orphan", "again")
BROKEN_LINES = made_files.broken_lines | st.sampled_from(
    [
        '{"type":"user","uuid":"x1","parentUuid":null,"isSidechain":true,"message":"error"}',
        '{"type":["user"],"uuid":7}',
        '{"type":"last-prompt"}',
    ]
)


@st.composite
def sessions(draw: st.DrawFn) -> Session:
    """A session of random steps: questions, answers, ways back, compactions, and whatever else Claude Code writes."""
    session = Session()
    said: list[str | None] = [session.user("first"), session.assistant("of all")]
    for number, step in enumerate(draw(st.lists(st.sampled_from(STEPS * 2 + RARE_STEPS), max_size=25))):
        _take(session, said, draw, step, number)
        if step in ("ask", "answer", "calls", "serial calls"):
            said.append(session.at)
    if draw(st.booleans()):
        session.last_prompt(session.at)
    return session


def _take(session: Session, said: list[str | None], draw: st.DrawFn, step: str, number: int) -> None:
    if step == "ask":
        session.user(draw(made_files.texts))
    elif step == "answer":
        for part in draw(st.lists(made_files.texts, min_size=1, max_size=3)):
            session.assistant(part, message_id=f"n{number}")
    elif step == "calls":
        session.parallel_calls(*(f"t{number}-{one}" for one in range(draw(st.integers(1, 3)))))
    elif step == "serial calls":
        for one in range(2):
            session.assistant(call(f"t{number}-{one}"), message_id=f"n{number}")
            session.result(f"t{number}-{one}")
    elif step == "subagent":
        session.add("user", moves=False, isSidechain=True, message={"role": "user", "content": "sub"})
    elif step in ("attachment", "progress", "note"):
        session.add({"note": "system"}.get(step, step))
    elif step == "orphan":
        session.result(f"none{number}")
    elif step == "snapshot":
        session.line({"type": "file-history-snapshot", "messageId": "x"})
    elif step == "again" and session.lines:
        session.lines.append(session.lines[-1])
    elif step == "last prompt":
        session.last_prompt(session.at)
    elif step in ("back", "root"):
        session.at = draw(st.sampled_from(said)) if said and step == "back" else None
        said[:] = said if step == "back" else []
    elif step.startswith("compact") and said:
        session.at = session.at if session.at in said else said[-1]
        session.compact(_kept_way(session, session.at) if step == "compact up to" else None)
        said[:] = [session.at]


def _kept_way(session: Session, at: str | None) -> list[str]:
    """The last record, and the one before it where it is no root."""
    records = {record.get("uuid"): record for record in map(json.loads, session.lines)}
    before = records[at]["parentUuid"]
    kinds = ("user", "assistant")
    whole = before in records and all(records[one]["type"] in kinds for one in (before, at))
    return [before, at] if whole else [str(at)]


@st.composite
def texts(draw: st.DrawFn) -> str:
    """The text of a session, broken lines among its records, with either line ending, now and then a torn last line."""
    lines = [line.encode("utf-8", "backslashreplace").decode() for line in draw(sessions()).lines]
    for line in draw(st.lists(BROKEN_LINES, max_size=3)):
        lines.insert(draw(st.integers(0, len(lines))), line)
    ending = draw(st.sampled_from(["\n", "\r\n"]))
    text = "".join(line + ending for line in lines)
    if draw(st.booleans()):
        text = text.removesuffix(ending)
    return text + draw(st.sampled_from(["", "", '{"type":"user","uu', "\n\n"]))


def assert_within(text: str, parsed: Transcript) -> None:
    """Every range lies within the text, no message lies in a fold, and problems are on lines of the text."""
    places = [place for one in parsed.messages for place in ((one.start, one.end), *one.more)]
    assert all(text[start] == "{" and text[end - 1] == "}" for start, end in places)
    assert len(set(places)) == len(places)
    folds = [(fold.start, fold.end) for fold in parsed.folds]
    assert all(0 <= start < end <= len(text) for start, end in folds)
    assert folds == sorted(folds)
    assert all(end <= low or start >= high for start, end in places for low, high in folds)
    assert all(fold.messages > 0 for fold in parsed.folds)
    lines = text.count("\n") + text.count("\r") + 1
    assert all(0 <= problem.line < lines for problem in parsed.problems)


@given(texts(), st.data())
def test_a_compaction_is_loaded_as_the_summary_and_the_exact_tail(text: str, data: st.DataObject) -> None:
    parsed = claude_code.parse(text)
    assert_within(text, parsed)
    if parsed.messages:
        end = widened(parsed, data.draw(st.integers(1, len(parsed.messages)), "end"))
        made = compacted(text, end, data.draw(made_files.texts, "answer"))
        again = claude_code.parse(made)
        assert_within(made, again)
        compacted(made, widened(again, data.draw(st.integers(1, len(again.messages)), "second end")))


@given(sessions())
def test_what_is_read_is_what_claude_code_would_send(session: Session) -> None:
    text = session.text()
    said = claude_code.parse(text).conversation
    assert claude_code_loader.load(text) == claude_code_loader.without_orphans(said)


@given(made_files.any_text | texts(), st.integers(0, 400), st.sampled_from(["", '"', "{", "]", "\\", "\n", "\r"]))
def test_no_text_makes_it_raise(text: str, place: int, garbage: str) -> None:
    damaged = text[:place] + garbage + text[place:]
    claude_code.recognise(damaged, "x.jsonl")
    assert_within(damaged, claude_code.parse(damaged))


KEYS = st.sampled_from(["uuid", "parentUuid", "logicalParentUuid", "type", "message", "isSidechain", "compactMetadata"])
VALUES = st.sampled_from(["r0", "r1", "r2", "r3", "user", "system", None, 5, [], {}, True]) | st.just(
    {"preservedMessages": {"anchorUuid": "r1", "uuids": ["r0", "r2", "r0"]}}
)


@given(sessions(), st.lists(st.tuples(st.integers(0, 30), KEYS, VALUES), max_size=4))
def test_no_value_of_a_key_makes_it_raise(session: Session, changes: list[tuple[int, str, object]]) -> None:
    records = [json.loads(line) for line in session.lines]
    for place, key, value in changes:
        if place < len(records):
            records[place][key] = value
    text = "".join(json.dumps(record) + "\n" for record in records)
    assert_within(text, claude_code.parse(text))


def seconds_of(work: Callable[[], object]) -> float:
    """The processor time of the better of two runs."""
    runs = []
    for _ in range(2):
        begun = time.process_time()
        work()
        runs.append(time.process_time() - begun)
    return min(runs)


def long_session(size: int) -> str:
    session, written = Session(), 0
    while written < size:
        begin = len(session.lines)
        session.user(f"do the thing {written} 漢字 😀")
        session.attachment()
        session.parallel_calls(f"t{written}-1", f"t{written}-2")
        session.assistant("line of code = {x};\n" * 400)
        written += sum(map(len, session.lines[begin:]))
    return session.text()


def test_eight_megabytes_are_read_in_a_few_times_what_their_json_takes() -> None:
    text = long_session(8_000_000)
    plain = seconds_of(lambda: [json.loads(line) for line in text.splitlines()])
    assert seconds_of(lambda: claude_code.parse(text)) < 8 * plain + 0.2


def test_many_records_beside_one_another_are_read_in_linear_time() -> None:
    """Twenty thousand branches of one message, parallel calls of one answer, and compactions in a row."""
    branches, calls, compactions = Session(), Session(), Session()
    calls.parallel_calls(*(f"t{number}" for number in range(10_000)))
    for number in range(20_000):
        branches.user("q", parent="r0" if number else None)
        compactions.lines.append(
            f'{{"type":"system","subtype":"compact_boundary","uuid":"b{number}","parentUuid":null}}'
        )
    compactions.user("q")
    for session, expected in ((branches, 2), (calls, 10_001), (compactions, 1)):
        text = session.text()
        assert len(claude_code.parse(text).messages) == expected
        assert seconds_of(lambda text=text: claude_code.parse(text)) < 4
