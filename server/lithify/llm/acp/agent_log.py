"""What an agent writes to its standard error: always read, logged for whoever debugs, its end kept for messages."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable

logger = logging.getLogger(__name__)

KEPT_LINES = 50

LONGEST_LINE_BYTES = 4096


class AgentLog:
    """The last lines of one agent's log, secrets masked."""

    def __init__(self, title: str, mask: Callable[[str], str]) -> None:
        self._title = title
        self._mask = mask
        self.lines: deque[str] = deque(maxlen=KEPT_LINES)

    async def read(self, stream: asyncio.StreamReader) -> None:
        """Reads to the end, whatever comes; an agent that cannot write its log hangs."""
        rest = b""
        while piece := await _piece(stream):
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                self._keep(line)
            rest = rest[:LONGEST_LINE_BYTES]
        if rest:
            self._keep(rest)

    def _keep(self, line: bytes) -> None:
        text = self._mask(line[:LONGEST_LINE_BYTES].decode(errors="replace").rstrip())
        if text:
            self.lines.append(text)
            logger.debug("%s: %s", self._title, text)


async def _piece(stream: asyncio.StreamReader) -> bytes:
    try:
        return await stream.read(1 << 16)
    except OSError:
        return b""
