"""JSON-RPC messages over an agent's streams, one a line; whatever else an agent prints is skipped."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from typing import Any

from lithify.llm.acp.failures import words_of

logger = logging.getLogger(__name__)

CHUNK_BYTES = 1 << 16

LONGEST_LINE_BYTES = 64 << 20
"""No answer needs more; an agent that writes on without a line's end would fill the memory."""


MOST_REQUESTS = 100
"""An agent may ask us so many things in a run; all of them are refused."""

MOST_ANSWER_BYTES = 1 << 20
"""All our answers to it are no longer: an agent that asks and does not read would fill the memory."""


class LineTransport:
    """Fits the library's Transport. Notifications go to `notified` in the order of their arrival and no further; the
    library sees requests and answers, made so that it never stumbles over their shape. What goes too far is told to
    `ran_away`, as a sentence without its subject, and nothing is read or answered any more."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        notified: Callable[[str, Any], None],
        ran_away: Callable[[str], None],
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._notified = notified
        self._ran_away = ran_away
        self._is_over = False
        self._requests = 0
        self._answer_bytes = 0
        self._buffer = bytearray()
        self.skipped_lines = 0
        """Lines that were no JSON-RPC message."""

    async def send(self, message: dict[str, Any]) -> None:
        """Raises ConnectionError where the agent does not read any more; for an answer of ours that is no matter."""
        line = json.dumps(message, separators=(",", ":")).encode() + b"\n"
        if "method" not in message:
            self._answer_bytes += len(line)
            if self._answer_bytes > MOST_ANSWER_BYTES:
                self._stop("asked for so much that the answers would fill the memory")
            if self._is_over:
                return
        self._writer.write(line)
        try:
            await self._writer.drain()
        except ConnectionError:
            if "method" in message:
                raise

    async def receive(self) -> dict[str, Any] | None:
        """The next request or answer; None when the agent has closed its output or has gone too far."""
        while not self._is_over and (line := await self._line()) is not None:
            message = _message(line)
            if message is None:
                self.skipped_lines += bool(line.strip())
            elif "method" in message and "id" not in message:
                self._notified(message["method"], message.get("params"))
            elif self._may_come(message):
                return message
        return None

    def _may_come(self, message: dict[str, Any]) -> bool:
        self._requests += "method" in message
        if self._requests > MOST_REQUESTS:
            self._stop(f"asked for more than {MOST_REQUESTS} things where it was only asked for a text")
        return not self._is_over

    def _stop(self, reason: str) -> None:
        if not self._is_over:
            self._is_over = True
            self._ran_away(reason)

    async def close(self) -> None:
        """The streams belong to the process, which closes them."""

    async def _line(self) -> bytes | None:
        searched = 0
        while (end := self._buffer.find(b"\n", searched)) < 0:
            searched = len(self._buffer)
            if searched > LONGEST_LINE_BYTES:
                self._stop(f"wrote more than {LONGEST_LINE_BYTES >> 20} MB without the end of a line")
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
        message["error"] = error if isinstance(error, dict) else {"message": words_of(error)}
    return message
