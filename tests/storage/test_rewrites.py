"""What takes lines out of a buffer: durable, whole or not at all, whenever the process is killed."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lithify.core.entries import read_lines
from lithify.core.events import buffer_line
from lithify.storage.buffer import Buffer
from tests.storage.seam import calls_noted, failing_from
from tests.support.stores import IN_MEMORY

ROOT = Path(__file__).resolve().parents[2]


# --- killed at every line -------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=["extract", "extract_all", "compact", "let_go", "cut"])
def crashes(request: pytest.FixtureRequest) -> list[dict[str, Any]]:
    command = [sys.executable, "-m", "tests.storage.rewrite_crashes", request.param]
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder:
        told = subprocess.run([*command, folder], capture_output=True, text=True, cwd=ROOT, check=True)
    return [json.loads(line) for line in told.stdout.splitlines()]


@pytest.mark.timeout(180)
def test_there_are_many_lines_to_be_killed_at(crashes: list[dict[str, Any]]) -> None:
    assert len(crashes) > 60


def test_killed_at_any_line_every_event_is_in_one_place_at_once(crashes: list[dict[str, Any]]) -> None:
    assert [one for one in crashes if one["at_once"]] == []


def test_killed_at_any_line_the_next_look_heals_all(crashes: list[dict[str, Any]]) -> None:
    assert [one for one in crashes if one["healed"]] == []


def test_killed_at_any_line_the_next_look_finds_what_is_in_the_file(crashes: list[dict[str, Any]]) -> None:
    assert [one for one in crashes if one["entries"] != one["buffer"]] == []


def test_killed_at_any_line_what_nobody_can_read_is_kept(crashes: list[dict[str, Any]]) -> None:
    assert [one for one in crashes if not one["broken_kept"]] == []


def test_killed_at_any_line_records_are_there_exactly_when_their_events_are_extracted(
    crashes: list[dict[str, Any]],
) -> None:
    assert [one for one in crashes if one["records"] != int("extracted" in one["states"].values())] == []


def test_killed_at_any_line_what_is_left_can_be_extracted_once(crashes: list[dict[str, Any]]) -> None:
    assert [one for one in crashes if one["in_the_end"] or set(one["last_states"]) - {"extracted", "evicted"}] == []


# --- the order of a rewrite's calls ---------------------------------------------------------------------------


@pytest.fixture
def buffer(tmp_path: Path) -> Iterator[Buffer]:
    made = Buffer(tmp_path / "p1")
    with made.held():
        made.append([line("E1"), line("E2")], 1 << 20)
    yield made
    made.close()


def line(event_id: str) -> str:
    body = '{"type":"text","content":"words"}'
    return buffer_line(event_id, "/actor/ann/project/p1/", "note", body, "2026-01-02T03:04:05Z", "test")


def test_a_rewrite_is_written_synced_renamed_and_its_folder_synced(buffer: Buffer) -> None:
    with buffer.held(), calls_noted() as calls:
        buffer.rewrite(read_lines(b"{}"))
    assert [name for name, _ in calls] == ["open_file", "write", "fsync", "rename", "open_folder", "fsync"]


def test_the_folder_is_what_is_synced_after_the_rename(buffer: Buffer) -> None:
    with buffer.held(), calls_noted() as calls:
        buffer.rewrite(read_lines(b"{}"))
    assert calls[4][1][0] == buffer.path.parent


def test_the_temporary_file_is_in_the_same_folder(buffer: Buffer) -> None:
    with buffer.held(), calls_noted() as calls:
        buffer.rewrite(read_lines(b"{}"))
    (source, target) = next(arguments for name, arguments in calls if name == "rename")
    assert (source.parent, target) == (buffer.path.parent, buffer.path)


def test_the_bytes_are_whole_before_the_rename(buffer: Buffer, tmp_path: Path) -> None:
    with buffer.held(), calls_noted() as calls:
        buffer.rewrite(read_lines(b"{}\n[]"))
    assert b"".join(arguments[1] for name, arguments in calls if name == "write") == b"{}\n[]\n"


def test_without_lines_the_file_is_deleted_and_the_folder_synced(buffer: Buffer) -> None:
    with buffer.held(), calls_noted() as calls:
        buffer.rewrite([])
    assert ([name for name, _ in calls], buffer.path.exists()) == (["unlink", "open_folder", "fsync"], False)


def test_to_delete_a_file_that_is_not_there_is_no_error(buffer: Buffer) -> None:
    with buffer.held():
        buffer.rewrite([])
        buffer.rewrite([])
    assert not buffer.path.exists()


def test_the_lock_file_outlives_the_buffer(buffer: Buffer) -> None:
    with buffer.held():
        buffer.rewrite([])
    assert os.listdir(buffer.path.parent) == ["buffer.lock"]


def test_a_rewrite_that_fails_leaves_the_old_lines(buffer: Buffer) -> None:
    before = buffer.path.read_bytes()
    with buffer.held(), failing_from(1, 28), pytest.raises(OSError, match="No space"):
        buffer.rewrite(read_lines(b"{}"))
    assert buffer.path.read_bytes() == before


@pytest.mark.parametrize("mask", [0, 0o022, 0o077])
def test_a_rewritten_file_is_for_the_user_alone(buffer: Buffer, mask: int) -> None:
    before = os.umask(mask)
    try:
        with buffer.held():
            buffer.rewrite(read_lines(b"{}"))
    finally:
        os.umask(before)
    assert stat.S_IMODE(buffer.path.stat().st_mode) == 0o600


def test_the_folder_of_a_buffer_is_for_the_user_alone(buffer: Buffer) -> None:
    assert stat.S_IMODE(buffer.path.parent.stat().st_mode) == 0o700


# --- leftovers ------------------------------------------------------------------------------------------------


def leftover(buffer: Buffer, name: str = "buffer.ndjson.rewrite-0a1b") -> Path:
    made = buffer.path.with_name(name)
    made.write_bytes(b"half a lin")
    return made


def test_what_a_cut_rewrite_left_is_gone_when_the_lock_is_first_had(buffer: Buffer) -> None:
    left, another = leftover(buffer), Buffer(buffer.path.parent)
    with another.held():
        assert not left.exists()
    another.close()


def test_nothing_else_is_swept(buffer: Buffer) -> None:
    other, another = leftover(buffer, "notes.txt"), Buffer(buffer.path.parent)
    with another.held():
        assert (other.exists(), buffer.path.exists()) == (True, True)
    another.close()


def test_without_the_lock_nothing_is_swept(buffer: Buffer) -> None:
    left, another = leftover(buffer), Buffer(buffer.path.parent)
    another.lock.wait_seconds = 0
    with buffer.held(), pytest.raises(OSError, match="is held by another"), another.held():
        pass
    assert left.exists()
    another.close()


def test_what_could_not_be_swept_is_swept_later(buffer: Buffer) -> None:
    left, another = leftover(buffer), Buffer(buffer.path.parent)
    with failing_from(1, 13), another.held():
        assert left.exists()
    with another.held():
        assert not left.exists()
    another.close()


def test_what_a_failed_rewrite_could_not_remove_is_swept_later(buffer: Buffer) -> None:
    with failing_from(1, 5), pytest.raises(OSError, match="Input/output"), buffer.held():
        buffer.rewrite(read_lines(b"{}"))
    assert len(list(buffer.path.parent.glob("*.rewrite-*"))) == 1
    with buffer.held():
        assert list(buffer.path.parent.glob("*.rewrite-*")) == []
