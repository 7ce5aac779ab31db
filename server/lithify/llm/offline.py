"""The offline model: answers a conversation request from the transcript's own words, with no key and no network."""

from __future__ import annotations

import asyncio

from lithify.core.digest import digest
from lithify.core.messages import result_text, tool_calls
from lithify.core.model_calls import ModelFailure, ModelReply, ModelRequest


class OfflineModel:
    """A model that selects and shortens instead of writing: deterministic, literal, always there."""

    name = "offline"

    async def ask(self, request: ModelRequest) -> ModelReply | ModelFailure:
        """The digest of the request's messages; a failure for other purposes, or where the messages say nothing."""
        if request.purpose != "conversation":
            return ModelFailure(
                "not_built", f"The offline model does not serve {request.purpose} requests.", retryable=False
            )
        if not any(tool_calls(message) or result_text(message).strip() for message in request.messages):
            return ModelFailure("empty_response", "The messages hold no text and no tool calls.", retryable=False)
        text = await asyncio.to_thread(digest, request.messages, request.target_bytes)
        return ModelReply(text=text, provider=self.name, model=self.name, stop_reason="end")
