"""The commands of README.md's walk on the command line work when they are pasted in their order."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

from lithify.cli import main
from tests.cli.running import Place

ROOT = Path(__file__).parents[2]
COMMAND = ".venv/bin/lithify "


def walk() -> list[str]:
    """The lines to paste, without what they are said to do."""
    section = (ROOT / "README.md").read_text(encoding="utf-8").partition("## On the command line\n")[2]
    block = re.search(r"^```\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)
    assert block is not None
    return [line.partition("  #")[0].strip() for line in block[1].splitlines()]


def test_the_walk_on_the_command_line_can_be_pasted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    place = Place(tmp_path / "place")
    for name, value in place.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("LITHIFY_DATA_DIR", raising=False)
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.chdir(place.folder)
    said: dict[str, str] = {}
    copied, *commands = walk()
    _, source, target = copied.split()
    shutil.copy(ROOT / source, target)
    chat = Path(target).read_bytes()
    for command in commands:
        assert command.startswith(COMMAND), command
        assert main.main(shlex.split(command.removeprefix(COMMAND))) == 0, command
        printed = capsys.readouterr()
        said[" ".join(command.removeprefix(COMMAND).split()[:2])] = printed.out + printed.err
    assert Path(target).read_bytes() == chat
    assert "Undid compaction" in said["sessions undo"]
    assert "Made " in said["memory extract"]
    assert "rounding" in said["memory search"]
