"""What an agent writes to its standard error: always read, logged for whoever debugs, its end kept for messages."""

from __future__ import annotations

import asyncio
import logging
from collections import deque

from lithify.llm.acp.environment import Mask

logger = logging.getLogger(__name__)

KEPT_LINES = 50

LONGEST_LINE_BYTES = 4096


class AgentLog:
    """The last lines of one agent's log, secrets masked."""

    def __init__(self, title: str, mask: Mask) -> None:
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
            rest = rest[: self._needed() + 1]
        if rest:
            self._keep(rest)

    def _needed(self) -> int:
        """So many bytes of a line are looked at: a secret that begins in those which are kept must be whole."""
        return LONGEST_LINE_BYTES + 4 * self._mask.longest

    def _keep(self, line: bytes) -> None:
        needed = self._needed()
        text = self._mask(line[:needed].decode(errors="replace").rstrip())
        if len(line) > needed:
            text = text[: max(0, len(text) - self._mask.longest)]  # which may be the beginning of a secret
        text = text[:LONGEST_LINE_BYTES]
        if text:
            self.lines.append(text)
            logger.debug("%s: %s", self._title, text)


async def _piece(stream: asyncio.StreamReader) -> bytes:
    try:
        return await stream.read(1 << 16)
    except OSError:
        return b""
