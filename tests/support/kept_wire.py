"""A writer in place of an editor's, for a server that runs in the test's own process."""

from __future__ import annotations

import asyncio
import json
from typing import Any


class Wire:
    """A writer that keeps the messages."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []

    def write(self, data: bytes) -> None:
        self.messages.append(json.loads(data.partition(b"\r\n\r\n")[2]))

    def close(self) -> None: ...

    async def answer(self, message_id: int) -> Any:
        """The answer to a request, waited for."""
        async with asyncio.timeout(10):
            while True:
                for one in self.messages:
                    if one.get("id") == message_id:
                        return one
                await asyncio.sleep(0.001)
