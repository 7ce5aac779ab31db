"""A client of a server over pipes: it writes and reads on one thread, so that it costs next to nothing itself."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.support.raw_client import COMMAND, initialize_params

STOCK_SERVER = Path(__file__).with_name("stock_server.py")
END_SECONDS = 30


class Client:
    """One server process and its editor. Reads only while it waits for an answer: the servers say little unasked."""

    def __init__(self, command: Sequence[str], folder: Path, environment: dict[str, str] | None = None) -> None:
        self._log = (folder / "stderr.log").open("ab")
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            cwd=folder,
            env={**os.environ, **(environment or {})},
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._to, self._from = self.process.stdin, self.process.stdout
        self._last_id = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    def initialize(self, **options: Any) -> Any:
        """Initializes and says so; the result. Returns when the server takes requests: what it still does after that
        answer belongs to its start."""
        result = self.ask("initialize", initialize_params(options))
        self.send(message("initialized", {}))
        with suppress(RuntimeError):  # neither server knows it
            self.ask("bench/ready", None)
        return result

    def send(self, data: bytes) -> None:
        """Sends framed bytes."""
        self._to.write(data)
        self._to.flush()

    def ask(self, method: str, params: Any) -> Any:
        """Sends a request and waits for its result. Raises RuntimeError for an error."""
        return self.answer(self.begin(method, params))

    def begin(self, method: str, params: Any) -> int:
        """Sends a request; its id."""
        self._last_id += 1
        self.send(message(method, params, id=self._last_id))
        return self._last_id

    def answer(self, request_id: int, also: set[int] | None = None) -> Any:
        """Waits for the result of a request; what comes before it is passed over. Requests that are answered meanwhile
        leave `also`."""
        while True:
            found = self._read()
            if "method" in found:
                continue
            if "error" in found:
                raise RuntimeError(str(found["error"]))
            if found["id"] == request_id:
                return found["result"]
            if also is not None:
                also.discard(found["id"])

    def resident_mebibytes(self) -> float:
        """Resident memory of the process now."""
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="utf-8")
        kibibytes = next(line for line in status.splitlines() if line.startswith("VmRSS:")).split()[1]
        return int(kibibytes) / 1024

    def shut_down(self) -> None:
        """Ends the server as an editor should, and waits for its end."""
        self.ask("shutdown", None)
        self.send(message("exit", None))
        self.process.wait(END_SECONDS)

    def stop(self) -> None:
        """Ends the process if it still runs."""
        self.process.kill()
        self.process.wait(END_SECONDS)
        self.process.communicate()
        self._log.close()

    def _read(self) -> Any:
        length = 0
        while (line := self._from.readline()).strip():
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        if not line:
            raise RuntimeError("the server has ended")
        return json.loads(self._from.read(length))


def lithify(folder: Path) -> Client:
    """A server of ours with its data below a folder."""
    data_dir = folder / "data"
    return Client(COMMAND, folder, {"LITHIFY_DATA_DIR": str(data_dir)})


def stock(folder: Path) -> Client:
    """The stock server."""
    return Client((sys.executable, "-P", str(STOCK_SERVER)), folder)


def message(method: str, params: Any, **more: Any) -> bytes:
    """A message in its frame."""
    body = json.dumps({"jsonrpc": "2.0", **more, "method": method, "params": params}, ensure_ascii=False).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def seconds_since(started: float) -> float:
    """Seconds since a time of `time.perf_counter`."""
    return time.perf_counter() - started
