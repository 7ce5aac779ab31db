"""The shortest way to ask an HTTP model something."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lithify.core.model_calls import ModelFailure, ModelReply, ModelRequest
from lithify.core.settings import HttpModel as HttpSettings
from lithify.llm.http.model import HttpModel

KEY = "sk-very-secret-0123456789"
WIRES = ["openai", "anthropic"]


def request(**given: Any) -> ModelRequest:
    """A request in two parts, with ten seconds of time, and what is given."""
    defaults: dict[str, Any] = {
        "purpose": "conversation",
        "system_prompt": "You sum up.",
        "parts": ("one", "two"),
        "timeout_ms": 10_000,
    }
    return ModelRequest(**{**defaults, **given})


class Pauses:
    """Waits that are written down and not made."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


def model_at(
    base_url: str,
    wire: str | None = None,
    *,
    model: str | None = "own",
    environment: Mapping[str, str] | None = None,
    pauses: Pauses | None = None,
) -> HttpModel:
    """The model at an endpoint, whose own model is `own` and whose key is KEY."""
    settings = HttpSettings.model_validate({"baseUrl": base_url, "wire": wire, "model": model, "apiKeyEnv": "MY_KEY"})
    return HttpModel(settings, {"MY_KEY": KEY} if environment is None else environment, pauses or Pauses())


def reply(found: ModelReply | ModelFailure) -> ModelReply:
    assert isinstance(found, ModelReply), found
    return found


def failure(found: ModelReply | ModelFailure) -> ModelFailure:
    assert isinstance(found, ModelFailure), found
    return found
