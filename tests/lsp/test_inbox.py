"""The order in which messages are taken, also at the end of the stream."""

from __future__ import annotations

import asyncio

import pytest

from lithify.lsp.inbox import Inbox


class Taker:
    """Takes messages; one that begins with `?` begins work on a request."""

    def __init__(self) -> None:
        self.taken: list[bytes] = []
        self.begun = 0
        self.inbox = Inbox(self._take, lambda: self.begun)

    def _take(self, body: bytes) -> None:
        self.taken.append(body)
        self.begun += body.startswith(b"?")


@pytest.mark.asyncio
async def test_a_message_behind_a_request_waits_for_a_round_of_the_event_loop() -> None:
    taker = Taker()
    for body in (b"?one", b"two"):
        taker.inbox.put(body)
    assert taker.taken == [b"?one"]
    await asyncio.sleep(0)
    assert taker.taken == [b"?one", b"two"]


@pytest.mark.asyncio
async def test_who_waits_for_all_that_came_goes_on_behind_the_last_of_it() -> None:
    taker = Taker()
    for body in (b"?shutdown", b"?more", b"exit"):
        taker.inbox.put(body)
    await taker.inbox.taken()
    assert taker.taken == [b"?shutdown", b"?more", b"exit"]
