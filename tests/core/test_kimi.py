"""The compaction request and the summary message, part for part, in the cases that kimi-cli's vectors leave open."""

from __future__ import annotations

from typing import Any

import pytest

from lithify.core.kimi import OUTPUT_PREFIX, closing_part, is_summary, request_parts, summary_message
from tests.support.messages import Message, assistant, calling, result, said, system, text, user

IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAA"}}
THINK = {"type": "think", "think": "secret"}


def parts_of(*messages: Message) -> list[str]:
    """The parts of a request, the closing one left out."""
    return list(request_parts(messages, "PROMPT", "INTRO", "")[:-1])


def texts_sent(content: Any, role: str = "user") -> list[str]:
    return parts_of(said(role, content))[1:]


# --- headers --------------------------------------------------------------------------------------------------


def test_messages_are_numbered_from_one_under_their_roles() -> None:
    parts = parts_of(user("a"), assistant("b"), result("c1", "c"))
    assert parts == [
        "## Message 1\nRole: user\nContent:\n",
        "a",
        "## Message 2\nRole: assistant\nContent:\n",
        "b",
        "## Message 3\nRole: tool\nContent:\n",
        "c",
    ]


@pytest.mark.parametrize("role", ["system", "developer", "tool", "function", "somebody else", "Ω"])
def test_every_role_is_sent_under_its_own_name(role: str) -> None:
    assert parts_of(said(role, "x")) == [f"## Message 1\nRole: {role}\nContent:\n", "x"]


def test_every_one_of_several_system_messages_is_sent() -> None:
    assert [part for part in parts_of(system("a"), system("b"), user("c")) if len(part) == 1] == ["a", "b", "c"]


@pytest.mark.parametrize(
    "content",
    [
        None,
        [],
        "",
        "   ",
        [THINK],
        [IMAGE],
        [{"type": "audio_url", "audio_url": {"url": "x"}}, {"type": "video_url", "video_url": {"url": "x"}}],
        text("", " \n"),
        [{"type": "weird", "x": 1}],
        [{"type": "text", "text": None}],
        [None, 1, {}],
    ],
)
def test_content_without_text_leaves_the_header_alone(content: Any) -> None:
    assert parts_of(said("user", content), user("next")) == [
        "## Message 1\nRole: user\nContent:\n",
        "## Message 2\nRole: user\nContent:\n",
        "next",
    ]


def test_a_message_without_content_is_still_numbered() -> None:
    assert parts_of({"role": "assistant"}) == ["## Message 1\nRole: assistant\nContent:\n"]


# --- texts ----------------------------------------------------------------------------------------------------


def test_each_text_part_is_a_part_of_its_own() -> None:
    assert texts_sent(text("a", "b")) == ["a", "b"]


def test_what_is_no_text_is_dropped_from_between_texts() -> None:
    assert texts_sent([THINK, *text("a"), IMAGE, *text("b")]) == ["a", "b"]


def test_calls_ids_and_names_are_not_sent() -> None:
    sent = "".join(parts_of({**calling("c1", text="calling"), "name": "bob"}, {**result("c1", "out"), "name": "shell"}))
    assert "c1" not in sent
    assert "bob" not in sent
    assert "shell" not in sent


def test_the_text_of_an_unknown_part_is_sent() -> None:
    assert texts_sent([{"type": "weird", "text": "a"}]) == ["a"]


def test_a_text_beside_a_thought_in_one_part_is_not_sent() -> None:
    assert texts_sent([{"type": "think", "think": "secret", "text": "secret"}]) == []


def test_white_space_around_a_text_is_sent() -> None:
    assert texts_sent("  a\n") == ["  a\n"]


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        (["a", "  ", "b"], ["a  ", "b"]),
        (["a", "\n", "\n", "b"], ["a\n\n", "b"]),
        (["a", "", "b"], ["a", "b"]),
        (["a", "\n"], ["a\n"]),
        (["\n", "a"], ["a"]),
        (["", "a", ""], ["a"]),
    ],
)
def test_white_space_after_a_text_joins_it_and_blank_parts_are_never_sent(given: list[str], sent: list[str]) -> None:
    assert texts_sent(text(*given)) == sent


def test_white_space_is_not_joined_to_a_text_of_another_message() -> None:
    assert "a" in parts_of(user("a"), user(" "), user("b"))


# --- prompt and instructions ----------------------------------------------------------------------------------


def test_the_prompt_is_the_last_part_after_a_newline() -> None:
    assert request_parts([user("a")], "PROMPT", "INTRO", "")[-1] == "\nPROMPT"


def test_an_instruction_follows_the_prompt_in_the_same_part() -> None:
    assert closing_part("PROMPT", "\nINTRO\n", "keep db") == "\nPROMPT\nINTRO\nkeep db"


@pytest.mark.parametrize("instruction", ["  keep\n db  ", "\n\tkeep\n db", "keep\n db\n\n"])
def test_white_space_around_an_instruction_is_stripped_and_that_inside_is_kept(instruction: str) -> None:
    assert closing_part("PROMPT", "INTRO", instruction) == "\nPROMPTINTROkeep\n db"


@pytest.mark.parametrize("instruction", ["", " ", "\n\t "])
def test_a_blank_instruction_leaves_the_prompt_alone(instruction: str) -> None:
    assert closing_part("PROMPT", "INTRO", instruction) == "\nPROMPT"


def test_a_prompt_is_not_trimmed() -> None:
    assert closing_part(" \nmine\n ", "INTRO", "keep") == "\n \nmine\n INTROkeep"


# --- the summary ----------------------------------------------------------------------------------------------


def test_a_summary_has_two_text_parts() -> None:
    assert summary_message([calling("c1")], "SUM") == said("user", text(OUTPUT_PREFIX, "SUM"))


def test_where_every_message_holds_a_string_the_summary_does_too() -> None:
    assert summary_message([system(), user(), assistant()], "SUM") == user(f"{OUTPUT_PREFIX}\nSUM")


@pytest.mark.parametrize("content", [None, [], text("a")])
def test_one_message_that_holds_no_string_gives_the_summary_parts(content: Any) -> None:
    assert summary_message([user(), said("assistant", content)], "SUM")["content"] == text(OUTPUT_PREFIX, "SUM")


@pytest.mark.parametrize("answer", ["  SUM\n", "no sections at all", "<current_focus>x</current_focus>"])
def test_an_answer_is_kept_as_it_stands(answer: str) -> None:
    assert summary_message([calling("c1")], answer)["content"][1]["text"] == answer


@pytest.mark.parametrize("beside", [[user()], [calling("c1")]])
def test_a_summary_is_known_again_in_either_form(beside: list[Message]) -> None:
    assert is_summary(summary_message(beside, "SUM"))


@pytest.mark.parametrize(
    "message", [user("Here is the compaction output:"), assistant(f"{OUTPUT_PREFIX}\nSUM"), said("user", None), {}]
)
def test_what_only_looks_like_a_summary_is_none(message: Message) -> None:
    assert not is_summary(message)
