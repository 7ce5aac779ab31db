"""`workspace/codeLens/refresh`: has the editor ask for lenses again, where it takes that."""

from __future__ import annotations

import asyncio
import logging

from lithify.lsp.asking import ClientError
from lithify.lsp.server import LithifyServer

logger = logging.getLogger(__name__)

ANSWER_SECONDS = 10.0


class LensRefresh:
    """Asks once at a time: what changes meanwhile is told by one more request, however often it changes."""

    def __init__(self, server: LithifyServer) -> None:
        self._server = server
        self._again = False
        self._running: asyncio.Task[None] | None = None

    def ask(self) -> None:
        """Something changed that lenses depend on."""
        if not self._server.capable("workspace", "codeLens", "refreshSupport"):
            return
        self._again = True
        if self._running is None or self._running.done():
            self._running = asyncio.ensure_future(self._ask())
            self._server.keep(self._running)

    async def _ask(self) -> None:
        while self._again:
            self._again = False
            try:
                async with asyncio.timeout(ANSWER_SECONDS):
                    await self._server.protocol.asking.ask("workspace/codeLens/refresh", None)
            except (ClientError, TimeoutError) as error:
                logger.info("The editor did not refresh its code lenses (%s)", type(error).__name__)
