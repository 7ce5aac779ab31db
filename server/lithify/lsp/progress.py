"""Work-done progress of a running command, under the editor's token or one that we make."""

from __future__ import annotations

import asyncio
from types import TracebackType

from lithify.lsp.asking import ClientError
from lithify.lsp.protocol import WORK_DONE_TOKEN, LithifyProtocol

CREATE_SECONDS = 2.0


class Progress:
    """Shows what a command is doing, as far as the editor wants to know; cancellable from the editor.

    Never holds the work up: while the editor has not answered to a new token, reports are only remembered.
    """

    def __init__(self, protocol: LithifyProtocol, title: str, can_create: bool, token: str) -> None:
        self._protocol = protocol
        self._title = title
        self._given = WORK_DONE_TOKEN.get()
        self._token: int | str | None = self._given if self._given is not None else token if can_create else None
        self._begun = False
        self._last = ""
        self._creating: asyncio.Task[None] | None = None

    def report(self, message: str) -> None:
        """What is being done now."""
        self._last = message
        if self._begun:
            self._send({"kind": "report", "message": message})

    async def __aenter__(self) -> Progress:
        if self._token is None:
            return self
        self._forget = self._protocol.running.cancel_with(self._token)
        if self._given is not None:
            self._begin()
        else:
            self._creating = asyncio.ensure_future(self._create())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._token is None:
            return
        if self._creating is not None:
            self._creating.cancel()
        self._forget()
        if self._begun:
            self._send({"kind": "end", "message": "Done" if kind is None else "Not done"})

    async def _create(self) -> None:
        try:
            async with asyncio.timeout(CREATE_SECONDS):
                await self._protocol.asking.ask("window/workDoneProgress/create", {"token": self._token})
        except (ClientError, TimeoutError):
            return
        self._begin()

    def _begin(self) -> None:
        self._begun = True
        begin = {"kind": "begin", "title": self._title, "cancellable": True}
        self._send({**begin, "message": self._last} if self._last else begin)

    def _send(self, value: dict[str, object]) -> None:
        self._protocol.tell("$/progress", {"token": self._token, "value": value})
