"""Users' transcripts on the disk: rewritten only while they are what was read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lithify.storage.chat_files import ChatFiles
from lithify.storage.paths import NotAFile

FILES = ChatFiles()


def test_a_file_is_rewritten_and_what_it_held_lies_beside_it(tmp_path: Path) -> None:
    file = tmp_path / "chat.jsonl"
    file.write_bytes(b"old")
    assert FILES.rewrite(str(file), FILES.read(str(file)), b"new", rotates=False) == "chat.jsonl.bak"
    assert (file.read_bytes(), (tmp_path / "chat.jsonl.bak").read_bytes()) == (b"new", b"old")


def test_a_session_of_kimi_is_numbered_as_kimi_does(tmp_path: Path) -> None:
    file = tmp_path / "context.jsonl"
    file.write_bytes(b"old")
    assert FILES.rewrite(str(file), b"old", b"new", rotates=True) == "context_1.jsonl"


def test_a_file_that_holds_something_else_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "chat.jsonl"
    file.write_bytes(b"changed")
    assert FILES.rewrite(str(file), b"old", b"new", rotates=False) is None
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"changed"]


def test_a_named_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "chat.jsonl")
    with pytest.raises(NotAFile):
        FILES.read(str(tmp_path / "chat.jsonl"))
