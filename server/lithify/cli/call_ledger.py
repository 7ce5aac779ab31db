"""Keeps the ledger of model calls for a command: what it sends away is listed like all that a server sends."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from lithify.assembly import now
from lithify.core.settings import Settings
from lithify.storage.paths import data_dir
from lithify.storage.store import Store, open_store
from lithify.workers.conversation import Ask
from lithify.workers.model_use import Ledger

Result = TypeVar("Result")


class CallLedger:
    """The ledger in the data folder of settings; opened with the first call."""

    def __init__(self, settings: Settings) -> None:
        self._folder = data_dir(settings.data_dir, os.environ)
        self._lock = asyncio.Lock()
        self.problem: Exception | None = None
        """Why a line could not be kept."""

    async def kept(self, work: Callable[[Ask], Awaitable[Result]]) -> Result:
        """Does work that asks models; returns once all lines are kept or failed to be."""
        try:
            return await work(Ledger(self._run, now).ask)
        finally:
            others = asyncio.all_tasks() - {asyncio.current_task()}
            await asyncio.gather(*others, return_exceptions=True)

    async def _run(self, job: Callable[[Store], Any]) -> Any:
        async with self._lock:
            try:
                return await asyncio.to_thread(self._done, job)
            except Exception as error:
                self.problem = error
                raise

    def _done(self, job: Callable[[Store], Any]) -> Any:
        store = open_store(self._folder, now)
        try:
            return job(store)
        finally:
            store.close()
