"""Digests of ranges: the same for the same messages alone, however they are come by."""

from __future__ import annotations

import pytest

from lithify.core.range_digests import PrefixDigests, range_digest

CHAT = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b\ud800"}, {"role": "user", "content": "c"}]


def test_the_digest_of_a_beginning_is_that_of_its_messages() -> None:
    digests = PrefixDigests(CHAT)
    assert [digests.up_to(end) for end in range(4)] == [range_digest(CHAT[:end]) for end in range(4)]


@pytest.mark.parametrize(
    "other",
    [
        CHAT[:2],
        [*CHAT, CHAT[0]],
        [CHAT[1], CHAT[0], CHAT[2]],
        [*CHAT[:2], {**CHAT[2], "id": "x"}],
        [*CHAT[:2], {"role": "user", "content": "d"}],
    ],
)
def test_other_messages_have_another_digest(other: list[dict[str, str]]) -> None:
    assert range_digest(other) != range_digest(CHAT)
