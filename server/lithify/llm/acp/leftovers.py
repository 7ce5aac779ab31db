"""Finding and killing what is left of an agent whose launcher was killed. The functions block for a second at most."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import datetime

from lithify.llm.acp.environment import RUN_VARIABLE

GONE_SECONDS = 1.0
"""So long we go on killing and looking."""

PAUSE_SECONDS = 0.01

START_TOLERANCE_SECONDS = 5.0
"""`ps` and our own clock may be so far apart about when a process started."""

if sys.platform == "win32":
    from lithify.llm.acp.job_object import is_alive as is_alive

    def kill_abandoned(run_name: str, agent_pid: int | None, started_at: float | None) -> None:
        """Nothing to do: the job object died with its server, and the agent's processes with it."""

else:

    def is_alive(pid: int) -> bool:
        """Whether there is a process of that id."""
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return True

    def kill_abandoned(run_name: str, agent_pid: int | None, started_at: float | None) -> None:
        """Kills what is left of a run whose server and launcher are both gone, perhaps for long: whatever bears the
        run's mark, and where the system does not show marks, the agent's group if the agent is still that process."""
        if sys.platform == "linux":
            _until_gone(lambda: kill_marked(run_name))
        elif agent_pid and started_at and is_leader_since(agent_pid, started_at):
            kill_group(agent_pid)

    def kill_group(agent_pid: int) -> None:
        """Kills the process group of an agent that ran a moment ago, and waits until it is gone."""
        _until_gone(lambda: _kill_group(agent_pid))

    def kill_marked(run_name: str) -> bool:
        """Kills every process that has the run's mark in its environment (Linux); whether there was one."""
        mark = f"{RUN_VARIABLE}={run_name}".encode()
        marked = [pid for pid in _processes() if pid != os.getpid() and _has_mark(pid, mark)]
        for pid in marked:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        return bool(marked)

    def _kill_group(agent_pid: int) -> bool:
        try:
            os.killpg(agent_pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            return False
        return True

    def _processes() -> list[int]:
        try:
            return [int(name) for name in os.listdir("/proc") if name.isdecimal()]
        except OSError:
            return []

    def _has_mark(pid: int, mark: bytes) -> bool:
        """A process that has ended, or is another user's, shows nothing."""
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                return mark in file.read().split(b"\0")
        except OSError:
            return False

    def is_leader_since(pid: int, at: float) -> bool:
        """Whether the process of that id leads a group of its own and started at that time (seconds since 1970)."""
        asked = subprocess.run(
            ["ps", "-o", "pgid=,lstart=", "-p", str(pid)],
            capture_output=True,
            text=True,
            check=False,
            env={"PATH": os.defpath, "LC_ALL": "C"},
        )
        group, _, start = asked.stdout.strip().partition(" ")
        try:
            began = datetime.strptime(" ".join(start.split()), "%a %b %d %H:%M:%S %Y").timestamp()
        except ValueError:
            return False
        return group == str(pid) and abs(began - at) <= START_TOLERANCE_SECONDS


def _until_gone(kill: Callable[[], bool]) -> None:
    deadline = time.monotonic() + GONE_SECONDS
    while kill() and time.monotonic() < deadline:
        time.sleep(PAUSE_SECONDS)
