"""Nothing of an agent outlives its run: not when the server is killed, not when everything is."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from lithify.core.model_calls import ModelFailure, ModelReply
from lithify.llm.acp.posix_process import LAUNCHER
from lithify.llm.acp.profile import Profile, Run
from lithify.llm.acp.runs import LiveRun, live_runs, sweep
from tests.llm.acp.stub import Stub, cancelled, ends, failed, is_alive, reply, request

pytestmark = pytest.mark.asyncio

SERVER = """
import asyncio, json, sys
from lithify.core.model_calls import ModelRequest
from lithify.llm.acp.model import AcpModel
from lithify.llm.acp.profile import Profile

model = AcpModel(Profile("stub", "the stub", ()), json.loads(sys.argv[1]))
asyncio.run(model.ask(ModelRequest("conversation", "You sum up.", ("one",), 60_000)))
"""


TIDYING_SERVER = SERVER.replace(
    'Profile("stub", "the stub", ())', 'Profile("stub", "the stub", (), tidy=lambda run: (print(flush=True), input()))'
)
"""Says a line when the agent has ended and it is to tidy up, and never does."""

WITHOUT_RIGHTS = """
import ctypes, os, sys
for capability in (1, 2):
    ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""
"""Drops the rights by which root enters every folder; of no effect for anybody else."""


@contextmanager
def server_asking(
    stub: Stub, script: str = SERVER, interpreter: Sequence[str] = (sys.executable,)
) -> Iterator[subprocess.Popen[bytes]]:
    """Another server process, which asks the stub and waits."""
    command = [*interpreter, "-c", script, json.dumps(stub.command)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=stub.environment, stdin=pipe, stdout=pipe) as server:
        try:
            yield server
        finally:
            server.kill()


async def swept(stub: Stub) -> list[str]:
    """The stub's folders that a sweep takes away; there may be runs of others on this machine."""
    found = await asyncio.to_thread(sweep, stub.environment)
    return [folder.name for folder in found if folder.parent == stub.runs]


def alive(stub: Stub) -> list[LiveRun]:
    """The runs in the stub's folder."""
    return [run for run in live_runs(stub.environment) if run.folder.parent == stub.runs]


# --- a run that ends ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("script", [{}, {"stay": True}, {"crash": "middle"}])
async def test_after_a_run_no_process_and_no_folder_is_left(tmp_path: Path, script: Any) -> None:
    stub = Stub(tmp_path, children=True, **script)
    await stub.ask()
    assert not any(is_alive(pid) for pid in (stub.record()["pid"], *stub.children()))
    assert stub.left() == []


async def test_what_ignores_the_word_to_end_is_killed(tmp_path: Path) -> None:
    stub = Stub(tmp_path, children=True, stay=True, stubborn=True)
    assert (await reply(stub)).text == "a summary"
    assert not any(is_alive(pid) for pid in (stub.record()["pid"], *stub.children()))
    assert stub.left() == []


async def test_a_long_chain_of_descendants_is_killed_to_its_last_one(tmp_path: Path) -> None:
    stub = Stub(tmp_path, chain=400)
    assert (await reply(stub, timeout_ms=30_000)).text == "a summary"
    assert with_argument(str(stub.script["record"])) == []
    assert stub.left() == []


