"""Entries as a model is shown them."""

from __future__ import annotations

import time
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.core.entries import Entry
from lithify.core.messages import tokens_of_bytes, utf8_length
from lithify.core.observations import MOST_HALVINGS, Budget, batches, max_text, observation, shown

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=60)
XML_TEXT = st.text(
    st.characters(min_codepoint=32, max_codepoint=0xD7FF) | st.sampled_from("\t\n<>&\"']"),
    max_size=60,
)
ROOM = 1_000_000


def entry(body: dict[str, Any], kind: str = "tool_use", event_id: str = "01A") -> Entry:
    return Entry(event_id, "/n/", kind, body, "2026-01-01T10:00:00+00:00", "test")


def tool(name: Any, given: Any, response: Any = None) -> Entry:
    data = {"tool_name": name, "tool_input": given}
    return entry({"type": "json", "data": data if response is None else {**data, "tool_response": response}})


def said(text: str, event_id: str = "01A") -> Entry:
    return entry({"type": "text", "content": text}, "note", event_id)


def parsed(shown: str) -> dict[str, str]:
    """The children of an observation, as an XML parser reads them, with its attributes."""
    element = ElementTree.fromstring(shown)
    assert element.tag == "tool_observation"
    return {**element.attrib, **{child.tag: child.text or "" for child in element}}


# What stands in an observation


def test_a_tool_use_shows_its_tool_name_time_input_and_output() -> None:
    assert parsed(observation(tool("Bash", {"command": "ls"}, "a.py"), ROOM)) == {
        "id": "01A",
        "kind": "tool_use",
        "tool_name": "Bash",
        "timestamp": "2026-01-01T10:00:00+00:00",
        "input": '{"command":"ls"}',
        "output": "a.py",
    }


def test_without_a_response_there_is_no_output() -> None:
    assert "output" not in parsed(observation(tool("Bash", {"command": "ls"}), ROOM))


def test_an_empty_response_is_an_output() -> None:
    assert parsed(observation(tool("Bash", {}, ""), ROOM))["output"] == ""


def test_a_response_that_is_no_text_is_shown_as_json() -> None:
    assert parsed(observation(tool("Bash", {}, {"stdout": "größer"}), ROOM))["output"] == '{"stdout":"größer"}'


def test_a_tool_without_a_name_goes_by_its_kind() -> None:
    assert parsed(observation(tool(None, "x"), ROOM))["tool_name"] == "tool_use"


def test_a_text_body_goes_by_its_kind_and_is_the_input() -> None:
    shown = parsed(observation(said("hello"), ROOM))
    assert (shown["kind"], shown["tool_name"], shown["input"]) == ("note", "note", "hello")


def test_a_message_body_is_shown_as_lines_of_role_and_content() -> None:
    turns = [{"role": "user", "content": "Why?"}, {"role": "assistant", "content": "Because."}]
    shown = parsed(observation(entry({"type": "message", "turns": turns}, "prompt"), ROOM))
    assert (shown["tool_name"], shown["input"]) == ("prompt", "user: Why?\nassistant: Because.")


def test_json_that_is_no_tool_use_is_shown_whole() -> None:
    assert parsed(observation(entry({"type": "json", "data": [1, {"a": None}]}), ROOM))["input"] == '[1,{"a":null}]'


@pytest.mark.parametrize("body", [{}, {"type": "odd", "x": 1}, {"type": "message", "turns": "none"}])
def test_a_body_of_no_known_shape_is_shown_as_json(body: dict[str, Any]) -> None:
    assert parsed(observation(entry(body), ROOM))["input"].startswith("{")


@pytest.mark.parametrize("turns", [["plain"], [None], [{"role": 1}], [{"content": {"a": 1}}]])
def test_turns_of_no_known_shape_are_no_error(turns: list[Any]) -> None:
    assert "input" in parsed(observation(entry({"type": "message", "turns": turns}), ROOM))


