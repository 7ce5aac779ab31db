"""The scripted model server itself: its connections, its script, and what it was asked."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TypeAlias

from tests.support.model_server.answers import Answer, Error, Text
from tests.support.model_server.http import (
    BadRequest,
    Reply,
    Request,
    WatchedReader,
    read_body,
    read_head,
    request_of,
    write_reply,
)
from tests.support.model_server.replies import error_reply, reply_to, side_reply, unreadable_reply

Script: TypeAlias = Answer | Sequence[Answer] | Callable[[Request], Answer]
"""One answer for every question, answers in order of which the last is repeated, or a function of the request."""

OK = Text("ok")
WAIT_SECONDS = 10.0


class ModelServer:
    """Serves on a free port of 127.0.0.1 while its block runs; at its end nothing of it is left.

    `requests` holds every request in order of arrival, `questions` those to a model, which the script answers. When a
    script or the server itself fails, the client is told with status 500 and the block ends with the exception.
    """

    def __init__(self, script: Script = OK, *, models: Sequence[str] = ("scripted-model",), port: int = 0) -> None:
        self.requests: list[Request] = []
        self.models = tuple(models)
        self.script = script
        self._port = port
        self._failures: list[BaseException] = []
        self._connections: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    @property
    def script(self) -> Script:
        """What is answered. Setting it starts the new script with its first answer."""
        return self._script

    @script.setter
    def script(self, script: Script) -> None:
        if isinstance(script, Sequence) and not script:
            raise ValueError("a script needs an answer")
        self._script = script
        self._answered = 0

    @property
    def port(self) -> int:
        return self._port

    @property
    def root_url(self) -> str:
        """Without a path: what clients of Anthropic are given."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def base_url(self) -> str:
        """With `/v1`: what clients of OpenAI are given."""
        return f"{self.root_url}/v1"

    @property
    def questions(self) -> list[Request]:
        return [request for request in self.requests if request.is_question]

    async def asked(self, number: int = 1, *, seconds: float = WAIT_SECONDS) -> Request:
        """The question with this number, counted from 1, as soon as its body is here. The status may be yet to come."""
        return await self._wait_for(lambda: self.questions[number - 1 : number], seconds, f"question {number}")

    async def hung_up(self, number: int = 1, *, seconds: float = WAIT_SECONDS) -> Request:
        """The question with this number, once its client has left without waiting for the answer's end."""
        return await self._wait_for(
            lambda: [request for request in self.questions[number - 1 : number] if request.disconnected.is_set()],
            seconds,
            f"the client of question {number} leaving",
        )

    async def _wait_for(self, find: Callable[[], list[Request]], seconds: float, what: str) -> Request:
        try:
            async with asyncio.timeout(seconds), self._news:
                await self._news.wait_for(lambda: bool(find()))
        except TimeoutError:
            came = ", ".join(f"{request.method} {request.path}" for request in self.requests) or "nothing"
            raise AssertionError(f"waited {seconds} s for {what}; there came: {came}") from None
        return find()[0]

    async def __aenter__(self) -> ModelServer:
        self.loop = asyncio.get_running_loop()
        self._news = asyncio.Condition()
        self._server = await self.loop.create_server(self._protocol, "127.0.0.1", self._port)
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for task, writer in self._connections.items():
            writer.transport.abort()
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        await self._server.wait_closed()
        for failure in self._failures:
            if error is None:
                raise failure
            error.add_note(f"The model server failed, too: {failure!r}")

    def _protocol(self) -> asyncio.StreamReaderProtocol:
        reader = WatchedReader()
        return asyncio.StreamReaderProtocol(reader, lambda _, writer: self._connected(reader, writer))

    def _connected(self, reader: WatchedReader, writer: asyncio.StreamWriter) -> None:
        task = self.loop.create_task(self._serve(reader, writer))
        self._connections[task] = writer
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        del self._connections[task]
        if not task.cancelled() and (failure := task.exception()):
            self._failures.append(failure)

    async def _serve(self, reader: WatchedReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (request := await self._next_request(reader, writer)) and await self._answer(request, reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # A client may leave at any time; what it left unanswered is marked on the request.
        finally:
            writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()

    async def _next_request(self, reader: WatchedReader, writer: asyncio.StreamWriter) -> Request | None:
        try:
            if (head := await read_head(reader)) is None:
                return None
            raw = await read_body(head, reader, writer)
        except BadRequest as bad:
            message = str(bad).encode()
            await write_reply(Reply(bad.status, {"content-type": "text/plain"}, (message,), ending="close"), writer)
            return None
        request = request_of(head, raw, len(self.requests))
        self.requests.append(request)
        await self._tell()
        return request

    async def _tell(self) -> None:
        async with self._news:
            self._news.notify_all()

    async def _answer(self, request: Request, reader: WatchedReader, writer: asyncio.StreamWriter) -> bool:
        """Answers, and says whether the connection may bring another request."""
        reply = self._reply(request)
        writing = asyncio.ensure_future(write_reply(reply, writer, with_body=request.method != "HEAD"))
        leaving = asyncio.ensure_future(reader.gone.wait())
        try:
            await asyncio.wait({writing, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if writing.done() and not isinstance(writing.exception(), ConnectionError):
                return writing.result() and request.headers.get("connection", "").lower() != "close"
            request.disconnected.set()
            await self._tell()
            return False
        finally:
            writing.cancel()
            leaving.cancel()
            await asyncio.gather(writing, leaving, return_exceptions=True)

    def _reply(self, request: Request) -> Reply:
        if not request.is_question:
            return side_reply(request, self.models)
        if not isinstance(request.body, dict):
            return unreadable_reply(request)
        try:
            return reply_to(self._next_answer(request), request, self.models[0])
        except Exception as failure:
            self._failures.append(failure)
            return error_reply(Error(500, "api_error", f"The script failed: {failure!r}"), request)

    def _next_answer(self, request: Request) -> Answer:
        position, self._answered = self._answered, self._answered + 1
        if isinstance(self._script, Sequence):
            return self._script[min(position, len(self._script) - 1)]
        return self._script(request) if callable(self._script) else self._script
