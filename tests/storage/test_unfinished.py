"""What processes leave beside files of others when they are killed: it goes with the next write, and nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from lithify.cli.main import main
from lithify.core.file_writes import Written
from lithify.storage.atomic import file_beside
from lithify.storage.session_files import SessionFiles
from lithify.storage.unfinished import Unfinished, folder_beside
from tests.storage.unfinished_crashes import AGENTS
from tests.support.stores import IN_MEMORY

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def crashes() -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder:
        arguments = [sys.executable, "-m", "tests.storage.unfinished_crashes", folder]
        told = subprocess.run(arguments, capture_output=True, text=True, cwd=ROOT, check=True, timeout=120)
    return [json.loads(line) for line in told.stdout.splitlines()]


@pytest.mark.parametrize("agent", AGENTS)
def test_what_a_killed_process_left_beside_a_session_is_gone_after_the_next_write(
    crashes: list[dict[str, Any]], agent: str
) -> None:
    of_agent = [one for one in crashes if one["agent"] == agent]
    left = [name for one in of_agent for name in one["left"] if name.startswith(".lithify-")]
    assert (len(of_agent) > 10, len(left) > 2, of_agent[-1]["killed"]) == (True, True, False)
    whole = of_agent[-1]["left"]
    if agent == "kimi-cli":  # which keeps each old file, and here a second one
        whole = sorted([*whole, "context_2.jsonl"])
    for one in of_agent[:-1]:
        assert set(one["then"]) <= set(whole), one
        assert (one["notes"], [name for name in one["then"] if "lithify" in name]) == ([], []), one


@pytest.fixture
def unfinished(tmp_path: Path) -> Unfinished:
    return Unfinished(tmp_path / "data")


def left_by_a_killed_process(tmp_path: Path, place: Path) -> None:
    """A note whose lock nobody holds."""
    folder = tmp_path / "data" / "unfinished"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "0123456789abcdef").write_bytes(os.fsencode(place))


def test_what_is_still_being_made_stays(unfinished: Unfinished, tmp_path: Path) -> None:
    place = file_beside(tmp_path / "chat.jsonl")
    with unfinished.noted(place):
        place.write_bytes(b"half")
        Unfinished(tmp_path / "data").sweep()
        assert place.read_bytes() == b"half"
    assert os.listdir(tmp_path / "data" / "unfinished") == []


def test_a_folder_goes_with_all_that_is_in_it(unfinished: Unfinished, tmp_path: Path) -> None:
    place = folder_beside(tmp_path / "session_1")
    (place / "agents" / "main").mkdir(parents=True)
    left_by_a_killed_process(tmp_path, place)
    unfinished.sweep()
    assert (place.exists(), os.listdir(tmp_path / "data" / "unfinished")) == (False, [])


def test_every_write_into_a_chat_file_takes_away_what_was_left_wherever_it_lies(tmp_path: Path) -> None:
    chat, files = tmp_path / "chat.jsonl", SessionFiles(tmp_path / "data", {"HOME": str(tmp_path)})
    chat.write_bytes(b"{}\n")
    left = tmp_path / "temporary" / ".lithify-0123456789abcdef"

    def leave() -> None:
        left.mkdir(parents=True)
        (left / "session.json").write_bytes(b"private")
        left_by_a_killed_process(tmp_path, left)

    for write in (
        lambda: files.append(str(chat), b"{}\n", b"[]\n", format_name="codex", backup_id=None),
        lambda: files.cut(str(chat), b"{}\n[]\n", b"{}\n", format_name="codex"),
        lambda: files.rewrite(str(chat), b"{}\n", b"[]\n", format_name="codex", rotates=False),
    ):
        leave()
        assert isinstance(write(), Written)
        assert not left.exists()


@pytest.mark.parametrize("arguments", [["sessions", "list"], ["sessions", "undo", "none"], ["compact", "none"]])
def test_a_command_that_writes_nothing_takes_it_away_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("LITHIFY_DATA_DIR", str(tmp_path / "data"))
    left = file_beside(tmp_path / "chat.jsonl")
    left.write_bytes(b"private")
    left_by_a_killed_process(tmp_path, left)
    main(arguments)
    assert not left.exists()


@pytest.mark.parametrize(
    "name",
    [
        *("chat.jsonl", ".lithify-0123456789abcdef.tmp.txt", ".lithify-0123.tmp"),
        *("lithify-0123456789abcdef.tmp", ".lithify"),
    ],
)
def test_what_is_not_named_as_we_name_things_stays_though_it_is_noted(
    unfinished: Unfinished, tmp_path: Path, name: str
) -> None:
    (tmp_path / name).write_bytes(b"of the user")
    left_by_a_killed_process(tmp_path, tmp_path / name)
    unfinished.sweep()
    assert (tmp_path / name).read_bytes() == b"of the user"


def test_a_link_and_what_it_leads_to_stay(unfinished: Unfinished, tmp_path: Path) -> None:
    (tmp_path / "chats").mkdir()
    for name in (".lithify-0123456789abcdef.tmp", ".lithify-0123456789abcdef"):
        (tmp_path / name).symlink_to(tmp_path / "chats")
        left_by_a_killed_process(tmp_path, tmp_path / name)
        unfinished.sweep()
        assert (tmp_path / name).is_symlink()
    assert (tmp_path / "chats").is_dir()


def test_what_is_of_our_name_and_noted_by_nobody_stays(unfinished: Unfinished, tmp_path: Path) -> None:
    place = file_beside(tmp_path / "chat.jsonl")
    place.write_bytes(b"of another data folder")
    unfinished.sweep()
    with unfinished.noted(file_beside(place)):
        pass
    unfinished.sweep()
    assert place.exists()


@pytest.mark.parametrize("noted", [b"", b"\0", b"\xff" * 10])
def test_a_note_that_names_nothing_goes_or_stays_and_costs_nothing(
    unfinished: Unfinished, tmp_path: Path, noted: bytes
) -> None:
    folder = tmp_path / "data" / "unfinished"
    folder.mkdir(parents=True)
    (folder / "0123456789abcdef").write_bytes(noted)
    (folder / "notes.txt").write_bytes(noted)
    unfinished.sweep()
    assert (folder / "notes.txt").exists()


def test_where_nothing_can_be_noted_it_is_made_all_the_same(unfinished: Unfinished, tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(b"in the way")
    with unfinished.noted(tmp_path / "x"):
        (tmp_path / "x").touch()
    unfinished.sweep()
    assert (tmp_path / "x").exists()
