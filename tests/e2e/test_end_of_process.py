"""How the process ends: on `exit`, and with its editor, however that goes."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from pathlib import Path

import pytest

from tests.support.editor import (
    SilentModel,
    Starter,
    buffer_entries,
    conversation,
    in_time,
    note,
    open_session,
    session,
    settled,
    stored_states,
)
from tests.support.raw_client import COMMAND, framed_body, initialize_params

pytestmark = pytest.mark.asyncio(loop_scope="module")

ENDS_WITHIN_SECONDS = 2.0


async def test_exit_after_shutdown_is_code_zero(start: Starter) -> None:
    assert await (await start()).shut_down() == 0


async def test_exit_without_shutdown_is_code_one(start: Starter) -> None:
    fresh = await start()
    fresh.notify("exit")
    assert await fresh.exit_code() == 1


async def test_exit_before_initialize_is_code_one(start: Starter) -> None:
    fresh = await start(initialize=False)
    fresh.notify("exit")
    assert await fresh.exit_code() == 1


@pytest.mark.parametrize("arguments", [["--stdio"], ["--clientProcessId=1"], ["--stdio", "--clientProcessId=1"]])
async def test_the_arguments_that_clients_append_are_accepted(start: Starter, arguments: list[str]) -> None:
    fresh = await start(*arguments)
    assert await fresh.shut_down() == 0


async def test_the_process_ends_in_time_when_its_input_is_closed(start: Starter) -> None:
    fresh = await start()
    fresh.close_stdin()
    assert await fresh.exit_code(ENDS_WITHIN_SECONDS) == 1


async def test_the_process_ends_when_its_input_is_closed_before_initialize(start: Starter) -> None:
    fresh = await start(initialize=False)
    await fresh.failure("lithify/listSessions", {})
    fresh.close_stdin()
    await fresh.exit_code(ENDS_WITHIN_SECONDS)


async def test_the_process_ends_when_its_input_is_closed_in_the_middle_of_a_message(start: Starter) -> None:
    fresh = await start()
    fresh.send_bytes(b"Content-Length: 1000\r\n\r\n{")
    fresh.close_stdin()
    await fresh.exit_code(ENDS_WITHIN_SECONDS)


async def test_input_closed_in_the_middle_of_a_compaction_ends_the_process_and_changes_nothing(start: Starter) -> None:
    fresh = await start()
    model = SilentModel(fresh)
    open_session(fresh, "a", conversation())
    before = await session(fresh, "a")
    fresh.ask_command("lithify.compact_conversation", {"sessionId": "a"})
    asked = await model.asked()
    fresh.close_stdin()
    await fresh.exit_code(ENDS_WITHIN_SECONDS)
    assert {"requestId": asked["params"]["requestId"]} in fresh.received("lithify/cancelComplete")
    again = await start()
    assert json.dumps(await session(again, "a")) == json.dumps(before)


async def test_an_editor_that_does_not_read_does_not_hold_the_process_up(start: Starter) -> None:
    fresh = await start(reading=False, initialize=False)
    fresh.ask("initialize", initialize_params())
    await in_time(fresh.first_output(), 10)
    open_session(fresh, "a", [{"role": "user", "content": "x" * 100_000}])
    for _ in range(20):
        fresh.ask("lithify/getSession", {"sessionId": "a"})
    assert fresh.process.stdin is not None
    await in_time(fresh.process.stdin.drain(), 5)
    fresh.close_stdin()
    await fresh.exit_code(ENDS_WITHIN_SECONDS)


async def test_an_editor_that_does_not_read_loses_no_event(start: Starter) -> None:
    fresh = await start(reading=False, initialize=False)
    fresh.ask("initialize", initialize_params())
    await in_time(fresh.first_output(), 10)
    open_session(fresh, "a", [{"role": "user", "content": "x" * 100_000}], record="none")
    for _ in range(20):
        fresh.ask("lithify/getSession", {"sessionId": "a"})
    fresh.notify("lithify/didRecordEvents", {"events": [note()]})
    fresh.close_stdin()
    await fresh.exit_code(ENDS_WITHIN_SECONDS)
    assert len(buffer_entries(fresh.data_dir)) == 1


async def test_all_of_a_thousand_notifications_right_before_the_end_of_input_are_stored(start: Starter) -> None:
    fresh = await start()
    for number in range(1000):
        fresh.notify("lithify/didRecordEvents", {"events": [note(f"event {number}")]})
    fresh.close_stdin()
    await fresh.exit_code()
    assert [entry["body"]["content"] for entry in buffer_entries(fresh.data_dir)] == [f"event {n}" for n in range(1000)]
    assert set(stored_states(fresh.data_dir).values()) == {"buffered"}


async def test_all_of_a_thousand_notifications_right_before_exit_are_stored(start: Starter) -> None:
    fresh = await start()
    for number in range(1000):
        fresh.notify("lithify/didRecordEvents", {"events": [note(f"event {number}")]})
    fresh.notify("exit")
    await fresh.exit_code()
    assert len(buffer_entries(fresh.data_dir)) == 1000


async def test_a_terminated_process_first_stores_what_it_was_told(start: Starter) -> None:
    fresh = await start()
    for number in range(200):
        fresh.notify("lithify/didRecordEvents", {"events": [note(f"event {number}")]})
    await settled(fresh)
    fresh.notify("lithify/didRecordEvents", {"events": [note("the last")]})
    await settled(fresh)
    fresh.process.send_signal(signal.SIGTERM)
    assert await fresh.exit_code(ENDS_WITHIN_SECONDS) == 1
    assert len(buffer_entries(fresh.data_dir)) == 201


async def throw_away_process() -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, "-c", "import sys; sys.stdin.read()", stdin=asyncio.subprocess.PIPE
    )


async def end(process: asyncio.subprocess.Process) -> None:
    process.kill()
    await process.wait()
    process._transport.close()  # type: ignore[attr-defined]


async def test_the_process_ends_with_the_process_that_initialize_named_while_its_input_stays_open(
    start: Starter,
) -> None:
    editor = await throw_away_process()
    fresh = await start(processId=editor.pid)
    await settled(fresh)
    await end(editor)
    assert await fresh.exit_code(ENDS_WITHIN_SECONDS) == 1


async def test_the_process_ends_with_the_process_that_the_command_line_named(start: Starter) -> None:
    editor = await throw_away_process()
    fresh = await start(f"--clientProcessId={editor.pid}")
    await settled(fresh)
    await end(editor)
    assert await fresh.exit_code(ENDS_WITHIN_SECONDS) == 1


async def test_the_process_lives_on_while_the_named_process_does(start: Starter) -> None:
    editor = await throw_away_process()
    fresh = await start(processId=editor.pid)
    await settled(fresh)
    assert await fresh.shut_down() == 0
    await end(editor)


async def test_the_null_device_as_input_ends_the_process(tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        *COMMAND, stdin=asyncio.subprocess.DEVNULL, env={"LITHIFY_DATA_DIR": str(tmp_path / "data")}
    )
    assert await in_time(process.wait(), 10) == 1


async def test_a_file_as_input_is_read_to_its_end(tmp_path: Path) -> None:
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": initialize_params()},
        {"jsonrpc": "2.0", "method": "lithify/didRecordEvents", "params": {"events": [note()]}},
        {"jsonrpc": "2.0", "id": 2, "method": "shutdown"},
        {"jsonrpc": "2.0", "method": "exit"},
    ]
    bodies = [framed_body(message) for message in messages]
    script = tmp_path / "script"
    script.write_bytes(b"".join(b"Content-Length: %d\r\n\r\n%b" % (len(body), body) for body in bodies))
    with script.open("rb") as stdin:
        process = await asyncio.create_subprocess_exec(
            *COMMAND,
            stdin=stdin,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={"LITHIFY_DATA_DIR": str(tmp_path / "data")},
        )
        output, _ = await in_time(process.communicate(), 10)
    process._transport.close()  # type: ignore[attr-defined]
    assert process.returncode == 0
    assert output.count(b"Content-Length: ") == 2
    assert len(buffer_entries(tmp_path / "data")) == 1


async def test_over_tcp_the_server_says_where_it_listens_and_ends_with_its_client(tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        *COMMAND,
        "--tcp",
        "127.0.0.1:0",
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={"LITHIFY_DATA_DIR": str(tmp_path / "data")},
    )
    assert process.stderr is not None
    said = (await in_time(process.stderr.readline(), 10)).decode()
    host, _, port = said.rpartition(" ")[2].strip().rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    body = framed_body({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": initialize_params()})
    writer.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
    answer = await in_time(reader.readuntil(b'"protocolVersion":1'), 10)
    second_reader, second_writer = await asyncio.open_connection(host, int(port))
    refused = await in_time(second_reader.read(), 5)
    second_writer.close()
    writer.close()
    output, _ = await in_time(process.communicate(), ENDS_WITHIN_SECONDS + 1)
    process._transport.close()  # type: ignore[attr-defined]
    assert host == "127.0.0.1"
    assert answer.startswith(b"Content-Length: ")
    assert (refused, output) == (b"", b"")
