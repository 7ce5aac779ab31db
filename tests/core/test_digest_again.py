"""What a digest says when a chat is compacted again and again, or in parts: nothing false, the newest, and a count."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest

from lithify.core.digest import digest
from tests.support.chats import Message, call, claude_used, result, said, section_of, summary, used, user

DEMO = Path(__file__).parents[2] / "server/lithify/cli/demo_data/session.json"


def again(messages: list[Message], ends: list[int], target_bytes: int) -> list[str]:
    """The digests of one compaction after the other: each takes the messages up to its end for a summary."""
    texts: list[str] = []
    for end in ends:
        texts.append(digest(messages[:end], target_bytes))
        messages = [summary(texts[-1]), *messages[end:]]
    return texts


def in_parts(messages: list[Message], size: int, target_bytes: int) -> str:
    """The digest of a chat that is folded: each part stands behind the summary of those before it."""
    carry: list[Message] = []
    for start in range(0, len(messages), size):
        text = digest([*carry, *messages[start : start + size]], target_bytes)
        assert len(text.encode()) <= target_bytes
        carry = [summary(text)]
    return text


def bugs(count: int) -> list[Message]:
    """Requests with their answers, one after the other."""
    pairs = [(user(f"Please fix bug {n}"), said(f"Fixed bug {n} in module_{n}.py.")) for n in range(count)]
    return [message for pair in pairs for message in pair]


RULES = "Keep the public URLs unchanged. Never edit migrations/."


def tasks(count: int) -> list[Message]:
    """Tasks, each with an edit and a run of the tests, behind a request that sets rules."""
    chat = [user(RULES), said("Understood.")]
    for n in range(count):
        chat.append(user(f"Task {n}: rename helper_{n}"))
        chat.extend(used("Edit", "ok", path=f"src/m{n}.py", old_string=f"helper_{n}", new_string=f"tool_{n}"))
        chat.extend(used("Bash", f"{n + 3} passed", command="pytest -q"))
        chat.append(said(f"Renamed helper_{n}; it works."))
    return chat


def left_out(text: str, name: str) -> int:
    """The number a section says was left out of it."""
    numbers = re.findall(r"^- \((\d+) (?:older|more) left out\)$", section_of(text, name), re.M)
    assert len(numbers) <= 1
    return int(numbers[0]) if numbers else 0


# The first request


def test_the_first_request_stays_the_first_through_compactions() -> None:
    for text in again(bugs(100), [60, 40, 40, 40], 1024):
        assert re.findall(r"first request: .*", text) == ["first request: Please fix bug 0"]


def test_no_first_request_is_made_when_the_summary_has_none() -> None:
    earlier = summary("<current_focus>\nUser: Port it.\nAssistant: Ported.\n</current_focus>")
    assert "first request" not in digest([earlier, *bugs(20)], 4096)


def test_of_two_first_requests_the_older_one_is_kept() -> None:
    body = "- first request: Please fix bug 0\n- first request: Please fix bug 29"
    text = digest([summary(f"<important_context>\n{body}\n</important_context>"), *bugs(3)], 4096)
    assert re.findall(r"first request: .*", text) == ["first request: Please fix bug 0"]


def test_the_first_request_is_no_completed_task_while_it_is_not_finished() -> None:
    chat = [user("Build a CLI in Rust that converts CSV to Parquet"), said("I created the Cargo project.")]
    text = digest([*chat, user("Now add a --delimiter flag."), said("Added.")], 1024)
    assert section_of(text, "completed_tasks") == "- (none)"
    line = "- first request: Build a CLI in Rust that converts CSV to Parquet → I created the Cargo project."
    assert line in section_of(text, "important_context")


@pytest.mark.parametrize("last", [[], [said("I'll start with the parser.")], used("Bash", "", command="cargo new x")])
def test_a_request_the_model_did_not_end_is_no_completed_task(last: list[Message]) -> None:
    chat = [*bugs(2), user("Port the printer."), *last, user("Wait, the lexer first."), said("Done.")]
    text = digest(chat, 2048)
    assert "Port the printer." not in section_of(text, "completed_tasks")
    assert "- request: Port the printer." in section_of(text, "important_context")


# What is left out


def test_the_newest_tasks_are_kept_and_the_older_ones_counted() -> None:
    text = in_parts(tasks(600), 300, 4000)
    done = [int(number) for number in re.findall(r"^- Task (\d+):", section_of(text, "completed_tasks"), re.M)]
    assert done == list(range(600 - 1 - len(done), 599))
    assert len(done) > 10
    assert left_out(text, "completed_tasks") == 599 - len(done)
    files = [int(number) for number in re.findall(r"^src/m(\d+).py", section_of(text, "code_state"), re.M)]
    assert files == list(range(600 - len(files), 600))
    assert left_out(text, "code_state") == 600 - len(files)


def test_one_long_chat_counts_what_is_too_much_to_be_looked_at() -> None:
    text = digest(tasks(1000), 4000)
    shown = len(re.findall(r"^- Task", section_of(text, "completed_tasks"), re.M))
    assert left_out(text, "completed_tasks") == 999 - shown


def test_a_count_never_shrinks_through_compactions() -> None:
    texts = again(tasks(300), [600, 200, 200, 200], 2000)
    counts = [left_out(text, "completed_tasks") for text in texts]
    assert counts[0] > 50
    assert all(before < after for before, after in pairwise(counts))


def test_nothing_is_counted_where_all_is_told() -> None:
    assert "left out" not in digest(bugs(4), 4096)


def test_rules_survive_any_number_of_compactions() -> None:
    for text in again(tasks(600), [300, *[100] * 20], 1024):
        context = section_of(text, "important_context")
        assert "- User: Keep the public URLs unchanged." in context
        assert "- User: Never edit migrations/." in context


def test_rules_survive_in_one_long_chat() -> None:
    context = section_of(digest(tasks(500), 1024), "important_context")
    assert "- User: Keep the public URLs unchanged." in context
    assert "- User: Never edit migrations/." in context


# Commands and failures


def test_passing_runs_of_a_check_are_counted() -> None:
    text = in_parts(tasks(30)[2:], 60, 4000)
    assert re.findall(r"^- `pytest -q`.*", text, re.M) == ["- `pytest -q`: 32 passed (30 runs)"]


def test_only_the_last_outcome_of_a_command_stands_after_a_compaction() -> None:
    first = digest([user("Fix it."), *used("Bash", "344", command="python reproduce.py"), said("I see it.")], 1024)
    text = digest([summary(first), *used("Bash", "345", command="python reproduce.py"), said("Fixed.")], 1024)
    assert re.findall(r"`python.*", text) == ["`python reproduce.py`: 345"]


def test_a_call_without_its_answer_hides_no_outcome() -> None:
    chat = [user("Fix it."), *used("Bash", "3 passed", command="pytest"), call("Bash", "d", command="pytest")]
    assert "- `pytest`: 3 passed\n" in digest(chat, 1024)


def test_a_failure_of_an_earlier_summary_is_got_over_when_its_command_works() -> None:
    failed = claude_used("Bash", "FAILED tests/test_a.py::test_x", is_error=True, command="pytest")
    first = digest([user("Fix it."), *failed, said("One test fails.")], 1024)
    assert "failing: `pytest`" in section_of(first, "active_issues")
    text = digest([summary(first), *used("Bash", "2 passed", command="pytest"), said("Fixed.")], 2048)
    assert section_of(text, "active_issues") == "- (none)"
    assert "- error: `pytest`: FAILED tests/test_a.py::test_x" in section_of(text, "completed_tasks")


def test_a_question_of_an_earlier_summary_is_none_when_something_was_asked_since() -> None:
    first = digest([user("Fix it."), said("Fixed. Should empty input give None?")], 1024)
    assert "question: Should empty input give None?" in first
    assert "question: " not in digest([summary(first), user("Yes, None."), said("Done.")], 1024)


def test_a_failed_edit_whose_call_is_gone_is_got_over_by_the_next_edit() -> None:
    answer = "Your proposed edit has introduced new syntax error(s).\n- E999 IndentationError: unexpected indent"
    chat = [summary("<current_focus>\nUser: Fix it.\n</current_focus>"), result(answer), said("I indent it.")]
    text = digest([*chat, *used("edit", "ok", path="a.py", old_string="x", new_string="  x")], 1024)
    assert section_of(text, "active_issues") == "- (none)"
    assert "- error: - E999 IndentationError: unexpected indent → I indent it." in text


def test_the_two_steps_of_the_demo_tell_the_truth() -> None:
    messages = json.loads(DEMO.read_text(encoding="utf-8"))["messages"]
    _, text = again(messages, [15, len(messages)], 2000)
    assert section_of(text, "active_issues") == "- (none)"
    assert re.findall(r"`python reproduce.*", text) == ["`python reproduce.py`: 345"]
    code = section_of(text, "code_state")
    assert "reproduce.py\ndeleted\n</file>" in code
    assert code.count("return int(round(") == 1


# Summaries that were cut


def test_a_summary_cut_in_its_middle_keeps_its_sections_apart() -> None:
    cut = "<completed_tasks>\n- Parser\n- Pri\n[...]\n<important_context>\n- Never rename it.\n</important_context>"
    text = digest([summary(cut), user("Go on with the printer."), said("Printing.")], 1024)
    assert "Never" not in section_of(text, "completed_tasks")
    assert "- Never rename it." in section_of(text, "important_context")


def test_layouts_and_folders_of_an_earlier_summary_give_way_to_newer_ones() -> None:
    first = "<environment>\n- working directory: /old\n- shell: bash\n</environment>"
    context = "<environment_context>\n  <cwd>/new</cwd>\n</environment_context>"
    text = digest([summary(first), user(context), user("Fix it."), said("Fixed.")], 1024)
    assert section_of(text, "environment") == "- shell: bash\n- working directory: /new"
