"""Whether a process runs, on every system."""

from __future__ import annotations

import os


def is_running(process_id: int) -> bool:
    """Whether there is a process of that id, of any user; never for an id that no process can have."""
    if process_id <= 0:
        return False
    if os.name == "nt":
        return _is_running_on_windows(process_id)
    try:
        os.kill(process_id, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def _is_running_on_windows(process_id: int) -> bool:
    import ctypes

    kernel = ctypes.windll.kernel32  # type: ignore[attr-defined,unused-ignore]
    synchronize, timed_out = 0x0010_0000, 0x102
    handle = kernel.OpenProcess(synchronize, False, process_id)
    if not handle:
        return False
    try:
        return bool(kernel.WaitForSingleObject(handle, 0) == timed_out)
    finally:
        kernel.CloseHandle(handle)
