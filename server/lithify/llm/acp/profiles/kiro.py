"""Kiro CLI, after its documentation (1.25 to 2.x): it could not be installed and run where this was written.

Kiro takes no system prompt over the protocol and no tool switch; both come from agent files in `~/.kiro/agents`, which
are the user's, so Lithify writes them on the user's command only. They hold no tools and a neutral prompt; the system
prompt of a request goes before its text. Kiro's third engine (`--agent-engine v3`) takes no `--agent` with ACP.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from lithify.core.model_calls import Purpose
from lithify.llm.acp.profile import Finding, Launch, Profile, Run
from lithify.llm.acp.profiles.user_files import home_folder

AGENTS: Mapping[Purpose, str] = {
    "conversation": "lithify-compactor",
    "buffer": "lithify-compactor",
    "extraction": "lithify-extractor",
}

DESCRIPTIONS = {
    "lithify-compactor": "Rewrites conversations and events shorter for Lithify, without tools",
    "lithify-extractor": "Makes memory records of events for Lithify, without tools",
}

PROMPT = "Each message holds its own instructions: follow them exactly. Answer in text only and use no tools."

FOLDER = Path(".kiro", "agents")

SETUP = "run `lithify agents setup kiro`"


@dataclass(frozen=True, slots=True)
class AgentFile:
    """One agent file on the disk: what was found, and whether it was written. `changed` is one whose content is not
    what this version writes: an older version's, another model, or the user's own changes."""

    path: Path
    found: Literal["missing", "same", "changed"]
    written: bool


def agent_files(model: str | None = None) -> Mapping[Path, str]:
    """The agent files by their path below the home folder. Without a model Kiro's own choice answers."""
    return {FOLDER / f"{name}.json": _dumped(_agent(name, model)) for name in DESCRIPTIONS}


def write_agent_files(home: Path, model: str | None = None, *, force: bool = False) -> list[AgentFile]:
    """Writes the agent files that are missing; a changed one only by `force`. Raises OSError."""
    outcomes = []
    for below, text in agent_files(model).items():
        path = home / below
        found = _found(path, text)
        writes = found == "missing" or (found == "changed" and force)
        if writes:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
        outcomes.append(AgentFile(path, found, writes))
    return outcomes


def prepare(run: Run) -> Launch:
    """Names the agent for the purpose, unless the user's command names one. Raises ValueError where it is missing."""
    if "--agent" in run.command:
        return Launch(run.command)
    name = AGENTS[run.purpose]
    path = home_folder(run.user_environment) / FOLDER / f"{name}.json"
    if not path.is_file():
        raise ValueError(f"its agent file {path} is missing; {SETUP}")
    return Launch((*run.command, "--agent", name))


def tidy(run: Run) -> None:
    """Removes the files of the run's session, which name its folder; others are not touched."""
    started = run.work.stat().st_mtime
    for path in (home_folder(run.user_environment) / ".kiro" / "sessions" / "cli").glob("*.json"):
        if path.stat().st_mtime >= started and _read(path).get("cwd") == str(run.work):
            for part in path.parent.glob(f"{path.stem}.*"):
                part.unlink(missing_ok=True)


def look(environment: Mapping[str, str]) -> list[Finding]:
    """Whether the agent files are there, and as this version writes them, whatever their model is."""
    return [_look_at(home_folder(environment) / FOLDER / f"{name}.json", name) for name in DESCRIPTIONS]


def _look_at(path: Path, name: str) -> Finding:
    if not path.is_file():
        return Finding(False, f"the agent file {path} is missing", SETUP)
    found = _read(path)
    model = found.get("model")
    if found != _agent(name, model if isinstance(model, str) else None):
        return Finding(False, f"{path} is not as this version writes it", f"{SETUP} --force, or keep your changes")
    return Finding(True, f"agent {name} with {model or 'the model that Kiro chooses'}")


def _agent(name: str, model: str | None) -> dict[str, Any]:
    agent: dict[str, Any] = {
        "name": name,
        "description": DESCRIPTIONS[name],
        "prompt": PROMPT,
        "mcpServers": {},
        "tools": [],
        "allowedTools": [],
        "resources": [],
        "hooks": {},
        "includeMcpJson": False,
    }
    return agent if model is None else {**agent, "model": model}


def _dumped(agent: Mapping[str, Any]) -> str:
    return json.dumps(agent, indent=2, ensure_ascii=False) + "\n"


def _found(path: Path, text: str) -> Literal["missing", "same", "changed"]:
    try:
        return "same" if path.read_text(encoding="utf-8", errors="replace") == text else "changed"
    except FileNotFoundError:
        return "missing"


def _read(path: Path) -> dict[str, Any]:
    """A file of Kiro's; what is no JSON object is none of ours."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, FileNotFoundError):
        return {}
    return found if isinstance(found, dict) else {}


PROFILE = Profile(
    name="kiro",
    title="Kiro",
    command=("kiro-cli", "acp"),
    programs=("kiro-cli", "kiro-cli-chat"),
    promises_no_tools=True,
    install="Install it as https://kiro.dev/cli says.",
    prepare=prepare,
    tidy=tidy,
    look=look,
)
