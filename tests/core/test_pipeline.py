"""The progress rule of the buffer compaction."""

from __future__ import annotations

import pytest

from lithify.core.breaker import Breaker
from lithify.core.pipeline import RunState, enough_new_input


def test_the_first_compaction_needs_no_new_input() -> None:
    assert enough_new_input(5000, None, 4096)


@pytest.mark.parametrize(("size_bytes", "enough"), [(5000, False), (6023, False), (6024, True), (7000, True)])
def test_a_second_one_needs_a_quarter_of_its_threshold_on_top(size_bytes: int, enough: bool) -> None:
    assert enough_new_input(size_bytes, 5000, 4096) is enough


def test_a_buffer_that_shrank_has_no_new_input() -> None:
    assert not enough_new_input(4500, 5000, 4096)


def test_a_project_begins_with_a_closed_breaker_and_no_run() -> None:
    assert RunState() == RunState(Breaker(0, None), None, None, None, None)
