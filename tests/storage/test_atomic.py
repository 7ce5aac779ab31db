"""A user's file is written whole or not at all, and what it held before is kept."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from lithify.storage import atomic
from lithify.storage.backup_names import next_backup, next_rotation


def names(folder: Path) -> list[str]:
    return sorted(one.name for one in folder.iterdir())


def test_a_new_file_holds_the_bytes(tmp_path: Path) -> None:
    atomic.write_new(tmp_path / "new", b"a\r\nb")
    assert (tmp_path / "new").read_bytes() == b"a\r\nb"
    assert names(tmp_path) == ["new"]


def test_a_new_file_never_takes_the_place_of_another(tmp_path: Path) -> None:
    (tmp_path / "there").write_bytes(b"old")
    with pytest.raises(FileExistsError):
        atomic.write_new(tmp_path / "there", b"new")
    assert (tmp_path / "there").read_bytes() == b"old"
    assert names(tmp_path) == ["there"]


def test_a_replaced_file_holds_the_new_bytes_and_its_backup_the_old(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"old")
    atomic.replace_with_backup(tmp_path / "file", b"new", tmp_path / "file.bak")
    assert [(tmp_path / name).read_bytes() for name in names(tmp_path)] == [b"new", b"old"]


def test_a_replaced_file_keeps_its_permissions(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"old")
    (tmp_path / "file").chmod(0o640)
    atomic.replace_with_backup(tmp_path / "file", b"new", tmp_path / "file.bak")
    assert {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in names(tmp_path)} == {0o640}


def test_a_symbolic_link_still_points_to_the_replaced_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"old")
    (tmp_path / "link").symlink_to("file")
    atomic.replace_with_backup(tmp_path / "link", b"new", tmp_path / "backup")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_bytes() == b"new"
    assert (tmp_path / "backup").read_bytes() == b"old"
    assert not (tmp_path / "backup").is_symlink()


def test_a_backup_never_takes_the_place_of_another_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"old")
    (tmp_path / "backup").write_bytes(b"older")
    with pytest.raises(FileExistsError):
        atomic.replace_with_backup(tmp_path / "file", b"new", tmp_path / "backup")
    assert [(tmp_path / name).read_bytes() for name in names(tmp_path)] == [b"older", b"old"]


def test_a_replacement_that_fails_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_bytes(b"old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(atomic.os, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        atomic.replace_with_backup(tmp_path / "file", b"new", tmp_path / "file.bak")
    assert names(tmp_path) == ["file"]
    assert (tmp_path / "file").read_bytes() == b"old"


def test_where_there_are_no_hard_links_the_backup_is_a_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_bytes(b"old")
    (tmp_path / "file").chmod(0o600)

    def unsupported(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(atomic.os, "link", unsupported)
    atomic.replace_with_backup(tmp_path / "file", b"new", tmp_path / "file.bak")
    assert [(tmp_path / name).read_bytes() for name in names(tmp_path)] == [b"new", b"old"]
    with pytest.raises(FileExistsError):
        atomic.write_new(tmp_path / "file", b"newer")


@pytest.mark.parametrize("step", ["os.link", "os.replace", "os.fsync"])
def test_a_process_killed_at_any_step_leaves_the_old_or_the_new_bytes(tmp_path: Path, step: str) -> None:
    (tmp_path / "file").write_bytes(b"old")
    killed = (
        "import os, signal, sys; from pathlib import Path; from lithify.storage import atomic\n"
        f"{step} = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "folder = Path(sys.argv[1]); atomic.replace_with_backup(folder / 'file', b'new', folder / 'file.bak')"
    )
    ended = subprocess.run([sys.executable, "-c", killed, str(tmp_path)], timeout=30, check=False)
    assert ended.returncode == -signal.SIGKILL
    assert (tmp_path / "file").read_bytes() == b"old"
    backup = tmp_path / "file.bak"
    assert not backup.exists() or backup.read_bytes() == b"old"


def test_backups_take_the_first_free_name(tmp_path: Path) -> None:
    file = tmp_path / "chat.json"
    assert next_backup(file).name == "chat.json.bak"
    (tmp_path / "chat.json.bak").touch()
    assert next_backup(file).name == "chat.json.bak.1"
    os.symlink("nowhere", tmp_path / "chat.json.bak.1")
    assert next_backup(file).name == "chat.json.bak.2"


def test_a_session_of_kimi_cli_is_rotated_behind_the_highest_number(tmp_path: Path) -> None:
    file = tmp_path / "context.jsonl"
    assert next_rotation(file).name == "context_1.jsonl"
    for name in ("context_3.jsonl", "context_x.jsonl", "context_30.json", "other_9.jsonl"):
        (tmp_path / name).touch()
    assert next_rotation(file).name == "context_4.jsonl"
