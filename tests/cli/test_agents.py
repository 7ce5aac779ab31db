"""`lithify agents setup kiro`: what it writes, what it leaves alone, and what it says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lithify.cli import main

NAMES = ["lithify-compactor.json", "lithify-extractor.json"]


@pytest.fixture
def agents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where Kiro keeps its agent files in a home that has none yet."""
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path / ".kiro" / "agents"


def setup(*arguments: str) -> int:
    return main.main(["agents", "setup", "kiro", *arguments])


def test_both_agents_are_written_with_no_tools_and_the_pinned_model(agents: Path) -> None:
    assert setup() == 0
    written = [json.loads((agents / name).read_text()) for name in NAMES]
    assert [(one["tools"], one["mcpServers"], one["model"]) for one in written] == [([], {}, "claude-haiku-4.5")] * 2


@pytest.mark.parametrize(("name", "pinned"), [("other-1", "other-1"), ("", None)])
def test_another_model_can_be_pinned_or_none(agents: Path, name: str, pinned: str | None) -> None:
    assert setup("--model", name) == 0
    assert json.loads((agents / NAMES[0]).read_text()).get("model") == pinned


def test_a_second_setup_changes_nothing_and_says_so(agents: Path, capsys: pytest.CaptureFixture[str]) -> None:
    setup()
    before = [(agents / name).stat().st_mtime_ns for name in NAMES]
    capsys.readouterr()
    assert setup() == 0
    assert [(agents / name).stat().st_mtime_ns for name in NAMES] == before
    assert capsys.readouterr().out.count("Already as it should be") == 2


def test_a_file_that_the_user_changed_is_left_alone_and_named(agents: Path, capsys: pytest.CaptureFixture[str]) -> None:
    agents.mkdir(parents=True)
    (agents / NAMES[0]).write_text('{"name": "mine"}')
    assert setup() == 1
    told = capsys.readouterr()
    assert (agents / NAMES[0]).read_text() == '{"name": "mine"}'
    assert (f"Left alone, since it differs: {agents / NAMES[0]}" in told.out, "--force" in told.err) == (True, True)


def test_force_writes_it_anew(agents: Path) -> None:
    agents.mkdir(parents=True)
    (agents / NAMES[0]).write_text('{"name": "mine"}')
    assert setup("--force") == 0
    assert json.loads((agents / NAMES[0]).read_text())["name"] == "lithify-compactor"


def test_a_home_that_cannot_be_written_is_told_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("HOME", str(tmp_path / "file"))
    assert setup() == 1
    assert capsys.readouterr().err.startswith("lithify: the agent files cannot be written: ")
