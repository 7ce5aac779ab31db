"""Elements read from a model's answer, and text made fit to stand in one."""

from __future__ import annotations

import time
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.core.markup import Element, breaks_off_in_tag, child_text, child_texts, elements, escaped, quoted, text_of

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=80)
XML_TEXT = st.text(st.characters(min_codepoint=32, max_codepoint=0xD7FF) | st.sampled_from("<>&\"'];"), max_size=80)
MARKUP = st.lists(
    st.sampled_from(
        ["<a>", "</a>", "<a ", "<A x='1'>", "<a/>", '"', "'", ">", "<", "<![CDATA[", "]]>", "&lt;", "=", "text", "\n"]
    ),
    max_size=30,
).map("".join)


def only(text: str, name: str = "a") -> Element:
    found = list(elements(text, name))
    assert len(found) == 1
    return found[0]


# Finding elements


@pytest.mark.parametrize(
    "text",
    [
        "<a>x</a>",
        "<A>x</a>",
        "<a >x</a >",
        "<a\n>x</A\n>",
        "Here you are:\n```xml\n<a>x</a>\n```\nAnything else?",
        "**<a>x</a>**",
        "<answer><a>x</a></answer>",
        "<ab>y</ab><a>x</a>",
        "< a>y</a><a>x</a>",
    ],
)
def test_an_element_is_found_however_it_is_wrapped(text: str) -> None:
    assert only(text).content == "x"


def test_elements_come_in_order() -> None:
    assert [each.content for each in elements("<a>1</a> and <a>2</a>", "a")] == ["1", "2"]


def test_an_element_of_a_longer_name_is_another() -> None:
    assert list(elements("<facts>x</facts>", "fact")) == []


@pytest.mark.parametrize("text", ["<a/>", "<a />", '<a x="1"/>', '<a x="1" />', "<A\n/>", "<a x=1 />"])
def test_a_self_closing_element_is_closed_and_empty(text: str) -> None:
    found = only(text)
    assert (found.content, found.closed) == ("", True)


def test_an_element_that_is_never_closed_reaches_to_the_end() -> None:
    found = only("<a>x and so on")
    assert (found.content, found.closed) == ("x and so on", False)


def test_an_element_that_is_not_closed_ends_where_the_next_begins() -> None:
    assert [(each.content, each.closed) for each in elements("<a>1 <a>2</a>", "a")] == [("1 ", False), ("2", True)]


# Attributes


@pytest.mark.parametrize(
    "tag",
    ['<a x="1" y="2">', "<a y='2' x='1'>", "<a x=1 y=2>", '<A X = "1"\n Y="2">', "<a x=“1” y=“2”>", '<a z y="2" x=1>'],
)
def test_attributes_are_read_in_any_order_case_and_quotes(tag: str) -> None:
    found = only(f"{tag}t</a>").attributes
    assert (found["x"], found["y"]) == ("1", "2")


@pytest.mark.parametrize("value", ["a > b", "a <b> c", "it's", "", "a=b", "x/"])
def test_an_attribute_in_double_quotes_may_hold_anything(value: str) -> None:
    assert only(f'<a x="{value}">t</a>').attributes == {"x": value}


def test_an_apostrophe_without_quotes_around_does_not_hide_the_tag() -> None:
    assert only("<a reason=don't>t</a>").content == "t"


def test_entities_in_an_attribute_are_resolved() -> None:
    assert only('<a x="&lt;1 &amp; 2&gt;">t</a>').attributes == {"x": "<1 & 2>"}


# Text


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("  x \n", "x"),
        ("a &lt;b&gt; &amp; &quot;c&quot; &apos;d&apos;", "a <b> & \"c\" 'd'"),
        ("&#65;&#x42;", "AB"),
        ("&amp;lt;", "&lt;"),
        ("&nbsp;x&hellip;", "x…"),
        ("<![CDATA[<b> & &lt;]]>", "<b> & &lt;"),
        ("a <![CDATA[<b>]]> c &lt;", "a <b> c <"),
        ("<![CDATA[open", "<![CDATA[open"),
        ("a ]]> b", "a ]]> b"),
    ],
)
def test_the_text_of_an_element_is_what_was_meant(content: str, text: str) -> None:
    assert text_of(content) == text


