"""Previews as files: how many are kept, and what is swept."""

from __future__ import annotations

from pathlib import Path

from lithify.storage.preview_files import MOST_FILES, PreviewFiles


def test_the_newest_previews_are_kept_and_the_oldest_make_room(tmp_path: Path) -> None:
    files = PreviewFiles(tmp_path / "previews")
    written = [files.write(str(number)) for number in range(MOST_FILES + 3)]
    assert [path.exists() for path in written] == [False] * 3 + [True] * MOST_FILES
    assert [path.read_text(encoding="utf-8") for path in written[3:]] == [
        str(number + 3) for number in range(MOST_FILES)
    ]


def test_a_text_that_no_file_can_hold_is_written_all_the_same(tmp_path: Path) -> None:
    assert PreviewFiles(tmp_path / "previews").write("a\ud800b").read_bytes() == b"a?b"


def test_a_lock_that_was_left_without_a_folder_is_swept_too(tmp_path: Path) -> None:
    (tmp_path / "previews").mkdir()
    left = tmp_path / "previews" / "0123456789abcdef.lock"
    left.touch()
    PreviewFiles(tmp_path / "previews").sweep()
    assert not left.exists()


def test_a_second_sweeper_leaves_alone_what_the_first_one_shows(tmp_path: Path) -> None:
    first, second = PreviewFiles(tmp_path / "previews"), PreviewFiles(tmp_path / "previews")
    kept = first.write("mine")
    second.sweep()
    assert kept.exists()
    first.clear()
    assert list((tmp_path / "previews").iterdir()) == []


def test_nothing_is_made_before_there_is_something_to_show(tmp_path: Path) -> None:
    files = PreviewFiles(tmp_path / "previews")
    files.sweep()
    files.clear()
    assert list(tmp_path.iterdir()) == []
