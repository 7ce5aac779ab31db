"""Whose word counts in a compaction: the command's, the session's, the agent's, the default."""

from __future__ import annotations

from typing import Any

import pytest

from lithify.core.agents import (
    CompactionCommand,
    CompactionOptions,
    compaction_enabled,
    request_settings,
    resolved_options,
)
from lithify.core.outcomes import LithifyError
from lithify.core.sessions import SessionInfo
from lithify.core.settings import Conversation

ENABLED = {"enabled": True, "type": "kimi"}
TOOLS = {
    "tools": [{"type": "function", "function": {"name": "shell"}}],
    "tool_choice": "auto",
    "functions": [{"name": "shell"}],
    "function_call": "auto",
    "parallel_tool_calls": True,
}


def session(agent: dict[str, Any] | None = None, compaction_model: str | None = None) -> SessionInfo:
    return SessionInfo(
        session_id="s",
        title=None,
        project_id="p",
        project_root="/p",
        agent=agent,
        compaction_model=compaction_model,
        record=None,
        surface="test",
        revision=1,
        message_count=0,
        counted_bytes=0,
        created_at="2026-01-01T00:00:00Z",
        updated_at="2026-01-01T00:00:00Z",
        closed=False,
    )


def resolved(info: SessionInfo, conversation: dict[str, Any] | None = None, **command: Any) -> CompactionOptions:
    limits = Conversation.model_validate(conversation or {})
    return resolved_options(CompactionCommand(**command), info, limits, command.get("up_to"))


def with_agent(**compaction: Any) -> SessionInfo:
    return session({"compaction": {**ENABLED, **compaction}})


# --- which model ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("of_command", "of_session", "of_compaction", "of_agent", "wanted"),
    [
        ("command", "session", "compaction", "agent", "command"),
        (None, "session", "compaction", "agent", "session"),
        (None, None, "compaction", "agent", "compaction"),
        (None, None, None, "agent", "agent"),
        (None, None, None, None, None),
        ("command", None, None, "agent", "command"),
        ("", "", "compaction", "agent", "compaction"),
    ],
)
def test_the_nearest_word_on_the_model_counts(
    of_command: str | None, of_session: str | None, of_compaction: str | None, of_agent: str | None, wanted: str | None
) -> None:
    agent = {"model": of_agent, "compaction": {**ENABLED, "compactionModel": of_compaction}}
    assert resolved(session(agent, of_session), compaction_model=of_command).model == wanted


def test_a_session_without_an_agent_may_still_name_a_model() -> None:
    assert resolved(session(None, "session")).model == "session"


# --- values ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("of_command", "of_agent", "wanted"),
    [(5, 3, 5), (0, 3, 0), (-1, 3, -1), (None, 3, 3), (None, 0, 0), (None, None, 2)],
)
def test_the_commands_word_on_preserved_messages_counts_first(of_command: Any, of_agent: Any, wanted: int) -> None:
    found = resolved(with_agent(maxPreservedMessages=of_agent), max_preserved_messages=of_command)
    assert found.max_preserved_messages == wanted


def test_an_agent_that_does_not_say_preserves_two_messages() -> None:
    assert resolved(with_agent()).max_preserved_messages == 2


@pytest.mark.parametrize(("of_command", "of_agent", "wanted"), [("c", "a", "c"), (None, "a", "a"), (None, None, None)])
def test_the_commands_prompt_counts_before_the_agents(of_command: Any, of_agent: Any, wanted: str | None) -> None:
    assert resolved(with_agent(prompt=of_agent), prompt=of_command).prompt == wanted


@pytest.mark.parametrize(
    ("of_command", "of_settings", "wanted"),
    [(None, False, False), (None, True, True), (True, False, True), (False, True, False)],
)
def test_the_commands_word_on_exact_ranges_counts_before_the_setting(
    of_command: bool | None, of_settings: bool, wanted: bool
) -> None:
    assert resolved(session(), {"exactAnchor": of_settings}, exact=of_command).exact is wanted


def test_range_anchor_and_instructions_are_passed_on() -> None:
    found = resolved(session(), start=1, end=4, up_to=2, instructions="keep db")
    assert (found.start, found.end, found.up_to, found.instructions) == (1, 4, 2, "keep db")


