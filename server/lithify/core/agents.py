"""What an agent's configuration and a command together ask of a compaction (wire contract, section 3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lithify.core.outcomes import LithifyError
from lithify.core.sessions import SessionInfo
from lithify.core.settings import Conversation

TOOL_SETTINGS = frozenset({"tools", "tool_choice", "functions", "function_call", "parallel_tool_calls"})
"""Settings of a request that could bring tools back; they are never passed on."""

DEFAULT_PRESERVED = 2


@dataclass(frozen=True, slots=True)
class CompactionCommand:
    """What the user asks for: a range or an anchor, and values that win over the agent's. None: not said.

    `digest` is that of the range the user was shown (`core.range_digests`); another range is then `stale`.
    """

    start: int | None = None
    end: int | None = None
    up_to: int | None = None
    up_to_id: str | None = None
    instructions: str = ""
    prompt: str | None = None
    compaction_model: str | None = None
    settings_overrides: dict[str, Any] = field(default_factory=dict)
    max_preserved_messages: int | None = None
    exact: bool | None = None
    digest: str | None = None


@dataclass(frozen=True, slots=True)
class CompactionOptions:
    """Everything a compaction needs to know, all precedence resolved. `settings` never holds tools."""

    start: int | None
    end: int | None
    up_to: int | None
    max_preserved_messages: int
    exact: bool
    instructions: str
    prompt: str | None
    model: str | None
    settings: dict[str, Any]
    digest: str | None = None


def compaction_enabled(compaction: Any) -> bool:
    """Whether an agent's `compaction` object switches kimi's compaction on."""
    return isinstance(compaction, dict) and compaction.get("enabled") is True and compaction.get("type") == "kimi"


def compaction_of(info: SessionInfo, settings: Conversation) -> Mapping[str, Any]:
    """The agent's compaction settings, or those of `conversation.compaction` for a session without an agent.

    Raises LithifyError `disabled`.
    """
    if info.agent is None:
        compaction: Any = settings.compaction.model_dump(by_alias=True)
        where = "the setting conversation.compaction"
    else:
        compaction = info.agent.get("compaction")
        where = "the agent of this session"
    if not compaction_enabled(compaction):
        raise LithifyError(
            "disabled",
            f'compaction is off for {where}; it takes compaction: {{ enabled: true, type: "kimi" }}',
        )
    return dict(compaction)


def resolved_options(
    command: CompactionCommand, info: SessionInfo, settings: Conversation, anchor: int | None
) -> CompactionOptions:
    """The command over the session over the agent over the defaults. Raises LithifyError `disabled`."""
    compaction = compaction_of(info, settings)
    preserved = command.max_preserved_messages
    if preserved is None:
        preserved = compaction.get("maxPreservedMessages")
    models = (
        command.compaction_model,
        info.compaction_model,
        compaction.get("compactionModel"),
        (info.agent or {}).get("model"),
    )
    return CompactionOptions(
        start=command.start,
        end=command.end,
        up_to=anchor,
        max_preserved_messages=DEFAULT_PRESERVED if preserved is None else preserved,
        exact=settings.exact_anchor if command.exact is None else command.exact,
        instructions=command.instructions,
        prompt=command.prompt if command.prompt is not None else compaction.get("prompt"),
        model=next((model for model in models if model), None),
        settings=request_settings(compaction.get("settingsOverrides"), command.settings_overrides),
        digest=command.digest,
    )


def request_settings(agent_overrides: Any, command_overrides: dict[str, Any]) -> dict[str, Any]:
    """The request's settings: the agent's overrides, the command's over them, tools off on top, always."""
    merged = {**(agent_overrides if isinstance(agent_overrides, dict) else {}), **command_overrides}
    return {name: value for name, value in merged.items() if name not in TOOL_SETTINGS} | {"disable_all_tools": True}
