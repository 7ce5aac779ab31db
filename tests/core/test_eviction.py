"""What is let go of a buffer when no model helps."""

from __future__ import annotations

import json
import math
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.core.entries import Entry, entry_line, instant
from lithify.core.eviction import evict

STAMPS = ["2026-01-01T10:00:00Z", "2026-01-01T12:00:00+03:00", "2026-01-01T09:00:00-02:00", "soon", "2026-01-01"]


def entry(event_id: str, timestamp: str = STAMPS[0], body: dict[str, Any] | None = None) -> Entry:
    return Entry(event_id, "/n/", "note", body or {"type": "text", "content": "x"}, timestamp, "test")


def at(*timestamps: str) -> list[Entry]:
    """Entries named by their place in the file."""
    return [entry(str(place), timestamp) for place, timestamp in enumerate(timestamps)]


def dropped(*timestamps: str) -> list[str]:
    return [each.event_id for each in evict(at(*timestamps)).dropped]


def size(given_entry: Entry) -> int:
    return len(entry_line(given_entry).encode())


def cut(body: dict[str, Any]) -> Entry:
    replacement = evict([entry("0", body=body)]).replacement
    assert replacement is not None
    return replacement


# Several entries


@given(st.lists(st.sampled_from(STAMPS), min_size=2, max_size=30))
def test_the_newest_half_is_kept_rounded_up(timestamps: list[str]) -> None:
    assert len(timestamps) - len(dropped(*timestamps)) == math.ceil(len(timestamps) / 2)


@given(st.lists(st.sampled_from(STAMPS), min_size=2, max_size=30))
def test_nothing_dropped_is_newer_than_anything_kept(timestamps: list[str]) -> None:
    entries = at(*timestamps)
    gone = evict(entries).dropped
    ages = [(instant(each.timestamp), int(each.event_id)) for each in entries if each not in gone]
    assert max((instant(each.timestamp), int(each.event_id)) for each in gone) < min(ages)


@given(st.lists(st.sampled_from(STAMPS), min_size=2, max_size=30))
def test_what_is_dropped_is_told_in_file_order(timestamps: list[str]) -> None:
    gone = [int(name) for name in dropped(*timestamps)]
    assert gone == sorted(gone)


def test_age_goes_by_the_timestamp_not_by_the_place() -> None:
    assert dropped("2026-01-03T00:00:00Z", "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z") == ["1"]


def test_of_equal_timestamps_the_later_line_is_kept() -> None:
    assert dropped(*[STAMPS[0]] * 4) == ["0", "1"]


def test_offsets_are_compared_as_instants() -> None:
    assert dropped("2026-01-01T12:00:00+03:00", "2026-01-01T10:00:00+00:00") == ["0"]


def test_a_timestamp_that_cannot_be_read_goes_first() -> None:
    assert dropped("2020-01-01T00:00:00Z", "tomorrow") == ["1"]


def test_several_entries_are_never_changed() -> None:
    assert evict(at(*STAMPS)).replacement is None


def test_of_no_entries_nothing_is_dropped() -> None:
    assert evict([]).dropped == ()


# A lone entry


def test_a_lone_entry_is_not_dropped() -> None:
    assert evict([entry("0")]).dropped == ()


def test_a_lone_text_keeps_its_head_and_tail_and_the_cut_is_marked() -> None:
    content = cut({"type": "text", "content": "head " + "x" * 5000 + " tail"}).body["content"]
    assert content.startswith("head ")
    assert content.endswith(" tail")
    assert "characters left out ...]" in content


def test_the_mark_says_how_many_characters_are_gone() -> None:
    content = cut({"type": "text", "content": "x" * 5000}).body["content"]
    head, _, rest = content.partition("\n[... ")
    count, _, tail = rest.partition(" characters left out ...]\n")
    assert len(head) + len(tail) + int(count) == 5000


def test_a_lone_entry_is_cut_to_about_half() -> None:
    body = {"type": "text", "content": "x" * 10_000}
    assert 0.4 < size(cut(body)) / size(entry("0", body=body)) <= 0.52


