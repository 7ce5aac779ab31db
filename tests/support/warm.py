"""Commands that start warm: forked from a process that has imported Lithify already, so that no test waits for imports.

What runs is the same command in a process of its own, with its own input and output, environment and folder. What a
cold start alone has is left to tests that start one: the time it takes, the command line and the environment as others
see them in `/proc`, and what variables of Python's own change.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path

import lithify

MAIN = str(Path(lithify.__file__).with_name("__main__.py"))
MOST_BYTES = 1 << 17
"""Of a call: its arguments and its environment."""

_READ_BYTES = 65_536
_PID_BYTES = 16


@dataclass(frozen=True, slots=True)
class Child:
    """A command that was started: its process id, and a pipe that says how it ended, as one number in text."""

    pid: int
    status: int


class Warmth:
    """A process that has imported Lithify. It ends with this one."""

    def __init__(self) -> None:
        self._ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = [sys.executable, "-m", __name__, str(theirs.fileno())]
        self._process = subprocess.Popen(command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)
        theirs.close()

    def start(self, arguments: Sequence[str], environment: Mapping[str, str], folder: Path | None, *ends: int) -> Child:
        """Starts `lithify` with its three ends of pipes. Whose copies they are, closes them."""
        told, status = os.pipe()
        call = {"arguments": list(arguments), "environment": dict(environment), "folder": str(folder or Path.cwd())}
        try:
            socket.send_fds(self._ours, [json.dumps(call).encode()], [*ends, status])
        finally:
            os.close(status)
        return Child(int(os.read(told, _PID_BYTES)), told)

    def end(self) -> None:
        """Ends it."""
        self._ours.close()
        self._process.wait()


@cache
def warmth() -> Warmth:
    """The one of this test process."""
    made = Warmth()
    atexit.register(made.end)
    return made


def may_be_warm(environment: Mapping[str, str]) -> bool:
    """Whether a warm start would be the same: not where Python itself is told something that this one was not."""
    return not any(name.startswith("PYTHON") and os.environ.get(name) != told for name, told in environment.items())


def run(arguments: Sequence[str], environment: Mapping[str, str], folder: Path, seconds: float) -> tuple[int, str, str]:
    """Runs a command without input to its end: its exit code, and all it wrote to output and error."""
    (out, out_end), (err, err_end), nothing = os.pipe(), os.pipe(), os.open(os.devnull, os.O_RDONLY)
    try:
        child = warmth().start(arguments, environment, folder, nothing, out_end, err_end)
    finally:
        for end in (nothing, out_end, err_end):
            os.close(end)
    written = {out: bytearray(), err: bytearray(), child.status: bytearray()}
    deadline = time.monotonic() + seconds
    try:
        with selectors.DefaultSelector() as selector:
            for pipe in written:
                selector.register(pipe, selectors.EVENT_READ)
            while selector.get_map():
                ready = selector.select(max(deadline - time.monotonic(), 0))
                if not ready:
                    os.kill(child.pid, signal.SIGKILL)
                    raise subprocess.TimeoutExpired(list(arguments), seconds, bytes(written[out]), bytes(written[err]))
                for key, _ in ready:
                    data = os.read(key.fd, _READ_BYTES)
                    written[key.fd] += data
                    if not data:
                        selector.unregister(key.fd)
    finally:
        for pipe in written:
            os.close(pipe)
    return int(written[child.status]), written[out].decode(), written[err].decode()


class Process:
    """What tests use of an `asyncio.subprocess.Process`, of a command that was started warm."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self.stdin: asyncio.StreamWriter
        self.stdout: asyncio.StreamReader | None = None
        self.stderr: asyncio.StreamReader
        self._transports: list[asyncio.BaseTransport] = []
        self._ending: asyncio.Task[None]

    @classmethod
    async def start(
        cls, arguments: Sequence[str], environment: Mapping[str, str], folder: Path | None, stdout: int | None = None
    ) -> Process:
        """Starts it; with `stdout`, it writes there, else to a pipe of its own."""
        (in_end, given), (err, err_end) = os.pipe(), os.pipe()
        out, out_end = (None, stdout) if stdout is not None else os.pipe()
        try:
            child = warmth().start(arguments, environment, folder, in_end, out_end, err_end)
        finally:
            for end in {in_end, out_end, err_end} - {stdout}:
                os.close(end)
        started = cls(child.pid)
        started.stdin = await started._writer(given)
        started.stderr = await started._reader(err)
        if out is not None:
            started.stdout = await started._reader(out)
        started._ending = asyncio.ensure_future(started._end(await started._reader(child.status)))
        return started

    async def wait(self) -> int:
        """Waits for its end; the exit code, or minus the signal that ended it."""
        await asyncio.shield(self._ending)
        assert self.returncode is not None
        return self.returncode

    def kill(self) -> None:
        """Kills it."""
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        """Asks it to end."""
        self.send_signal(signal.SIGTERM)

    def send_signal(self, number: int) -> None:
        """Sends it a signal. Raises ProcessLookupError where it has ended."""
        if self.returncode is not None:
            raise ProcessLookupError
        os.kill(self.pid, number)

    def close(self) -> None:
        """Closes what is left of its pipes."""
        for transport in self._transports:
            transport.close()

    async def _end(self, status: asyncio.StreamReader) -> None:
        self.returncode = int(await status.read())

    async def _reader(self, pipe: int) -> asyncio.StreamReader:
        reader = asyncio.StreamReader(limit=1 << 16)
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(pipe, "rb", 0)
        )
        self._transports.append(transport)
        return reader

    async def _writer(self, pipe: int) -> asyncio.StreamWriter:
        loop = asyncio.get_running_loop()
        transport, protocol = await loop.connect_write_pipe(
            lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), os.fdopen(pipe, "wb", 0)
        )
        self._transports.append(transport)
        return asyncio.StreamWriter(transport, protocol, None, loop)


