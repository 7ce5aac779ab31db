"""A language client that hides nothing: it sends what it is told and keeps every message as it came.

It starts the real `lithify serve`, frames messages itself and hands out its own request ids, so that a test can send
what a well-behaved library would never send. Every wait is bounded.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.support import warm

WAIT_SECONDS = 15.0
COMMAND = (str(Path(sys.executable).with_name("lithify")), "serve")

Json = dict[str, Any]
Answerer = Callable[[Any], Any]


class RequestError(Exception):
    """The server answered with an error."""

    def __init__(self, error: Json) -> None:
        super().__init__(error["message"])
        self.code: int = error["code"]
        self.message: str = error["message"]
        self.data: Json = error.get("data") or {}

    @property
    def type(self) -> str:
        """`data.type`: the case, as the wire contract names it."""
        return str(self.data.get("type"))


class Refusal(Exception):
    """Raised by an answerer to answer the server's request with an error."""

    def __init__(self, code: int, message: str, data: Json | None = None) -> None:
        super().__init__(message)
        self.error: Json = {"code": code, "message": message} | ({"data": data} if data is not None else {})


NEVER = object()
"""Returned by an answerer to leave the server's request without an answer."""


ANSWERERS: Mapping[str, Answerer] = {"window/workDoneProgress/create": lambda _: None}
"""What an editor answers by itself."""


