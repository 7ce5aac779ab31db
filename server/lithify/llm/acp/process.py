"""Starting one agent's process so that it ends with all its descendants, whatever becomes of us."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from lithify.llm.acp.folders import RunFolder
from lithify.llm.acp.streams import Streams


@dataclass(frozen=True, slots=True)
class Start:
    """What is started: the program's path, all arguments (the first is the command's own word for the program), the
    environment; `started` gets the agent's process id and its launcher's (None where there is none)."""

    program: str
    arguments: Sequence[str]
    environment: Mapping[str, str]
    folder: RunFolder
    started: Callable[[int, int | None], None]


class StartError(OSError):
    """The system refuses to run the program."""

    def __init__(self, errno: int) -> None:
        super().__init__(errno, os.strerror(errno))


class AgentProcess(Protocol):
    """A running agent."""

    @property
    def streams(self) -> Streams:
        """What it reads and writes. Its output ends soon after it has ended."""

    async def exit_code(self, seconds: float) -> int | None:
        """How it ended (negative: by that signal); None when it has not within so many seconds, or nobody knows."""

    async def end(self) -> None:
        """Ends it and all its descendants, in 4 s, or in 14 s where they multiply meanwhile; returns when nothing of it
        is left and its streams are closed. To be called once, and never to be cancelled (see
        `streams.uninterrupted`)."""

    async def release(self) -> None:
        """Lets go of what guards the run's folder until it is removed, if we die before; returns when nothing is open.
        To be called once, after `end` and when the folder is gone, and never to be cancelled."""


async def start_agent(start: Start) -> AgentProcess:
    """A running agent, for the caller to end. When this is cancelled or fails, nothing is left. Raises StartError, or
    another OSError where the system refuses us a process, a pipe or a file."""
    if sys.platform != "win32":
        from lithify.llm.acp.posix_process import PosixProcess

        return await PosixProcess.start(start)
    else:  # noqa: RET505 - only so do type checkers leave out the other platform
        from lithify.llm.acp.windows_process import WindowsProcess

        return await WindowsProcess.start(start)
