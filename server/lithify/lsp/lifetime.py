"""Noticing that the editor is gone, even when it left its pipes open."""

from __future__ import annotations

import asyncio
import os

from lithify.storage.running import is_running

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
    while is_running(process_id):  # noqa: ASYNC110 - nothing tells us; looking is all there is
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
