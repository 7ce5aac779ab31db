"""Claude Code's session file: the conversation is what Claude Code itself would send after a resume."""

from __future__ import annotations

import json

import pytest

from lithify.transcripts import claude_code
from lithify.transcripts.model import Problem, Transcript
from tests.support import claude_code_loader
from tests.support.claude_code_session import Session, call, texts


def parsed(session: Session) -> Transcript:
    """The parse of the session, which Claude Code's own rules agree with."""
    text = session.text()
    transcript = claude_code.parse(text)
    assert claude_code_loader.load(text) == claude_code_loader.without_orphans(transcript.conversation)
    return transcript


def titles(transcript: Transcript) -> list[str]:
    return [fold.title for fold in transcript.folds]


def exchange(session: Session, *numbers: int) -> list[str]:
    """A question and an answer for each number; the uuids of all of them."""
    return [uuid for number in numbers for uuid in (session.user(f"q{number}"), session.assistant(f"a{number}"))]


def test_a_message_has_role_and_content_as_they_stand_and_the_place_of_its_record() -> None:
    session = Session()
    session.user("why 漢 😀?")
    session.assistant({"type": "thinking", "thinking": "hm", "signature": "x"})
    text = session.text()
    first, second = claude_code.parse(text).messages
    assert first.message == {"role": "user", "content": "why 漢 😀?"}
    assert second.message["content"] == [{"type": "thinking", "thinking": "hm", "signature": "x"}]
    assert [text[one.start : one.end] for one in (first, second)] == session.lines


def test_records_of_one_message_id_are_one_message_with_several_places() -> None:
    session = Session()
    session.user("q")
    session.assistant({"type": "thinking", "thinking": "hm"}, message_id="m")
    session.assistant("a", message_id="m")
    session.assistant(call("t"), message_id="m")
    text = session.text()
    answer = parsed(session).messages[1]
    assert [part["type"] for part in answer.message["content"]] == ["thinking", "text", "tool_use"]
    assert [text[start:end] for start, end in answer.more] == session.lines[2:]


def test_results_among_the_records_of_an_answer_stand_behind_it() -> None:
    session = Session()
    session.user("q")
    session.assistant(call("t1"), message_id="m")
    session.result("t1")
    session.assistant(call("t2"), message_id="m")
    session.result("t2")
    assert texts(parsed(session)) == ["q", "+t1+t2", "-t1", "-t2"]


def test_an_id_that_comes_back_behind_another_question_is_another_message() -> None:
    session = Session()
    for number in range(2):
        session.user(f"q{number}")
        session.assistant(f"a{number}", message_id="m")
    assert texts(parsed(session)) == ["q0", "a0", "q1", "a1"]


def test_attachments_progress_and_notes_lead_on_and_are_no_messages() -> None:
    session = Session()
    session.line({"type": "file-history-snapshot", "messageId": "x", "snapshot": {}})
    session.user("q")
    session.attachment()
    session.add("progress", data={})
    session.assistant("a")
    session.line({"type": "queue-operation", "operation": "dequeue"})
    session.add("system", subtype="stop_hook_summary")
    session.user("caveat", isMeta=True)
    assert texts(parsed(session)) == ["q", "a", "caveat"]
    assert parsed(session).problems == ()
    assert parsed(session).folds == ()


def test_parallel_calls_that_hang_beside_the_chain_are_all_there_in_file_order() -> None:
    session = Session()
    session.user("q")
    session.parallel_calls("t1", "t2", "t3")
    session.assistant("done")
    assert texts(parsed(session)) == ["q", "+t1+t2+t3", "-t1", "-t2", "-t3", "done"]
    assert parsed(session).folds == ()


@pytest.mark.parametrize("last", ["t1", "t2"])
def test_parallel_calls_are_all_there_whichever_result_goes_on(last: str) -> None:
    session = Session()
    session.user("q")
    first = session.assistant(call("t1"), message_id="m")
    second = session.assistant(call("t2"), message_id="m")
    results = {"t1": session.result("t1", parent=first), "t2": session.result("t2", parent=second)}
    session.assistant("done", parent=results[last])
    assert texts(parsed(session)) == ["q", "+t1+t2", "-t1", "-t2", "done"]


def test_a_branch_that_was_left_is_a_fold() -> None:
    session = Session()
    first = exchange(session, 1)
    exchange(session, 2, 3)
    session.at = first[-1]
    exchange(session, 4)
    transcript = parsed(session)
    assert texts(transcript) == ["q1", "a1", "q4", "a4"]
    (fold,) = transcript.folds
    assert (fold.title, fold.messages) == ("Earlier branch: 4 messages", 4)
    assert session.text()[fold.start : fold.end] == "\n".join(session.lines[2:6])


