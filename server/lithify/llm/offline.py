"""The offline model: answers every request from its material's own words, with no key and no network."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from lithify.core.entries import Entry
from lithify.core.messages import Message, result_text, tool_calls
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
                text = await asyncio.to_thread(_records, request.entries)
            case "buffer":
                text = await asyncio.to_thread(_summaries, request.entries, request.target_bytes)
            case "conversation":
                if not any(tool_calls(message) or result_text(message).strip() for message in request.messages):
                    return ModelFailure(
                        "empty_response", "The messages hold no text and no tool calls.", retryable=False
                    )
                text = await asyncio.to_thread(_summary, request.messages, request.target_bytes)
        return ModelReply(text=text, provider=self.name, model=self.name, stop_reason="end")


# What follows reads its rules when the first question comes: they would make every start of the server longer.


def _records(entries: Sequence[Entry]) -> str:
    from lithify.core.memory_digest import extraction_answer

    return extraction_answer(entries)


def _summaries(entries: Sequence[Entry], target_bytes: int) -> str:
    from lithify.core.memory_digest import compaction_answer

    return compaction_answer(entries, target_bytes)


def _summary(messages: Sequence[Message], target_bytes: int) -> str:
    from lithify.core.digest import digest

    return digest(messages, target_bytes)
