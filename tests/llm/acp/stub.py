"""What these tests share: a model that is the stub agent, what the stub was given, and what is left after it."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from lithify.core.model_calls import ModelFailure, ModelReply, ModelRequest
from lithify.llm.acp.model import AcpModel, Limits
from lithify.llm.acp.profile import Profile
from lithify.lsp.lifetime import wait_for_exit

STUB = Path(__file__).parents[2] / "support" / "stub_agent.py"

PROFILE = Profile(name="stub", title="the stub", command=())


LONGEST_ENDING = 4.0
"""Seconds from a cancel until nothing is left, on a busy machine; 2.5 are the rule."""


def request(**given: Any) -> ModelRequest:
    defaults: dict[str, Any] = {
        "purpose": "conversation",
        "system_prompt": "You sum up.",
        "parts": ("one", "two"),
        "timeout_ms": 20_000,
    }
    return ModelRequest(**{**defaults, **given})


class Stub:
    """A stub agent with its script, in a temporary folder of its own for runs."""

    def __init__(self, folder: Path, **script: Any) -> None:
        self.runs = folder / "runtime"
        self.runs.mkdir(mode=0o700, exist_ok=True)
        self._record = folder / "record.json"
        self._children = folder / "children.json"
        self._fifo = folder / "fifo"
        self.script = {"record": str(self._record), **script}
        self._go = folder / "go"
        if script.keys() & {"hang", "pause"}:
            for name, fifo in (("say", self._fifo), ("go", self._go)):
                os.mkfifo(fifo)
                self.script[name] = str(fifo)
        if script.get("children"):
            self.script["children"] = str(self._children)

    @property
    def command(self) -> list[str]:
        return [sys.executable, "-S", str(STUB), json.dumps(self.script)]

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "XDG_RUNTIME_DIR": str(self.runs)}

    def model(
        self,
        profile: Profile = PROFILE,
        env_names: tuple[str, ...] = (),
        environment: Mapping[str, str] | None = None,
        command: Sequence[str] | None = None,
        **limits: Any,
    ) -> AcpModel:
        whole = {**self.environment, **(environment or {})}
        words = self.command if command is None else command
        return AcpModel(profile, words, env_names, whole, replace(Limits(), **limits))

    async def ask(self, **given: Any) -> ModelReply | ModelFailure:
        return await self.model().ask(request(**given))

    def record(self) -> dict[str, Any]:
        """What the stub was given, as far as it got."""
        found: dict[str, Any] = json.loads(self._record.read_text())
        return found

    def children(self) -> list[int]:
        """The pids of the child in the group and of the daemon."""
        found: list[int] = json.loads(self._children.read_text())
        return found

    async def waits(self) -> None:
        """Returns when the stub has come to the phase in which it hangs or pauses."""
        loop = asyncio.get_running_loop()
        fifo = os.open(self._fifo, os.O_RDONLY | os.O_NONBLOCK)
        here = asyncio.Event()
        loop.add_reader(fifo, here.set)
        try:
            async with asyncio.timeout(20):
                await here.wait()
        finally:
            loop.remove_reader(fifo)
            os.close(fifo)

    def go(self) -> None:
        """Lets a stub go on that pauses."""
        go = os.open(self._go, os.O_WRONLY)
        os.write(go, b"go\n")
        os.close(go)

    def left(self) -> list[str]:
        """What lies in the folder for runs."""
        return sorted(os.listdir(self.runs))

    def marked(self) -> list[int]:
        """The living processes whose environment names the folder for runs."""
        mark = f"XDG_RUNTIME_DIR={self.runs}".encode()
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if mark in (process / "environ").read_bytes().split(b"\0"):
                    found.append(int(process.name))
        return found

    def facts(self) -> dict[str, Any]:
        """What `run.json` of the one run says, and the name of its folder."""
        (file,) = self.runs.glob("*/run.json")
        return {**json.loads(file.read_text()), "folder": file.parent.name}


async def reply(stub: Stub, **given: Any) -> ModelReply:
    found = await stub.ask(**given)
    assert isinstance(found, ModelReply), found
    return found


async def failure(stub: Stub, **given: Any) -> ModelFailure:
    return await failed(stub.model(), **given)


async def failed(model: AcpModel, **given: Any) -> ModelFailure:
    """What a model fails with."""
    found = await model.ask(request(**given))
    assert isinstance(found, ModelFailure), found
    return found


async def ends(*pids: int) -> None:
    """Waits until all of these processes have ended."""
    async with asyncio.timeout(20):
        await asyncio.gather(*(wait_for_exit(pid) for pid in pids))


def is_alive(pid: int) -> bool:
    """Whether there is such a process, one that ended but was not taken in included."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def cancelled(asking: asyncio.Task[Any]) -> None:
    """Cancels a call and waits for its end, which must come soon."""
    asking.cancel()
    async with asyncio.timeout(LONGEST_ENDING):
        await asyncio.wait({asking})
    assert asking.cancelled()


@contextmanager
def streams_of(pid: int) -> Iterator[None]:
    """Keeps a process's input and output open, as a descendant does that nobody can find."""
    held = [os.open(f"/proc/{pid}/fd/0", os.O_RDONLY), os.open(f"/proc/{pid}/fd/1", os.O_WRONLY)]
    try:
        yield
    finally:
        for descriptor in held:
            os.close(descriptor)