def test_a_session_without_an_agent_runs_under_the_setting() -> None:
    compaction = {
        "maxPreservedMessages": 7,
        "compactionModel": "small",
        "prompt": "mine",
        "settingsOverrides": {"top_p": 1},
    }
    found = resolved(session(), {"compaction": compaction})
    assert (found.max_preserved_messages, found.model, found.prompt) == (7, "small", "mine")
    assert found.settings == {"top_p": 1, "disable_all_tools": True}


def test_the_setting_does_not_speak_for_an_agent() -> None:
    found = resolved(with_agent(), {"compaction": {"maxPreservedMessages": 7, "prompt": "mine"}})
    assert (found.max_preserved_messages, found.prompt) == (2, None)


# --- settings of the request ------------------------------------------------------------------------------------


def test_overrides_are_merged_key_by_key_and_the_commands_come_last() -> None:
    info = with_agent(settingsOverrides={"temperature": 0, "top_p": 1, "a-b": {"x": 1}})
    found = resolved(info, settings_overrides={"temperature": 1, "a-b": {"y": 2}})
    assert found.settings == {"temperature": 1, "top_p": 1, "a-b": {"y": 2}, "disable_all_tools": True}


@pytest.mark.parametrize("agents", [None, {}, {"disable_all_tools": False}, [], "x", 1])
def test_tools_are_off_whatever_the_agent_says(agents: Any) -> None:
    assert request_settings(agents, {}) == {"disable_all_tools": True}


@pytest.mark.parametrize("value", [False, None, 0, "no", {}])
def test_tools_are_off_whatever_the_command_says(value: Any) -> None:
    assert request_settings({}, {"disable_all_tools": value})["disable_all_tools"] is True


@pytest.mark.parametrize("name", TOOLS)
def test_no_override_brings_tools_back(name: str) -> None:
    assert name not in request_settings({name: TOOLS[name]}, {})
    assert name not in request_settings({}, {name: TOOLS[name]})


def test_overrides_are_carried_as_they_are_and_not_changed() -> None:
    agents, commands = {"deep": {"camelCase": [1, {"_meta": None}]}, "tools": []}, {"class": "x"}
    assert request_settings(agents, commands) == {"deep": agents["deep"], "class": "x", "disable_all_tools": True}
    assert (agents["tools"], commands) == ([], {"class": "x"})


# --- disabled -------------------------------------------------------------------------------------------------

OFF: list[Any] = [
    None,
    {},
    [],
    "kimi",
    {"enabled": True},
    {"type": "kimi"},
    {"enabled": False, "type": "kimi"},
    {"enabled": None, "type": "kimi"},
    {"enabled": 1, "type": "kimi"},
    {"enabled": "true", "type": "kimi"},
    {"enabled": True, "type": None},
    {"enabled": True, "type": "other"},
]


@pytest.mark.parametrize("compaction", OFF)
def test_a_compaction_that_is_not_enabled_and_of_type_kimi_is_off(compaction: Any) -> None:
    assert not compaction_enabled(compaction)
    with pytest.raises(LithifyError) as caught:
        resolved(session({"compaction": compaction}))
    assert (caught.value.type, caught.value.retryable) == ("disabled", False)


def test_an_agent_that_says_nothing_of_compaction_has_it_off() -> None:
    with pytest.raises(LithifyError) as caught:
        resolved(session({"model": "m"}))
    assert caught.value.type == "disabled"


@pytest.mark.parametrize("compaction", [{"enabled": False}, {"type": "other"}])
def test_the_setting_can_switch_compaction_off_for_sessions_without_an_agent(compaction: dict[str, Any]) -> None:
    with pytest.raises(LithifyError) as caught:
        resolved(session(), {"compaction": compaction})
    assert caught.value.type == "disabled"
    assert "conversation.compaction" in caught.value.message


def test_the_setting_cannot_switch_it_off_for_an_agent_that_has_it_on() -> None:
    assert resolved(with_agent(), {"compaction": {"enabled": False}}).max_preserved_messages == 2


def test_keys_that_lithify_does_not_know_disturb_nothing() -> None:
    assert compaction_enabled({**ENABLED, "mystery": 1})
