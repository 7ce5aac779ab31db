"""Reading from and writing to the editor without ever blocking the event loop."""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import select
import stat
import sys
import threading
from collections.abc import Callable
from typing import BinaryIO, Protocol

from lithify.lsp.framing import FrameDecoder, FrameError

READ_BYTES = 262_144
PIPE_BYTES = 1 << 20
"""What a pipe may hold that a user of Linux has not been allowed more of."""


class Pausable(Protocol):
    """A stream whose reading can be held back, so that what is queued stays bounded."""

    def pause_reading(self) -> None: ...
    def resume_reading(self) -> None: ...


class MessageStream(asyncio.Protocol):
    """Turns the bytes of a pipe or a socket into calls of `on_body`; `ended` is done when no more will come."""

    def __init__(self, on_body: Callable[[bytes], None]) -> None:
        self._on_body = on_body
        self.after_data: Callable[[], None] = lambda: None
        self._decoder = FrameDecoder()
        self.ended: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        """Result: None at the end of the stream, else what was wrong with it."""
        self.connected: asyncio.Future[asyncio.BaseTransport] = asyncio.get_running_loop().create_future()
        """The stream's transport."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection stands."""
        self.connected.set_result(transport)

    def data_received(self, data: bytes) -> None:
        """Hands on every complete message."""
        if self.ended.done():
            return
        try:
            for body in self._decoder.feed(data):
                self._on_body(body)
        except FrameError as error:
            self.end(f"the editor's stream cannot be read: {error}")
        self.after_data()

    def eof_received(self) -> bool:
        """The editor closed its side."""
        self.end(None)
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is gone."""
        self.end(None if exc is None else str(exc))

    def end(self, problem: str | None) -> None:
        """Marks the stream as ended, once."""
        if not self.ended.done():
            self.ended.set_result(problem)


async def read_pipe(stdin: BinaryIO, stream: MessageStream) -> Pausable:
    """Feeds a stream from standard input: through the event loop where the system can, else from a thread."""
    loop = asyncio.get_running_loop()
    if not _can_be_polled(stdin):
        return _ThreadReader(stdin, stream, loop)
    _widen(stdin)
    try:
        transport, _ = await loop.connect_read_pipe(lambda: stream, stdin)
    except (NotImplementedError, ValueError, OSError):
        return _ThreadReader(stdin, stream, loop)
    if hasattr(transport, "max_size"):
        transport.max_size = READ_BYTES
    return transport


def _widen(stdin: BinaryIO) -> None:
    """Has a pipe hold more at once, where the system can: a long document takes a third of the time to come."""
    if sys.platform == "linux":
        import fcntl

        with contextlib.suppress(OSError):  # it is no pipe, or the user has too many
            fcntl.fcntl(stdin, fcntl.F_SETPIPE_SZ, PIPE_BYTES)


def _can_be_polled(stdin: BinaryIO) -> bool:
    """Whether the event loop can wait on it: a pipe, a socket or a terminal, but no file and no null device."""
    mode = os.fstat(stdin.fileno()).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or stdin.isatty()


class _ThreadReader:
    """Reads blocking input (a file, or a pipe on Windows) on a thread of its own."""

    def __init__(self, stdin: BinaryIO, stream: MessageStream, loop: asyncio.AbstractEventLoop) -> None:
        self._descriptor = stdin.fileno()
        self._stream = stream
        self._loop = loop
        self._may_read = threading.Event()
        self._may_read.set()
        threading.Thread(target=self._read, name="lithify-stdin", daemon=True).start()

    def pause_reading(self) -> None:
        self._may_read.clear()

    def resume_reading(self) -> None:
        self._may_read.set()

    def _read(self) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody listens any more
            while True:
                self._may_read.wait()
                try:
                    data = os.read(self._descriptor, READ_BYTES)
                except OSError as error:
                    self._loop.call_soon_threadsafe(self._stream.end, str(error))
                    return
                if not data:
                    self._loop.call_soon_threadsafe(self._stream.end, None)
                    return
                self._loop.call_soon_threadsafe(self._stream.data_received, data)


class PipeWriter:
    """Writes to the editor from a thread of its own: an editor that does not read never blocks the server."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.on_broken: Callable[[], None] = lambda: None
        """Called on the writer's thread when the editor takes nothing any more."""
        self._queue: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="lithify-stdout", daemon=True)
        self._thread.start()

    def write(self, data: bytes) -> None:
        """Queues data, in order."""
        self._queue.put(data)

    def close(self, timeout_seconds: float = 0.3) -> None:
        """Writes what is queued, as far as the editor takes it in time."""
        self._queue.put(None)
        self._thread.join(timeout_seconds)

    def _run(self) -> None:
        while (data := self._queue.get()) is not None:
            try:
                _write_all(self._descriptor, data)
            except OSError:
                self.on_broken()
                return


def _write_all(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(descriptor, rest) :]
        except BlockingIOError:
            select.select([], [descriptor], [])
