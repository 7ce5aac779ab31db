"""As much of HTTP/1.1 as clients of models use: requests read from a connection, replies written to one."""

from __future__ import annotations

import asyncio
import http
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Wire = Literal["openai", "anthropic", "responses", "gemini"]

QUESTIONS: Mapping[str, Wire] = {
    "/chat/completions": "openai",
    "/messages": "anthropic",
    "/responses": "responses",
    ":generateContent": "gemini",
    ":streamGenerateContent": "gemini",
}
"""How the paths end on which a model is asked."""

HEAD_BYTES = 1024 * 1024
BODY_BYTES = 64 * 1024 * 1024
LAST_CHUNK = b"0\r\n\r\n"


class BadRequest(Exception):
    """Raised for bytes that are no request which this server reads."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class WatchedReader(asyncio.StreamReader):
    """A reader that says when the other side has left, also while nobody reads."""

    def __init__(self) -> None:
        super().__init__(limit=HEAD_BYTES)
        self.gone = asyncio.Event()

    def feed_eof(self) -> None:
        super().feed_eof()
        self.gone.set()

    def set_exception(self, exc: Exception) -> None:
        super().set_exception(exc)
        self.gone.set()


@dataclass(frozen=True, slots=True)
class Head:
    """A request's first line and headers, their names in lower case."""

    method: str
    target: str
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it came. `index` counts all requests of a server from 0; `path` is without the query.

    `body` is the parsed JSON, None if there is none or it is broken; `raw` its bytes. `disconnected` is set when the
    client hangs up before the answer has ended.
    """

    index: int
    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: Any
    raw: bytes
    disconnected: asyncio.Event = field(default_factory=asyncio.Event, compare=False, repr=False)

    @property
    def wire(self) -> Wire:
        """The wire that this request belongs to, as far as path and headers say."""
        if self.path.endswith("/messages/count_tokens") or "anthropic-version" in self.headers:
            return "anthropic"
        return next((wire for ending, wire in QUESTIONS.items() if self.path.endswith(ending)), "openai")

    @property
    def is_question(self) -> bool:
        """Whether a model is asked, and so the script answers."""
        return self.method == "POST" and self.path.endswith(tuple(QUESTIONS))

    @property
    def streams(self) -> bool:
        if self.wire == "gemini":
            return self.path.endswith(":streamGenerateContent")
        return isinstance(self.body, dict) and self.body.get("stream") is True

    @property
    def model(self) -> str | None:
        if self.wire == "gemini":
            return self.path.rpartition("/")[2].partition(":")[0]
        name = self.body.get("model") if isinstance(self.body, dict) else None
        return name if isinstance(name, str) else None


@dataclass(frozen=True, slots=True)
class Reply:
    """What is written to the connection, and when.

    `chunked` sends the parts as chunks; otherwise the length is announced: that of the parts, or `length`. `has_head`
    False sends no status. `ending`: the connection stays open for more, is closed, or hangs until the client leaves.
    """

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    parts: tuple[bytes, ...] = ()
    chunked: bool = False
    length: int | None = None
    has_head: bool = True
    ending: Literal["whole", "close", "hang"] = "whole"
    first_byte_gate: asyncio.Event | None = None
    part_gate: asyncio.Semaphore | None = None


async def read_head(reader: asyncio.StreamReader) -> Head | None:
    """The next request's head, or None when the client has ended the connection between two requests."""
    try:
        text = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.IncompleteReadError as end:
        if not end.partial:
            return None
        raise
    except asyncio.LimitOverrunError:
        raise BadRequest(431, f"The headers are longer than {HEAD_BYTES} bytes.") from None
    first, *lines = text.strip("\r\n").split("\r\n")
    words = first.split(" ")
    if len(words) != 3 or words[2] != "HTTP/1.1":
        raise BadRequest(400, f"Not the first line of an HTTP/1.1 request: {first[:100]!r}")
    return Head(words[0], words[1], _headers(lines))


def _headers(lines: list[str]) -> dict[str, str]:
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon:
            raise BadRequest(400, f"Not a header: {line[:100]!r}")
        name, value = name.strip().lower(), value.strip()
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers


async def read_body(head: Head, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
    """The request's body, after the go-ahead if the client waits for one."""
    if head.headers.get("expect", "").lower() == "100-continue":
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    if head.headers.get("transfer-encoding", "").lower() == "chunked":
        return await _read_chunks(reader)
    return await reader.readexactly(_size(head.headers.get("content-length", "0"), base=10))


async def _read_chunks(reader: asyncio.StreamReader) -> bytes:
    body = bytearray()
    while True:
        size = _size((await reader.readuntil(b"\r\n")).decode("latin-1").partition(";")[0].strip(), base=16)
        if size == 0:
            break
        body += await reader.readexactly(_allowed(len(body) + size) - len(body))
        await reader.readexactly(2)
    while await reader.readuntil(b"\r\n") != b"\r\n":
        pass  # Trailers say nothing here.
    return bytes(body)


def _size(text: str, *, base: int) -> int:
    try:
        return _allowed(int(text, base))
    except ValueError:
        raise BadRequest(400, f"Not a length: {text[:100]!r}") from None


def _allowed(size: int) -> int:
    if size > BODY_BYTES:
        raise BadRequest(413, f"A body may have {BODY_BYTES} bytes.")
    return size


def request_of(head: Head, raw: bytes, index: int) -> Request:
    path, _, query = head.target.partition("?")
    try:
        body = json.loads(raw) if raw else None
    except ValueError:
        body = None
    return Request(index, head.method, path, query, head.headers, body, raw)


async def write_reply(reply: Reply, writer: asyncio.StreamWriter, *, with_body: bool = True) -> bool:
    """Writes the reply and says whether the connection may be used again."""
    if reply.first_byte_gate:
        await reply.first_byte_gate.wait()
    if reply.has_head:
        writer.write(_head_bytes(reply))
        await writer.drain()
    if with_body:
        await _write_parts(reply, writer)
    if reply.ending == "hang":
        await asyncio.Event().wait()
    return reply.ending == "whole"


async def _write_parts(reply: Reply, writer: asyncio.StreamWriter) -> None:
    for number, part in enumerate(reply.parts, start=1):
        if reply.part_gate:
            await reply.part_gate.acquire()
        data = b"%x\r\n%b\r\n" % (len(part), part) if reply.chunked else part
        # The end goes out together with the last part: a client that leaves on reading that part has had it all.
        is_end = reply.chunked and reply.ending == "whole" and number == len(reply.parts)
        writer.write(data + LAST_CHUNK if is_end else data)
        await writer.drain()


def _head_bytes(reply: Reply) -> bytes:
    length = sum(map(len, reply.parts)) if reply.length is None else reply.length
    framing = {"transfer-encoding": "chunked"} if reply.chunked else {"content-length": str(length)}
    lines = [f"HTTP/1.1 {reply.status} {_phrase(reply.status)}"]
    lines += [f"{name}: {value}" for name, value in {**reply.headers, **framing}.items()]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def _phrase(status: int) -> str:
    try:
        return http.HTTPStatus(status).phrase
    except ValueError:
        return "Overloaded" if status == 529 else "Unknown"