@pytest.mark.parametrize("literal", ["?a=1&copy=2&region=eu", "R&D", "a && b", "&unknown;", "&#;", "&region;", "x &"])
def test_an_ampersand_that_begins_no_entity_stands_for_itself(literal: str) -> None:
    assert text_of(literal) == literal


def test_tags_in_cdata_open_and_close_nothing() -> None:
    found = only("<a><![CDATA[how </a> and <a> work]]></a>")
    assert (text_of(found.content), found.closed) == ("how </a> and <a> work", True)


# Children


def test_a_child_is_read_by_its_name() -> None:
    assert child_text("<title>A &amp; B</title><summary>C</summary>", "title") == "A & B"


def test_a_child_that_is_not_there_is_empty() -> None:
    assert child_text("<title>x</title>", "summary") == ""


def test_children_are_read_from_their_parent_alone() -> None:
    content = "<facts><fact>1</fact><fact> </fact><fact>2</fact></facts><fact>3</fact>"
    assert child_texts(content, "facts", "fact") == ["1", "2"]


def test_children_without_a_parent_count_all_the_same() -> None:
    assert child_texts("<fact>1</fact>\n<fact>2</fact>", "facts", "fact") == ["1", "2"]


def test_the_lines_of_a_parent_without_children_are_its_children() -> None:
    assert child_texts("<facts>\n- one\n* two\n3. three\n\n</facts>", "facts", "fact") == ["one", "two", "three"]


@pytest.mark.parametrize("content", ["", "<facts/>", "<facts></facts>", "<facts>\n</facts>"])
def test_no_children_are_no_error(content: str) -> None:
    assert child_texts(content, "facts", "fact") == []


# Cut off


@pytest.mark.parametrize("tail", ["<memory_record", '<memory_record type="dec', "<MEMORY_REC", "x\n<memory_record "])
def test_a_text_that_ends_inside_a_tag_is_recognised(tail: str) -> None:
    assert breaks_off_in_tag(f"<memory_record>x</memory_record>\n{tail}", "memory_record")


@pytest.mark.parametrize("tail", ["", ".", "```", " a < b", "<mem", "</memory_record", "<other"])
def test_a_text_that_ends_otherwise_does_not_break_off(tail: str) -> None:
    assert not breaks_off_in_tag(f"<memory_record>x</memory_record>{tail}", "memory_record")


# Escaping


@given(XML_TEXT)
def test_escaped_text_is_read_back_as_it_was(text: str) -> None:
    assert text_of(only(f"<a>{escaped(text)}</a>").content) == text.strip()


@given(ANY_TEXT, ANY_TEXT)
def test_any_text_stands_in_an_element_that_xml_can_read(text: str, value: str) -> None:
    ElementTree.fromstring(f"<a x={quoted(value)}>{escaped(text)}</a>".encode())


@given(XML_TEXT)
def test_a_quoted_value_is_read_back_as_it_was(value: str) -> None:
    assert only(f"<a x={quoted(value)}>t</a>").attributes["x"] == value


# Foreign text


@given(MARKUP)
def test_no_text_is_an_error(text: str) -> None:
    for found in elements(text, "a"):
        text_of(found.content)
        child_texts(found.content, "a", "b")


@pytest.mark.parametrize(
    "piece",
    [
        "<a ",
        "<a '",
        '<a "',
        "<a \"'<a '\" ",
        "<a x=",
        "<a x ",
        "<![CDATA[",
        "<![CDATA[ ]]>",
        "&",
        "&a",
        "&#1",
        "<a>",
        "<a/>",
        "</a",
        "</a ",
        "a",
        " ",
        "-",
        "a=",
    ],
)
def test_an_answer_made_to_be_slow_takes_linear_time(piece: str) -> None:
    text = f"<a {piece * (300_000 // len(piece))}"
    started = time.process_time()
    for closing in ("", ">"):
        for found in elements(text + closing, "a"):
            text_of(found.content)
    text_of(text)
    assert time.process_time() - started < 2
