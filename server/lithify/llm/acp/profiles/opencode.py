"""opencode, seen with `opencode-linux-x64` 1.18.34.

Each run has a configuration folder and a database of its own. The agent in it has our system prompt and no tools;
opencode adds a few lines to the prompt (model, working folder, date). Of the user's configuration it gets providers and
models; instructions, plugins, MCP servers, agents and skills stay out. The user's login and data folder are used as
they are; only opencode's own log there grows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from lithify.llm.acp.profile import Finding, Launch, Profile, Run
from lithify.llm.acp.profiles.user_files import folder_of, login_finding, read_object

LEADS_TO_THE_MODEL = ("provider", "disabled_providers", "enabled_providers", "model", "small_model")
"""What of the user's configuration a run needs."""

KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY", "GEMINI_API_KEY", "MOONSHOT_API_KEY")

OURS: Mapping[str, Any] = {
    "default_agent": "lithify",
    "share": "disabled",
    "autoupdate": False,
    "snapshot": False,
    "compaction": {"auto": False, "prune": False},
}

HIDDEN_AGENTS = ("title", "summary")
"""Agents of opencode's own that would ask the model once more, with our text."""

STEPS = 2
"""The last one is announced to the model in words of opencode's, so it must not be the first."""

QUIET = {
    "OPENCODE_PURE": "1",
    "OPENCODE_DISABLE_AUTOUPDATE": "1",
    "OPENCODE_DISABLE_CLAUDE_CODE": "1",
    "OPENCODE_DISABLE_EXTERNAL_SKILLS": "1",
    "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
    "OPENCODE_DISABLE_MODELS_FETCH": "1",
    "OPENCODE_DISABLE_PROJECT_CONFIG": "1",
    **dict.fromkeys(("OPENCODE_CONFIG", "OPENCODE_CONFIG_CONTENT", "OPENCODE_CONFIG_DIR", "OPENCODE_PERMISSION"), ""),
}

INSTALLED = {"packages": {"": {"dependencies": {"@opencode-ai/plugin": "*"}}}}
"""A lock file by which opencode sees that its plugin library, which nothing here uses, needs no installing."""

FILE_REFERENCE = re.compile(r"\{file:([^}]+)\}")


def prepare(run: Run) -> Launch:
    """A private configuration with the agent and the user's providers."""
    folder = run.home / "config" / "opencode"
    (folder / "node_modules").mkdir(parents=True)
    (folder / "package-lock.json").write_text(json.dumps(INSTALLED), encoding="utf-8")
    (folder / "config.json").write_text(json.dumps(own_settings(run.user_environment)), encoding="utf-8")
    (folder / "opencode.json").write_text(agent_settings(run.system_prompt), encoding="utf-8")
    places = {"XDG_CONFIG_HOME": str(run.home / "config"), "OPENCODE_DB": str(run.home / "opencode.db")}
    return Launch(run.command, {**QUIET, **places}, system_prompt="profile")


def look(environment: Mapping[str, str]) -> list[Finding]:
    """Whether there is a login, a provider or a key."""
    try:
        if own_settings(environment).get("provider"):
            return [Finding(True, "has a provider in its own settings")]
    except (OSError, ValueError) as error:
        return [Finding(False, str(error), "correct that file")]
    login = folder_of(environment, "XDG_DATA_HOME", ".local", "share") / "opencode" / "auth.json"
    return [login_finding(environment, [login], KEYS, "run `opencode auth login`")]


def agent_settings(system_prompt: str) -> str:
    """The configuration of our agent; what looks like a reference in the prompt is text."""
    agent = {"mode": "primary", "prompt": system_prompt, "steps": STEPS, "permission": {"*": "deny"}}
    agents = {"lithify": agent, **{name: {"disable": True} for name in HIDDEN_AGENTS}}
    text = json.dumps({**OURS, "agent": agents})
    return text.replace("{env:", "\\u007benv:").replace("{file:", "\\u007bfile:")


def own_settings(environment: Mapping[str, str]) -> dict[str, Any]:
    """What a run needs of the user's settings. Raises OSError, and ValueError with a sentence that names the file."""
    merged: dict[str, Any] = {}
    for path in _files(environment):
        own = read_object(path)
        needed = {name: own[name] for name in LEADS_TO_THE_MODEL if name in own}
        merged = _merged(merged, _with_absolute_files(needed, path.parent))
    return merged


def _files(environment: Mapping[str, str]) -> Iterator[Path]:
    folder = folder_of(environment, "XDG_CONFIG_HOME", ".config") / "opencode"
    for name in ("config.json", "opencode.json", "opencode.jsonc"):
        yield folder / name
    if named := environment.get("OPENCODE_CONFIG"):
        yield Path(named)


def _merged(first: Any, second: Any) -> Any:
    if not (isinstance(first, dict) and isinstance(second, dict)):
        return second
    return {**first, **{key: _merged(first[key], value) if key in first else value for key, value in second.items()}}


def _with_absolute_files(value: Any, folder: Path) -> Any:
    """The settings with their references to files made independent of the folder they lie in."""
    match value:
        case str():
            return FILE_REFERENCE.sub(lambda found: f"{{file:{_absolute(found[1], folder)}}}", value)
        case dict():
            return {key: _with_absolute_files(inner, folder) for key, inner in value.items()}
        case list():
            return [_with_absolute_files(inner, folder) for inner in value]
        case _:
            return value


def _absolute(reference: str, folder: Path) -> str:
    return reference if reference.startswith("~/") else (folder / reference).as_posix()


PROFILE = Profile(
    name="opencode",
    title="opencode",
    command=("opencode", "acp"),
    programs=("opencode",),
    keys=KEYS,
    promises_no_tools=True,
    install="Install it with `npm install -g opencode-ai`.",
    prepare=prepare,
    look=look,
)
