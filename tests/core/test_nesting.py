"""How deeply JSON is nested, found without recursion."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lithify.core.nesting import is_nested_deeper, opens_more_than


def nested(levels: int) -> Any:
    value: Any = "bottom"
    for level in range(levels):
        value = [1, value] if level % 2 else {"a": None, "b": value}
    return value


@pytest.mark.parametrize("levels", [0, 1, 2, 7, 50_000])
def test_a_value_is_as_deep_as_it_has_levels(levels: int) -> None:
    value = nested(levels)
    assert not is_nested_deeper(levels, value)
    assert levels == 0 or is_nested_deeper(levels - 1, value)


def test_values_side_by_side_are_no_nesting() -> None:
    assert not is_nested_deeper(2, [[], {}, [], "[[[", {}])
    assert is_nested_deeper(2, [[], {}, [{}], []])


@pytest.mark.parametrize("text", ["", "no brackets", "]}]}", '{"a":[1,2,{}]}', '["[{"]'])
def test_opening_brackets_are_counted_up_to_a_limit(text: str) -> None:
    count = text.count("[") + text.count("{")
    assert not opens_more_than(count, text, 0, len(text))
    assert count == 0 or opens_more_than(count - 1, text, 0, len(text))


def test_only_the_brackets_of_a_part_are_counted() -> None:
    text = json.dumps([[1], [2], [3]])
    assert not opens_more_than(1, text, text.index("[2"), text.index("[3"))
