"""What a request's settings change in its body: any key but those that the wire contract keeps for itself."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any

from lithify.core.model_calls import ModelRequest

NEVER_OVERRIDDEN = frozenset(
    {"tools", "tool_choice", "functions", "messages", "system", "stream", "disable_all_tools", "model"}
)
"""Wire contract, section 3; `model` is chosen by `choose_model_name`, which heeds the setting."""


def overrides(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that go into the body."""
    return {name: value for name, value in settings.items() if name not in NEVER_OVERRIDDEN}


def choose_model_name(request: ModelRequest, configured: str | None, missing: Container[str]) -> tuple[Any, str | None]:
    """The model to ask for (None: the endpoint's own), and the one that was wanted but is known to be missing."""
    wanted = request.settings.get("model") or request.model
    if isinstance(wanted, str) and wanted in missing:
        return configured, wanted
    return wanted or configured, None
