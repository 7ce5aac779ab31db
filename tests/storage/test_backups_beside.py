"""Backups beside rewritten files: the oldest and the newest stay, and no file of anybody else is ever taken away."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lithify.core.file_writes import Written
from lithify.storage.backups import MOST_BACKUPS, Backups
from lithify.storage.chat_files import ChatFiles

OLD = b"0\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "chats" / "chat.jsonl"
    path.parent.mkdir()
    path.write_bytes(OLD)
    return path


@pytest.fixture
def files(tmp_path: Path) -> ChatFiles:
    return ChatFiles(Backups(tmp_path / "data"))


def rewrite(files: ChatFiles, file: Path, times: int, *, rotates: bool = False) -> list[str]:
    """Rewrites a file so often; the names of its backups."""
    names = []
    for _ in range(times):
        before = file.read_bytes()
        done = files.rewrite(
            str(file), before, b"%d\n" % (int(before) + 1), format_name="openai-jsonl", rotates=rotates
        )
        assert isinstance(done, Written)
        names.append(str(done.backup))
    return names


def held(file: Path) -> dict[str, bytes]:
    """What lies beside a file."""
    return {one.name: one.read_bytes() for one in file.parent.iterdir() if one != file}


def test_the_oldest_backup_and_the_newest_stay(files: ChatFiles, file: Path) -> None:
    names = rewrite(files, file, MOST_BACKUPS + 5)
    kept = [names[0], *names[-MOST_BACKUPS:]]
    assert held(file) == {name: b"%d\n" % names.index(name) for name in kept}
    assert names == ["chat.jsonl.bak", *(f"chat.jsonl.bak.{number}" for number in range(1, MOST_BACKUPS + 5))]


def test_a_file_that_is_none_of_our_backups_stays_whatever_it_is_called(files: ChatFiles, file: Path) -> None:
    own = {f"chat.jsonl.bak.{number}": b"of the user\n" for number in range(20)}
    for name, data in own.items():
        file.with_name(name).write_bytes(data)
    names = rewrite(files, file, MOST_BACKUPS + 5)
    assert own.items() <= held(file).items()
    assert len(held(file)) == len(own) + 1 + MOST_BACKUPS
    assert names[0] == "chat.jsonl.bak.20"


def test_a_backup_that_was_changed_or_replaced_stays(files: ChatFiles, file: Path, tmp_path: Path) -> None:
    (_, changed, linked, *_) = rewrite(files, file, 4)
    file.with_name(changed).write_bytes(b"notes of the user\n")
    (tmp_path / "elsewhere").write_bytes(file.with_name(linked).read_bytes())
    file.with_name(linked).unlink()
    file.with_name(linked).symlink_to(tmp_path / "elsewhere")
    rewrite(files, file, MOST_BACKUPS + 5)
    assert held(file)[changed] == b"notes of the user\n"
    assert file.with_name(linked).is_symlink()


def test_the_oldest_that_is_still_there_is_the_one_that_stays(files: ChatFiles, file: Path) -> None:
    first, second, *_ = rewrite(files, file, 3)
    file.with_name(first).unlink()
    rewrite(files, file, MOST_BACKUPS + 5)
    assert held(file)[second] == b"1\n"
    assert first not in held(file)


def test_the_files_that_a_session_of_kimi_cli_leaves_behind_all_stay(files: ChatFiles, file: Path) -> None:
    context = file.rename(file.with_name("context.jsonl"))
    assert len(rewrite(files, context, MOST_BACKUPS + 5, rotates=True)) == len(held(context)) == MOST_BACKUPS + 5


@pytest.mark.parametrize("noted", [b"{", b"[[]]", b'[{"name": "../x", "sha256": ""}, {"name": 1, "sha256": 2}, 3]'])
def test_a_note_that_cannot_be_understood_takes_nothing_away(
    files: ChatFiles, file: Path, tmp_path: Path, noted: bytes
) -> None:
    rewrite(files, file, 3)
    (note,) = (tmp_path / "data" / "backups").glob("*.beside")
    note.write_bytes(noted)
    (tmp_path / "x").write_bytes(b"")
    rewrite(files, file, MOST_BACKUPS + 2)
    assert set(held(file)) >= {"chat.jsonl.bak", "chat.jsonl.bak.1", "chat.jsonl.bak.2"}
    assert (tmp_path / "x").exists()


def test_without_a_data_folder_a_file_is_rewritten_and_its_backup_stays(file: Path, tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(b"in the way")
    rewrite(ChatFiles(Backups(tmp_path / "data")), file, 2)
    assert sorted(os.listdir(file.parent)) == ["chat.jsonl", "chat.jsonl.bak", "chat.jsonl.bak.1"]


def test_parts_of_notes_that_a_killed_process_left_go_with_the_next_write(
    files: ChatFiles, file: Path, tmp_path: Path
) -> None:
    rewrite(files, file, 1)
    (note,) = (tmp_path / "data" / "backups").iterdir()
    note.with_name(f"{note.name}.rewrite-ab12").write_bytes(b"par")
    rewrite(files, file, 1)
    assert list((tmp_path / "data" / "backups").iterdir()) == [note]
