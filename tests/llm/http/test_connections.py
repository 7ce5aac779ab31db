"""The connection of an HTTP model: how it fails, how long it is waited for, and that it is closed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import pytest

from lithify.llm.http import exchange
from tests.llm.http.asking import WIRES, failure, model_at, reply, request
from tests.support.model_server import CutOff, Drip, Dropped, Hang, ModelServer, Silent, Slow, Text, rate_limited

pytestmark = pytest.mark.parametrize("wire", WIRES)

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def listening(handle: Handler) -> AsyncIterator[int]:
    """A bare server on loopback; its port. The block ends when its clients have been left."""
    connections: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        connections.add(task)
        with suppress(asyncio.CancelledError):
            await handle(reader, writer)
        writer.transport.abort()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in connections:
            task.cancel()
        await asyncio.gather(*connections, return_exceptions=True)
        await server.wait_closed()


async def no_answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Takes what comes until the client leaves."""
    while await reader.read(65536):
        pass


async def no_ear(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Reads nothing at all."""
    writer.transport.pause_reading()  # type: ignore[attr-defined]
    await asyncio.Event().wait()


async def free_port() -> int:
    """A port on which nobody listens."""
    async with listening(no_answer) as port:
        return port


@pytest.mark.asyncio
async def test_what_was_sent_before_the_connection_was_lost_counts_as_sent(wire: str) -> None:
    async def busy_once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        server.close()
        writer.write(b"HTTP/1.1 503 Busy\r\nretry-after: 0\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(busy_once, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    found = failure(await model_at(f"http://127.0.0.1:{port}/v1", wire).ask(request()))
    assert (found.type, found.sent) == ("model_unavailable", True)


# --- no connection --------------------------------------------------------------------------------------------


@pytest.mark.asyncio
async def test_a_port_where_nobody_listens_is_told_with_the_host_and_the_setting(wire: str) -> None:
    port = await free_port()
    found = failure(await model_at(f"http://127.0.0.1:{port}/v1", wire).ask(request()))
    assert (found.type, found.retryable, found.counts) == ("model_unavailable", True, True)
    assert not found.sent
    assert [word for word in (f"127.0.0.1:{port}", "model.http.baseUrl") if word not in found.message] == []


@pytest.mark.asyncio
@pytest.mark.parametrize("host", ["xn--", "1.2.3.999", "a..localhost"])
async def test_a_host_that_cannot_be_is_no_connection(wire: str, host: str) -> None:
    found = failure(await model_at(f"http://{host}:1/v1", wire).ask(request()))
    assert (found.type, "model.http.baseUrl" in found.message) == ("model_unavailable", True)


@pytest.mark.asyncio
async def test_an_endpoint_without_tls_is_no_connection_for_https(wire: str) -> None:
    async def says_hello(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"hello, this is no TLS\n")
        await no_answer(reader, writer)

    async with listening(says_hello) as port:
        found = failure(await model_at(f"https://127.0.0.1:{port}/v1", wire).ask(request()))
    assert (found.type, "SSL" in found.message) == ("model_unavailable", True)


@pytest.mark.asyncio
async def test_the_time_to_connect_is_bounded_with_tls_in_it(wire: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "CONNECT_S", 0.1)
    async with listening(no_answer) as port:
        found = failure(await model_at(f"https://127.0.0.1:{port}/v1", wire).ask(request()))
    assert (found.type, "within 0.1 s" in found.message) == ("model_unavailable", True)


@pytest.mark.asyncio
async def test_a_connection_that_was_made_is_not_bounded_by_the_time_to_connect(
    wire: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchange, "CONNECT_S", 0.1)
    loop = asyncio.get_running_loop()
    gate = asyncio.Event()
    async with ModelServer(Slow(Text("late"), gate)) as server:
        asking = asyncio.ensure_future(model_at(server.base_url, wire).ask(request()))
        await server.asked()
        loop.call_later(0.2, gate.set)
        assert reply(await asking).text == "late"


# --- out of time ----------------------------------------------------------------------------------------------


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("answer", "where"),
    [
        (Silent(), "it took the request and sent nothing back"),
        (Hang(), "0 bytes of its text had come"),
        (Drip(Text("a summary", pieces=3), asyncio.Semaphore(3)), "6 bytes of its text had come"),
    ],
)
async def test_an_endpoint_that_takes_too_long_is_left_and_the_failure_says_how_far_it_was(
    wire: str, answer: Silent | Hang | Drip, where: str
) -> None:
    if isinstance(answer, Drip):
        answer = Drip(answer.answer, asyncio.Semaphore(3))
    async with ModelServer(answer) as server:
        model = model_at(server.base_url, wire)
        asking = asyncio.ensure_future(model.ask(request(timeout_ms=400)))
        found = failure(await asking)
        await server.hung_up()
    assert (found.type, found.retryable, found.counts) == ("timeout", True, True)
    assert f"within 0.4 s ({where})" in found.message


@pytest.mark.asyncio
async def test_out_of_time_while_connecting_says_so(wire: str) -> None:
    async with listening(no_answer) as port:
        found = failure(await model_at(f"https://127.0.0.1:{port}/v1", wire).ask(request(timeout_ms=300)))
    assert (found.type, "no connection came about" in found.message) == ("timeout", True)


LAST_WORD = {
    "openai": b'data: {"choices":[{"delta":{"content":"whole"},"finish_reason":"stop"}]}\n\n',
    "anthropic": b'data: {"type":"content_block_delta","delta":{"type":"text_delta","text":"whole"}}\n\n'
    b'data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}\n\n',
}
"""The end of an answer, but not of its stream."""

HUGE = ("x" * (16 << 20),)
"""More than two socket buffers hold."""


@pytest.mark.asyncio
async def test_an_endpoint_that_does_not_take_the_request_is_left(wire: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "WRITE_S", 0.2)
    async with listening(no_ear) as port:
        found = failure(await model_at(f"http://127.0.0.1:{port}/v1", wire).ask(request(parts=HUGE)))
    assert (found.type, "did not take the whole request" in found.message) == ("timeout", True)
    assert "within 0.2 s" in found.message


@pytest.mark.asyncio
async def test_a_time_without_end_is_no_error(wire: str) -> None:
    async with ModelServer(Text("a summary")) as server:
        assert reply(await model_at(server.base_url, wire).ask(request(timeout_ms=10**400))).text == "a summary"


@pytest.mark.asyncio
async def test_an_answer_that_is_whole_does_not_wait_for_the_end_of_the_stream(
    wire: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchange, "REST_S", 0.1)

    async def never_ends(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n" + LAST_WORD[wire])
        await no_answer(reader, writer)

    async with listening(never_ends) as port:
        assert reply(await model_at(f"http://127.0.0.1:{port}/v1", wire).ask(request())).text == "whole"


@pytest.mark.asyncio
async def test_an_error_does_not_wait_for_the_end_of_its_sentence(wire: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "REST_S", 0.1)

    async def never_ends(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 401 No\r\ncontent-type: text/plain\r\ncontent-length: 100\r\n\r\nwrong key and")
        await no_answer(reader, writer)

    async with listening(never_ends) as port:
        found = failure(await model_at(f"http://127.0.0.1:{port}/v1", wire).ask(request()))
    assert "HTTP 401" in found.message
    assert found.message.endswith(": wrong key and")


# --- broken off -----------------------------------------------------------------------------------------------


@pytest.mark.asyncio
@pytest.mark.parametrize("answer", [CutOff("a long summary", after_pieces=1), CutOff("x", after_pieces=0), Dropped()])
async def test_an_answer_that_breaks_off_is_never_taken_for_a_whole_one(wire: str, answer: CutOff | Dropped) -> None:
    async with ModelServer(answer) as server:
        found = failure(await model_at(server.base_url, wire).ask(request()))
    assert (found.type, found.retryable, "broke off" in found.message) == ("model_error", True, True)
    assert "closed connection" in found.message or "disconnected" in found.message


@pytest.mark.asyncio
async def test_a_connection_that_breaks_after_the_last_word_costs_nothing(wire: str) -> None:
    async def breaks(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 9999\r\n\r\n"
        writer.write(head + LAST_WORD[wire])
        writer.write_eof()
        await no_answer(reader, writer)

    async with listening(breaks) as port:
        assert reply(await model_at(f"http://127.0.0.1:{port}/v1", wire).ask(request())).text == "whole"


@pytest.mark.asyncio
async def test_something_that_does_not_speak_http_is_an_error(wire: str) -> None:
    async def speaks_otherwise(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 mail ready\r\n\r\n")
        await no_answer(reader, writer)

    async with listening(speaks_otherwise) as port:
        assert failure(await model_at(f"http://127.0.0.1:{port}/v1", wire).ask(request())).type == "model_error"


# --- cancelled ------------------------------------------------------------------------------------------------


@pytest.mark.asyncio
@pytest.mark.parametrize("kind", [Silent, Hang])
async def test_a_cancelled_question_closes_its_connection(wire: str, kind: type[Silent | Hang]) -> None:
    async with ModelServer(kind()) as server:
        asking = asyncio.ensure_future(model_at(server.base_url, wire).ask(request()))
        await server.asked()
        asking.cancel()
        await server.hung_up()
        with pytest.raises(asyncio.CancelledError):
            await asking
    assert asyncio.all_tasks() == {asyncio.current_task()}


@pytest.mark.asyncio
async def test_a_question_cancelled_in_the_middle_of_its_answer_closes_its_connection(wire: str) -> None:
    parts = asyncio.Semaphore(2)
    async with ModelServer(Drip(Text("a summary", pieces=5), parts)) as server:
        asking = asyncio.ensure_future(model_at(server.base_url, wire).ask(request()))
        await server.asked()
        while not parts.locked():
            await asyncio.sleep(0)
        asking.cancel()
        await server.hung_up()
        with pytest.raises(asyncio.CancelledError):
            await asking


@pytest.mark.asyncio
async def test_a_cancel_while_waiting_as_asked_ends_the_question(wire: str) -> None:
    resting = asyncio.Event()

    async def rest(seconds: float) -> None:
        resting.set()
        await asyncio.Event().wait()

    async with ModelServer(rate_limited(5)) as server:
        model = model_at(server.base_url, wire)
        model._sleep = rest
        asking = asyncio.ensure_future(model.ask(request()))
        await resting.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking


@pytest.mark.asyncio
async def test_a_connection_is_closed_with_its_question(wire: str) -> None:
    left = asyncio.Event()

    async def answers_once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n")
        await no_answer(reader, writer)
        left.set()

    async with listening(answers_once) as port:
        failure(await model_at(f"http://127.0.0.1:{port}/v1", wire).ask(request()))
        await left.wait()
    assert asyncio.all_tasks() == {asyncio.current_task()}
