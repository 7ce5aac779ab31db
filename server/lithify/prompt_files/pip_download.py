"""Downloads one wheel with pip: whichever pip this Python can reach, bounded in time, its output kept off ours."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

_OUTPUT_TAIL_CHARS = 300
_COMMAND_NOT_FOUND = 127


@dataclass(frozen=True, slots=True)
class PipCommand:
    """One way to start pip: the start of its command line, and the environment it runs in."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class DownloadFailed:
    """A download that brought no wheel; `detail` is pip's own last complaint, on one line."""

    reason: Literal["no_pip", "timeout", "download"]
    detail: str = ""


def pip_commands() -> list[PipCommand]:
    """The ways to start pip, best first: this Python's own, one on PATH, and the copy that Python carries along.

    The isolated environment of a wheel's build hides pip through PYTHONPATH; there all but the first go without it.
    """
    given = {**os.environ, "PIP_REQUIRE_VIRTUALENV": "0"}
    plain = {name: value for name, value in given.items() if name != "PYTHONPATH"}
    found = [PipCommand((sys.executable, "-m", "pip"), given)]
    if given != plain:
        found.append(PipCommand((sys.executable, "-m", "pip"), plain))
    on_path = shutil.which("pip") or shutil.which("pip3")
    if on_path:
        found.append(PipCommand((on_path,), plain))
    found.extend(PipCommand((sys.executable, str(wheel / "pip")), plain) for wheel in _carried_pip())
    return found


def download_wheel(
    requirement: str, folder: Path, *, commands: Sequence[PipCommand], timeout_s: float
) -> Path | DownloadFailed:
    """Downloads the wheel of `requirement` (`name==version`) alone into an empty folder, and returns its path.

    A command that has no pip gives way to the next. When time is up, or an exception interrupts the wait, pip and all
    it started are killed. Raises OSError when the disk fails.
    """
    wheels, log = folder / "wheels", folder / "pip.log"
    wheels.mkdir()
    deadline = time.monotonic() + timeout_s
    for command in commands:
        argv = [
            *command.argv,
            *("download", "--no-deps", "--ignore-requires-python", "--only-binary", ":all:"),
            *("--no-input", "--disable-pip-version-check", "--progress-bar", "off"),
            *("--dest", str(wheels), requirement),
        ]
        code = _run(argv, command.environment, log, deadline - time.monotonic())
        if code is None:
            return DownloadFailed("timeout")
        output = log.read_text("utf-8", "replace")
        if code == _COMMAND_NOT_FOUND or (code != 0 and "No module named pip" in output):
            continue
        found = sorted(wheels.glob("*.whl"))
        return found[0] if code == 0 and found else DownloadFailed("download", _complaint(output))
    return DownloadFailed("no_pip")


def _carried_pip() -> list[Path]:
    """The pip wheel inside ensurepip, which Python runs in place; some distributions leave it out."""
    spec = importlib.util.find_spec("ensurepip")
    return sorted((Path(spec.origin).parent / "_bundled").glob("pip-*.whl")) if spec and spec.origin else []


def _run(argv: Sequence[str], environment: Mapping[str, str], log: Path, timeout_s: float) -> int | None:
    """The exit code of a command, 127 when it cannot be started, None when time was up."""
    with log.open("wb") as output:
        try:
            process = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=environment,
                start_new_session=True,
            )
        except OSError:
            return _COMMAND_NOT_FOUND
    try:
        return process.wait(max(timeout_s, 0))
    except subprocess.TimeoutExpired:
        return None
    finally:
        if process.poll() is None:
            _kill(process)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Ends a process with everything it started."""
    if sys.platform == "win32":
        subprocess.run(["taskkill", "/F", "/T", "/PID", str(process.pid)], capture_output=True, check=False)
        process.kill()
    else:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _complaint(output: str) -> str:
    """The last error pip wrote, else its last line; one line, of 300 characters at most."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR:")]
    last = (errors or lines or ["pip wrote nothing"])[-1]
    return last.removeprefix("ERROR:").strip()[:_OUTPUT_TAIL_CHARS]
