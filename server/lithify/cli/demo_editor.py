"""A small editor without a screen: starts the server as a child process, and speaks the wire contract with it."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from lithify.lsp.framing import FrameDecoder, FrameError, frame

READ_BYTES = 65_536
POLITE_SECONDS = 2.0
METHOD_NOT_FOUND = -32601

SERVE = (sys.executable, "-m", "lithify", "serve", "--stdio")
"""What an editor runs."""

Params = dict[str, Any]


class ServerTrouble(Exception):
    """The server did not do what was asked; the message is one sentence for the user."""


class Editor:
    """One connection with one server process, from `start` to `close`. Used from the main thread; every wait ends at
    the deadline, which is counted from the construction.

    `on_progress` gets the words of each `$/progress`, `on_buffer_status` each `lithify/bufferStatusChanged`.
    """

    def __init__(
        self,
        folder: Path,
        deadline_seconds: float,
        on_progress: Callable[[str], None] = lambda _: None,
        on_buffer_status: Callable[[Params], None] = lambda _: None,
    ) -> None:
        self._deadline = time.monotonic() + deadline_seconds
        self._on_progress = on_progress
        self._on_buffer_status = on_buffer_status
        self._folder = folder
        self._errors = folder / "server-errors.txt"
        self._last_id = 0
        self._inbox: queue.SimpleQueue[Params | None] = queue.SimpleQueue()
        self._outbox: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._process: subprocess.Popen[bytes] | None = None
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._read, self._write)]

    def start(self) -> None:
        """Starts the server. Raises OSError; a signal that comes meanwhile takes effect when it can be ended."""
        with _signals_held():
            self._process = _started(SERVE, self._folder, self._errors)
            for thread in self._threads:
                thread.start()

    def request(self, method: str, params: Any = None) -> Any:
        """The result of a request. Raises ServerTrouble when it is an error, or does not come in time."""
        self._last_id += 1
        self._send({"id": self._last_id, "method": method, "params": params})
        while True:
            message = self._next(method)
            if "method" not in message and message.get("id") == self._last_id:
                break
        if "error" in message:
            raise ServerTrouble(f"the server refused {method}: {message['error'].get('message')}")
        return message["result"]

    def command(self, command: str, argument: Params) -> Any:
        """The result of a command, which reports its progress. Raises ServerTrouble."""
        params = {"command": command, "arguments": [argument], "workDoneToken": command}
        return self.request("workspace/executeCommand", params)

    def notify(self, method: str, params: Any = None) -> None:
        """Sends a notification."""
        self._send({"method": method, "params": params})

    def wait_for_entries(self, count: int) -> None:
        """Returns once the server has told that the buffer holds that many entries. Raises ServerTrouble."""
        waited_for = "lithify/bufferStatusChanged"
        while True:
            message = self._next(waited_for)
            if message.get("method") == waited_for and message["params"]["entries"] >= count:
                return

    def close(self) -> None:
        """Ends the server, if it was started: as an editor does when it answers, else by force; in a few seconds."""
        if self._process is None:
            return
        if self._running.poll() is None:
            self._last_id += 1
            self._send({"id": self._last_id, "method": "shutdown"})
            self._send({"method": "exit"})
        self._outbox.put(None)
        if not self._ended_within(POLITE_SECONDS):
            self._signal("SIGTERM")
            if not self._ended_within(POLITE_SECONDS / 2):
                self._signal("SIGKILL")
                self._running.wait()
        for thread in self._threads:
            thread.join(POLITE_SECONDS)

    def _ended_within(self, seconds: float) -> bool:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._running.wait(seconds)
        return self._running.returncode is not None

    @property
    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise ServerTrouble("the server was not started")
        return self._process

    def _signal(self, name: str) -> None:
        """To the server and all that it started."""
        with contextlib.suppress(ProcessLookupError):
            if os.name == "posix":
                os.killpg(self._running.pid, signal.Signals[name])
            else:
                self._running.kill()

    def _send(self, message: Params) -> None:
        self._outbox.put(frame(json.dumps({"jsonrpc": "2.0", **message}).encode()))

    def _next(self, waiting_for: str) -> Params:
        """The next message that is not dealt with here. Raises ServerTrouble."""
        try:
            message = self._inbox.get(timeout=max(0.0, self._deadline - time.monotonic()))
        except queue.Empty:
            raise ServerTrouble(f"the server did not answer in time ({waiting_for})") from None
        if message is None:
            raise ServerTrouble(f"the server ended too early{self._last_words()}")
        method: str | None = message.get("method")
        params: Params = message.get("params") or {}
        if method == "$/progress":
            self._on_progress(_words(params["value"]))
        elif method == "lithify/bufferStatusChanged":
            self._on_buffer_status(params)
        elif method is not None and "id" in message:
            self._send({"id": message["id"], "error": {"code": METHOD_NOT_FOUND, "message": "not handled by the demo"}})
        return message

    def _last_words(self) -> str:
        self._ended_within(POLITE_SECONDS)
        with contextlib.suppress(OSError):
            lines = self._errors.read_text(encoding="utf-8", errors="replace").split("\n")
            said = [line.strip() for line in lines if line.strip()]
            return f" ({said[-1][:200]})" if said else f" (exit code {self._running.returncode})"
        return ""

    def _read(self) -> None:
        stdout = self._running.stdout
        assert stdout is not None
        decoder = FrameDecoder()
        with contextlib.suppress(OSError, FrameError, ValueError), stdout:
            while data := os.read(stdout.fileno(), READ_BYTES):
                for body in decoder.feed(data):
                    self._inbox.put(json.loads(body))
        self._inbox.put(None)

    def _write(self) -> None:
        stdin = self._running.stdin
        assert stdin is not None
        with contextlib.suppress(OSError), stdin:
            while (data := self._outbox.get()) is not None:
                stdin.write(data)
                stdin.flush()


def _started(command: Sequence[str], folder: Path, errors: Path) -> subprocess.Popen[bytes]:
    """The child, in a process group of its own, so that Ctrl-C reaches us alone and we end it in order."""
    environment = {**os.environ, "LITHIFY_DATA_DIR": str(folder / "data")}
    with errors.open("wb") as stderr:
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            cwd=folder,
            env=environment,
            start_new_session=True,
        )


@contextlib.contextmanager
def _signals_held() -> Iterator[None]:
    """Signals that would end the block in its middle take effect at its end."""
    came: list[int] = []
    numbers = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    heeded = [number for number in numbers if callable(signal.getsignal(number))]
    before = [(number, signal.signal(number, lambda came_now, _: came.append(came_now))) for number in heeded]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)
        for number in came:
            signal.raise_signal(number)


def _words(value: Params) -> str:
    """What a report of progress says: its message, else its title."""
    return str(value.get("message") or value.get("title") or value.get("kind"))
