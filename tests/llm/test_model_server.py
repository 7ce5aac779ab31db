"""The scripted model server: answers that misbehave on purpose, the script, what is recorded, and its life."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import signal
import sys
import urllib.parse
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.model_server import (
    Answer,
    Commented,
    CutOff,
    Drip,
    Dropped,
    Garbage,
    Hang,
    ModelServer,
    Redirect,
    Request,
    Shredded,
    Silent,
    Slow,
    Text,
    serve,
)
from tests.support.model_server.client import (
    ANTHROPIC,
    ANYTHING,
    OPENAI,
    Json,
    Reply,
    answer,
    connected,
    other_traffic,
    talking,
)

BOTH = pytest.mark.parametrize("path", [OPENAI, ANTHROPIC])
STREAMED_OR_NOT = pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])


# --- answers that misbehave -------------------------------------------------------------------------------------


@pytest.mark.asyncio
@BOTH
async def test_a_slow_answer_sends_nothing_until_its_gate_opens(path: str) -> None:
    gate = asyncio.Event()
    async with talking(Slow(Text("late"), gate)) as (server, client):
        asking = asyncio.ensure_future(client.ask(path))
        await server.asked()
        await other_traffic(server)
        assert not asking.done()
        gate.set()
        assert b"late" in (await asking).data


@pytest.mark.asyncio
@BOTH
async def test_a_dripping_stream_sends_one_part_at_each_release(path: str) -> None:
    gate = asyncio.Semaphore(0)
    async with talking(Drip(Text("abc", pieces=3), gate)) as (server, client):
        client.write("POST", path, json.dumps({**ANYTHING, "stream": True}).encode())
        assert (await client.head()).status == 200
        for part in (b'"role": "assistant"', b'"a"', b'"b"', b'"c"'):
            coming = asyncio.ensure_future(client.chunk())
            await other_traffic(server)
            assert not coming.done()
            gate.release()
            assert part in await coming
        gate.release()
        assert await client.chunk()
        assert await client.chunk() == b""


@pytest.mark.asyncio
@BOTH
async def test_a_hanging_answer_sends_its_status_and_no_more(path: str) -> None:
    async with talking(Hang()) as (server, client):
        client.write("POST", path, json.dumps(ANYTHING).encode())
        assert (await client.head()).status == 200
        coming = asyncio.ensure_future(client.reader.read(1))
        await other_traffic(server)
        assert not coming.done()
        coming.cancel()


@pytest.mark.asyncio
async def test_a_silent_server_sends_nothing() -> None:
    async with talking(Silent()) as (server, client):
        asking = asyncio.ensure_future(client.ask())
        await server.asked()
        await other_traffic(server)
        assert not asking.done()
        asking.cancel()


@pytest.mark.asyncio
async def test_a_dropped_connection_ends_without_a_byte() -> None:
    async with talking(Dropped()) as (_, client):
        client.write("POST", OPENAI, json.dumps(ANYTHING).encode())
        assert await client.reader.read() == b""


@pytest.mark.asyncio
@BOTH
async def test_a_stream_is_cut_off_after_so_many_pieces(path: str) -> None:
    reply = await answer(CutOff("abc", after_pieces=2, pieces=3), path, stream=True)
    assert not reply.whole
    texts = [json.dumps(data) for _, data in reply.events]
    assert [piece for piece in "abc" if any(f'"{piece}"' in text for text in texts)] == ["a", "b"]


@pytest.mark.asyncio
@BOTH
async def test_a_body_is_cut_off_half_way(path: str) -> None:
    reply = await answer(CutOff("abc"), path)
    assert not reply.whole
    assert 0 < len(reply.data) < int(reply.headers["content-length"])


@pytest.mark.asyncio
@pytest.mark.parametrize("data", [b"<html>Hello</html>", b'{"choices": [', b""])
async def test_garbage_is_sent_as_it_is(data: bytes) -> None:
    reply = await answer(Garbage(data, "text/html"))
    assert (reply.status, reply.headers["content-type"], reply.data) == (200, "text/html", data)


@pytest.mark.asyncio
async def test_a_redirect_names_the_other_place() -> None:
    reply = await answer(Redirect("http://127.0.0.1:9/v1/chat/completions"))
    assert (reply.status, reply.headers["location"]) == (307, "http://127.0.0.1:9/v1/chat/completions")


@pytest.mark.asyncio
@STREAMED_OR_NOT
async def test_a_shredded_answer_comes_byte_by_byte(stream: bool) -> None:
    reply = await answer(Shredded(Text("é")), stream=stream)
    assert {len(chunk) for chunk in reply.chunks} == {1}
    assert "é" in reply.data.decode()


@pytest.mark.asyncio
async def test_a_commented_stream_has_a_comment_before_each_part() -> None:
    reply = await answer(Commented(Text("a")), stream=True)
    assert all(chunk.startswith(b": OPENROUTER PROCESSING\n\n") for chunk in reply.chunks)
    assert reply.events[-1] == ("", "[DONE]")


# --- the script -------------------------------------------------------------------------------------------------


def said(reply: Reply) -> str:
    return str(reply.json["choices"][0]["message"]["content"])


@pytest.mark.asyncio
async def test_the_default_script_says_ok() -> None:
    async with ModelServer() as server, connected(server) as client:
        assert said(await client.ask()) == "ok"


@pytest.mark.asyncio
async def test_answers_come_in_order_and_the_last_again_and_again() -> None:
    async with talking([Text("one"), Text("two")]) as (_, client):
        assert [said(await client.ask()) for _ in range(3)] == ["one", "two", "two"]


@pytest.mark.asyncio
async def test_a_function_answers_by_the_request() -> None:
    async with talking(lambda request: Text(f"{request.index}: {request.model}")) as (_, client):
        assert [said(await client.ask()) for _ in range(2)] == ["0: m", "1: m"]


@pytest.mark.asyncio
async def test_a_new_script_starts_with_its_first_answer() -> None:
    async with talking([Text("one"), Text("two")]) as (server, client):
        await client.ask()
        server.script = [Text("first"), Text("second")]
        assert said(await client.ask()) == "first"


def test_a_script_without_answers_is_refused() -> None:
    with pytest.raises(ValueError, match="needs an answer"):
        ModelServer([])


@pytest.mark.asyncio
async def test_a_script_that_fails_tells_the_client_and_the_test() -> None:
    def broken(request: Request) -> Answer:
        raise LookupError("no such answer")

    with pytest.raises(LookupError, match="no such answer"):
        assert (await answer(broken)).status == 500


# --- what is recorded -------------------------------------------------------------------------------------------


@pytest.mark.asyncio
async def test_a_request_is_recorded_as_it_came() -> None:
    async with talking() as (server, client):
        await client.ask(f"{OPENAI}?a=1", {"model": "big"}, Authorization="Bearer key", X_Note="Mixed Case")
        request = server.requests[0]
    assert (request.index, request.method, request.path, request.query) == (0, "POST", OPENAI, "a=1")
    assert (request.headers["authorization"], request.headers["x-note"]) == ("Bearer key", "Mixed Case")
    assert (request.body, request.raw) == ({"model": "big"}, b'{"model": "big"}')


@pytest.mark.asyncio
async def test_questions_leave_out_what_no_model_is_asked() -> None:
    async with talking() as (server, client):
        client.write("GET", "/v1/models")
        await client.reply()
        await client.ask()
        assert [request.index for request in server.questions] == [1]


@pytest.mark.asyncio
@pytest.mark.parametrize("raw", [b"{broken", b"[]", b""])
async def test_a_question_that_is_no_object_gets_400_and_no_answer_of_the_script(raw: bytes) -> None:
    async with talking([Text("one"), Text("two")]) as (server, client):
        client.write("POST", OPENAI, raw)
        assert (await client.reply()).status == 400
        assert server.requests[0].raw == raw
        assert said(await client.ask()) == "one"


@pytest.mark.asyncio
async def test_asked_waits_for_the_question_with_its_number() -> None:
    async with talking() as (server, client):
        waiting = asyncio.ensure_future(server.asked(2))
        await client.ask(body={"model": "one"})
        assert not waiting.done()
        await client.ask(body={"model": "two"})
        assert (await waiting).model == "two"


@pytest.mark.asyncio
async def test_asked_gives_up_and_says_what_came() -> None:
    async with talking() as (server, client):
        await client.ask()
        with pytest.raises(AssertionError, match=r"question 2; there came: POST /v1/chat/completions"):
            await server.asked(2, seconds=0.01)


@pytest.mark.asyncio
@pytest.mark.parametrize(
    "make",
    [Hang, Silent, lambda: Slow(Text("a"), asyncio.Event()), lambda: Drip(Text("a"), asyncio.Semaphore(0))],
    ids=["hang", "silent", "slow", "drip"],
)
async def test_a_client_that_leaves_before_the_end_is_marked(make: Callable[[], Answer]) -> None:
    async with ModelServer(make()) as server, connected(server) as client:
        client.write("POST", OPENAI, json.dumps({**ANYTHING, "stream": True}).encode())
        request = await server.asked()
        assert not request.disconnected.is_set()
        await client.close()
        assert await server.hung_up() is request


@pytest.mark.asyncio
@BOTH
@STREAMED_OR_NOT
async def test_a_client_that_leaves_after_the_end_is_not_marked(path: str, stream: bool) -> None:
    async with talking() as (server, client):
        await client.ask(path, {**ANYTHING, "stream": stream})
        await client.close()
        await other_traffic(server)
        assert not server.requests[0].disconnected.is_set()


@pytest.mark.asyncio
async def test_the_end_of_the_server_is_not_the_leaving_of_a_client() -> None:
    async with talking(Hang()) as (server, client):
        client.write("POST", OPENAI, json.dumps(ANYTHING).encode())
        request = await server.asked()
        await server.__aexit__(None, None, None)
        assert not request.disconnected.is_set()


# --- HTTP -------------------------------------------------------------------------------------------------------


@pytest.mark.asyncio
async def test_a_connection_brings_one_request_after_the_other() -> None:
    async with talking() as (server, client):
        for stream in (False, True, False):
            assert (await client.ask(body={**ANYTHING, "stream": stream})).whole
        assert len(server.requests) == 3


@pytest.mark.asyncio
async def test_a_connection_is_closed_where_the_client_asks_for_it() -> None:
    async with talking() as (_, client):
        await client.ask(Connection="close")
        assert await client.reader.read() == b""


@pytest.mark.asyncio
async def test_connections_are_answered_at_the_same_time() -> None:
    gate = asyncio.Event()
    async with talking([Slow(Text("slow"), gate), Text("fast")]) as (server, client):
        asking = asyncio.ensure_future(client.ask())
        await server.asked()
        async with connected(server) as other:
            assert said(await other.ask()) == "fast"
        gate.set()
        assert said(await asking) == "slow"


@pytest.mark.asyncio
async def test_a_client_that_waits_for_a_go_ahead_gets_it() -> None:
    async with talking() as (server, client):
        raw = json.dumps(ANYTHING).encode()
        client.write("POST", OPENAI, length=len(raw), Expect="100-continue")
        assert (await client.head()).status == 100
        client.writer.write(raw)
        assert (await client.reply()).status == 200
        assert server.requests[0].body == ANYTHING


@pytest.mark.asyncio
async def test_a_body_may_come_in_chunks() -> None:
    async with talking() as (server, client):
        raw = json.dumps(ANYTHING).encode()
        client.writer.write(f"POST {OPENAI} HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
        client.writer.write(
            b"5;note=1\r\n%b\r\n%X\r\n%b\r\n0\r\nA: 1\r\nB: 2\r\n\r\n" % (raw[:5], len(raw[5:]), raw[5:])
        )
        assert (await client.reply()).status == 200
        assert server.requests[0].body == ANYTHING
        assert (await client.ask()).status == 200


@pytest.mark.asyncio
async def test_a_body_may_have_ten_megabytes() -> None:
    async with talking() as (server, client):
        assert (await client.ask(body={"text": "a" * 10_000_000})).status == 200
        assert len(server.requests[0].body["text"]) == 10_000_000


@pytest.mark.asyncio
async def test_a_body_that_is_announced_too_large_is_refused() -> None:
    async with talking() as (_, client):
        client.write("POST", OPENAI, length=1_000_000_000)
        assert (await client.reply()).status == 413


@pytest.mark.asyncio
@pytest.mark.parametrize(
    "raw",
    [b"hello\r\n\r\n", b"GET / HTTP/1.0\r\n\r\n", b"GET / HTTP/1.1\r\nno header\r\n\r\n"],
    ids=["noise", "old version", "broken header"],
)
async def test_what_is_no_request_gets_400_and_is_not_recorded(raw: bytes) -> None:
    async with talking() as (server, client):
        client.writer.write(raw)
        assert (await client.reply()).status == 400
        assert server.requests == []


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/", 200), ("GET", "/v1/models/scripted-model", 200), ("GET", "/v1/other", 404), ("POST", "/x", 404)],
)
async def test_other_requests_get_a_plain_yes_or_no(method: str, path: str, status: int) -> None:
    async with talking() as (_, client):
        client.write(method, path)
        assert (await client.reply()).status == status


@pytest.mark.asyncio
async def test_a_head_request_gets_no_body() -> None:
    async with talking() as (_, client):
        client.write("HEAD", "/")
        assert (await client.head()).status == 200
        assert (await client.ask()).status == 200


# --- its life ---------------------------------------------------------------------------------------------------


@pytest.mark.asyncio
async def test_nothing_is_left_of_a_server_with_clients_in_mid_air() -> None:
    before = asyncio.all_tasks()
    async with ModelServer(Hang()) as server, connected(server) as asking, connected(server):
        asking.write("POST", OPENAI, json.dumps(ANYTHING).encode())
        await asking.head()
        await server.__aexit__(None, None, None)
        assert asyncio.all_tasks() == before
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", server.port)


@pytest.mark.asyncio
async def test_a_server_may_come_back_on_its_port() -> None:
    async with ModelServer() as server:
        port = server.port
    async with ModelServer(port=port) as again, connected(again) as client:
        assert said(await client.ask()) == "ok"


def post(url: str, body: Json) -> Json:
    """A question of a client that is no coroutine."""
    parts = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=10)
    with contextlib.closing(connection):
        connection.request("POST", parts.path, json.dumps(body))
        return dict(json.load(connection.getresponse()))


def test_a_server_in_a_thread_answers_code_that_is_no_coroutine() -> None:
    with serve(Text("from a thread")) as server:
        answered = post(f"{server.base_url}/chat/completions", ANYTHING)
        assert answered["choices"][0]["message"]["content"] == "from a thread"
        assert server.asked().body == ANYTHING


def test_a_server_in_a_thread_hands_over_what_failed() -> None:
    def broken(request: Request) -> Answer:
        raise LookupError("no such answer")

    with pytest.raises(LookupError, match="no such answer"), serve(broken) as server:
        assert post(f"{server.base_url}/chat/completions", ANYTHING)["error"]["type"] == "api_error"


@pytest.mark.asyncio
async def test_the_command_prints_its_address_and_serves_until_it_is_interrupted() -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.support.model_server", "--text", "by hand"),
        cwd=Path(__file__).parents[2],
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout
    try:
        async with asyncio.timeout(20):
            url = (await process.stdout.readline()).decode().strip()
            answered = await asyncio.to_thread(post, f"{url}/chat/completions", ANYTHING)
            assert answered["choices"][0]["message"]["content"] == "by hand"
            process.send_signal(signal.SIGINT)
            assert await process.wait() == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
