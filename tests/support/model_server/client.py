"""A client of the scripted model server that holds every byte in its hand, and keeps answers as they came."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from tests.support.model_server import ModelServer, Script
from tests.support.model_server.serving import OK

Json = dict[str, Any]

OPENAI = "/v1/chat/completions"
ANTHROPIC = "/v1/messages"
ANYTHING: Json = {"model": "m", "messages": [{"role": "user", "content": "Hello"}]}


@dataclass
class Reply:
    """An answer as it came. `whole` says whether it ended where it said it would."""

    status: int
    headers: dict[str, str]
    chunks: list[bytes]
    whole: bool = True

    @property
    def data(self) -> bytes:
        return b"".join(self.chunks)

    @property
    def json(self) -> Any:
        return json.loads(self.data)

    @property
    def events(self) -> list[tuple[str, Any]]:
        """Names and data of a stream's events, comments left out; `[DONE]` is itself."""
        return [event for block in self.data.decode().split("\n\n") if (event := _event(block))]


def _event(block: str) -> tuple[str, Any] | None:
    fields = dict(line.split(": ", 1) for line in block.split("\n") if line and not line.startswith(":"))
    if not fields:
        return None
    return fields.get("event", ""), fields["data"] if fields["data"] == "[DONE]" else json.loads(fields["data"])


class Client:
    """One connection, of which every byte is in the test's hand."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    def write(self, method: str, path: str, body: bytes = b"", *, length: int | None = None, **headers: str) -> None:
        """Sends a request whose announced length may be a lie; an underscore in a header's name is a hyphen."""
        lines = {"Host": "script", "Content-Length": str(len(body) if length is None else length), **headers}
        head = [f"{method} {path} HTTP/1.1", *(f"{name.replace('_', '-')}: {value}" for name, value in lines.items())]
        self.writer.write("\r\n".join([*head, "", ""]).encode() + body)

    async def head(self) -> Reply:
        first, *lines = (await self.reader.readuntil(b"\r\n\r\n")).decode().rstrip().split("\r\n")
        return Reply(int(first.split()[1]), dict(line.split(": ", 1) for line in lines), [])

    async def chunk(self) -> bytes:
        """The next chunk, empty at the end."""
        size = int(await self.reader.readuntil(b"\r\n"), 16)
        return (await self.reader.readexactly(size + 2))[:-2]

    async def reply(self) -> Reply:
        reply = await self.head()
        try:
            if "content-length" in reply.headers:
                reply.chunks.append(await self.reader.readexactly(int(reply.headers["content-length"])))
            else:
                while chunk := await self.chunk():
                    reply.chunks.append(chunk)
        except asyncio.IncompleteReadError as cut:
            reply.whole = False
            reply.chunks += [cut.partial] if cut.partial else []
        return reply

    async def ask(self, path: str = OPENAI, body: Any = ANYTHING, **headers: str) -> Reply:
        self.write("POST", path, json.dumps(body).encode(), length=None, **headers)
        return await self.reply()

    async def close(self) -> None:
        self.writer.close()
        with contextlib.suppress(ConnectionError):
            await self.writer.wait_closed()


@contextlib.asynccontextmanager
async def connected(server: ModelServer) -> AsyncIterator[Client]:
    client = Client(*await asyncio.open_connection("127.0.0.1", server.port))
    try:
        async with asyncio.timeout(10):
            yield client
    finally:
        await client.close()


@contextlib.asynccontextmanager
async def talking(script: Script = OK) -> AsyncIterator[tuple[ModelServer, Client]]:
    async with ModelServer(script) as server, connected(server) as client:
        yield server, client


async def answer(script: Script, path: str = OPENAI, *, stream: bool = False, **fields: Any) -> Reply:
    """What one question gets."""
    async with talking(script) as (_, client):
        return await client.ask(path, {**ANYTHING, "stream": stream, **fields})


async def other_traffic(server: ModelServer) -> None:
    """A whole exchange on another connection: what the server would have sent by itself has come when it is over."""
    async with connected(server) as other:
        other.write("GET", "/")
        assert (await other.reply()).status == 200
