"""Runs the server: over standard input and output, or over TCP; ends when its editor is gone."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any

from lithify.lsp.importing import importing
from lithify.lsp.lifetime import wait_for_exit
from lithify.lsp.server import LithifyServer
from lithify.lsp.streams import MessageStream, Pausable, PipeWriter, read_pipe

if TYPE_CHECKING:
    from lithify.assembly import Lithify

logger = logging.getLogger(__name__)

NESTING = 20_000
"""Recursion limit: JSON of a user may be nested thousands of levels deep."""

STACK_BYTES = 64 << 20
"""Stack of the threads that store and send such JSON; systems differ much in what they give by themselves."""

SWITCH_SECONDS = 0.0005
"""How long a thread that computes, as the offline model's, keeps the interpreter when another one wants it. Storing an
event asks for it some twenty times, once after each call of the system; by itself Python has it wait 5 ms each time."""

BACKLOG_LIMIT = 4096
BACKLOG_SECONDS = 0.01


def serve_stdio(client_process_id: int | None) -> int:
    """Serves one editor over standard input and output. Nothing but the protocol ever reaches the latter."""
    _prepare()
    protocol_output = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    sys.stdout = sys.stderr

    async def main() -> int:
        writer = PipeWriter(protocol_output)
        session = Session(writer, client_process_id)
        reading = await read_pipe(sys.stdin.buffer, session.stream)
        return await session.run(reading)

    return _run(main)


def serve_tcp(host: str, port: int, client_process_id: int | None) -> int:
    """Serves the first editor that connects, and ends with it."""
    _prepare()

    async def main() -> int:
        loop = asyncio.get_running_loop()
        first: asyncio.Future[Session] = loop.create_future()

        def connected() -> asyncio.Protocol:
            if first.done():
                return _Refuse()
            session = Session(None, client_process_id)
            first.set_result(session)
            return session.stream

        server = await loop.create_server(connected, host, port)
        address = server.sockets[0].getsockname()
        sys.stderr.write(f"lithify: listening on {address[0]}:{address[1]}\n")
        sys.stderr.flush()
        session = await first
        return await session.run(await session.stream.connected)

    return _run(main)


def _prepare() -> None:
    """Before there is an event loop: JSON may be nested deeply."""
    sys.setrecursionlimit(NESTING)
    sys.setswitchinterval(SWITCH_SECONDS)
    threading.stack_size(STACK_BYTES)


class Session:
    """One editor's connection, from its first byte to its last."""

    def __init__(self, writer: Any, client_process_id: int | None) -> None:
        self.server = LithifyServer(_begin)
        self.stream = MessageStream(self.server.protocol.receive)
        self._writer = writer
        self._client_process_id = client_process_id

    async def run(self, connection: Any) -> int:
        """Serves until the editor says exit, closes its stream, or is gone; the exit code."""
        server = self.server
        writer = self._writer or connection
        server.protocol.set_writer(writer)
        if isinstance(writer, PipeWriter):
            writer.on_broken = partial(_stop_from_thread, asyncio.get_running_loop(), server)
        self.stream.after_data = Brake(server.backlog, connection).check
        watches = [
            asyncio.ensure_future(_end_with_stream(server, self.stream)),
            asyncio.ensure_future(_end_with_client(server, self._client_process_id)),
        ]
        with contextlib.suppress(NotImplementedError):  # Windows has no such signals
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, server.stop, 1)
        code: int = await server.exit_code
        for watch in watches:
            watch.cancel()
        await server.finish()
        writer.close()
        return code


def _begin(server: LithifyServer) -> Lithify:
    with importing():
        from lithify.lsp import work  # whatever is not needed to answer `initialize`
    return work.begin(server)


def _stop_from_thread(loop: asyncio.AbstractEventLoop, server: LithifyServer) -> None:
    with contextlib.suppress(RuntimeError):  # the loop has ended already
        loop.call_soon_threadsafe(server.stop, 1)


class _Refuse(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """One process serves one editor."""
        transport.close()


async def _end_with_stream(server: LithifyServer, stream: MessageStream) -> None:
    problem = await stream.ended
    if problem is not None:
        logger.error("%s", problem)
    await server.protocol.inbox.taken()  # an `exit` among it comes first
    server.stop(1)


async def _end_with_client(server: LithifyServer, client_process_id: int | None) -> None:
    await server.initialized.wait()
    named = server.protocol.initialize_params.get("processId")
    process_ids = {one for one in (client_process_id, named) if isinstance(one, int) and not isinstance(one, bool)}
    if process_ids:
        watches = [asyncio.ensure_future(wait_for_exit(one)) for one in process_ids]
        await asyncio.wait(watches, return_when=asyncio.FIRST_COMPLETED)
        server.stop(1)


class Brake:
    """Reads no further while too much is queued for the disk, so that memory stays bounded."""

    def __init__(self, backlog: Callable[[], int], connection: Pausable) -> None:
        self._backlog = backlog
        self._connection = connection
        self._loop = asyncio.get_running_loop()
        self._held = False

    def check(self) -> None:
        """Called after each piece of input."""
        if not self._held and self._backlog() > BACKLOG_LIMIT:
            self._held = True
            self._connection.pause_reading()
            self._loop.call_later(BACKLOG_SECONDS, self._look_again)

    def _look_again(self) -> None:
        if self._backlog() > BACKLOG_LIMIT // 2:
            self._loop.call_later(BACKLOG_SECONDS, self._look_again)
        else:
            self._held = False
            self._connection.resume_reading()


def _run(main: Callable[[], Coroutine[Any, Any, int]]) -> int:
    """Runs to the end, then leaves at once: no thread that still works on something may hold the process."""
    with _runner() as runner:
        code = int(runner.run(main()))
        logging.shutdown()
        sys.stderr.flush()
        os._exit(code)
    return code


def _runner() -> asyncio.Runner:
    """A runner whose event loop is made. A Ctrl-C that comes meanwhile counts afterwards: a loop that is half made says
    so at its end, in a traceback."""
    interrupted: list[int] = []
    runner = asyncio.Runner()
    before = signal.signal(signal.SIGINT, lambda number, _: interrupted.append(number))
    try:
        runner.get_loop()
    finally:
        signal.signal(signal.SIGINT, before)
    if interrupted:
        runner.close()
        raise KeyboardInterrupt
    return runner
