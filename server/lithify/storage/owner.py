"""Runs one program in a process group of its own, and ends the group with the program, after a time, or with us.

    python owner.py SECONDS PROGRAM ARGUMENTS...

Standard input is the line to whoever started this: when it closes, also because they were killed, the group is ended.
It is run as a script by itself, so it imports nothing of Lithify. Exit code: the program's; LATE when the time was up.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading

LATE = 124


def main(seconds: float, command: list[str]) -> int:
    """Runs the command to its end."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)

    def end_with_our_owner() -> None:
        while os.read(0, 1):
            pass
        _end(process)

    threading.Thread(target=end_with_our_owner, daemon=True).start()
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        return LATE
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends what the program started, and the program."""
    with contextlib.suppress(ProcessLookupError, PermissionError):  # nothing of it may be left
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]), sys.argv[2:]) & 0xFF)
