"""The owner of one agent: a script of its own, which ends the agent and all its descendants when the server is gone.

Run as `python -I -S launcher.py CONTROL STATUS LOCK FOLDER WORK PROGRAM ARGUMENT...` with the agent's environment and
its three streams; the first three are descriptors. POSIX only, standard library only: it imports nothing of Lithify.

* CONTROL is the read end of a pipe that only the server holds. A byte means: end the agent. Its end means that the
  server has taken the folder away, or is gone: end the agent too if it still runs, and take the folder away if it is
  still there.
* STATUS gets lines: `started PID`, then `running` or `failed ERRNO`; `exited CODE` (negative: the signal) when the
  agent has ended; `killing` while that goes on longer; `gone` once nothing is left of it, or `given-up`.
* LOCK is a locked file, held open until the end, which tells other servers that this run is alive.

On Linux the launcher is a subreaper: descendants that leave the agent's process group become its children once they
are orphans, so it finds them. Elsewhere it ends the process group only.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time

TERMINATE_SECONDS = 2.0
"""What is told to end may take so long, then it is killed."""

KILL_SECONDS = 0.5
"""So long we wait for the killed to be gone; and again while some of them go and others come to us in their place."""

MOST_ROUNDS = 20
"""So often."""

LOOK_SECONDS = 0.05
"""How often we look for descendants that nobody tells us of."""

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36

assert sys.platform != "win32"


class Agent:
    """The process that was started, its group, and its descendants."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.code: int | None = None
        self.reaped = 0
        """How many processes have ended."""
        self._group = True
        self._told: set[int] = set()

    def reap(self) -> bool:
        """Takes in what has ended; whether the agent itself has."""
        with contextlib.suppress(ChildProcessError):
            while (found := os.waitpid(-1, os.WNOHANG))[0]:
                self.reaped += 1
                if found[0] == self.pid:
                    self.code = os.waitstatus_to_exitcode(found[1])
        return self.code is not None

    def is_gone(self) -> bool:
        """Whether nothing is left of the agent, its group and its descendants."""
        self.reap()
        return self.code is not None and not self._signal_group(0) and not children()

    def tell(self, number: int, *, again: bool) -> None:
        """Sends a signal to the group and to the descendants outside it; `again`: also to those that got one before."""
        if again or self.pid not in self._told:
            self._told.add(self.pid)
            self._signal_group(number)
        for pid in children():
            if again or pid not in self._told:
                self._told.add(pid)
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, number)

    def _signal_group(self, number: int) -> bool:
        """Whether there is a group; once it is gone its number may be somebody else's."""
        if self._group:
            try:
                os.killpg(self.pid, number)
            except (ProcessLookupError, PermissionError):
                self._group = False
        return self._group


def children() -> list[int]:
    """The processes whose parent we are; none where the system does not tell."""
    me = os.getpid()
    try:
        with open(f"/proc/{me}/task/{me}/children") as told:
            return [int(word) for word in told.read().split()]
    except OSError:
        return []


def end(agent: Agent, wait: Waiter, status: int) -> None:
    """Ends everything: politely, then by force. Who is killed leaves its children to us, so we go on for as long as
    that leads anywhere; returns when nothing is left, or after the limits."""
    if _end_within(agent, wait, signal.SIGTERM, TERMINATE_SECONDS, again=False):
        return
    for _ in range(MOST_ROUNDS):
        before = agent.reaped
        if _end_within(agent, wait, signal.SIGKILL, KILL_SECONDS, again=True) or agent.reaped == before:
            return
        _say(status, "killing")


def _end_within(agent: Agent, wait: Waiter, number: int, seconds: float, *, again: bool) -> bool:
    deadline = time.monotonic() + seconds
    while not agent.is_gone():
        agent.tell(number, again=again)
        left = deadline - time.monotonic()
        if left <= 0:
            return False
        wait.for_child(min(left, LOOK_SECONDS))
    return True