def test_a_new_root_leaves_the_old_conversation_behind() -> None:
    session = Session()
    exchange(session, 1)
    session.at = None
    exchange(session, 2)
    assert texts(parsed(session)) == ["q2", "a2"]
    assert titles(parsed(session)) == ["Earlier branch: 2 messages"]


def test_the_last_prompt_names_the_branch_and_its_newest_message_ends_it() -> None:
    session = Session()
    first = exchange(session, 1)
    session.last_prompt("r99")
    second = exchange(session, 2)
    session.last_prompt(second[0])
    session.at = first[-1]
    exchange(session, 3)
    assert texts(parsed(session)) == ["q1", "a1", "q2", "a2"]
    assert titles(parsed(session)) == ["Earlier branch: 2 messages"]


def test_a_last_prompt_that_is_not_there_is_a_problem_and_the_newest_message_counts() -> None:
    session = Session()
    exchange(session, 1)
    session.last_prompt("r99")
    assert texts(parsed(session)) == ["q1", "a1"]
    assert parsed(session).problems == (Problem(2, "the last message 'r99' is not in the file"),)


def test_a_sidechain_is_no_part_of_the_conversation() -> None:
    session = Session()
    session.user("q")
    first = session.add("user", moves=False, parent=None, isSidechain=True, message={"content": "sub"})
    session.add("assistant", moves=False, parent=first, isSidechain=True, message={"content": "answer"})
    session.assistant("a")
    assert texts(parsed(session)) == ["q", "a"]
    assert titles(parsed(session)) == ["Subagent: 2 messages"]


def test_the_session_of_a_subagent_is_read_and_is_read_only() -> None:
    session = Session()
    session.user("q", isSidechain=True)
    session.assistant("a", isSidechain=True)
    transcript = claude_code.parse(session.text())
    assert texts(transcript) == ["q", "a"]
    assert "subagent" in (transcript.read_only_reason or "")


def test_a_compaction_of_everything_leaves_the_summary_and_what_came_after() -> None:
    session = Session()
    exchange(session, 1)
    session.last_prompt(session.at)
    summary = session.compact()
    assert texts(parsed(session)) == [f"summary {summary}"]
    exchange(session, 2)
    assert texts(parsed(session)) == [f"summary {summary}", "q2", "a2"]
    assert titles(parsed(session)) == ["Compacted away: 2 messages"]


def test_a_compaction_hangs_what_it_kept_below_its_summary() -> None:
    session = Session()
    exchange(session, 1)
    kept = exchange(session, 2)
    session.last_prompt(kept[0])
    summary = session.compact(kept)
    exchange(session, 3)
    assert texts(parsed(session)) == [f"summary {summary}", "q2", "a2", "q3", "a3"]
    assert titles(parsed(session)) == ["Compacted away: 2 messages"]


def test_a_record_that_came_in_before_a_compaction_and_is_not_listed_is_gone() -> None:
    session = Session()
    exchange(session, 1)
    kept = exchange(session, 2)
    session.user("late")
    session.at = kept[-1]
    summary = session.compact(kept)
    assert texts(parsed(session)) == [f"summary {summary}", "q2", "a2"]
    assert titles(parsed(session)) == ["Compacted away: 2 messages", "Earlier branch: 1 message"]


def test_what_hangs_below_the_summary_itself_comes_behind_what_was_kept() -> None:
    session = Session()
    kept = exchange(session, 1, 2)[2:]
    summary = session.compact(kept)
    session.user("next", parent=summary)
    assert texts(parsed(session)) == [f"summary {summary}", "q2", "a2", "next"]


def test_one_kept_id_that_is_not_there_drops_all_that_was_kept_and_is_a_problem() -> None:
    session = Session()
    kept = exchange(session, 1, 2)[2:]
    summary = session.compact([*kept, "r99"])
    session.at = summary
    session.user("next")
    assert texts(parsed(session)) == [f"summary {summary}", "next"]
    assert [problem.line for problem in parsed(session).problems] == [4]


def test_a_list_that_names_a_message_twice_keeps_none_and_is_a_problem() -> None:
    session = Session()
    kept = exchange(session, 1, 2)[2:]
    summary = session.compact([*kept, kept[0]])
    assert texts(claude_code.parse(session.text())) == [f"summary {summary}"]
    assert [problem.line for problem in claude_code.parse(session.text()).problems] == [4]


def test_a_compaction_that_names_a_kept_message_as_its_last_has_replaced_all_before_it() -> None:
    session = Session()
    kept = exchange(session, 1, 2)[2:]
    session.compact(kept)
    session.lines[-2] = session.lines[-2].replace('"logicalParentUuid":"r1"', '"logicalParentUuid":"r3"')
    assert titles(parsed(session)) == ["Compacted away: 2 messages"]


