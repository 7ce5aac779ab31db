"""What others wrote is quoted, and never at length."""

from __future__ import annotations

import pytest

from lithify.core.brief import MOST_CHARACTERS, brief


@pytest.mark.parametrize("value", ["", "2.1.332", "x" * MOST_CHARACTERS, None])
def test_what_is_short_is_quoted_whole(value: str | None) -> None:
    assert brief(value) == str(value)


def test_of_what_is_long_the_beginning_is_quoted() -> None:
    quoted = brief("toolu_" + "x" * 30_000)
    assert (len(quoted), quoted[:6], quoted[-1]) == (MOST_CHARACTERS, "toolu_", "…")
