"""POSIX: an agent and its launcher (see `launcher`), seen from the server."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
from pathlib import Path

from lithify.llm.acp.process import Start, StartError
from lithify.llm.acp.streams import Reader, Streams, Writer, uninterrupted

# For type checkers, which look at this module for its platform only.
assert sys.platform != "win32"

from lithify.llm.acp.leftovers import kill_group, kill_marked  # noqa: E402

LAUNCHER = Path(__file__).with_name("launcher.py")

LEAVE_SECONDS = 0.5
"""An agent whose input has ended gets so long to leave by itself."""

LAUNCHER_SECONDS = 3.0
"""The launcher needs 2.5 s at most to end everything, or to say that it goes on."""

BURY_SECONDS = 1.0

LAST_WORDS_SECONDS = 0.3
"""What an agent wrote before it ended is read within this time, even when a descendant keeps its output open."""


class PosixProcess:
    """A running agent. Its launcher ends it: when we say so, and when we are gone. If the launcher is killed, we do."""

    def __init__(self, start: Start) -> None:
        """Starts the launcher; a few milliseconds. Raises OSError."""
        self._loop = asyncio.get_running_loop()
        self._run_name = start.folder.name
        self._unread = b""
        self._agent_pid: int | None = None
        self._refused: int | None = None
        self._code: int | None = None
        self._is_gone = False
        self._begun, self._exited, self._news = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._is_ended = False
        """Whether the launcher has done what it could."""
        self._over = asyncio.Event()
        self._stdin, self._stdout, self._stderr = Writer(), Reader(), Reader()
        self._control: int | None
        self._launcher, self._control, self._status = _launch(start)
        self._loop.add_reader(self._status, self._read_status)

    @classmethod
    async def start(cls, start: Start) -> PosixProcess:
        """See `process.start_agent`."""
        process = cls(start)
        try:
            await uninterrupted(process._connect())
            await process._begin(start)
        except BaseException:
            await uninterrupted(process.end())
            await uninterrupted(process.release())
            raise
        return process

    async def _connect(self) -> None:
        launcher = self._launcher
        assert launcher.stdin is not None
        assert launcher.stdout is not None
        assert launcher.stderr is not None
        await self._stdin.connect(launcher.stdin)
        await self._stdout.connect(launcher.stdout)
        await self._stderr.connect(launcher.stderr)

    async def _begin(self, start: Start) -> None:
        await self._begun.wait()
        if self._refused is not None:
            raise StartError(self._refused)
        if self._agent_pid is not None:
            start.started(self._agent_pid, self._launcher.pid)

    @property
    def streams(self) -> Streams:
        return Streams(self._stdin.stream, self._stdout.stream, self._stderr.stream)

    async def exit_code(self, seconds: float) -> int | None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._exited.wait(), seconds)
        return self._code

    async def end(self) -> None:
        self._stdin.close()
        try:
            await self.exit_code(LEAVE_SECONDS)
            with contextlib.suppress(BrokenPipeError):
                os.write(self._word_end, b"e")
            await self._ending()
        except BaseException:  # our own ending is cut short
            self._let_go()
            raise
        if not self._is_gone:
            await asyncio.to_thread(self._bury)
        self._cut()
        await self._stdin.closed()
        await self._stdout.closed()
        await self._stderr.closed()

    async def release(self) -> None:
        self._let_go()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._over.wait(), LAUNCHER_SECONDS)
        await asyncio.to_thread(self._reap)
        self._stop_listening()

    @property
    def _word_end(self) -> int:
        assert self._control is not None, "ended twice, or after it was released"
        return self._control

    async def _ending(self) -> None:
        """Waits until the launcher has ended everything, for as long as it says that it goes on."""
        while not (self._is_ended or self._over.is_set()):
            self._news.clear()
            try:
                await asyncio.wait_for(self._news.wait(), LAUNCHER_SECONDS)
            except TimeoutError:
                return

    def _let_go(self) -> None:
        """Has the launcher end what still runs, take away the folder if it is still there, and end itself."""
        if self._control is not None:
            os.close(self._control)
            self._control = None

    def _reap(self) -> None:
        if not self._over.is_set():
            self._launcher.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):  # not even a killed process ends while a disk hangs
            self._launcher.wait(BURY_SECONDS)

    def _bury(self) -> None:
        """Does the work of a launcher that was killed or did not manage."""
        if not self._is_ended:
            self._reap()
        if self._agent_pid is not None and self._refused is None:
            kill_group(self._agent_pid)
            kill_marked(self._run_name)

    def _read_status(self) -> None:
        told = os.read(self._status, 4096)
        *lines, self._unread = (self._unread + told).split(b"\n")
        for line in lines:
            self._hear(*line.decode().partition(" ")[::2])
        if not told:
            self._stop_listening()

    def _hear(self, word: str, number: str) -> None:
        match word:
            case "started":
                self._agent_pid = int(number)
            case "running":
                self._begun.set()
            case "failed":
                self._refused = int(number)
                self._begun.set()
                self._exited.set()
            case "exited":
                self._code = int(number)
                self._exited.set()
                self._loop.call_later(LAST_WORDS_SECONDS, self._cut)
            case "gone" | "given-up":
                self._is_gone, self._is_ended = word == "gone", True
        self._news.set()

    def _stop_listening(self) -> None:
        """The launcher is gone."""
        if not self._over.is_set():
            self._loop.remove_reader(self._status)
            os.close(self._status)
            for event in (self._begun, self._exited, self._news, self._over):
                event.set()
            self._cut()

    def _cut(self) -> None:
        self._stdout.close()
        self._stderr.close()


def _launch(start: Start) -> tuple[subprocess.Popen[bytes], int, int]:
    """The launcher, the pipe's end that holds it, and the one on which it tells."""
    control, hold = os.pipe()
    listen, status = os.pipe()
    given = (control, status, start.folder.lock)
    try:
        launcher = subprocess.Popen(
            [
                *(sys.executable, "-I", "-S", str(LAUNCHER)),
                *(str(descriptor) for descriptor in given),
                *(str(start.folder.path), str(start.folder.work), start.program, *start.arguments),
            ],
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=given,
            start_new_session=True,
            cwd="/",
            env=dict(start.environment),
        )
    except BaseException:
        os.close(hold)
        os.close(listen)
        raise
    finally:
        os.close(control)
        os.close(status)
    return launcher, hold, listen
