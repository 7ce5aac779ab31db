"""The progress rule of the buffer compaction, the waits between attempts, and what a user is told of a run."""

from __future__ import annotations

import pytest

from lithify.core.breaker import Breaker
from lithify.core.pipeline import RunState, backoff_seconds, enough_new_input, why_left


def test_the_first_compaction_needs_no_new_input() -> None:
    assert enough_new_input(5000, None, 4096)


@pytest.mark.parametrize(("size_bytes", "enough"), [(5000, False), (6023, False), (6024, True), (7000, True)])
def test_a_second_one_needs_a_quarter_of_its_threshold_on_top(size_bytes: int, enough: bool) -> None:
    assert enough_new_input(size_bytes, 5000, 4096) is enough


def test_a_buffer_that_shrank_has_no_new_input() -> None:
    assert not enough_new_input(4500, 5000, 4096)


def test_a_project_begins_with_a_closed_breaker_and_no_run() -> None:
    assert RunState() == RunState(Breaker(0, None), None, None, None, None)


def test_the_waits_between_attempts_grow_and_then_stay() -> None:
    assert [backoff_seconds(failed) for failed in (1, 2, 3, 4)] == [0.5, 2.0, 2.0, 2.0]


WANTED = frozenset({"a", "b"})
NONE: frozenset[str] = frozenset()


@pytest.mark.parametrize(
    ("in_buffer", "waiting", "disk_error", "said"),
    [
        ({"a"}, {"b"}, "no space", "2 events are left: the disk refuses the buffer (no space)"),
        ({"a"}, {"b"}, None, "1 event is left in the hands of a buffer compaction"),
        (NONE, {"a", "b"}, None, "2 events are left waiting for room in the buffer"),
        ({"c"}, {"a"}, None, "1 event is left waiting for room in the buffer"),
        ({"c"}, {"d"}, None, "2 events are left that came after the call"),
        ({"c"}, NONE, "no space", "1 event is left that came after the call"),
    ],
)
def test_whatever_is_left_is_told_with_the_reason(
    in_buffer: frozenset[str], waiting: frozenset[str], disk_error: str | None, said: str
) -> None:
    assert (why_left(WANTED, in_buffer, waiting, disk_error) or "").startswith(said)


def test_events_without_room_are_told_with_the_way_out() -> None:
    assert "raise buffer.ceilingBytes" in (why_left(WANTED, NONE, {"a"}, None) or "")


@pytest.mark.parametrize("disk_error", [None, "no space"])
def test_where_nothing_is_left_there_is_nothing_to_tell(disk_error: str | None) -> None:
    assert why_left(WANTED, NONE, NONE, disk_error) is None
