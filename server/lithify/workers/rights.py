"""Rights that one worker on the machine has at a time, taken and given back on the storage thread."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from lithify.workers.ports import Store


@asynccontextmanager
async def right(
    run: Callable[[Callable[[Store], Any]], Awaitable[Any]],
    begin: Callable[[Store], bool],
    end: Callable[[Store], None],
) -> AsyncIterator[bool]:
    """Has a right for the block, if it is free; whether it was. It is given back whatever ends the block, also a
    cancel that comes while it is being taken."""
    had = False

    def take(store: Store) -> bool:
        nonlocal had
        had = begin(store)
        return had

    def give_back(store: Store) -> None:
        if had:
            end(store)

    try:
        yield await asyncio.shield(run(take))
    finally:
        await asyncio.shield(run(give_back))
