"""Codex's session file: the conversation it would take up again, and the one record a compaction appends."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from lithify.core import tool_groups
from lithify.core.kimi import summary_message
from lithify.core.messages import text_of, tool_calls
from lithify.core.outcomes import LithifyError
from lithify.transcripts import codex
from lithify.transcripts.model import Problem
from tests.support import codex_loader
from tests.support.codex_loader import CodexCrash, Item
from tests.support.samples import sample_paths
from tests.transcripts.rewriting import STAMP, Rewritten, rewrite

SUMMARY = summary_message([{"role": "user", "content": []}], "short 短い 😀")
SUMMARY_ITEM = {
    "type": "message",
    "role": "user",
    "content": [{"type": "input_text", "text": part["text"]} for part in SUMMARY["content"]],
}
ENVIRONMENT = "<environment_context>\n  <cwd>/project</cwd>\n</environment_context>"
SEALED: Item = {"type": "compaction", "encrypted_content": "gAAAA"}


def user(text: str) -> Item:
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}


def said(text: str) -> Item:
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}


def thought(text: str) -> Item:
    summary = [{"type": "summary_text", "text": text}] if text else []
    return {"type": "reasoning", "summary": summary, "content": None, "encrypted_content": "gAAAA"}


def call(number: int) -> Item:
    return {"type": "function_call", "name": "shell", "arguments": f'{{"n":{number}}}', "call_id": f"c{number}"}


def output(number: int, text: str = "done") -> Item:
    return {"type": "function_call_output", "call_id": f"c{number}", "output": text}


def patch(number: int) -> Item:
    return {"type": "custom_tool_call", "name": "apply_patch", "input": "*** Begin Patch", "call_id": f"c{number}"}


def patched(number: int) -> Item:
    return {"type": "custom_tool_call_output", "call_id": f"c{number}", "output": "Success"}


def record(kind: str, payload: Any, **others: Any) -> dict[str, Any]:
    return {"timestamp": "2026-01-01T00:00:00.000Z", **others, "type": kind, "payload": payload}


def items(*given: Item) -> list[dict[str, Any]]:
    return [record("response_item", item) for item in given]


def compacted(*history: Item, **others: Any) -> dict[str, Any]:
    return record("compacted", {"message": "native", "replacement_history": list(history)}, **others)


def rollout(*records: dict[str, Any], ordinals: bool = False, ending: str = "\n") -> str:
    lines = [record("session_meta", {"id": "1", "cli_version": "0.171.0"}), *records]
    if ordinals:
        lines = [{"timestamp": line["timestamp"], "ordinal": at, **line} for at, line in enumerate(lines)]
    return "".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + ending for line in lines)


def replaced(text: str, start: int, end: int) -> str:
    return codex.write(text, codex.parse(text), start, end, SUMMARY, STAMP)


def history(text: str) -> list[Item]:
    return codex_loader.load(text.encode()).history


def own_record(text: str) -> dict[str, Any]:
    loaded = json.loads(text.splitlines()[-1])
    assert isinstance(loaded, dict)
    return loaded


def check_replay(text: str, made: Rewritten) -> None:
    """Codex takes up what it had, with the summary in place of one run of items."""
    before, after = history(text), history(made.text)
    place = next(at for at, item in enumerate(after) if json.dumps(item).find("Summary: ") > 0)
    head, tail = after[:place], after[place + 1 :]
    assert before[len(before) - len(tail) :] == tail
    assert [item for item in head if item != SEALED] == [item for item in before if item != SEALED][
        : len([item for item in head if item != SEALED])
    ]


def orphans(conversation: list[dict[str, Any]]) -> int:
    found = tool_groups.answers(conversation)
    return sum(1 for message in conversation if message["role"] == "tool") - len(found)


STORY = [user("a"), thought("hm"), said("b"), call(1), call(2), output(1), output(2), user("c"), patch(3), patched(3)]


def test_every_range_of_every_sample_is_replaced_and_codex_takes_up_just_that_conversation() -> None:
    paths = [path for path in sample_paths() if path.parent.name == "codex"]
    assert paths
    for path in paths:
        text = path.read_bytes().decode()
        assert codex.recognise(text, "chat")
        parsed = codex.parse(text)
        assert (parsed.writable, parsed.problems) == (True, ())
        for start in range(0, len(parsed.messages), 2):
            for end in range(start + 1, len(parsed.messages) + 1, 3):
                low, high = tool_groups.widen(parsed.conversation, start, end)
                made = rewrite(codex, text, low, high)
                check_replay(text, made)
                assert orphans(made.parsed.conversation) == orphans(parsed.conversation) == 0


@pytest.mark.parametrize("ordinals", [False, True])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("final", [True, False])
def test_every_range_of_a_made_file_is_replaced_whatever_its_lines_are_like(
    ordinals: bool, ending: str, final: bool
) -> None:
    text = rollout(*items(*STORY), compacted(user("native"), *STORY[3:]), *items(user("数"), said("😀")))
    text = rollout(*map(json.loads, text.splitlines()[1:]), ordinals=ordinals, ending=ending)
    text = text if final else text.removesuffix(ending)
    count = len(codex.parse(text).messages)
    for start in range(count):
        for end in range(start + 1, count + 1):
            made = rewrite(codex, text, start, end)
            assert made.text.startswith(text if final else text + ending)
            check_replay(text, made)


def test_one_step_of_the_model_is_one_message_in_the_places_of_its_records() -> None:
    text = rollout(*items(user("a"), thought("hm"), said("b"), call(1), call(2), output(1), output(2)))
    parsed = codex.parse(text)
    assert parsed.conversation == [
        {"role": "user", "content": [{"type": "text", "text": "a"}]},
        {
            "role": "assistant",
            "content": [{"type": "think", "think": "hm"}, {"type": "text", "text": "b"}],
            "tool_calls": [
                {
                    "id": f"c{number}",
                    "type": "function",
                    "function": {"name": "shell", "arguments": f'{{"n":{number}}}'},
                }
                for number in (1, 2)
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "done"}]},
        {"role": "tool", "tool_call_id": "c2", "content": [{"type": "text", "text": "done"}]},
    ]
    step = parsed.messages[1]
    places = [(step.start, step.end), *step.more]
    assert [json.loads(text[start:end])["payload"] for start, end in places] == [
        thought("hm"),
        said("b"),
        call(1),
        call(2),
    ]


@pytest.mark.parametrize(
    ("given", "roles"),
    [
        ([said("a"), said("b")], ["assistant", "assistant"]),
        ([call(1), thought("x"), call(2)], ["assistant", "assistant"]),
        ([thought(""), user("a")], ["assistant", "user"]),
        ([thought("a"), thought("b"), {"type": "web_search_call"}, said("c")], ["assistant"]),
        ([patch(1), patched(1)], ["assistant", "tool"]),
        (
            [{"type": "local_shell_call", "call_id": "c1", "action": {"command": ["ls"]}}, output(1)],
            ["assistant", "tool"],
        ),
        ([SEALED, user("a")], ["user"]),
    ],
)
def test_a_step_ends_where_the_model_began_anew(given: list[Item], roles: list[str]) -> None:
    assert [message["role"] for message in codex.parse(rollout(*items(*given))).conversation] == roles


def test_a_custom_tool_s_input_is_the_call_s_arguments() -> None:
    (message,) = codex.parse(rollout(*items(patch(1)))).conversation
    (made,) = tool_calls(message)
    assert (made.call_id, made.name, made.arguments) == ("c1", "apply_patch", "*** Begin Patch")
    assert message["content"] is None


def test_reasoning_that_says_nothing_makes_no_part() -> None:
    assert codex.parse(rollout(*items(thought("")))).conversation == [{"role": "assistant", "content": []}]


def test_an_output_of_parts_keeps_its_image() -> None:
    image = {"type": "input_image", "image_url": "data:image/png;base64,AA=="}
    parts = [{"type": "input_text", "text": "see"}, image]
    shown = {"type": "function_call_output", "call_id": "c1", "output": parts}
    (message,) = codex.parse(rollout(*items(shown))).conversation
    assert message["content"] == [{"type": "text", "text": "see"}, image]


def test_events_and_contexts_are_no_messages() -> None:
    spoken = record("event_msg", {"type": "user_message", "message": "a"})
    text = rollout(record("turn_context", {"cwd": "/"}), *items(user("a")), spoken, record("world_state", {}))
    assert [text_of(message) for message in codex.parse(text).conversation] == ["a"]
    assert codex.parse(text).problems == ()


CONTEXT = [
    user(ENVIRONMENT),
    {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Be kind."}]},
    user("<user_instructions>\n\nBe kind.\n\n</user_instructions>"),
    {
        "type": "message",
        "role": "user",
        "content": [
            {
                "type": "input_text",
                "text": "# AGENTS.md instructions for /project\n\n<INSTRUCTIONS>\nx\n</INSTRUCTIONS>",
            },
            {"type": "input_text", "text": ENVIRONMENT},
        ],
    },
]


@pytest.mark.parametrize("context", CONTEXT)
def test_what_codex_puts_in_itself_is_no_message_and_is_left_out_of_the_new_history(context: Item) -> None:
    text = rollout(*items(context, user("a"), said("b"), context, user("c")))
    assert [text_of(message) for message in codex.parse(text).conversation] == ["a", "b", "c"]
    made = own_record(replaced(text, 0, 2))
    assert made["payload"]["replacement_history"] == [SUMMARY_ITEM, user("c")]


def test_a_user_who_quotes_the_environment_is_heard() -> None:
    parts = [{"type": "input_text", "text": text} for text in (ENVIRONMENT, "What is this?")]
    asked = {"type": "message", "role": "user", "content": parts}
    assert len(codex.parse(rollout(*items(user(f"{ENVIRONMENT}\nWhat is this?"), asked))).messages) == 2


def test_the_appended_record_has_the_agent_s_own_shape() -> None:
    made = replaced(rollout(*items(user("a"), said("b"), user("c")), ordinals=True), 0, 2)
    assert made.endswith("\n")
    assert own_record(made) == {
        "timestamp": STAMP.now,
        "ordinal": 4,
        "type": "compacted",
        "payload": {"message": text_of(SUMMARY), "replacement_history": [SUMMARY_ITEM, user("c")]},
    }
    assert list(own_record(made)) == ["timestamp", "ordinal", "type", "payload"]


def test_a_file_without_ordinals_gets_none() -> None:
    assert "ordinal" not in own_record(replaced(rollout(*items(user("a"))), 0, 1))


def test_true_is_no_ordinal() -> None:
    text = rollout(*items(user("a"), said("b")), ordinals=True)
    assert own_record(replaced(text + '{"ordinal":true,"type":"event_msg","payload":{}}\n', 0, 1))["ordinal"] == 3


def test_the_session_goes_on_behind_our_record() -> None:
    made = replaced(rollout(*items(user("a"), said("b")), ordinals=True), 0, 1).encode()
    grown = codex_loader.append(made, codex_loader.load(made), user("next"))
    assert codex_loader.load(grown).history == [SUMMARY_ITEM, said("b"), user("next")]
    with pytest.raises(CodexCrash):
        codex_loader.load(made + b'{"type":"event_msg","payload":{}}\n')


def test_a_range_in_the_middle_keeps_what_stands_before_it() -> None:
    made = replaced(rollout(*items(user("a"), said("b"), user("c"), said("d"))), 1, 3)
    assert history(made) == [user("a"), SUMMARY_ITEM, said("d")]


def test_a_torn_last_line_gets_its_newline_so_that_the_record_is_read() -> None:
    text = rollout(*items(user("a"), said("b")), ordinals=True) + '{"timestamp":"2026","ordinal":3,"type":"resp'
    made = replaced(text, 0, 1)
    assert made.startswith(text + "\n{")
    assert history(made) == [SUMMARY_ITEM, said("b")]
    assert codex.parse(text).problems == codex.parse(made).problems == (Problem(3, "cut off in the middle"),)


def test_a_file_with_carriage_returns_alone_gets_newlines_around_the_record() -> None:
    made = replaced(rollout(*items(user("a")), ending="\r"), 0, 1)
    assert made.endswith("\n")
    assert history(made) == [SUMMARY_ITEM]


def test_the_last_history_counts_and_the_items_behind_it() -> None:
    text = rollout(
        *items(user("a")), compacted(user("x")), *items(user("b")), compacted(user("y"), said("z")), *items(user("c"))
    )
    parsed = codex.parse(text)
    assert [text_of(message) for message in parsed.conversation] == ["y", "z", "c"]
    place = (parsed.messages[0].start, parsed.messages[0].end)
    assert (parsed.messages[1].start, parsed.messages[1].end) == place
    assert json.loads(text[slice(*place)])["type"] == "compacted"


def test_what_a_compaction_itself_produced_is_not_taken_up() -> None:
    product = record("response_item", said("summary"), metadata={"compaction_output": True})
    text = rollout(*items(user("a")), compacted(user("x")), product, *items(user("b")))
    assert [text_of(message) for message in codex.parse(text).conversation] == ["x", "b"]
    assert history(text) == [user("x"), user("b")]


def test_what_was_compacted_away_is_one_fold() -> None:
    text = rollout(*items(user("a"), said("b"), call(1), output(1)), compacted(user("x")), compacted(user("y")))
    (fold,) = codex.parse(text).folds
    folded = [json.loads(line)["type"] for line in text[fold.start : fold.end].splitlines()]
    assert folded == ["response_item"] * 4 + ["compacted"]
    assert (fold.title, fold.messages) == ("Compacted away: 4 messages", 4)


@pytest.mark.parametrize(
    ("version", "writable"), [("0.39.0", True), ("0.171.3", True), ("0.172.0", False), ("next", False)]
)
def test_a_version_whose_records_are_not_known_is_read_only(version: str, writable: bool) -> None:
    text = rollout(*items(user("a"))).replace("0.171.0", version)
    parsed = codex.parse(text)
    assert parsed.writable == writable
    assert writable or f"written by Codex {version}; what is known ends at 0.171.x" in str(parsed.read_only_reason)


def folded(text: str) -> list[str]:
    return [fold.title for fold in codex.parse(text).folds]


def test_what_a_compaction_of_ours_keeps_is_not_counted_as_compacted_away() -> None:
    text = rollout(*items(*STORY))
    assert len(codex.parse(text).messages) == 7
    assert folded(replaced(text, 0, 4)) == ["Compacted away: 4 messages"]
    assert folded(replaced(text, 4, 5)) == ["Compacted away: 1 message"]
    assert folded(replaced(text, 0, 7)) == ["Compacted away: 7 messages"]
    for start, end, title in ((0, 4, "8 messages"), (0, 2, "6 messages"), (1, 2, "5 messages")):
        once = replaced(text, 0, 4)
        other = {"role": "user", "content": "Another summary"}
        twice = codex.write(once, codex.parse(once), start, end, other, STAMP)
        assert folded(twice) == [f"Compacted away: {title}"], "a first summary that went is one of them"


def test_what_a_native_compaction_keeps_of_the_user_is_not_counted_as_compacted_away() -> None:
    said_so_far = items(user("a"), said("b"), user("c"), said("d"), user("e"), said("f"))
    assert folded(rollout(*said_so_far, compacted(user("c"), user("e"), user("summary")))) == [
        "Compacted away: 4 messages"
    ]
    again = compacted(user("a"), user("c"), user("e"), user("e"))
    assert folded(rollout(*said_so_far, again)) == ["Compacted away: 3 messages"], "a summary may say the same"


def test_compactions_of_ours_in_a_row_and_native_ones_between_them_all_hold() -> None:
    text = rollout(*items(*STORY), ordinals=True)
    for turn in range(3):
        text = replaced(text, 0, 2)
        text = codex_loader.append(text.encode(), codex_loader.load(text.encode()), said(f"turn {turn}")).decode()
    native = compacted(user("native"), said("turn 2"), ordinal=codex_loader.load(text.encode()).next_ordinal)
    text = replaced(text + json.dumps(native) + "\n", 0, 1)
    assert history(text) == [SUMMARY_ITEM, said("turn 2")]
    assert [json.loads(line)["ordinal"] for line in text.splitlines()] == list(range(len(text.splitlines())))


def test_what_only_codex_can_read_stays_in_front_of_the_summary() -> None:
    text = rollout(compacted(user("a"), SEALED), *items(said("b"), user("c")))
    assert history(replaced(text, 0, 2)) == [SEALED, SUMMARY_ITEM, user("c")]


@pytest.mark.parametrize(
    ("broken", "wrong"),
    [
        ({"type": "function_call", "name": "shell", "arguments": "{}"}, "a function_call without a proper `call_id`"),
        ({"type": "message", "role": "user", "content": "a"}, "a message without a proper `content`"),
        ({"type": "message", "role": "user", "content": [{"type": "text", "text": "a"}]}, "a part of another shape"),
        ({"type": "function_call_output", "call_id": "c", "output": {}}, "without a proper `output`"),
        ({"type": "later"}, "its type is `later`"),
        ({"role": "user"}, "no object with a type"),
        (user("\ud800"), "half of a character"),
    ],
)
def test_an_item_that_codex_may_not_read_is_named_and_makes_the_file_read_only(broken: Item, wrong: str) -> None:
    lines = [record("session_meta", {}), *items(user("a"), broken, user("b"))]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    parsed = codex.parse(text)
    assert [text_of(message) for message in parsed.conversation] == ["a", "b"]
    (problem,) = parsed.problems
    assert (problem.line, wrong in problem.message) == (2, True)
    with pytest.raises(LithifyError, match=r"Line 3 .*/compact") as caught:
        replaced(text, 0, 1)
    assert caught.value.type == "unsupported_document"


@pytest.mark.parametrize("value", ["9" * 5000, "[" * 300 + "]" * 300], ids=["long number", "deep"])
def test_a_record_that_only_codex_may_read_makes_the_file_read_only(value: str) -> None:
    text = rollout(*items(user("a"), said("b"))).replace('{"', '{"odd":' + value + ',"', 1)
    parsed = codex.parse(text)
    assert "Line 1 is n" in (parsed.read_only_reason or "")
    assert codex.parse(text + json.dumps(compacted(user("x"))) + "\n").writable


def test_an_unreadable_item_inside_a_history_makes_the_file_read_only() -> None:
    parsed = codex.parse(rollout(compacted(user("a"), {"type": "later"})))
    assert not parsed.writable
    assert len(parsed.messages) == 1


def test_an_unreadable_item_before_the_last_history_does_no_harm() -> None:
    text = rollout(*items({"type": "later"}, user("a")), compacted(user("b")))
    assert codex.parse(text).writable
    assert len(codex.parse(text).problems) == 1


def test_a_compaction_of_an_older_codex_keeps_the_user_s_messages_and_makes_the_file_read_only() -> None:
    text = rollout(*items(user("a"), said("b")), record("compacted", {"message": "sum"}), *items(said("c")))
    parsed = codex.parse(text)
    assert [text_of(message) for message in parsed.conversation] == ["a", "sum", "c"]
    assert parsed.read_only_reason is not None
    assert parsed.read_only_reason.startswith("Line 4 is a compaction by an older Codex")
    assert codex.parse(text + json.dumps(compacted(user("x"))) + "\n").writable


def test_turns_that_were_taken_back_are_folded_and_make_the_file_read_only() -> None:
    back = record("event_msg", {"type": "thread_rolled_back", "num_turns": 1})
    text = rollout(*items(user("a"), said("b"), user("c"), said("d")), back, *items(user("e")))
    parsed = codex.parse(text)
    assert [text_of(message) for message in parsed.conversation] == ["a", "b", "e"]
    assert [(fold.title, fold.messages) for fold in parsed.folds] == [("Taken back: 2 messages", 2)]
    assert parsed.read_only_reason is not None
    assert parsed.read_only_reason.startswith("Line 6 takes turns back")


@pytest.mark.parametrize("kind", ["inter_agent_communication", "rollout_reference"])
def test_a_record_that_only_codex_can_place_makes_the_file_read_only(kind: str) -> None:
    assert not codex.parse(rollout(*items(user("a")), record(kind, {}))).writable


def test_a_byte_order_mark_makes_the_file_read_only() -> None:
    with pytest.raises(LithifyError, match="byte order mark"):
        replaced("\ufeff" + rollout(*items(user("a"))), 0, 1)


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("17", "not a record: no object with a type and a payload"),
        ('{"type":"response_item"}', "not a record: no object with a type and a payload"),
        ('{"type":"event_msg","payload":{}} {}', "not JSON: more text behind the value"),
    ],
)
def test_a_line_that_is_no_record_is_a_problem_and_hides_nothing(line: str, wrong: str) -> None:
    text = rollout(*items(user("a"))) + line + "\n" + json.dumps(items(user("b"))[0]) + "\n"
    parsed = codex.parse(text)
    assert parsed.problems == (Problem(2, wrong),)
    assert len(parsed.messages) == 2
    assert history(replaced(text, 0, 1)) == [SUMMARY_ITEM, user("b")]


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        (rollout(), "x.jsonl", True),
        ("broken\n" + rollout(), "x", True),
        ("", "/home/me/.codex/sessions/2026/01/02/rollout-2026-01-02T03-04-05-1.jsonl", True),
        ("", "x.jsonl", False),
        ('{"role":"user","content":"a"}\n', "rollout-1.jsonl", False),
        ('{"type":"user","message":{"role":"user","content":"a"}}\n', "rollout-1.jsonl", False),
        ('{"type":"event_msg","data":{}}\n', "x", False),
    ],
)
def test_a_rollout_is_recognised_by_its_records_and_an_empty_one_by_its_name(
    text: str, name: str, expected: bool
) -> None:
    assert codex.recognise(text, name) is expected


@pytest.mark.parametrize("text", ["", "\n", rollout(), rollout(compacted())])
def test_a_session_without_messages_has_none_and_no_problem(text: str) -> None:
    parsed = codex.parse(text)
    assert (parsed.messages, parsed.problems, parsed.folds) == ((), (), ())
    with pytest.raises(LithifyError):
        replaced(text, 0, 0)


def test_eight_megabytes_are_read_and_compacted_in_seconds() -> None:
    line = json.dumps(items(call(1))[0]) + "\n" + json.dumps(items(output(1, "x" * 4000))[0]) + "\n"
    text = rollout() + line * 2000
    assert len(text) > 8_000_000
    begun = time.process_time()
    parsed = codex.parse(text)
    made = codex.write(text, parsed, 0, 3000, SUMMARY, STAMP)
    assert time.process_time() - begun < 5
    assert len(codex.parse(made).messages) == 1001


def test_deeply_repeated_compactions_are_read_in_linear_time() -> None:
    text = rollout(*[one for _ in range(3000) for one in (*items(user("a")), compacted(user("x"), said("y")))])
    begun = time.process_time()
    assert len(codex.parse(text).messages) == 2
    assert time.process_time() - begun < 5


def test_a_record_whose_type_is_no_text_is_no_record_of_codex() -> None:
    assert not codex.recognise('{"type":["response_item"],"payload":{}}\n', "chat.jsonl")