class Waiter:
    """Waits for the server's word and for ended children."""

    def __init__(self, control: int) -> None:
        self._control = control
        self._woken, waker = os.pipe()
        for descriptor in (self._woken, waker):
            os.set_blocking(descriptor, False)
        signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def for_child(self, seconds: float) -> None:
        """Returns when a child has ended, or after so many seconds."""
        _ready(seconds, self._woken)
        self._forget()

    def for_word(self) -> bytes | None:
        """The server's word, b"" where it has let go or is gone; None when a child has ended instead."""
        ready = _ready(None, self._control, self._woken)
        self._forget()
        return os.read(self._control, 1) if self._control in ready else None

    def is_called_off(self) -> bool:
        """Whether the server has spoken or ended already."""
        return bool(_ready(0, self._control))

    def _forget(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(self._woken, 4096)


def _ready(seconds: float | None, *descriptors: int) -> list[int]:
    poll = select.poll()
    for descriptor in descriptors:
        poll.register(descriptor, select.POLLIN)
    return [descriptor for descriptor, _ in poll.poll(None if seconds is None else seconds * 1000)]


def start(work: str, program: str, arguments: list[str], status: int) -> Agent | None:
    """Starts the agent in a session of its own; it runs only once the server can know its process id."""
    go_read, go_write = os.pipe()
    failed_read, failed_write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(go_write)
        _become(work, program, arguments, go_read, failed_write)
    os.close(go_read)
    os.close(failed_write)
    _say(status, f"started {pid}")
    with contextlib.suppress(BrokenPipeError):
        os.write(go_write, b"g")
    os.close(go_write)
    _leave_streams()
    number = os.read(failed_read, 16)
    os.close(failed_read)
    if not number:
        _say(status, "running")
        return Agent(pid)
    os.waitpid(pid, 0)
    _say(status, f"failed {int(number)}")
    return None


def _become(work: str, program: str, arguments: list[str], go: int, failed: int) -> None:
    """In the child: becomes the agent; never returns. Without the launcher's word (it was killed) it just ends."""
    try:
        os.setsid()
        _call_prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        for number in (*IGNORED, signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        os.chdir(work)
        if os.read(go, 1):
            os.execve(program, arguments, os.environb)
    except OSError as error:
        os.write(failed, str(error.errno).encode())
    finally:
        os._exit(127)


IGNORED = (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGQUIT, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU)
"""Signals meant for a terminal's processes: the launcher ends with its run, not with them."""


def _call_prctl(option: int, value: int) -> None:
    """Linux only, and no harm where it fails: the process group is ended all the same."""
    if sys.platform == "linux":
        with contextlib.suppress(ImportError, OSError, AttributeError):
            import ctypes

            ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _say(status: int, line: str) -> None:
    with contextlib.suppress(BrokenPipeError):
        os.write(status, line.encode() + b"\n")


def _leave_streams() -> None:
    """Lets go of the agent's streams, so that their ends are the agent's alone."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream, inheritable=False)
    os.close(nothing)


def _remove(folder: str) -> None:
    """Takes away a folder that the server has not, and its lock's file last."""
    if os.path.lexists(folder):
        import shutil

        _open_up(folder)
        for root, folders, _ in os.walk(folder):
            for name in folders:
                _open_up(os.path.join(root, name))
        shutil.rmtree(folder, ignore_errors=True)
    if not os.path.lexists(folder):
        with contextlib.suppress(OSError):
            os.unlink(folder + ".lock")


def _open_up(path: str) -> None:
    if not os.path.islink(path):
        with contextlib.suppress(OSError):  # what stays is swept by the next server
            os.chmod(path, 0o700)


def main(arguments: list[str]) -> int:
    """Runs one agent to its end."""
    control, status, lock = (int(word) for word in arguments[:3])
    folder, work, program = arguments[3:6]
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)
    for descriptor in (control, status, lock):
        os.set_inheritable(descriptor, False)
    _call_prctl(PR_SET_CHILD_SUBREAPER, 1)
    waiter = Waiter(control)
    word = None
    agent = None if waiter.is_called_off() else start(work, program, arguments[6:], status)
    if agent is not None:
        word = run(agent, waiter, status)
    else:
        _say(status, "gone")
    while word != b"":
        word = waiter.for_word()
    _remove(folder)
    return 0


def run(agent: Agent, waiter: Waiter, status: int) -> bytes | None:
    """Waits until the agent has ended or the server wants it to, and ends what is left; the server's word, if any."""
    word = None
    while not agent.reap() and word is None:
        word = waiter.for_word()
    if agent.code is not None:
        _say(status, f"exited {agent.code}")
    end(agent, waiter, status)
    _say(status, "gone" if agent.is_gone() else "given-up")
    return word


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
