"""JSON-RPC messages over an agent's streams, one a line; whatever else an agent prints is skipped."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from typing import Any

logger = logging.getLogger(__name__)

CHUNK_BYTES = 1 << 16

LONGEST_LINE_BYTES = 64 << 20
"""No answer needs more; an agent that writes on without a line's end would fill the memory."""


class LineTransport:
    """Fits the library's Transport. Notifications go to `notified` in the order of their arrival and no further; the
    library sees requests and answers, made so that it never stumbles over their shape."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        notified: Callable[[str, Any], None],
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._notified = notified
        self._buffer = bytearray()
        self.skipped_lines = 0
        """Lines that were no JSON-RPC message."""

    async def send(self, message: dict[str, Any]) -> None:
        """Raises ConnectionError where the agent does not read any more; for an answer of ours that is no matter."""
        self._writer.write(json.dumps(message, separators=(",", ":")).encode() + b"\n")
        try:
            await self._writer.drain()
        except ConnectionError:
            if "method" in message:
                raise

    async def receive(self) -> dict[str, Any] | None:
        """The next request or answer; None when the agent has closed its output."""
        while (line := await self._line()) is not None:
            message = _message(line)
            if message is None:
                self.skipped_lines += bool(line.strip())
            elif "method" in message and "id" not in message:
                self._notified(message["method"], message.get("params"))
            else:
                return message
        return None

    async def close(self) -> None:
        """The streams belong to the process, which closes them."""

    async def _line(self) -> bytes | None:
        searched = 0
        while (end := self._buffer.find(b"\n", searched)) < 0:
            searched = len(self._buffer)
            if searched > LONGEST_LINE_BYTES:
                return None
            piece = await self._piece()
            if not piece:
                break
            self._buffer += piece
        line = bytes(self._buffer[:end] if end >= 0 else self._buffer)
        del self._buffer[: end + 1 if end >= 0 else len(self._buffer)]
        return line if line or end >= 0 else None

    async def _piece(self) -> bytes:
        try:
            return await self._reader.read(CHUNK_BYTES)
        except OSError as error:
            logger.debug("an agent's output broke: %s", error)
            return b""


def _message(line: bytes) -> dict[str, Any] | None:
    """A request, notification or answer; None for anything else. An error is always an object with a text."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(message, dict):
        return None
    if "method" in message:
        return message if isinstance(message["method"], str) else None
    if not isinstance(message.get("id"), int):
        return None
    if "result" not in message:
        error = message.get("error")
        message["error"] = error if isinstance(error, dict) else {"message": str(error)}
    return message
