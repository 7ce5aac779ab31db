"""The start: what stands between an editor and the answer of `initialize`, and what comes right behind it."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import sysconfig
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from lithify.assembly import Lithify
from lithify.lsp import work
from lithify.lsp.announced import COMMANDS
from lithify.lsp.server import LithifyServer
from tests.support.kept_wire import Wire
from tests.support.raw_client import initialize_params

LIBRARIES = {"pygls", "lsprotocol", "attr", "attrs", "cattr", "cattrs"} | {
    *("pydantic", "pydantic_core", "annotated_types", "typing_inspection", "typing_extensions")
}
"""What answers `initialize`: the library of the protocol, and the one that checks settings."""

LATER_ROOMS = {"assembly", "workers", "llm", "transcripts", "prompt_files"}

STARTED = """
import asyncio, contextlib, io, json, os, sys

before = set(sys.modules)
from lithify.cli import main

with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
    main.main(["serve", "--help"])
from lithify.lsp import serve
from lithify.lsp.server import LithifyServer


class Writer:
    answers = 0

    def write(self, data):
        self.answers += b'"capabilities"' in data


def begin(server):
    print(json.dumps([writer.answers, sorted(set(sys.modules) - before)]))
    sys.stdout.flush()
    os._exit(0)


async def start():
    protocol = LithifyServer(begin).protocol
    protocol.set_writer(writer)
    protocol.receive(sys.argv[1].encode())


writer = Writer()
asyncio.run(start())
"""


def body(message_id: int, method: str, params: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": message_id, "method": method, "params": params}).encode()


@asynccontextmanager
async def started(begin: Any = work.begin) -> AsyncIterator[tuple[LithifyServer, Wire]]:
    server, wire = LithifyServer(begin), Wire()
    server.protocol.set_writer(wire)
    try:
        yield server, wire
    finally:
        await server.finish()


def test_nothing_that_the_answer_needs_no_code_of_is_imported_before_it() -> None:
    code = [sys.executable, "-c", STARTED, body(1, "initialize", initialize_params()).decode()]
    environment = {name: value for name, value in os.environ.items() if name != "LITHIFY_DATA_DIR"}
    told = subprocess.run(code, env=environment, check=True, stdout=subprocess.PIPE, timeout=60)
    answers, imported = json.loads(told.stdout)
    assert answers == 1  # it is on its way before the rest of the server is imported
    names = {name.partition(".")[0] for name in imported}
    installed = {path.stem.partition(".")[0] for path in Path(sysconfig.get_path("purelib")).iterdir()}
    assert (names & installed) - {"lithify"} <= LIBRARIES
    assert not names & {"sqlite3", "tomllib", "http", "urllib.request"}
    ours = [[*name.split("."), ""][1:3] for name in imported if name.startswith("lithify.")]
    assert not {room for room, _ in ours} & LATER_ROOMS
    assert {name for room, name in ours if room == "cli"} <= {"", "main", "serve", "output", "visible_text"}
    assert {name for room, name in ours if room == "storage"} <= {"", "paths", "running"}
    assert not {name for room, name in ours if room == "lsp"} & {"features", "wire", "work"}


@pytest.mark.asyncio
async def test_what_is_announced_is_what_is_registered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LITHIFY_DATA_DIR", str(tmp_path))
    async with started() as (server, wire):
        server.protocol.receive(body(1, "initialize", initialize_params()))
        capabilities = (await wire.answer(1))["result"]["capabilities"]
        assert tuple(capabilities["executeCommandProvider"]["commands"]) == COMMANDS == tuple(server.protocol._commands)
        shown = {name.removesuffix("Provider") for name in capabilities if name.endswith("Provider")}
        answered = {name.partition("/")[2] for name in server.protocol._requests if name.startswith("textDocument/")}
        assert shown - {"executeCommand"} == answered
        taken = {name for name in server.protocol._notifications if name.startswith("textDocument/")}
        assert taken == {f"textDocument/did{what}" for what in ("Open", "Change", "Close", "Save")}
        assert capabilities["textDocumentSync"] == {"openClose": True, "change": 2, "save": {"includeText": False}}


@pytest.mark.asyncio
async def test_a_request_right_behind_initialize_is_answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LITHIFY_DATA_DIR", str(tmp_path))
    async with started() as (server, wire):
        server.protocol.receive(body(1, "initialize", initialize_params()))
        server.protocol.receive(body(2, "lithify/recordEvents", {"events": []}))
        assert (await wire.answer(2))["result"] == {"results": []}
        assert [one["id"] for one in wire.messages if "id" in one] == [1, 2]


@pytest.mark.asyncio
async def test_where_the_rest_cannot_be_made_the_server_ends() -> None:
    def fails(_: LithifyServer) -> Lithify:
        raise ImportError("no module named so")

    async with started(fails) as (server, wire):
        server.protocol.receive(body(1, "initialize", initialize_params()))
        assert "result" in await wire.answer(1)
        server.protocol.receive(body(2, "lithify/recordEvents", {"events": []}))
        server.protocol.receive(body(3, "shutdown", None))  # whose answer would say that all is stored
        assert ["error" in await wire.answer(number) for number in (2, 3)] == [True, True]
        with pytest.raises(ImportError):
            await asyncio.wait_for(server.exit_code, 1)


@pytest.mark.asyncio
async def test_nothing_is_begun_where_a_setting_is_invalid() -> None:
    begun: list[LithifyServer] = []
    async with started(begun.append) as (server, wire):
        server.protocol.receive(body(1, "initialize", initialize_params({"buffer": {"idleMs": 1}})))
        assert (await wire.answer(1))["error"]["data"]["type"] == "invalid_settings"
    assert begun == []


@pytest.mark.asyncio
async def test_a_server_whose_working_folder_was_deleted_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LITHIFY_DATA_DIR", str(tmp_path / "data"))
    (gone := tmp_path / "gone").mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    async with started() as (server, wire):
        server.protocol.receive(body(1, "initialize", {**initialize_params(), "rootUri": None}))
        server.protocol.receive(body(2, "lithify/bufferStatus", {}))
        assert (await wire.answer(2))["result"]["state"] == "idle"
