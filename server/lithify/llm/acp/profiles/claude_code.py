"""Claude Code through Zed's adapter, seen with `@zed-industries/claude-code-acp` 0.16.2.

The system prompt goes by `_meta` of `session/new`; Claude Code puts two short lines of its own before it and today's
date before the text. The user's own configuration folder is used as it is: a private one would lose the login on macOS
and could renew a login twice at once. Of the user's settings only what leads to the model is handed on, so neither
hooks nor memory files have a part in a run; nothing of a run is kept in the list of sessions.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lithify.llm.acp.profile import Finding, Launch, Profile, Run
from lithify.llm.acp.profiles.user_files import folder_of, login_finding, read_object

KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN")

LEADS_TO_THE_MODEL = (
    *("env", "apiKeyHelper", "awsAuthRefresh", "awsCredentialExport", "gcpAuthRefresh"),
    *("forceLoginMethod", "forceLoginOrgUUID"),
)
"""The user's settings that a run needs."""

TOOLS_LEFT = ("TaskOutput", "TaskStop", "EnterPlanMode", "ToolSearch", "ListMcpResourcesTool", "ReadMcpResourceTool")
"""What the adapter's own switch forgets."""

FAMILY = re.compile(r"claude-(haiku|sonnet|opus)-\d+\.\d+")
"""A model as other products spell it, such as `claude-haiku-4.5`; Claude Code has the newest one of each family."""

QUIET = {
    "CLAUDE_CODE_DISABLE_ATTACHMENTS": "1",  # else a file that the text mentions as @path is read and sent
    "CLAUDE_CODE_DISABLE_CLAUDE_MDS": "1",
    "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
    "DISABLE_COMPACT": "1",  # else it shortens a long text by itself before the model sees it
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    "CLAUDE_CODE_MAX_RETRIES": "1",  # ten by default, which would use up the time and hide the model's error
    "npm_config_logs_max": "0",
}

EMPTY_LIST = re.compile(r"([0-9a-f-]{36})-agent-\1\.json")
"""The list of things to do that Claude Code makes for every session."""


def prepare(run: Run) -> Launch:
    """Hands over the prompt, no tools, and the user's way to the model."""
    settings = _settings(run)
    options: dict[str, Any] = {
        "tools": [],
        "disallowedTools": list(TOOLS_LEFT),
        "settingSources": [],
        "strictMcpConfig": True,
        "plugins": [],
        "persistSession": False,
        "maxTurns": 1,
        "extraArgs": {"settings": str(settings)},
    }
    model = run.model
    if model is not None and (family := FAMILY.fullmatch(model)):
        model = family[1]
    if model is not None:
        options["model"] = model  # an id that is none of the offered ones is offered then, and chosen by protocol
    return Launch(
        run.command,
        {**QUIET, "CLAUDE_CODE_DEBUG_LOGS_DIR": str(run.home / "debug.txt"), **_configuration_folder(run)},
        {"systemPrompt": run.system_prompt, "disableBuiltInTools": True, "claudeCode": {"options": options}},
        system_prompt="profile",
        model=model,
    )


def tidy(run: Run) -> None:
    """Removes the run's folder among the user's projects, where a version made one, and its empty list of things to
    do; one of a session with a transcript is never touched."""
    folder = _folder(run.user_environment)
    shutil.rmtree(folder / "projects" / project_name(run.work), ignore_errors=True)
    started = run.work.stat().st_mtime
    for path in (folder / "todos").glob("*-agent-*.json"):
        found = EMPTY_LIST.fullmatch(path.name)
        if found and _is_fresh_and_empty(path, started) and not any(folder.glob(f"projects/*/{found[1]}.jsonl")):
            path.unlink(missing_ok=True)


def look(environment: Mapping[str, str]) -> list[Finding]:
    """Whether there is a login or a key; macOS keeps the login where it cannot be seen."""
    logins = [_folder(environment) / ".credentials.json"]
    if sys.platform == "darwin":
        return [Finding(True, "a login lies in the keychain, which is not looked at")]
    return [login_finding(environment, logins, KEYS, "run `claude` and log in there")]


def project_name(folder: Path) -> str:
    """How Claude Code names a project's folder among its own."""
    return re.sub(r"[^a-zA-Z0-9]", "-", str(folder))


def _folder(environment: Mapping[str, str]) -> Path:
    return folder_of(environment, "CLAUDE_CONFIG_DIR", ".claude")


def _configuration_folder(run: Run) -> dict[str, str]:
    named = run.user_environment.get("CLAUDE_CONFIG_DIR")
    return {"CLAUDE_CONFIG_DIR": named} if named else {}


def _settings(run: Run) -> Path:
    own = read_object(_folder(run.user_environment) / "settings.json")
    path = run.home / "settings.json"
    path.write_text(json.dumps({name: own[name] for name in LEADS_TO_THE_MODEL if name in own}), encoding="utf-8")
    return path


def _is_fresh_and_empty(path: Path, started: float) -> bool:
    try:
        return path.stat().st_mtime >= started and path.read_bytes() == b"[]"
    except FileNotFoundError:
        return False


PROFILE = Profile(
    name="claude-code",
    title="Claude Code",
    command=("claude-code-acp",),
    programs=("claude-code-acp", "claude-agent-acp"),
    keys=KEYS,
    promises_no_tools=True,
    install="Install it with `npm install -g @zed-industries/claude-code-acp`.",
    prepare=prepare,
    tidy=tidy,
    look=look,
)
