"""Noticing that the editor is gone, even when it left its pipes open."""

from __future__ import annotations

import asyncio
import os

POLL_SECONDS = 0.5


async def wait_for_exit(process_id: int) -> None:
    """Returns when the process of that id has ended; at once when there is none."""
    if hasattr(os, "pidfd_open"):
        try:
            await _wait_on_pidfd(process_id)
        except ProcessLookupError:
            return
        except OSError:  # an old kernel, or no permission: look again and again instead
            pass
        else:
            return
    while _alive(process_id):  # noqa: ASYNC110 - nothing tells us; looking is all there is
        await asyncio.sleep(POLL_SECONDS)


async def _wait_on_pidfd(process_id: int) -> None:
    descriptor = os.pidfd_open(process_id)
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    try:
        loop.add_reader(descriptor, ended.set)
        await ended.wait()
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)


def _alive(process_id: int) -> bool:
    if os.name == "nt":
        return _alive_on_windows(process_id)
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _alive_on_windows(process_id: int) -> bool:
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
