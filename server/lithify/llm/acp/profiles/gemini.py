"""Gemini CLI: tried by hand with `@google/gemini-cli` 0.61.0 against a scripted endpoint, and not run by the tests.

Each run has a home of its own (older versions do not know `GEMINI_CLI_HOME` and would use the user's) with our system
prompt as a file, no tools, and a name for context files that nobody uses. Of the user's home it gets how to log in, and
the login. Gemini CLI says a few lines about date and folder before the text. Without a model it asks a small one first
which to use, with our text; set one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lithify.llm.acp.profile import Finding, Launch, Profile, Run
from lithify.llm.acp.profiles.user_files import folder_of, lend_file, login_finding, read_object

KEYS = ("GEMINI_API_KEY", "GOOGLE_API_KEY")

LOGINS = ("oauth_creds.json", "google_accounts.json", "gemini-credentials.json")

FAMILIES = ("gemini", "gemma")
"""How the names of its models begin; with any other its own choice answers."""

NOTHING = "none"
"""Names no tool and no server; an empty list would mean all of them."""

OURS: Mapping[str, Any] = {
    "tools": {"core": [NOTHING]},
    "mcp": {"allowed": [NOTHING]},
    "context": {"fileName": "no-context-file-for-lithify.md", "includeDirectoryTree": False, "discoveryMaxDirs": 0},
    "general": {"checkpointing": {"enabled": False}, "enableAutoUpdate": False, "disableAutoUpdate": True},
    "privacy": {"usageStatisticsEnabled": False},
    "telemetry": {"enabled": False},
    "skills": {"enabled": False},
    "hooksConfig": {"enabled": False},
    "experimental": {"enableAgents": False},
}


def prepare(run: Run) -> Launch:
    """A private home with the prompt, our settings and the user's login."""
    own, folder = _folder(run.user_environment), run.home / ".gemini"
    folder.mkdir()
    prompt = run.home / "system.md"
    prompt.write_text(run.system_prompt, encoding="utf-8", newline="\n")
    (folder / "settings.json").write_text(json.dumps(_settings(own)), encoding="utf-8")
    for name in LOGINS:
        lend_file(own / name, folder / name)
    model = ("--model", run.model) if run.model is not None and run.model.startswith(FAMILIES) else ()
    return Launch(
        (*run.command, *model, "--extensions", NOTHING),
        {"GEMINI_CLI_HOME": str(run.home), "GEMINI_SYSTEM_MD": str(prompt)},
        system_prompt="profile",
        model_settled=bool(model),
    )


def look(environment: Mapping[str, str]) -> list[Finding]:
    """Whether there is a login or a key."""
    own = _folder(environment)
    return [login_finding(environment, [own / name for name in LOGINS], KEYS, "run `gemini` and log in there")]


def _folder(environment: Mapping[str, str]) -> Path:
    return folder_of(environment, "GEMINI_CLI_HOME") / ".gemini"


def _settings(own: Path) -> dict[str, Any]:
    security = read_object(own / "settings.json").get("security")
    auth = security.get("auth") if isinstance(security, dict) else None
    return {**OURS, **({"security": {"auth": auth}} if auth is not None else {})}


PROFILE = Profile(
    name="gemini",
    title="Gemini CLI",
    command=("gemini", "--experimental-acp"),
    programs=("gemini", "gemini-cli"),
    keys=KEYS,
    promises_no_tools=True,
    install="Install it with `npm install -g @google/gemini-cli`.",
    prepare=prepare,
    look=look,
)
