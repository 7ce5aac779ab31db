"""The offline model: answers every request from its material's own words, with no key and no network."""

from __future__ import annotations

import asyncio

from lithify.core.digest import digest
from lithify.core.memory_digest import compaction_answer, extraction_answer
from lithify.core.messages import result_text, tool_calls
from lithify.core.model_calls import ModelFailure, ModelReply, ModelRequest


class OfflineModel:
    """A model that selects and shortens instead of writing: deterministic, literal, always there."""

    name = "offline"
    host = None
    default_model = None

    async def ask(self, request: ModelRequest) -> ModelReply | ModelFailure:
        """The digest of the request's messages, or the records or summaries of its entries; a failure where these say
        nothing."""
        match request.purpose:
            case "extraction" | "buffer" if not request.entries:
                return ModelFailure("empty_response", "There are no observations.", retryable=False)
            case "extraction":
                text = await asyncio.to_thread(extraction_answer, request.entries)
            case "buffer":
                text = await asyncio.to_thread(compaction_answer, request.entries, request.target_bytes)
            case "conversation":
                if not any(tool_calls(message) or result_text(message).strip() for message in request.messages):
                    return ModelFailure(
                        "empty_response", "The messages hold no text and no tool calls.", retryable=False
                    )
                text = await asyncio.to_thread(digest, request.messages, request.target_bytes)
        return ModelReply(text=text, provider=self.name, model=self.name, stop_reason="end")
