"""Messages of the editor, taken in the order in which they came."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable


class Inbox:
    """Hands messages on, one after the other.

    After one that began work on a request the next one waits until that work has taken its first step, which puts its
    storage work into the queue: so no later message overtakes a request.
    """

    def __init__(self, take: Callable[[bytes], None], requests_begun: Callable[[], int]) -> None:
        self._take = take
        self._requests_begun = requests_begun
        self._waiting: deque[bytes] = deque()
        self._holding = False

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, body: bytes) -> None:
        """Takes a message body, at once where nothing is to be waited for."""
        self._waiting.append(body)
        if not self._holding:
            self._go_on()

    async def taken(self) -> None:
        """Returns when all that came has been taken, each in its turn."""
        while self._waiting:  # noqa: ASYNC110 - each round of the event loop takes a message
            await asyncio.sleep(0)

    def take_all(self) -> None:
        """Takes what still waits: the stream has ended."""
        while self._waiting:
            self._take(self._waiting.popleft())

    def _go_on(self) -> None:
        self._holding = False
        while self._waiting and not self._holding:
            begun = self._requests_begun()
            self._take(self._waiting.popleft())
            if self._requests_begun() != begun:
                self._holding = True
                asyncio.get_running_loop().call_soon(self._go_on)
