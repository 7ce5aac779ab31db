"""One HTTP request and what comes back. Importing this imports httpx."""

from __future__ import annotations

import asyncio
import functools
import json
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import aclosing
from datetime import UTC, datetime
from types import TracebackType
from typing import Any

import httpx

from lithify import __version__
from lithify.core.model_calls import ModelFailure, ModelReply
from lithify.llm.http import failures
from lithify.llm.http.answer import Answer, verdict
from lithify.llm.http.endpoint import Access
from lithify.llm.http.reading import WIRE_FORMATS, AnswerReader
from lithify.llm.http.refusals import Refusal, read_refusal
from lithify.llm.http.stage import Stage
from lithify.llm.http.unpacking import NotUnpacked, Unpacking

CONNECT_S = 10.0
"""To find the host, connect and agree on TLS."""
WRITE_S = 30.0
"""For each piece of the request to be taken."""
REST_S = 5.0
"""For what follows an answer's last word (numbers of tokens, the end of the stream), and for an error's sentence."""

MOST_ERROR_BYTES = 64 << 10

_UNREACHABLE = (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError, httpx.UnsupportedProtocol, httpx.InvalidURL)


@functools.cache
def _certificates() -> ssl.SSLContext:
    """Whom to trust, read once a process: it takes 20 ms in which Python does nothing else, in any thread."""
    return httpx.create_ssl_context()


class Exchange:
    """A connection to an endpoint for the requests of one call; a context manager that leaves nothing open.

    Proxies are taken from the environment as httpx does (HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, NO_PROXY), but never for
    this machine itself. Making one reads certificates: do it in a thread. Raises ValueError with a sentence where the
    environment's proxies or certificates are unusable.
    """

    def __init__(self, access: Access, stage: Stage) -> None:
        self._access = access
        self._stage = stage
        self._format = WIRE_FORMATS[access.endpoint.wire]
        self._streams: list[Any] = []
        try:
            context = _certificates()
            transport = httpx.AsyncHTTPTransport(verify=context) if access.endpoint.is_loopback else None
            timeout = httpx.Timeout(None, connect=CONNECT_S, write=WRITE_S)
            self._client = httpx.AsyncClient(transport=transport, verify=context, timeout=timeout)
        except (OSError, ValueError, ImportError, httpx.InvalidURL) as error:
            told = "the proxy or certificate variables of the environment cannot be used"
            raise ValueError(
                f"{told} ({type(error).__name__}); look at HTTPS_PROXY, ALL_PROXY, SSL_CERT_FILE"
            ) from error

    async def __aenter__(self) -> Exchange:
        await self._client.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.__aexit__(kind, error, trace)
        for stream in self._streams:
            await stream.aclose()

    async def send(
        self, body: dict[str, Any], model: Any, missing_model: str | None
    ) -> ModelReply | ModelFailure | Refusal:
        """Sends a body and reads the answer to it. Cancelling closes the connection."""
        try:
            response = await self._sent(body)
        except (*_UNREACHABLE, ValueError) as error:
            return failures.unreachable(self._access, _why(error))
        except TimeoutError:
            return failures.unreachable(self._access, f"none came about within {CONNECT_S:g} s")
        except httpx.WriteTimeout:
            return failures.timed_out(self._access, WRITE_S, self._stage.where())
        except httpx.RequestError as error:
            return failures.broke_off(self._access, 0, _why(error))
        try:
            return await self._received(response, model, missing_model)
        finally:
            await response.aclose()

    async def _sent(self, body: dict[str, Any]) -> httpx.Response:
        """The head of the answer. Raises TimeoutError where no connection comes about in time."""
        headers = {
            "accept": "text/event-stream, application/json",
            "accept-encoding": "identity",
            "content-type": "application/json",
            "user-agent": f"lithify/{__version__}",
            **self._format.headers(self._access.key),
        }
        content = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        url = self._access.endpoint.url
        async with asyncio.timeout(CONNECT_S) as connecting:
            extensions = {"trace": self._tracing(connecting)}
            request = self._client.build_request("POST", url, headers=headers, content=content, extensions=extensions)
            return await self._client.send(request, stream=True)

    def _tracing(self, connecting: asyncio.Timeout) -> Callable[[str, dict[str, Any]], Awaitable[None]]:
        """What httpx is given to tell its progress. `connecting` ends where the request is sent.

        The connection is kept: httpcore leaves it open where a TLS handshake is cancelled.
        """

        async def trace(event: str, info: dict[str, Any]) -> None:
            step = event.partition(".")[2]
            self._stage.note(step)
            if step == "connect_tcp.complete":
                self._streams.append(info["return_value"])
            if self._stage.name == "sending" and connecting.when() is not None:
                connecting.reschedule(None)

        return trace

    async def _received(
        self, response: httpx.Response, model: Any, missing_model: str | None
    ) -> ModelReply | ModelFailure | Refusal:
        status = response.status_code
        if response.is_redirect or 300 <= status < 400:
            return failures.redirected(self._access, status, response.headers.get("location", ""))
        if status >= 400:
            return read_refusal(status, response.headers, await _start_of(response), datetime.now(UTC))
        content_type = response.headers.get("content-type", "")
        reader = AnswerReader(self._format, content_type)
        self._stage.read(reader.answer)
        try:
            await _read(response, reader)
        except NotUnpacked as error:
            return failures.not_an_answer(self._access, status, f"{content_type}: {error}")
        except httpx.RequestError as error:
            if not reader.answer.is_whole:
                return failures.broke_off(self._access, reader.answer.size_bytes, _why(error))
        return verdict(reader.answer, self._access, status, content_type, model, missing_model)


async def _read(response: httpx.Response, reader: AnswerReader) -> None:
    """Reads a body up to its end, or up to where nothing more belongs to the answer."""
    answer: Answer = reader.answer
    try:
        async with asyncio.timeout(None) as rest, aclosing(_pieces(response)) as pieces:
            async for piece in pieces:
                reader.feed(piece)
                if answer.is_over:
                    return
                if answer.is_whole and rest.when() is None:
                    rest.reschedule(asyncio.get_running_loop().time() + REST_S)
    except TimeoutError:
        return
    reader.finish()


async def _pieces(response: httpx.Response) -> AsyncGenerator[bytes, None]:
    """The body in small pieces. httpx itself would unpack any number of layers at once, whatever their size."""
    unpacking = Unpacking(response.headers.get("content-encoding", ""))
    async for piece in response.aiter_raw():
        for small in unpacking.unpacked(piece):
            yield small


async def _start_of(response: httpx.Response) -> bytes:
    """As much of an error's body as comes within REST_S, up to MOST_ERROR_BYTES."""
    found = bytearray()
    try:
        async with asyncio.timeout(REST_S), aclosing(_pieces(response)) as pieces:
            async for piece in pieces:
                found += piece
                if len(found) >= MOST_ERROR_BYTES:
                    break
    except (httpx.RequestError, TimeoutError, NotUnpacked):
        """The status says what is wrong, even where the sentence is cut off."""
    return bytes(found[:MOST_ERROR_BYTES])


def _why(error: BaseException) -> str:
    """The words of the deepest cause: that of the system, where there is one."""
    causes = list(_causes(error))
    systems = [cause.strerror for cause in causes if isinstance(cause, OSError) and cause.strerror]
    return systems[-1] if systems else str(causes[0])


def _causes(error: BaseException) -> Iterator[BaseException]:
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__
