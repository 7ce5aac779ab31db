"""The agent's three streams, how they are let go of, and work that is done to its end."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import IO, Any, TypeVar

LIMIT_BYTES = 1 << 20
"""About so much is read ahead of a stream."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Streams:
    """What an agent reads, says, and says of itself."""

    stdin: asyncio.StreamWriter
    stdout: asyncio.StreamReader
    stderr: asyncio.StreamReader


class Reader:
    """The read end of a pipe as a stream."""

    def __init__(self) -> None:
        self.stream = asyncio.StreamReader(LIMIT_BYTES)
        self._transport: asyncio.BaseTransport | None = None
        self._lost = asyncio.Event()

    async def connect(self, pipe: IO[bytes]) -> None:
        """From here on the pipe is the loop's to close."""
        loop = asyncio.get_running_loop()
        self._transport, _ = await loop.connect_read_pipe(lambda: _Protocol(self.stream, self._lost), pipe)

    def close(self) -> None:
        """The stream ends here; what was read already can still be had."""
        if self._transport is not None:
            self._transport.close()

    async def closed(self) -> None:
        """Closes, and returns when the descriptor is closed."""
        if self._transport is not None:
            self.close()
            await self._lost.wait()


class _Protocol(asyncio.StreamReaderProtocol):
    def __init__(self, stream: asyncio.StreamReader, lost: asyncio.Event) -> None:
        super().__init__(stream)
        self._lost = lost

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._lost.set()


class Writer:
    """The write end of a pipe as a stream, which is there once it is connected."""

    stream: asyncio.StreamWriter

    def __init__(self) -> None:
        self._connected = False

    async def connect(self, pipe: IO[bytes]) -> None:
        """From here on the pipe is the loop's to close."""
        loop = asyncio.get_running_loop()
        unused = asyncio.StreamReader()
        transport, protocol = await loop.connect_write_pipe(lambda: asyncio.StreamReaderProtocol(unused), pipe)
        self.stream = asyncio.StreamWriter(transport, protocol, None, loop)
        self._connected = True

    def close(self) -> None:
        """The agent's input ends here, without what the agent has not read yet."""
        if self._connected:
            close_writer(self.stream)

    async def closed(self) -> None:
        """Closes, and returns when the descriptor is closed."""
        if self._connected:
            self.close()
            with contextlib.suppress(OSError):  # the agent went first
                await self.stream.wait_closed()


def close_writer(stream: asyncio.StreamWriter) -> None:
    """Closes a stream at once: a plain close would wait until the agent has read all that it was sent."""
    transport = stream.transport
    if transport.get_write_buffer_size():
        transport.abort()
    else:
        transport.close()


async def uninterrupted(work: Coroutine[Any, Any, T]) -> T:
    """Does the work to its end even when the caller is cancelled, and only then lets the cancellation through. The
    work must be bounded in time."""
    task = asyncio.ensure_future(work)
    cancelled = False
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            cancelled = True
    if cancelled:
        if not task.cancelled():
            task.exception()  # looked at: the cancellation is what the caller hears of
        raise asyncio.CancelledError
    return task.result()