def with_argument(word: str) -> list[str]:
    """The living processes that were started with such an argument, where the system shows them."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if word in (process / "cmdline").read_text(errors="replace").split("\0"):
                found.append(process.name)
    return found


async def test_folders_that_an_agent_made_unwritable_are_removed_too(tmp_path: Path) -> None:
    stub = Stub(tmp_path)

    def tidy(run: Run) -> None:
        (run.work / "deep" / "deeper").mkdir(parents=True)
        (run.work / "deep" / "deeper" / "file").touch()
        (run.work / "deep" / "deeper").chmod(0o500)
        (run.work / "deep").chmod(0o500)

    await stub.model(Profile("stub", "the stub", (), tidy=tidy)).ask(request())
    assert stub.left() == []


@pytest.mark.parametrize("script", [{}, {"crash": "middle"}, {"error": {"session/prompt": {"message": "no"}}}])
async def test_the_profile_tidies_up_once_the_agent_has_ended(tmp_path: Path, script: Any) -> None:
    stub = Stub(tmp_path, **script)
    seen: list[tuple[bool, bool]] = []

    def tidy(run: Run) -> None:
        seen.append((is_alive(stub.record()["pid"]), run.home.is_dir()))

    await stub.model(Profile("stub", "the stub", (), tidy=tidy)).ask(request())
    assert seen == [(False, True)]


async def test_fifty_runs_leave_no_descriptor_process_thread_or_task(tmp_path: Path) -> None:
    stub = Stub(tmp_path)
    model = stub.model()
    await model.ask(request())

    def held() -> tuple[int, int, int]:
        gc.collect()
        return len(os.listdir("/dev/fd")), len(asyncio.all_tasks()), len(mine())

    before, threads = held(), threading.active_count()
    for _ in range(50):
        assert isinstance(await model.ask(request()), ModelReply)
    assert held() == before
    assert threading.active_count() <= threads + 8  # the pool of the event loop grows to its own limit
    assert stub.left() == []


def mine() -> list[str]:
    """The children of this process."""
    told = subprocess.run(["ps", "-o", "pid=", "--ppid", str(os.getpid())], capture_output=True, text=True, check=False)
    return told.stdout.split()


async def test_eight_runs_at_once_do_not_touch_each_other(tmp_path: Path) -> None:
    stubs = []
    for number in range(8):
        (tmp_path / str(number)).mkdir()
        stubs.append(Stub(tmp_path / str(number), pieces=[f"answer {number}"]))
    models = [stub.model(environment={"XDG_RUNTIME_DIR": str(stubs[0].runs)}) for stub in stubs]
    found = await asyncio.gather(*(model.ask(request()) for model in models))
    assert [getattr(one, "text", None) for one in found] == [f"answer {number}" for number in range(8)]
    assert stubs[0].left() == []


# --- the server is killed -------------------------------------------------------------------------------------


@pytest.mark.parametrize("script", [{"hang": "start"}, {"hang": "middle"}, {"hang": "middle", "stubborn": True}])
async def test_a_killed_server_leaves_no_agent_no_descendant_and_no_folder(tmp_path: Path, script: Any) -> None:
    stub = Stub(tmp_path, children=True, stay=True, **script)
    with server_asking(stub) as server:
        await stub.waits()
        facts = stub.facts()
        server.kill()
        await ends(facts["launcherPid"])
    assert not any(is_alive(pid) for pid in (stub.record()["pid"], *stub.children()))
    assert stub.left() == []


async def test_a_server_that_is_killed_once_the_agent_has_ended_leaves_no_folder(tmp_path: Path) -> None:
    stub = Stub(tmp_path)
    with server_asking(stub, TIDYING_SERVER) as server:
        assert server.stdout is not None
        assert await asyncio.to_thread(server.stdout.readline) == b"\n"
        launcher = stub.facts()["launcherPid"]
        server.kill()
        await ends(launcher)
    assert stub.left() == []


@pytest.mark.parametrize("mode", [0o500, 0])
async def test_a_run_folder_that_the_agent_locked_is_removed(tmp_path: Path, mode: int) -> None:
    stub = Stub(tmp_path, lock_up=mode)
    with server_asking(stub, interpreter=(sys.executable, "-c", WITHOUT_RIGHTS)) as server:
        assert await asyncio.to_thread(server.wait, 20) == 0
    assert "session/prompt" in stub.record()["methods"]
    assert stub.left() == []


@pytest.mark.parametrize("mode", [0o500, 0])
async def test_a_run_folder_that_the_agent_locked_is_removed_when_the_server_is_killed(
    tmp_path: Path, mode: int
) -> None:
    stub = Stub(tmp_path, lock_up=mode, hang="middle")
    with server_asking(stub, interpreter=(sys.executable, "-c", WITHOUT_RIGHTS)) as server:
        await stub.waits()
        ours = stub.marked()
        server.kill()
        server.wait()
        await ends(*ours)
    assert stub.left() == []


async def test_a_launcher_whose_server_is_gone_already_starts_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "lithify-agent-0123456789abcdef"
    (folder / "work").mkdir(parents=True)
    (folder.with_name(folder.name + ".lock")).touch()
    control, hold = os.pipe()
    listen, status = os.pipe()
    os.close(hold)
    words = (str(control), str(status), str(status), str(folder), str(folder / "work"))
    command = [sys.executable, "-I", "-S", str(LAUNCHER), *words, "/bin/sh", "sh", "-c", "touch ../../started"]
    await asyncio.to_thread(subprocess.run, command, pass_fds=(control, status), check=True, timeout=20)
    os.close(control)
    os.close(status)
    assert os.read(listen, 100) == b"gone\n"
    os.close(listen)
    assert os.listdir(tmp_path) == []


async def test_signals_of_a_terminal_do_not_end_a_run(tmp_path: Path) -> None:
    stub = Stub(tmp_path, pause="middle")
    asking = asyncio.create_task(stub.ask())
    await stub.waits()
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGQUIT):
        os.kill(stub.facts()["launcherPid"], number)
    stub.go()
    found = await asking
    assert getattr(found, "text", found) == "a summary"


async def test_when_the_launcher_is_killed_the_server_ends_the_agent(tmp_path: Path) -> None:
    stub = Stub(tmp_path, hang="middle", children=True, stubborn=True)
    asking = asyncio.create_task(stub.ask())
    await stub.waits()
    os.kill(stub.facts()["launcherPid"], signal.SIGKILL)
    async with asyncio.timeout(10):
        found = await asking
    assert isinstance(found, ModelFailure)
    assert (found.type, "broke off" in found.message) == ("model_error", True)
    await ends(stub.record()["pid"], *stub.children())
    assert stub.left() == []


# --- runs that nobody owns, and runs of others ----------------------------------------------------------------


async def test_what_is_left_when_server_and_launcher_are_killed_goes_with_the_next_sweep(tmp_path: Path) -> None:
    stub = Stub(tmp_path, hang="middle", children=True, stubborn=True)
    with server_asking(stub) as server:
        await stub.waits()
        facts = stub.facts()
        os.kill(facts["launcherPid"], signal.SIGSTOP)
        server.kill()
        server.wait()
        os.kill(facts["launcherPid"], signal.SIGKILL)
        await ends(facts["launcherPid"], facts["agentPid"])
    assert all(is_alive(pid) for pid in stub.children())
    assert await swept(stub) == [facts["folder"]]
    await ends(stub.record()["pid"], *stub.children())
    assert stub.left() == []


async def test_the_next_run_sweeps_too(tmp_path: Path) -> None:
    stub = Stub(tmp_path)
    dead = stub.runs / "lithify-agent-0123456789abcdef"
    dead.mkdir(mode=0o700)
    dead.with_name(dead.name + ".lock").touch()
    await reply(stub)
    assert stub.left() == []


@pytest.mark.parametrize("mode", [0o500, 0])
async def test_a_locked_folder_of_a_dead_run_goes_with_a_sweep(tmp_path: Path, mode: int) -> None:
    stub = Stub(tmp_path)
    dead = stub.runs / "lithify-agent-0123456789abcdef"
    dead.mkdir()
    (dead / "work").mkdir()
    dead.with_name(dead.name + ".lock").touch()
    dead.chmod(mode)
    script = "from lithify.llm.acp.runs import sweep; sweep()"
    command = [sys.executable, "-c", WITHOUT_RIGHTS, "-c", script]
    await asyncio.to_thread(subprocess.run, command, env=stub.environment, check=True, timeout=20)
    assert stub.left() == []


async def test_a_run_of_another_server_is_seen_and_not_touched(tmp_path: Path) -> None:
    stub = Stub(tmp_path, hang="middle", children=True)
    with server_asking(stub) as server:
        await stub.waits()
        assert await swept(stub) == []
        (tmp_path / "second").mkdir()
        second = Stub(tmp_path / "second")
        await second.model(environment=stub.environment).ask(request())
        assert all(is_alive(pid) for pid in (stub.record()["pid"], *stub.children()))
        (run,) = alive(stub)
        assert (run.agent, run.agent_pid) == ("stub", stub.record()["pid"])
        assert (run.server_pid, run.server_alive) == (server.pid, True)
        assert run.launcher_pid is not None
        assert is_alive(run.launcher_pid)
        server.kill()
        await ends(run.launcher_pid)
    assert alive(stub) == []


async def test_what_a_run_says_of_itself_holds_no_text_and_no_environment(tmp_path: Path) -> None:
    stub = Stub(tmp_path, hang="middle")
    asking = asyncio.create_task(stub.ask())
    await stub.waits()
    facts = stub.facts()
    await cancelled(asking)
    assert set(facts) == {"folder", "agent", "agentPid", "launcherPid", "serverPid", "startedAt"}


async def test_a_folder_that_cannot_be_made_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    found = await failed(Stub(tmp_path).model(environment={"XDG_RUNTIME_DIR": ""}))
    assert (found.type, "no private folder" in found.message) == ("model_unavailable", True)