def test_all_but_the_body_stays() -> None:
    lone = Entry("0", "/n/", "tool_use", {"type": "text", "content": "x" * 500}, STAMPS[0], "test", ("01A",))
    made = evict([lone]).replacement
    assert made is not None
    assert (made.event_id, made.namespace, made.kind, made.timestamp, made.surface, made.source_event_ids) == (
        "0",
        "/n/",
        "tool_use",
        STAMPS[0],
        "test",
        ("01A",),
    )


def test_of_a_tool_use_the_longest_text_is_cut_and_the_rest_stays() -> None:
    data = {"tool_name": "Bash", "tool_input": {"command": "make test"}, "tool_response": "x" * 5000}
    made = cut({"type": "json", "data": data}).body["data"]
    assert (made["tool_name"], made["tool_input"]) == ("Bash", {"command": "make test"})
    assert "left out" in made["tool_response"]


def test_a_long_list_keeps_its_first_and_last_items_around_a_mark() -> None:
    made = cut({"type": "json", "data": list(range(5000))}).body["data"]
    marks = [each for each in made if isinstance(each, str)]
    assert (made[0], made[-1], len(marks)) == (0, 4999, 1)
    assert marks[0] == f"[... {5000 - len(made) + 1} items left out ...]"


def test_many_turns_keep_the_first_and_the_last() -> None:
    turns = [{"role": "user", "content": f"turn {number}"} for number in range(500)]
    made = cut({"type": "message", "turns": turns}).body["turns"]
    assert (made[0], made[-1]) == (turns[0], turns[-1])


def test_an_object_of_many_keys_keeps_some_of_them() -> None:
    made = cut({"type": "json", "data": {f"key{number}": number for number in range(500)}}).body["data"]
    assert made["key0"] == 0
    assert "items left out" in made["…"]


@pytest.mark.parametrize(
    "content", ["abcdef", "a" * 20, "a" * 80, "a" * 300, "世界世界", "é" * 30, "\n" * 40, "\ud800" * 9]
)
def test_a_text_that_can_be_shorter_is_shorter(content: str) -> None:
    body = {"type": "text", "content": content}
    assert size(cut(body)) < size(entry("0", body=body))


@pytest.mark.parametrize("content", ["", "x", "abc", "世界"])
def test_a_text_that_cannot_be_shorter_is_left(content: str) -> None:
    assert evict([entry("0", body={"type": "text", "content": content})]).replacement is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=300),
    lambda inner: st.lists(inner, max_size=40) | st.dictionaries(st.text(max_size=30), inner, max_size=8),
    max_leaves=40,
)


@given(JSON)
def test_a_replacement_is_always_smaller(data: Any) -> None:
    lone = entry("0", body={"type": "json", "data": data})
    made = evict([lone]).replacement
    assert made is None or size(made) < size(lone)


@given(JSON)
def test_the_type_of_a_body_and_its_keys_stay(data: Any) -> None:
    made = evict([entry("0", body={"type": "json", "data": data})]).replacement
    assert made is None or (list(made.body) == ["type", "data"] and made.body["type"] == "json")


@given(st.text(min_size=1, max_size=3000))
def test_cutting_again_and_again_comes_to_an_end(content: str) -> None:
    lone: Entry | None = entry("0", body={"type": "text", "content": content})
    for _ in range(60):
        lone = evict([lone]).replacement if lone is not None else None
    assert lone is None


def test_deep_nesting_is_no_error() -> None:
    deep: Any = "x" * 1000
    for _ in range(400):
        deep = [deep]
    lone = entry("0", body={"type": "json", "data": deep})
    made = evict([lone]).replacement
    assert made is not None
    assert size(made) < size(lone)


def test_nesting_beyond_the_interpreter_s_limit_is_left() -> None:
    deep: Any = "x" * 1000
    for _ in range(5000):
        deep = [deep]
    assert evict([entry("0", body={"type": "json", "data": deep})]).replacement is None


def test_a_lone_entry_of_three_mebibytes_is_cut_in_no_time() -> None:
    lone = entry("0", body={"type": "json", "data": json.loads("[" + ",".join(['"x<é>"'] * 400_000) + "]")})
    started = time.process_time()
    assert evict([lone]).replacement is not None
    assert time.process_time() - started < 3