# --- the process that is forked -------------------------------------------------------------------------------


def serve(number: int) -> int:
    """Forks a process for each call that comes, until the one that calls is gone. In such a process: its exit code."""
    from lithify.cli import main, session_screen  # noqa: F401 - what most commands import
    from lithify.core import digest, memory_digest  # noqa: F401
    from lithify.lsp import serve, work  # noqa: F401
    from lithify.transcripts.registry import formats
    from lithify.workers import agent_sessions  # noqa: F401

    formats()
    for command in main.COMMANDS:
        import_module(f"lithify.cli.{command}")

    channel = socket.socket(fileno=number)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        call, ends, *_ = socket.recv_fds(channel, MOST_BYTES, 4)
        if not call:
            return 0
        if os.fork() == 0:
            channel.close()
            return _keep(json.loads(call), ends)
        for end in ends:
            os.close(end)


def _keep(call: dict[str, list[str] | dict[str, str]], ends: list[int]) -> int:
    """Starts the command and says how it ended, since only its parent is told."""
    *pipes, status = ends
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    child = os.fork()
    if child == 0:
        os.close(status)
        return _run(call["arguments"], call["environment"], call["folder"], pipes)
    for pipe in pipes:
        os.close(pipe)
    os.write(status, str(child).rjust(_PID_BYTES).encode())
    _, ended = os.waitpid(child, 0)
    with contextlib.suppress(BrokenPipeError):
        os.write(status, str(os.waitstatus_to_exitcode(ended)).encode())
    os._exit(0)


def _run(arguments: list[str], environment: dict[str, str], folder: str, pipes: list[int]) -> int:
    from lithify.cli.main import main

    for number, pipe in enumerate(pipes):
        os.dup2(pipe, number)
        os.close(pipe)
    sys.stdin, sys.stdout = open(0), open(1, "w")  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace")  # noqa: SIM115
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    tempfile.tempdir = None  # looked up anew, in this environment
    time.tzset()
    sys.argv = [MAIN, *arguments]
    sys.orig_argv = [sys.executable, "-m", "lithify", *arguments]
    return main()


if __name__ == "__main__":
    sys.exit(serve(int(sys.argv[1])))
