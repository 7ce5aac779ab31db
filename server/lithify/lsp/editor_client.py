"""The way to the editor's model: `lithify/complete` and its cancel."""

from __future__ import annotations

from typing import Any

from lithify.llm.editor import EditorError
from lithify.lsp.asking import ClientError
from lithify.lsp.errors import METHOD_NOT_FOUND
from lithify.lsp.protocol import LithifyProtocol


class EditorClient:
    """Sends the model's questions to the editor."""

    def __init__(self, protocol: LithifyProtocol) -> None:
        self._protocol = protocol

    async def complete(self, params: dict[str, Any]) -> Any:
        """The editor's answer to `lithify/complete`. Raises EditorError."""
        try:
            return await self._protocol.asking.ask("lithify/complete", params)
        except ClientError as error:
            reason = error.data.get("reason")
            if not isinstance(reason, str):
                reason = "no_model" if error.code == METHOD_NOT_FOUND else "unknown"
            raise EditorError(reason, str(error)) from None

    def cancel_complete(self, request_id: str) -> None:
        """Tells the editor that nobody waits for that answer any more."""
        self._protocol.tell("lithify/cancelComplete", {"requestId": request_id})
