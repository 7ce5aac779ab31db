"""Windows: an agent in a job object, which ends with all its descendants when this process does."""

from __future__ import annotations

import asyncio
import subprocess
import sys

from lithify.llm.acp.process import Start, StartError
from lithify.llm.acp.streams import LIMIT_BYTES, Streams, close_writer, uninterrupted

# For type checkers, which look at this module for its platform only.
assert sys.platform == "win32"

from lithify.llm.acp.job_object import Job  # noqa: E402

LEAVE_SECONDS = 0.5
"""An agent whose input has ended gets so long to leave by itself."""


class WindowsProcess:
    """A running agent and its job. What it starts before it is in the job, in its first instant, is not owned."""

    def __init__(self, process: asyncio.subprocess.Process, job: Job) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self.streams = Streams(process.stdin, process.stdout, process.stderr)
        self._process = process
        self._job = job

    @classmethod
    async def start(cls, start: Start) -> WindowsProcess:
        """See `process.start_agent`."""
        started: list[WindowsProcess] = []
        try:
            await uninterrupted(cls._start(start, started))
        except asyncio.CancelledError:
            for process in started:
                await uninterrupted(process.end())
            raise
        return started[0]

    @classmethod
    async def _start(cls, start: Start, into: list[WindowsProcess]) -> None:
        job = Job()
        try:
            process = await asyncio.create_subprocess_exec(
                start.program,
                *start.arguments[1:],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                limit=LIMIT_BYTES,
                env=dict(start.environment),
                cwd=start.folder.work,
                creationflags=subprocess.CREATE_NO_WINDOW | subprocess.CREATE_NEW_PROCESS_GROUP,
            )
        except OSError as error:
            job.close()
            raise StartError(error.errno or 0) from error
        started = cls(process, job)
        try:
            job.take(process.pid)
            start.started(process.pid, None)
        except OSError:
            process.kill()
            await started.end()
            raise
        into.append(started)

    async def exit_code(self, seconds: float) -> int | None:
        try:
            return await asyncio.wait_for(self._process.wait(), seconds)
        except TimeoutError:
            return None

    async def end(self) -> None:
        close_writer(self.streams.stdin)
        try:
            await self.exit_code(LEAVE_SECONDS)
        finally:
            self._job.close()
        await self._process.wait()

    async def release(self) -> None:
        """Nothing guards the folder here: the next server sweeps it."""
