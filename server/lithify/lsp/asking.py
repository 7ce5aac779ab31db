"""Requests of ours to the editor, and its answers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

logger = logging.getLogger(__name__)


class ClientError(Exception):
    """The editor answered one of our requests with an error."""

    def __init__(self, error: Any) -> None:
        error = error if isinstance(error, dict) else {}
        super().__init__(str(error.get("message", "an error without a message")))
        self.code = error.get("code")
        data = error.get("data")
        self.data: dict[str, Any] = data if isinstance(data, dict) else {}


class ClientRequests:
    """What we asked the editor and wait for. Nothing is left behind by an answer that never comes, or comes late."""

    def __init__(self, send: Callable[[dict[str, Any]], None]) -> None:
        self._send = send
        self._waiting: dict[str, asyncio.Future[Any]] = {}
        self._next_id = 0

    def __len__(self) -> int:
        return len(self._waiting)

    async def ask(self, method: str, params: Any, *, give_up: bool = False) -> Any:
        """Sends a request and waits for its result. Raises ClientError. `give_up`: where the waiting is cancelled, the
        editor is told with `$/cancelRequest`, such as to close a question."""
        self._next_id += 1
        message_id = f"lithify-{self._next_id}"
        waiting: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[message_id] = waiting
        try:
            self._send({"jsonrpc": "2.0", "id": message_id, "method": method, "params": params})
            return await waiting
        except asyncio.CancelledError:
            if give_up:
                self._send({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": message_id}})
            raise
        finally:
            self._waiting.pop(message_id, None)

    def take_answer(self, message: dict[str, Any]) -> None:
        """Hands an answer to whoever waits for it. A result beside `"error": null`, or none at all, is let pass."""
        waiting = self._waiting.pop(str(message.get("id")), None)
        if waiting is None or waiting.done():
            logger.debug("An answer came that nobody waits for")
        elif message.get("error") is not None:
            waiting.set_exception(ClientError(message["error"]))
        else:
            waiting.set_result(message.get("result"))