class RawClient:
    """One editor with one server process. `messages` holds everything the server sent, in order."""

    def __init__(self, process: asyncio.subprocess.Process | warm.Process, data_dir: Path) -> None:
        self.process = process
        self.data_dir = data_dir
        self.messages: list[Json] = []
        self.not_protocol = b""
        """What came over standard output and was no message; must stay empty."""
        self.answerers: dict[str, Answerer] = {**ANSWERERS}
        self.initialize_result: Json = {}
        self._next_id = 0
        self._unread: int | None = None
        self._arrived = asyncio.Condition()
        self._stderr = bytearray()
        self._tasks = [asyncio.ensure_future(self._drain_stderr())]

    @classmethod
    async def start(
        cls,
        data_dir: Path,
        *arguments: str,
        environment: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        reading: bool = True,
        cold: bool = False,
    ) -> RawClient:
        """Starts the server with its data in `data_dir`; an editor that is not `reading` leaves its pipe unread.

        It starts warm, unless it is to be as another process sees a server that an editor starts: `cold`.
        """
        unread, pipe = (None, asyncio.subprocess.PIPE) if reading else os.pipe()
        variables = {**os.environ, "LITHIFY_DATA_DIR": str(data_dir), **(environment or {})}
        process: asyncio.subprocess.Process | warm.Process
        if cold or not warm.may_be_warm(variables):
            process = await asyncio.create_subprocess_exec(
                *COMMAND,
                *arguments,
                stdin=asyncio.subprocess.PIPE,
                stdout=pipe,
                stderr=asyncio.subprocess.PIPE,
                env=variables,
                cwd=cwd,
                limit=1 << 16,
            )
        else:
            process = await warm.Process.start(["serve", *arguments], variables, cwd, None if reading else pipe)
        client = cls(process, data_dir)
        if unread is not None:
            os.close(pipe)
            client._unread = unread
        else:
            client._tasks.append(asyncio.ensure_future(client._read()))
        return client

    # --- what the editor says ---

    def send_bytes(self, data: bytes) -> None:
        """Sends bytes as they are."""
        assert self.process.stdin is not None
        self.process.stdin.write(data)

    def send_body(self, body: bytes, header: str = "Content-Length: {}\r\n\r\n") -> None:
        """Sends a message body in a frame."""
        self.send_bytes(header.format(len(body)).encode() + body)

    def send(self, message: Any) -> None:
        """Sends a message."""
        self.send_body(framed_body(message))

    def notify(self, method: str, params: Any = None) -> None:
        """Sends a notification."""
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def ask(self, method: str, params: Any = None, message_id: int | str | None = None) -> int | str:
        """Sends a request; its id, to be given to `answer_to`."""
        if message_id is None:
            self._next_id += 1
            message_id = self._next_id
        self.send({"jsonrpc": "2.0", "id": message_id, "method": method, "params": params})
        return message_id

    async def request(self, method: str, params: Any = None, seconds: float = WAIT_SECONDS) -> Any:
        """Sends a request and waits for its result. Raises RequestError."""
        return await self.result_of(self.ask(method, params), seconds)

    def ask_command(self, name: str, argument: Any = None, **more: Any) -> int | str:
        """Sends `workspace/executeCommand` with one argument; its id."""
        return self.ask("workspace/executeCommand", {"command": name, "arguments": [argument], **more})

    async def command(self, name: str, argument: Any = None, **more: Any) -> Any:
        """Runs a command and waits for its result. Raises RequestError."""
        return await self.result_of(self.ask_command(name, argument, **more))

    async def failure(self, method: str, params: Any = None) -> RequestError:
        """The error that a request is answered with; fails when it succeeds."""
        return await self.failure_of(self.ask(method, params))

    async def command_failure(self, name: str, argument: Any = None) -> RequestError:
        """The error that a command is answered with; fails when it succeeds."""
        return await self.failure_of(self.ask_command(name, argument))

    async def failure_of(self, message_id: int | str, seconds: float = WAIT_SECONDS) -> RequestError:
        """The error that a request already sent is answered with."""
        answer = await self.answer_to(message_id, seconds)
        assert "error" in answer, f"it succeeded: {str(answer)[:500]}"
        return RequestError(answer["error"])

    async def result_of(self, message_id: int | str, seconds: float = WAIT_SECONDS) -> Any:
        """The result of a request already sent. Raises RequestError."""
        answer = await self.answer_to(message_id, seconds)
        if "error" in answer:
            raise RequestError(answer["error"])
        return answer["result"]

    async def answer_to(self, message_id: Any, seconds: float = WAIT_SECONDS) -> Json:
        """The whole answer to a request already sent."""
        return await self.wait_for(lambda message: "method" not in message and message["id"] == message_id, seconds)

    async def initialize(self, options: Any = None, capabilities: Any = None, **more: Any) -> Json:
        """Initializes and says so; the result."""
        self.initialize_result = await self.request("initialize", initialize_params(options, capabilities, **more))
        self.notify("initialized", {})
        return self.initialize_result

    async def shut_down(self) -> int:
        """Ends the server as an editor should; its exit code."""
        await self.request("shutdown")
        self.notify("exit")
        return await self.exit_code()

    # --- what the server says ---

    async def wait_for(self, found: Callable[[Json], bool], seconds: float = WAIT_SECONDS) -> Json:
        """The first message of the server, past or to come, that fits."""
        looked_at = 0

        def look() -> Json | None:
            nonlocal looked_at
            fresh, looked_at = self.messages[looked_at:], len(self.messages)
            return next((message for message in fresh if found(message)), None)

        match: Json | None = None

        def is_there() -> bool:
            nonlocal match
            match = look()
            return match is not None

        try:
            async with asyncio.timeout(seconds), self._arrived:
                await self._arrived.wait_for(is_there)
        except TimeoutError:
            recent = [str(message)[:300] for message in self.messages[-5:]]
            raise AssertionError(f"no such message within {seconds} s; last: {recent}; {self.stderr}") from None
        assert match is not None
        return match

    async def notification(self, method: str, seconds: float = WAIT_SECONDS, **wanted: Any) -> Any:
        """The params of the first notification of that method whose params hold what is wanted."""

        def fits(message: Json) -> bool:
            params = message.get("params")
            return message.get("method") == method and all(params.get(key) == value for key, value in wanted.items())

        return (await self.wait_for(fits, seconds))["params"]

    def received(self, method: str) -> list[Any]:
        """The params of everything of that method that has come so far."""
        return [message["params"] for message in self.messages if message.get("method") == method]

    def start_afresh(self) -> None:
        """Forgets what came so far and how requests of the server were answered, for the next test."""
        self.messages.clear()
        self.answerers = {**ANSWERERS}

    async def first_output(self) -> bytes:
        """What comes first over a pipe that nobody reads otherwise."""
        assert self._unread is not None
        return await asyncio.to_thread(os.read, self._unread, 65_536)

    @staticmethod
    def clock() -> float:
        """Seconds of the running loop."""
        return asyncio.get_running_loop().time()

    @property
    def stderr(self) -> str:
        """What the server has written to standard error so far."""
        return self._stderr.decode(errors="replace")

    # --- the end ---

    async def exit_code(self, seconds: float = WAIT_SECONDS) -> int:
        """Waits for the process to end by itself."""
        async with asyncio.timeout(seconds):
            code = await self.process.wait()
        for task in self._tasks:
            await task
        return code

    def close_stdin(self) -> None:
        """Closes the server's standard input."""
        assert self.process.stdin is not None
        self.process.stdin.close()

    async def stop(self) -> None:
        """Ends the process if it still runs, and leaves nothing behind."""
        if self.process.returncode is None:
            self.process.kill()
        await self.process.wait()
        self.close_stdin()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._unread is not None:
            os.close(self._unread)
        if isinstance(self.process, warm.Process):
            self.process.close()
        else:
            self.process._transport.close()  # type: ignore[attr-defined] # the pipes, now and not when collected

    async def _read(self) -> None:
        stream = self.process.stdout
        assert stream is not None
        while True:
            try:
                header = await stream.readuntil(b"\r\n\r\n")
            except asyncio.IncompleteReadError as error:
                self.not_protocol += error.partial
                return
            if not header.startswith(b"Content-Length: "):
                self.not_protocol += header
                return
            body = await stream.readexactly(int(header.split(b":")[1].split(b"\r")[0]))
            await self._take(json.loads(body))

    async def _take(self, message: Json) -> None:
        async with self._arrived:
            self.messages.append(message)
            self._arrived.notify_all()
        if "method" in message and "id" in message:
            self._answer(message)

    def _answer(self, message: Json) -> None:
        answerer = self.answerers.get(message["method"])
        answer: Json = {"jsonrpc": "2.0", "id": message["id"]}
        try:
            if answerer is None:
                raise Refusal(-32601, f"this editor does not know {message['method']}")
            result = answerer(message["params"])
        except Refusal as refusal:
            self.send(answer | {"error": refusal.error})
        else:
            if result is not NEVER:
                self.send(answer | {"result": result})

    async def _drain_stderr(self) -> None:
        assert self.process.stderr is not None
        while data := await self.process.stderr.read(65_536):
            self._stderr += data


def initialize_params(options: Any = None, capabilities: Any = None, **more: Any) -> Json:
    """The params of `initialize` from an editor named `raw`."""
    return {
        "processId": None,
        "rootUri": None,
        "clientInfo": {"name": "raw"},
        "capabilities": {} if capabilities is None else capabilities,
        "initializationOptions": {} if options is None else options,
        **more,
    }


def framed_body(message: Any) -> bytes:
    """A message as a body; lone surrogates are escaped, everything else stands as it is."""
    text = json.dumps(message, ensure_ascii=False)
    try:
        return text.encode()
    except UnicodeEncodeError:
        return json.dumps(message).encode()