def test_nesting_too_deep_to_be_written_is_no_error() -> None:
    deep: Any = "x"
    for _ in range(5000):
        deep = [deep]
    assert "nested too deeply" in parsed(observation(tool("Bash", deep), ROOM))["input"]


# Escaping


@given(XML_TEXT, XML_TEXT)
def test_an_xml_parser_reads_back_every_text(given: str, output: str) -> None:
    shown = parsed(observation(tool("Bash", given, output), ROOM))
    assert (shown["input"], shown["output"]) == (given, output)


@given(ANY_TEXT, ANY_TEXT, ANY_TEXT)
def test_any_text_at_all_gives_sound_xml(event_id: str, kind: str, text: str) -> None:
    shown = observation(Entry(event_id, "/n/", kind, {"type": "text", "content": text}, text, "test"), ROOM)
    ElementTree.fromstring(shown.encode("utf-8"))


def test_a_text_cannot_close_its_element() -> None:
    shown = observation(said("</input></tool_observation><tool_observation id='01B'>"), ROOM)
    assert (shown.count("<tool_observation"), shown.count("</tool_observation>")) == (1, 1)


@pytest.mark.parametrize("odd", ['"', "'", "\"'", "<", ">", "&", "\n", "\t"])
def test_an_attribute_survives_every_character(odd: str) -> None:
    shown = parsed(observation(entry({"type": "text", "content": ""}, kind=f"a{odd}b", event_id=f"c{odd}d"), ROOM))
    assert (shown["kind"], shown["id"]) == (f"a{odd}b".replace("\t", " "), f"c{odd}d".replace("\t", " "))


def test_attributes_stand_in_double_quotes() -> None:
    assert observation(said("x"), ROOM).startswith('<tool_observation id="01A" kind="note">\n')


@pytest.mark.parametrize("odd", ["\x00", "\x08", "\x0b", "\x1b", "\ud800", "\ufffe", "\uffff"])
def test_a_character_that_xml_cannot_hold_becomes_the_replacement_character(odd: str) -> None:
    assert parsed(observation(said(f"a{odd}b"), ROOM))["input"] == "a\ufffdb"


# Cutting


def test_a_long_text_keeps_head_and_tail_and_says_how_much_is_left_out() -> None:
    shown = parsed(observation(said("head " + "x" * 9000 + " tail"), 600))["input"]
    head, mark, tail = shown.partition("\n[... ")
    left_out = int(mark and tail.split()[0])
    kept = len(head) + len(tail.partition("left out ...]\n")[2])
    assert (head[:5], tail[-5:], kept + left_out) == ("head ", " tail", 9010)


@given(st.text("a<&>\n世😀", min_size=1).map(lambda text: text * 300), st.integers(200, 3000))
def test_a_cut_text_stays_in_its_bytes_whatever_it_is_made_of(text: str, limit: int) -> None:
    shown = observation(said(text), limit)
    inside = shown.partition("<input>")[2].partition("</input>")[0]
    assert utf8_length(inside) <= limit


@given(st.text("&<>x", min_size=300, max_size=900), st.integers(200, 400))
def test_a_cut_never_parts_an_entity(text: str, limit: int) -> None:
    shown = parsed(observation(said(text), limit))["input"]
    head, _, rest = shown.partition("\n[... ")
    left_out, _, tail = rest.partition(" characters left out ...]\n")
    if rest:
        assert text.startswith(head)
        assert text.endswith(tail)
        assert len(head) + len(tail) + int(left_out) == len(text)


def test_a_short_input_leaves_its_room_to_the_output() -> None:
    shown = parsed(observation(tool("Bash", "ls", "x" * 900), 1000))
    assert shown["output"] == "x" * 900


def test_two_long_texts_share_the_room() -> None:
    shown = parsed(observation(tool("Bash", "x" * 9000, "y" * 9000), 1000))
    assert min(len(shown["input"]), len(shown["output"])) > 400


# Batches


