"""A `lithify` that is killed at the moment when it writes into a session.

    python tests/resume/killed.py before|after ARGUMENTS OF LITHIFY

`before` is when all is made ready and nothing of the session is written yet, `after` when it just was.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from types import FrameType
from typing import Any

from lithify.cli.main import main
from lithify.storage import appending, atomic

WRITES = {(str(appending.__file__), "_write"), (str(atomic.__file__), "replace_with_backup")}
"""What puts the bytes into a file: behind its end, or in its place."""


def kill_at(moment: str) -> None:
    """Has this process killed at that moment."""

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if (frame.f_code.co_filename, frame.f_code.co_name) not in WRITES:
            return None
        if event == {"before": "call", "after": "return"}[moment]:
            os.kill(os.getpid(), signal.SIGKILL)
        return trace

    threading.settrace(trace)
    sys.settrace(trace)


if __name__ == "__main__":
    kill_at(sys.argv[1])
    sys.exit(main(sys.argv[2:]))
