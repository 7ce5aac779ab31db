"""What `lithify doctor` says of the models: the configured one, the agents on this machine, and their live runs."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lithify.cli.doctor_models import look_at_models, look_at_runs
from lithify.cli.doctor_report import Check
from lithify.llm.acp.folders import RunFolder
from lithify.llm.acp.profiles import PROFILES

AGENTS = [profile for profile in PROFILES if profile.command]


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """The environment of a machine on which no agent is installed."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "run").mkdir(mode=0o700)
    return {"HOME": str(tmp_path), "PATH": str(tmp_path / "bin"), "XDG_RUNTIME_DIR": str(tmp_path / "run")}


def install(home: dict[str, str], program: str) -> Path:
    path = Path(home["PATH"]) / program
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def check(name: str, home: dict[str, str], settings: Path | None = None) -> Check:
    (found,) = [one for one in look_at_models(str(settings) if settings else None, home) if one.name == name]
    return found


def written(tmp_path: Path, settings: Any) -> Path:
    path = tmp_path / "settings.json"
    path.write_text(json.dumps(settings))
    return path


# --- agents ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("profile", AGENTS, ids=lambda one: one.name)
def test_an_agent_that_is_not_there_is_a_note_with_the_way_to_get_it(profile: Any, home: dict[str, str]) -> None:
    found = check(f"Agent {profile.name}", home)
    assert found.mark == "note"
    assert profile.command[0] in found.text
    assert found.text.lower().endswith(profile.install.lower().removesuffix("."))


@pytest.mark.parametrize("profile", AGENTS, ids=lambda one: one.name)
def test_an_agent_that_is_there_but_lacks_something_says_what_to_do(profile: Any, home: dict[str, str]) -> None:
    path = install(home, profile.command[0])
    found = check(f"Agent {profile.name}", home)
    assert (found.mark, str(path) in found.text, bool(found.next_step)) == ("attention", True, True)


def test_an_agent_with_a_login_is_fine(home: dict[str, str]) -> None:
    install(home, "claude-code-acp")
    login = Path(home["HOME"]) / ".claude" / ".credentials.json"
    login.parent.mkdir()
    login.write_text("{}")
    assert check("Agent claude-code", home).mark == "ok"


# --- the configured model -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({}, "the offline model"),
        ({"lithify": {"model": {"provider": "offline"}}}, "the offline model"),
        (
            {"model": {"http": {"baseUrl": "http://localhost:1234/v1", "model": "tiny"}}},
            "endpoint localhost:1234, model tiny; it was not asked",
        ),
    ],
)
def test_settings_are_shown_as_the_models_they_name(
    settings: Any, text: str, home: dict[str, str], tmp_path: Path
) -> None:
    found = check("Configured model", home, written(tmp_path, settings))
    assert (found.mark, found.text) == ("ok", text)


HTTP = {"baseUrl": "http://localhost:1"}


@pytest.mark.parametrize(
    ("model", "mark", "named"),
    [
        ({"http": {**HTTP, "apiKeyEnv": "UNSET_KEY"}}, "fails", "UNSET_KEY"),
        ({"http": {"baseUrl": "localhost:1/v1"}}, "fails", "model.http.baseUrl"),
        ({"http": {"baseUrl": "http://me:secret@localhost"}}, "fails", "model.http.baseUrl"),
        ({"acp": {"command": ["no-such-agent"]}}, "fails", "no-such-agent"),
        ({"acp": {"command": ["no-such-agent"]}, "http": HTTP}, "attention", "no-such-agent"),
        ({"acp": {"command": ["there"], "env": ["UNSET_KEY"]}}, "attention", "UNSET_KEY"),
    ],
)
def test_settings_that_cannot_work_here_are_told_with_what_is_missing(
    model: Any, mark: str, named: str, home: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(home, "there")
    monkeypatch.setenv("PATH", home["PATH"])
    found = check("Configured model", home, written(tmp_path, {"model": model}))
    assert (found.mark, named in found.text, "secret" in found.text) == (mark, True, False)


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"model": {"provider": "acp"}}, "model.acp.command"),
        ({"model": {"provider": "best"}}, "model.provider"),
        ({"model": {"http": {"url": "x"}}}, "model.http.url"),
        ({"model": {"provider": "editor"}}, "editor"),
        ([], "an object of settings"),
    ],
)
def test_settings_that_name_no_model_fail_with_the_setting(
    settings: Any, named: str, home: dict[str, str], tmp_path: Path
) -> None:
    found = check("Configured model", home, written(tmp_path, settings))
    assert (found.mark, named in found.text) == ("fails", True)


@pytest.mark.parametrize("content", [None, b"{", b"\xff"])
def test_a_settings_file_that_cannot_be_read_fails(content: bytes | None, home: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    if content is not None:
        path.write_bytes(content)
    found = check("Configured model", home, path)
    assert (found.mark, str(path) in found.text) == ("fails", True)


# --- live runs --------------------------------------------------------------------------------------------------


@pytest.fixture
def run(home: dict[str, str]) -> Iterator[RunFolder]:
    """An agent at work for a server, as its folder tells."""
    folder = RunFolder.create(home)
    yield folder
    folder.remove()


def test_nothing_at_work_is_fine(home: dict[str, str]) -> None:
    assert [(one.mark, one.text) for one in look_at_runs(home)] == [("ok", "none")]


def test_an_agent_at_work_is_shown_with_its_process_and_its_server(home: dict[str, str], run: RunFolder) -> None:
    run.note({"agent": "opencode", "agentPid": 4711, "launcherPid": 4710, "serverPid": os.getpid(), "startedAt": 0.0})
    (found,) = look_at_runs(home)
    assert (found.mark, found.next_step) == ("ok", None)
    assert found.text.startswith("opencode, process 4711 since ")
    assert found.text.endswith(f"for the server {os.getpid()}")


def test_an_agent_whose_server_is_gone_deserves_a_look(home: dict[str, str], run: RunFolder) -> None:
    run.note({"agent": "opencode", "agentPid": 4711, "launcherPid": 4710, "serverPid": (1 << 22) + 1, "startedAt": 0.0})
    (found,) = look_at_runs(home)
    assert (found.mark, "4710" in (found.next_step or "")) == ("attention", True)