def sizes(batch: list[Entry], budget: int) -> int:
    return tokens_of_bytes(utf8_length("\n".join(observation(each, max_text(budget)) for each in batch)))


BUFFERS = st.lists(st.text("a<世", max_size=40).flatmap(lambda text: st.integers(0, 60).map(lambda n: text * n)))


@given(BUFFERS, st.integers(300, 3000))
def test_batches_lose_nothing_and_keep_the_order(texts: list[str], budget: int) -> None:
    entries = [said(text, str(number)) for number, text in enumerate(texts)]
    assert [each for batch in batches(entries, budget) for each in batch] == entries


@given(BUFFERS, st.integers(300, 3000))
def test_a_batch_as_it_is_shown_fits_the_budget(texts: list[str], budget: int) -> None:
    entries = [said(text, str(number)) for number, text in enumerate(texts)]
    assert all(sizes(batch, budget) <= budget for batch in batches(entries, budget))


def test_no_batch_is_smaller_than_it_has_to_be() -> None:
    entries = [said("x" * 500, str(number)) for number in range(20)]
    runs = list(batches(entries, 2000))
    assert all(sizes([*run, following[0]], 2000) > 2000 - 2 for run, following in pairwise(runs))


def test_an_entry_over_the_budget_is_a_batch_of_its_own_and_cut() -> None:
    entries = [said("a", "1"), said("x" * 90_000, "2"), said("b", "3")]
    runs = list(batches(entries, 1000))
    assert [[each.event_id for each in run] for run in runs] == [["1"], ["2"], ["3"]]
    assert "characters left out" in observation(runs[1][0], max_text(1000))


def test_no_entries_make_no_batch() -> None:
    assert list(batches([], 1000)) == []


@pytest.mark.parametrize("budget", [0, 1, 50])
def test_even_an_absurd_budget_loses_nothing(budget: int) -> None:
    entries = [said("x" * 500, str(number)) for number in range(5)]
    assert [each for batch in batches(entries, budget) for each in batch] == entries


def test_a_full_buffer_is_parted_in_well_under_half_a_second() -> None:
    entries = [tool("Bash", {"command": "ls <a> & b"}, "line é < & >\n" * 110) for _ in range(2600)]
    started = time.process_time()
    assert sum(map(len, batches(entries, 30_000))) == 2600
    assert time.process_time() - started < 0.5


# Half of a batch that is too long


def test_half_of_a_batch_of_equal_entries_is_half_of_them() -> None:
    batch = [said("word " * 200, f"01{letter}") for letter in "ABCDEFGH"]
    half = Budget(10_000).halved(batch)
    assert half is not None
    assert next(batches(batch, half.tokens)) == batch[:4]


@given(st.lists(st.integers(0, 3000), min_size=2, max_size=12))
def test_half_of_several_entries_is_fewer_of_them_and_one_at_least(sizes: list[int]) -> None:
    batch = [said("w" * size, f"01{number:02}") for number, size in enumerate(sizes)]
    half = Budget(100_000).halved(batch)
    assert half is not None
    assert 1 <= len(next(batches(batch, half.tokens))) < len(batch)


def test_half_of_a_lone_entry_is_less_of_its_text_until_there_is_no_less() -> None:
    batch, budget, sizes = [said("word " * 20_000)], Budget(40_000), []
    while budget is not None:
        sizes.append(utf8_length(shown(batch, budget.tokens)))
        budget = budget.halved(batch)
    assert sizes == sorted(set(sizes), reverse=True)
    assert 1 < len(sizes) <= MOST_HALVINGS + 1


def test_a_lone_entry_that_says_little_has_no_half() -> None:
    assert Budget(40_000).halved([said("short")]) is None


def test_a_budget_is_halved_so_often_and_no_more_until_a_request_is_taken() -> None:
    batch = [said("word", f"01{number:04}") for number in range(2000)]
    used = Budget(40_000, MOST_HALVINGS)
    assert used.halved(batch) is None
    assert used.taken().halved(batch) is not None
