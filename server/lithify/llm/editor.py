"""The editor's model: asks the client with `lithify/complete` (wire contract, section 4)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from lithify.core.model_calls import ModelFailure, ModelReply, ModelRequest, Usage

NO_MODEL = "the editor has no language model to offer"

HELD = {
    "consent_required": "the editor's model needs your consent first; run the command from the editor and allow it",
    "consent_denied": "you did not allow Lithify to use the editor's model; allow it in the editor's settings",
    "quota": "the quota of the editor's model is used up",
}
"""Reasons that hold until the user acts: work that no user asked for does not ask the editor again before."""

MOST_TOKENS = 1 << 53
"""What is more is no count of tokens."""

LONGEST_TIMEOUT_MS = 30 * 24 * 3600 * 1000


class EditorError(Exception):
    """The client answered with an error: its `data.reason`, where it gave one, and its words."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class Client(Protocol):
    """The way to the editor."""

    async def complete(self, params: dict[str, Any]) -> Any:
        """Sends `lithify/complete`; its result. Raises EditorError."""

    def cancel_complete(self, request_id: str) -> None:
        """Tells the editor that nobody waits for that request any more."""


class EditorModel:
    """The model of the editor that runs this server."""

    name = "editor"
    host = None
    default_model = None

    def __init__(self, client: Client, new_id: Callable[[], str]) -> None:
        self._client = client
        self._new_id = new_id
        self._held: ModelFailure | None = None

    async def ask(self, request: ModelRequest) -> ModelReply | ModelFailure:
        """One answer. On a timeout or a cancel the editor is told to stop.

        Once consent or quota was lacking, only a user's own request asks again; when the editor answers that one, work
        that no user asked for may ask again too.
        """
        if self._held is not None and not request.user_initiated:
            return self._held
        answer = await self._answer(request)
        if isinstance(answer, ModelReply):
            self._held = None
        elif not answer.counts:
            self._held = answer
        return answer

    async def _answer(self, request: ModelRequest) -> ModelReply | ModelFailure:
        request_id = self._new_id()
        try:
            answer = await _within(self._client.complete(_params(request_id, request)), request.timeout_ms)
        except TimeoutError:
            self._client.cancel_complete(request_id)
            seconds = request.timeout_ms / 1000
            return ModelFailure("timeout", f"the editor's model did not answer within {seconds:g} s")
        except asyncio.CancelledError:
            self._client.cancel_complete(request_id)
            raise
        except EditorError as error:
            return _failure(error)
        return _reply(answer)


async def _within(work: Awaitable[Any], timeout_ms: int) -> Any:
    async with asyncio.timeout(min(timeout_ms, LONGEST_TIMEOUT_MS) / 1000):
        return await work


def _params(request_id: str, request: ModelRequest) -> dict[str, Any]:
    params: dict[str, Any] = {
        "requestId": request_id,
        "purpose": request.purpose,
        "userInitiated": request.user_initiated,
        "systemPrompt": request.system_prompt,
        "message": {"role": "user", "content": [{"type": "text", "text": part} for part in request.parts]},
        "tools": [],
        "timeoutMs": request.timeout_ms,
        "settings": request.settings,
    }
    if request.model is not None:
        params["model"] = request.model
    if request.max_output_tokens is not None:
        params["maxOutputTokens"] = request.max_output_tokens
    return params


def _reply(answer: Any) -> ModelReply | ModelFailure:
    if not isinstance(answer, dict) or not isinstance(answer.get("text"), str):
        return ModelFailure("model_error", "the editor answered lithify/complete without a 'text' string")
    usage = answer.get("usage")
    return ModelReply(
        text=answer["text"],
        provider="editor",
        model=_string(answer.get("model")),
        stop_reason=_string(answer.get("stopReason")),
        usage=Usage(_count(usage.get("inputTokens")), _count(usage.get("outputTokens")))
        if isinstance(usage, dict)
        else None,
    )


def _failure(error: EditorError) -> ModelFailure:
    words = f" ({error})" if str(error) else ""
    if error.reason == "no_model":
        way_out = "choose one in the editor, or set model.provider to 'offline' to go on without one"
        return ModelFailure("model_unavailable", f"{NO_MODEL}{words}; {way_out}", absent=True)
    if error.reason in HELD:
        return ModelFailure("model_unavailable", f"{HELD[error.reason]}{words}", counts=False)
    if error.reason == "timeout":
        return ModelFailure("timeout", f"the editor's model took too long ({error})")
    if error.reason == "context_too_long":
        return ModelFailure("context_too_long", f"the request is too long for the editor's model ({error})")
    return ModelFailure("model_error", f"the editor's model failed: {error}")


def _string(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _count(value: Any) -> int | None:
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MOST_TOKENS
    return value if is_count else None