def test_a_compaction_without_a_list_keeps_the_way_from_its_head_to_its_tail() -> None:
    session = Session()
    kept = exchange(session, 1, 2)[2:]
    summary = session.compact(kept, segment_only=True)
    exchange(session, 3)
    assert texts(claude_code.parse(session.text())) == [f"summary {summary}", "q2", "a2", "q3", "a3"]


def test_of_several_compactions_the_last_one_counts() -> None:
    session = Session()
    session.compact(exchange(session, 1, 2)[2:])
    exchange(session, 3)
    session.compact()
    kept = exchange(session, 4)
    summary = session.compact(kept)
    exchange(session, 5)
    assert texts(parsed(session)) == [f"summary {summary}", "q4", "a4", "q5", "a5"]
    folds = parsed(session).folds
    assert {fold.title.split(":")[0] for fold in folds} == {"Compacted away"}
    assert sum(fold.messages for fold in folds) == 8


def test_the_last_of_two_records_with_one_uuid_counts_in_the_place_of_the_first() -> None:
    session = Session()
    session.user("q")
    session.assistant("a")
    session.lines.append(session.lines[0].replace('"q"', '"better"'))
    assert texts(parsed(session)) == ["better", "a"]


def test_a_file_in_which_no_record_names_its_parent_is_read_from_top_to_bottom() -> None:
    session = Session()
    for number in range(2):
        session.user(f"q{number}", parent=None)
        session.assistant(f"a{number}", parent=None)
    assert texts(claude_code.parse(session.text())) == ["q0", "a0", "q1", "a1"]


def test_parents_that_run_in_a_circle_end_the_way_up() -> None:
    session = Session()
    session.user("q", parent="r1")
    session.assistant("a", parent="r0")
    assert texts(claude_code.parse(session.text())) == ["q", "a"]


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ('{"type":"user","uuid":"x","message":{"content":"cut', "cut off in the middle"),
        ("[1]", "not a record: no JSON object"),
        ('"error"', "not a record: no JSON object"),
        ('{"type":"user","uuid":"x","message":"error"}', "not a message: no `message` object with a `content`"),
        ('{"type":"user","uuid":"x","message":{"role":"user"}}', "not a message: no `message` object with a `content`"),
        (
            '{"type":"user","message":{"role":"user","content":"x"}}',
            "a message without a `uuid`, which Claude Code cannot place",
        ),
        ('{"type":"system","uuid":"x","parentUuid":"r99"}', "the parent 'r99' is not in the file"),
        ('{"type":"system","uuid":"x","parentUuid":"x"}', "the record names itself as its parent"),
    ],
)
def test_a_broken_line_is_a_problem_and_hides_nothing(line: str, wrong: str) -> None:
    session = Session()
    session.user("q")
    session.lines.append(line)
    session.assistant("a")
    transcript = claude_code.parse(session.text())
    assert texts(transcript) == ["q", "a"]
    assert transcript.problems == (Problem(1, wrong),)


def test_a_result_of_no_call_is_a_problem() -> None:
    session = Session()
    session.user("q")
    session.result("t9")
    assert parsed(session).problems == (Problem(1, "a result of the call 't9', which is not in the file"),)


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        (Session(lines=['{"type":"user","message":{"content":"x"},"uuid":"1"}']).text(), "x", True),
        ('broken\n{"type":"file-history-snapshot","messageId":"1"}\n', "x", True),
        ('{"type":"summary","summary":"x","leafUuid":"1"}\n', "x", True),
        ("", "/home/me/.claude/projects/-home-me-x/1.jsonl", True),
        ("", "C:\\Users\\me\\.claude\\projects\\x\\1.jsonl", True),
        ("", "1.jsonl", False),
        ('{"role":"user","content":"x"}\n', "/home/me/.claude/projects/x/1.jsonl", False),
        ('{"type":"user","content":"x","id":"1"}\n', "x", False),
        ('{"type":["user"]}\n', "x", False),
        ('{"type":"user.message","data":{}}\n', "x", False),
    ],
)
def test_a_session_is_recognised_by_a_record_and_an_empty_one_by_its_place(
    text: str, name: str, expected: bool
) -> None:
    assert claude_code.recognise(text, name) is expected


@pytest.mark.parametrize("text", ["", "\n", "\ufeff", "{", "[]", json.dumps({"type": "user"})])
def test_a_text_without_a_message_has_none(text: str) -> None:
    assert claude_code.parse(text).messages == ()
