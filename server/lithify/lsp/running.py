"""The editor's requests that are being worked on, and how they are cancelled."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from lithify.core.outcomes import LithifyError
from lithify.lsp import errors
from lithify.lsp.log import where

logger = logging.getLogger(__name__)

MessageId = int | str
Answer = Callable[[MessageId, dict[str, Any]], None]
"""Sends the answer to a request: `{ "result": ... }` or `{ "error": ... }`."""


@dataclass(frozen=True, slots=True)
class JsonText:
    """A result that is JSON already, sound UTF-8."""

    text: str


class RunningRequests:
    """One task a request; each is answered exactly once, whatever happens to it.

    Only long work is cancelled; what the disk is doing in a moment is answered with what became of it.
    """

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._tasks: dict[asyncio.Task[None], MessageId] = {}
        self._cancellable: set[asyncio.Task[Any]] = set()
        self._tokens: dict[int | str, asyncio.Task[Any]] = {}
        self.started = 0
        """Requests ever begun."""

    def __len__(self) -> int:
        return len(self._tasks)

    def start(
        self, message_id: MessageId, work: Awaitable[Any], *, cancellable: bool = False, token: Any = None
    ) -> None:
        """Works on a request in a task of its own, and answers it. `token`: the progress token it came with, whose
        cancel may already be on its way."""
        self.started += 1
        task = asyncio.ensure_future(self._run(message_id, work))
        self._tasks[task] = message_id
        if isinstance(token, (int, str)):
            self._tokens[token] = task
        if cancellable:
            self._cancellable.add(task)
        task.add_done_callback(self._forget)

    def cancel(self, message_id: Any) -> None:
        """Takes `$/cancelRequest`; ids that are not at work are let pass."""
        for task, running_id in self._tasks.items():
            if type(running_id) is type(message_id) and running_id == message_id:
                self._cancel(task)

    def cancel_all(self) -> list[asyncio.Task[None]]:
        """Cancels what can be cancelled; all the tasks that are still to end."""
        running = list(self._tasks)
        for task in running:
            self._cancel(task)
        return running

    def cancel_token(self, token: Any) -> None:
        """Takes `window/workDoneProgress/cancel`; unknown tokens are let pass."""
        task = self._tokens.get(token) if isinstance(token, (int, str)) else None
        if task is not None:
            self._cancel(task)

    def cancel_with(self, token: int | str) -> Callable[[], None]:
        """Lets the cancel of this progress token cancel the running task; call the result to stop that."""
        task = asyncio.current_task()
        if task is not None:
            self._tokens[token] = task

        def forget() -> None:
            if self._tokens.get(token) is task:
                del self._tokens[token]

        return forget

    def _cancel(self, task: asyncio.Task[Any]) -> None:
        """Cancels a task only after its first step: before that it could not answer any more."""
        if task in self._cancellable:
            asyncio.get_running_loop().call_soon(task.cancel)

    def _forget(self, task: asyncio.Task[None]) -> None:
        self._tasks.pop(task, None)
        self._cancellable.discard(task)
        for token in [token for token, holder in self._tokens.items() if holder is task]:
            del self._tokens[token]

    async def _run(self, message_id: MessageId, work: Awaitable[Any]) -> None:
        try:
            self._answer(message_id, {"result": await work})
        except asyncio.CancelledError:
            cancelled = LithifyError("cancelled", "the request was cancelled; nothing was changed")
            self._answer(message_id, {"error": errors.response_error(cancelled)})
        except LithifyError as error:
            self._answer(message_id, {"error": errors.response_error(error)})
        except Exception as error:
            logger.error("A request failed: %s", where(error), exc_info=logger.isEnabledFor(logging.DEBUG))  # noqa: TRY400
            self._answer(message_id, {"error": errors.internal_error(error)})
