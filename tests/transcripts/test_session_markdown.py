"""A session as a Markdown document: what stands in it, and that its places are certain whatever messages say."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.core.kimi import summary_message
from lithify.transcripts.session_markdown import SessionText, fenced, write_session

Message = dict[str, Any]


def said(message: Message) -> str:
    """What a document says below the heading of its only message."""
    document = write_session("T", [message])
    ((start, end),) = document.places
    return document.text[start:end].partition("\n\n")[2]


def calling(arguments: str) -> Message:
    """A message that calls a tool."""
    call = {"id": "c1", "type": "function", "function": {"name": "shell", "arguments": arguments}}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def test_each_message_has_a_heading_with_its_number_and_role_and_its_text_as_it_stands() -> None:
    document = write_session("A\n title", [{"role": "user", "content": "# Hi\n\n  there "}, {"role": "dev\nx"}])
    assert document.text == "# A title\n\n## 1. user\n\n# Hi\n\n  there \n\n## 2. dev x\n"


def test_a_message_lies_from_its_heading_to_the_end_of_what_it_says() -> None:
    document = write_session("T", [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b\n"}])
    assert [document.text[start:end] for start, end in document.places] == ["## 1. user\n\na", "## 2. assistant\n\nb\n"]


def test_the_summary_of_a_compaction_is_told_by_its_heading() -> None:
    assert "## 1. user (the summary of a compaction)\n" in write_session("T", [summary_message((), "short")]).text


def test_texts_and_other_parts_stand_in_their_order() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "think", "think": "b\n\nc"}, {"type": "text", "text": "d"}]
    assert said({"role": "assistant", "content": parts}) == "a\n\n> **Thinking**\n>\n> b\n>\n> c\n\nd"


def test_a_call_is_named_with_its_arguments() -> None:
    assert said(calling('{"a":1}')) == '**Call** of `shell` (`c1`)\n\n```json\n{\n  "a": 1\n}\n```'
    assert said(calling("no json")) == "**Call** of `shell` (`c1`)\n\n```\nno json\n```"
    part = {"type": "tool_use", "id": "c2", "name": "read", "input": {}}
    assert said({"role": "assistant", "content": [part]}) == "**Call** of `read` (`c2`)\n\n```json\n{}\n```"


def test_a_result_names_its_call_and_is_no_markdown() -> None:
    message = {"role": "tool", "tool_call_id": "c1", "content": "# a\n"}
    assert said(message) == "**Result** of `c1`\n\n```\n# a\n```"
    part = {"type": "tool_result", "tool_use_id": "c2", "content": [{"type": "text", "text": "b"}]}
    assert said({"role": "user", "content": [part]}) == "**Result** of `c2`\n\n```\nb\n```"


def test_pictures_are_named_by_where_they_lie_unless_that_is_the_picture_itself() -> None:
    near = {"type": "image_url", "image_url": {"url": "https://a.b/c.png"}}
    inside = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    assert said({"role": "user", "content": [near, inside]}) == "*(image_url: https://a.b/c.png)*\n\n*(image_url)*"


@pytest.mark.parametrize(("text", "fence"), [("a", "```"), ("```\na\n```", "````"), ("`````", "``````")])
def test_nothing_in_a_block_of_code_can_end_it(text: str, fence: str) -> None:
    assert fenced(text) == f"{fence}\n{text}\n{fence}"


@pytest.mark.parametrize(
    ("text", "closed"),
    [
        ("```py\na", "```py\na\n```"),
        ("~~~~\na\n~~~\n", "~~~~\na\n~~~\n~~~~"),
        ("```\na\n```", "```\na\n```"),
        ("``` a`b\nc", "``` a`b\nc"),
        ("a ```", "a ```"),
    ],
)
def test_a_block_that_a_text_leaves_open_is_closed_behind_it(text: str, closed: str) -> None:
    assert said({"role": "user", "content": text}) == closed


@pytest.mark.parametrize(
    "message", [{"role": "user"}, {"role": "user", "content": []}, {"role": "user", "content": ""}]
)
def test_a_message_that_says_nothing_has_its_heading(message: Message) -> None:
    assert write_session("T", [message]).text.startswith("# T\n\n## 1. user\n")


def test_a_lone_half_of_a_pair_is_replaced() -> None:
    assert said({"role": "user", "content": "a\ud800b"}) == "a\ufffdb"


TEXTS = st.text(st.sampled_from("a `~#\n\r>-*1.\u2028\ud800")) | st.sampled_from(["## 2. user", "```", "# T", "\n\n"])
PARTS = st.one_of(
    st.builds(lambda text: {"type": "text", "text": text}, TEXTS),
    st.builds(lambda text: {"type": "think", "think": text}, TEXTS),
    st.dictionaries(st.sampled_from(["type", "text", "id", "input", "content"]), TEXTS | st.none() | st.integers()),
)
MESSAGES = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "tool", "", "a\rb"])},
    optional={"content": TEXTS | st.none() | st.lists(PARTS, max_size=3), "tool_calls": st.lists(PARTS, max_size=2)},
)


@given(st.lists(MESSAGES, max_size=5), TEXTS)
def test_a_session_that_grew_begins_with_the_document_it_was(messages: list[Message], title: str) -> None:
    document = write_session(title, messages)
    for count in range(len(messages) + 1):
        first = write_session(title, messages[:count])
        assert document.text[: document.end_of(count)] == first.text
        assert document.places[:count] == first.places


@given(st.lists(MESSAGES, max_size=5))
def test_every_place_begins_at_the_heading_of_its_message(messages: list[Message]) -> None:
    document: SessionText = write_session("T", messages)
    behind = 0
    for number, (start, end) in enumerate(document.places, start=1):
        assert start >= behind
        assert document.text[start:end].startswith(f"## {number}. ")
        assert document.text[start - 1] == "\n"
        behind = end
