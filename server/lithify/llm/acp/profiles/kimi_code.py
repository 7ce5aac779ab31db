"""kimi-code, seen with `@moonshot-ai/kimi-code` 2.1.0.

Each run has a home of its own with an agent file, which gives exactly our system prompt and no tools. Of the user's
home it gets the models and providers of `config.toml` and the login; hooks, plugins, MCP servers, skills and sessions
stay out. kimi-code adds today's date behind the text.
"""

from __future__ import annotations

import datetime
import json
import re
import shutil
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lithify.llm.acp.profile import Finding, Launch, Profile, Run
from lithify.llm.acp.profiles.user_files import folder_of, home_folder, lend_folder, login_finding

LEADS_TO_THE_MODEL = ("default_model", "default_provider", "models", "providers", "thinking")
"""What of the user's `config.toml` a run needs."""

KEYS = ("KIMI_API_KEY", "KIMI_MODEL_API_KEY", "MOONSHOT_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY")

VARIABLE = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*\}")
"""What kimi-code may fill in, in the text of an agent file."""

NEUTRAL = "Follow the instructions of the message. Answer in text only."

AGENT = """---
name: agent
description: Answers one request of Lithify
override: true
tools: []
subagents: []
---

{}
"""

LENT_FOLDERS = ("credentials", "oauth")
"""The login, and the lock that keeps two processes from renewing it at once."""

LENT_FILES = ("device_id", "region")


def prepare(run: Run) -> Launch:
    """A private home with the agent, the user's models and the user's login."""
    own = _folder(run.user_environment)
    (run.home / "agents").mkdir()
    exact = VARIABLE.search(run.system_prompt) is None
    text = run.system_prompt if exact else NEUTRAL
    (run.home / "agents" / "agent.md").write_text(AGENT.format(text), encoding="utf-8", newline="\n")
    (run.home / "config.toml").write_text(toml_of(settings_of(own / "config.toml")), encoding="utf-8")
    for name in LENT_FOLDERS:
        lend_folder(own / name, run.home / name)
    for name in LENT_FILES:
        if (own / name).is_file():
            shutil.copyfile(own / name, run.home / name)
    return Launch(
        run.command,
        {
            "KIMI_CODE_HOME": str(run.home),
            "KIMI_CODE_NO_AUTO_UPDATE": "1",
            "KIMI_LOOP_MAX_ATTEMPTS_PER_STEP": "2",  # ten by default, which would use up the time
        },
        system_prompt="profile" if exact else "before_text",
    )


def look(environment: Mapping[str, str]) -> list[Finding]:
    """Whether there is a login or a model, and whether `kimi` may be the older program of that name."""
    own = _folder(environment)
    if not own.exists() and (home_folder(environment) / ".kimi").exists():
        return [
            Finding(
                False,
                "only the settings of kimi-cli were found, the older agent whose program is `kimi` too",
                "set model.acp.profile to 'generic' for kimi-cli, or install kimi-code",
            )
        ]
    try:
        has_model = bool(settings_of(own / "config.toml").get("default_model"))
    except (OSError, ValueError) as error:
        return [Finding(False, str(error), "correct that file")]
    if has_model:
        return [Finding(True, f"has a model in {own / 'config.toml'}")]
    return [login_finding(environment, [own / "credentials" / "kimi-code.json"], KEYS, "run `kimi` and log in there")]


def settings_of(path: Path) -> dict[str, Any]:
    """What a run needs of the user's settings, and what keeps it quiet. Raises OSError, and ValueError with a sentence
    that names the file."""
    try:
        own = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        own = {}
    except ValueError as error:
        raise ValueError(f"{path} is not TOML: {error}") from error
    needed = {name: own[name] for name in LEADS_TO_THE_MODEL if name in own}
    return {**needed, "telemetry": False, "auto_session_title": False}


def toml_of(table: Mapping[str, Any]) -> str:
    """A TOML document."""
    return "".join(f"{json.dumps(key)} = {_value(value)}\n" for key, value in table.items())


def _value(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case dict():
            pairs = (f"{json.dumps(key, ensure_ascii=False)} = {_value(inner)}" for key, inner in value.items())
            return f"{{{', '.join(pairs)}}}"
        case list():
            return f"[{', '.join(_value(inner) for inner in value)}]"
        case datetime.date() | datetime.time():
            return value.isoformat()
        case _:
            return str(value)


def _folder(environment: Mapping[str, str]) -> Path:
    return folder_of(environment, "KIMI_CODE_HOME", ".kimi-code")


PROFILE = Profile(
    name="kimi-code",
    title="kimi-code",
    command=("kimi", "acp"),
    programs=("kimi", "kimi-code"),
    keys=KEYS,
    promises_no_tools=True,
    install="Install it with `npm install -g @moonshot-ai/kimi-code` (Node 22.19 or newer).",
    prepare=prepare,
    look=look,
)
