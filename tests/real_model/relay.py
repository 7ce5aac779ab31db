"""Stands between Lithify and a model, passes every byte on, and keeps what the model was asked and what it said."""

from __future__ import annotations

import asyncio
import io
import json
from dataclasses import dataclass
from http.client import HTTPResponse, IncompleteRead
from typing import Any, cast

from tests.support.raw_client import Json

_STOP_REASONS = {"stop": "end", "length": "max_tokens"}
"""OpenAI's words for how an answer ended, and Lithify's."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question, and what was said to it: the text as far as it came, why it ended (None: it did not), and tokens."""

    question: Json
    status: int
    text: str
    stop_reason: str | None
    tokens: int | None


class Relay:
    """A way to a model server, on a port of its own; a context manager."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._talks: list[tuple[bytearray, bytearray]] = []
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def base_url(self) -> str:
        """What `model.http.baseUrl` is to be."""
        return f"http://{self.host}/v1"

    @property
    def host(self) -> str:
        """Host and port."""
        return f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    @property
    def exchanges(self) -> list[Exchange]:
        """All that was asked so far, in order; Lithify opens a connection for each question."""
        return [_read(bytes(sent), bytes(received)) for sent, received in self._talks]

    async def __aenter__(self) -> Relay:
        self._server = await asyncio.start_server(self._pass_on, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _pass_on(self, asking: asyncio.StreamReader, to_asker: asyncio.StreamWriter) -> None:
        answering, to_model = await asyncio.open_connection("127.0.0.1", self._port)
        sent, received = bytearray(), bytearray()
        self._talks.append((sent, received))
        for work in (_pump(asking, to_model, sent), _pump(answering, to_asker, received)):
            task = asyncio.ensure_future(work)
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)


async def _pump(source: asyncio.StreamReader, target: asyncio.StreamWriter, kept: bytearray) -> None:
    try:
        while data := await source.read(65_536):
            kept += data
            target.write(data)
            await target.drain()
    except ConnectionError:
        pass  # the other side hung up, which the side that is left is told now
    finally:
        target.close()


class _Received:
    """Bytes in the shape in which `http.client` reads them."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def makefile(self, *_: Any) -> io.BytesIO:
        return io.BytesIO(self._data)


def _read(sent: bytes, received: bytes) -> Exchange:
    question = json.loads(sent.partition(b"\r\n\r\n")[2])
    if not received:
        return Exchange(question, 0, "", None, None)
    response = HTTPResponse(cast(Any, _Received(received)))
    response.begin()
    try:
        body = response.read()
    except IncompleteRead as broken_off:
        body = broken_off.partial
    events = [json.loads(line[6:]) for line in body.decode().splitlines() if line.startswith("data: {")]
    choices = [choice for event in events for choice in event["choices"]]
    text = "".join(choice["delta"].get("content") or "" for choice in choices)
    ends = [choice["finish_reason"] for choice in choices if choice["finish_reason"]]
    used = [event["usage"]["total_tokens"] for event in events if event.get("usage")]
    stop_reason = _STOP_REASONS[ends[-1]] if ends else None
    return Exchange(question, response.status, text, stop_reason, used[-1] if used else None)
