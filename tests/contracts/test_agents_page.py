"""`docs/AGENTS.md` says of each agent what the program does: the versions, and where sessions lie."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from lithify.storage.agent_sessions.agent import Agent
from lithify.storage.agent_sessions.catalogue import AGENTS

ROOT = Path(__file__).parent.parent.parent
PACKAGES = {
    "claude-code": "@anthropic-ai/claude-code-linux-x64",
    "codex": "codex-linux-x64",
    "kimi-code": "@moonshot-ai/kimi-code",
    "gemini": "@google/gemini-cli",
    "opencode": "opencode-linux-x64",
}


def rows() -> dict[str, list[str]]:
    """The first table below "What works", by the agents' titles."""
    page = (ROOT / "docs" / "AGENTS.md").read_text(encoding="utf-8").split("## What works")[1]
    table = next(block for block in page.split("\n\n") if block.startswith("|"))
    cells = ([cell.strip() for cell in line.strip("| ").split(" | ")] for line in table.splitlines())
    return {title: rest for title, *rest in cells}


def pinned(agent: str) -> str:
    """The version of an agent that `make test-resume` runs."""
    if agent == "kimi-cli":
        text = (ROOT / "tests" / "resume" / "kimi-cli-requirements.txt").read_text(encoding="utf-8")
        (found,) = re.findall(r"^kimi-cli==(\S+)", text, re.M)
        return found
    packages = json.loads((ROOT / "tests" / "resume" / "package.json").read_text(encoding="utf-8"))["dependencies"]
    (version,) = re.findall(r"(\d+\.\d+\.\d+)(?:-linux-x64)?$", packages[PACKAGES[agent]])
    return version


@pytest.mark.parametrize("agent", AGENTS, ids=lambda one: one.name)
def test_the_page_names_the_versions_that_can_be_written(agent: Agent) -> None:
    assert rows()[agent.title][0] == agent.seen.versions


@pytest.mark.parametrize("agent", AGENTS, ids=lambda one: one.name)
def test_the_version_that_is_run_against_the_real_agent_is_one_that_can_be_written(agent: Agent) -> None:
    assert agent.seen.holds(pinned(agent.name))


@pytest.mark.parametrize("agent", AGENTS, ids=lambda one: one.name)
def test_the_page_names_the_folder_that_sessions_are_looked_for_in(agent: Agent) -> None:
    folder = str(agent.folder({"HOME": "/~"})).removeprefix("/")
    assert f"`{folder}" in rows()[agent.title][1]
