"""The buffer file: its format, torn lines, the ceiling, writes that fail, its size, its lock."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lithify.core.entries import read_line
from lithify.core.events import buffer_line
from lithify.storage.buffer import Buffer
from lithify.storage.locks import FileLock, LockUnavailable
from lithify.storage.paths import NotAFile
from tests.support.stores import CEILING_BYTES

KEYS = ["event_id", "namespace", "kind", "body", "timestamp", "surface"]

BODY = '{"type":"text","content":"é \U0001f600 \\u2028 \\n"}'


@pytest.fixture
def buffer(tmp_path: Path) -> Iterator[Buffer]:
    made = Buffer(tmp_path / "p1")
    (tmp_path / "p1").mkdir()
    yield made
    made.close()


def line(event_id: str, body: str = BODY) -> str:
    return buffer_line(event_id, "/actor/ann/project/p1/", "note", body, "2026-01-02T03:04:05Z", "test")


def readable(buffer: Buffer) -> list[str]:
    """The ids that a reader finds who skips broken lines."""
    found = []
    for one in buffer.path.read_bytes().split(b"\n"):
        try:
            found.append(json.loads(one)["event_id"])
        except ValueError:
            continue
    return found


def entry_ids(buffer: Buffer) -> set[str]:
    """The ids of the entries that we read."""
    return {one.entry.event_id for one in buffer.lines() if one.entry is not None}


# --- format ---------------------------------------------------------------------------------------------------


def test_every_line_is_json_by_itself(buffer: Buffer) -> None:
    buffer.append([line("E1"), line("E2")], CEILING_BYTES)
    with buffer.path.open("rb") as file:
        assert [json.loads(one)["event_id"] for one in file] == ["E1", "E2"]


def test_an_entry_has_exactly_the_six_keys_of_the_contract(buffer: Buffer) -> None:
    buffer.append([line("E1")], CEILING_BYTES)
    assert list(json.loads(buffer.path.read_bytes())) == KEYS


def test_a_body_comes_back_as_it_was(buffer: Buffer) -> None:
    buffer.append([line("E1")], CEILING_BYTES)
    assert json.loads(buffer.path.read_bytes())["body"] == json.loads(BODY)


def test_every_line_ends_with_a_newline(buffer: Buffer) -> None:
    buffer.append([line("E1")], CEILING_BYTES)
    buffer.append([line("E2")], CEILING_BYTES)
    assert buffer.path.read_bytes() == f"{line('E1')}\n{line('E2')}\n".encode()


def test_nothing_to_append_makes_no_file(buffer: Buffer) -> None:
    assert buffer.append([], CEILING_BYTES) == 0
    assert not buffer.path.exists()


# --- torn lines -----------------------------------------------------------------------------------------------


def test_a_line_torn_at_any_byte_does_not_swallow_the_next_one(buffer: Buffer) -> None:
    whole = f"{line('E1')}\n".encode()
    found = {}
    for kept in range(len(whole)):
        buffer.path.write_bytes(f"{line('E0')}\n".encode() + whole[:kept])
        buffer.append([line("E2")], CEILING_BYTES)
        found[kept] = readable(buffer)
    complete = len(whole) - 1  # only the newline is missing
    assert found == {kept: ["E0", "E1", "E2"] if kept == complete else ["E0", "E2"] for kept in found}


def test_a_line_torn_at_any_byte_is_no_entry(buffer: Buffer) -> None:
    whole = f"{line('E1')}\n".encode()
    found = set()
    for kept in range(len(whole) - 1):
        buffer.path.write_bytes(f"{line('E0')}\n".encode() + whole[:kept])
        found.add(frozenset(entry_ids(buffer)))
    assert found == {frozenset({"E0"})}


def test_a_line_that_only_lacks_its_newline_is_an_entry(buffer: Buffer) -> None:
    buffer.path.write_text(line("E1"))
    assert entry_ids(buffer) == {"E1"}


def test_a_torn_line_that_was_ended_later_is_no_entry(buffer: Buffer) -> None:
    buffer.path.write_text(line("E1")[:-5])
    buffer.append([line("E2")], CEILING_BYTES)
    assert entry_ids(buffer) == {"E2"}


def test_a_whole_last_line_gets_no_newline_in_front(buffer: Buffer) -> None:
    buffer.append([line("E1")], CEILING_BYTES)
    buffer.append([line("E2")], CEILING_BYTES)
    assert b"\n\n" not in buffer.path.read_bytes()


def test_an_empty_file_gets_no_newline_in_front(buffer: Buffer) -> None:
    buffer.path.touch()
    buffer.append([line("E1")], CEILING_BYTES)
    assert buffer.path.read_bytes().startswith(b"{")


def test_a_buffer_that_is_not_there_holds_no_entries(buffer: Buffer) -> None:
    assert entry_ids(buffer) == set()


# --- ceiling --------------------------------------------------------------------------------------------------


def test_a_line_that_reaches_the_ceiling_exactly_is_taken(buffer: Buffer) -> None:
    assert buffer.append([line("E1")], len(line("E1").encode()) + 1) == 1


def test_a_line_that_passes_the_ceiling_by_one_byte_is_not_taken(buffer: Buffer) -> None:
    assert buffer.append([line("E1")], len(line("E1").encode())) == 0


def test_a_file_that_nothing_fits_into_is_not_made(buffer: Buffer) -> None:
    buffer.append([line("E1")], 10)
    assert not buffer.path.exists()


def test_lines_are_taken_in_order_up_to_the_first_that_does_not_fit(buffer: Buffer) -> None:
    long = line("E2", json.dumps({"type": "text", "content": "x" * 1000}))
    assert buffer.append([line("E1"), long, line("E3")], 600) == 1
    assert readable(buffer) == ["E1"]


def test_no_more_lines_are_asked_for_than_one_that_does_not_fit(buffer: Buffer) -> None:
    asked = []

    def lines() -> Iterator[str]:
        for number in range(1000):
            asked.append(number)
            yield line(f"E{number}")

    buffer.append(lines(), 3 * (len(line("E0").encode()) + 1))
    assert asked == [0, 1, 2, 3]


def test_the_newline_after_a_torn_line_counts_too(buffer: Buffer) -> None:
    buffer.path.write_bytes(b"torn")
    assert buffer.append([line("E1")], 4 + len(line("E1").encode()) + 1) == 0


def test_the_bytes_that_are_there_count(buffer: Buffer) -> None:
    one = len(line("E1").encode()) + 1
    buffer.append([line("E1")], CEILING_BYTES)
    assert buffer.append([line("E2")], 2 * one - 1) == 0
    assert buffer.append([line("E2")], 2 * one) == 1


# --- writes that fail -----------------------------------------------------------------------------------------

FAILING = """
import resource, sys
from pathlib import Path
from lithify.storage.buffer import Buffer
buffer = Buffer(Path(sys.argv[1]))
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
try:
    buffer.append(sys.argv[3:], 1 << 20)
except OSError as error:
    print(error.strerror)
"""


def failing(buffer: Buffer, most_bytes: int, *lines: str) -> str:
    """An append in a process that may write no file larger than that; what the disk says."""
    command = [sys.executable, "-c", FAILING, str(buffer.path.parent), str(most_bytes), *lines]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.parametrize("more", [0, 1, 50, 400])
def test_an_append_that_fails_half_way_leaves_the_file_as_it_was(buffer: Buffer, more: int) -> None:
    buffer.append([line("E1")], CEILING_BYTES)
    before = buffer.path.read_bytes()
    told = failing(buffer, len(before) + more, line("E2"), line("E3"), line("E4"))
    assert (told, buffer.path.read_bytes()) == ("File too large", before)


def test_an_append_that_fails_leaves_a_torn_line_torn(buffer: Buffer) -> None:
    buffer.path.write_bytes(b"torn")
    failing(buffer, 20, line("E2"))
    assert buffer.path.read_bytes() == b"torn"


def test_after_an_append_that_failed_the_next_one_is_whole(buffer: Buffer) -> None:
    buffer.append([line("E1")], CEILING_BYTES)
    failing(buffer, buffer.path.stat().st_size + 50, line("E2"))
    buffer.append([line("E3")], CEILING_BYTES)
    assert readable(buffer) == ["E1", "E3"]


def test_a_folder_in_the_place_of_the_file_is_an_error(buffer: Buffer) -> None:
    buffer.path.mkdir()
    with pytest.raises(NotAFile, match=r"buffer\.ndjson: it is a folder, .* move it away"):
        buffer.append([line("E1")], CEILING_BYTES)


# --- size -----------------------------------------------------------------------------------------------------


def size(buffer: Buffer) -> tuple[int, int]:
    found = buffer.size()
    return found.size_bytes, found.entries


def test_a_buffer_that_is_not_there_has_no_size(buffer: Buffer) -> None:
    assert size(buffer) == (0, 0)


def test_the_size_is_bytes_and_lines(buffer: Buffer) -> None:
    buffer.append([line("E1"), line("E2")], CEILING_BYTES)
    assert size(buffer) == (2 * (len(line("E1").encode()) + 1), 2)


def test_the_size_follows_every_append(buffer: Buffer) -> None:
    seen = []
    for number in range(3):
        buffer.append([line(f"E{number}")], CEILING_BYTES)
        seen.append(buffer.size().entries)
    assert seen == [1, 2, 3]


def test_the_size_follows_the_appends_of_others(buffer: Buffer) -> None:
    buffer.append([line("E1")], CEILING_BYTES)
    buffer.size()
    Buffer(buffer.path.parent).append([line("E2"), line("E3")], CEILING_BYTES)
    assert buffer.size().entries == 3


def test_a_file_that_did_not_change_is_not_counted_again(buffer: Buffer) -> None:
    buffer.append([line("E1"), line("E2")], CEILING_BYTES)
    buffer.size()
    before = buffer.path.stat()
    with buffer.path.open("r+b") as file:
        file.seek(100)
        file.write(b"\n" * 20)
    os.utime(buffer.path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert buffer.size().entries == 2


def test_a_larger_file_that_begins_and_ends_like_the_one_before_is_counted_anew(buffer: Buffer) -> None:
    """After rewrites another file may have the inode, and a line that is no entry stays first."""
    first, last = '{"v":2,"of":"a newer Lithify"}'.ljust(200), line("E9")
    buffer.path.write_text("\n".join([first, line("E1"), line("E2"), last, ""]))
    buffer.size()
    buffer.path.write_text("\n".join([first, line("E3", json.dumps({"content": "x" * 2000})), last, ""]))
    assert size(buffer) == (buffer.path.stat().st_size, 3)


def test_lines_that_are_no_entries_count_too(buffer: Buffer) -> None:
    buffer.path.write_text(f"no entry\n{line('E1')}\n")
    assert buffer.size().entries == 2


def test_a_replaced_file_is_counted_anew(buffer: Buffer) -> None:
    buffer.append([line("E1"), line("E2")], CEILING_BYTES)
    buffer.size()
    other = buffer.path.with_name("other")
    other.write_text(f"{line('E3')}\n" * 5)
    other.replace(buffer.path)
    assert buffer.size().entries == 5


def test_a_truncated_file_is_counted_anew(buffer: Buffer) -> None:
    buffer.append([line("E1"), line("E2")], CEILING_BYTES)
    buffer.size()
    os.truncate(buffer.path, len(line("E1").encode()) + 1)
    assert buffer.size().entries == 1


def test_a_file_that_was_deleted_and_written_anew_is_counted_anew(buffer: Buffer) -> None:
    buffer.append([line("E1"), line("E2")], CEILING_BYTES)
    buffer.size()
    long = line("E3", json.dumps({"type": "text", "content": "x" * 2000}))
    buffer.path.write_text(f"{long}\n")  # the same inode, and larger
    assert buffer.size().entries == 1


def test_the_stamp_changes_with_the_file(buffer: Buffer) -> None:
    stamps = [buffer.stamp()]
    for number in range(3):
        buffer.append([line(f"E{number}")], CEILING_BYTES)
        stamps.append(buffer.stamp())
    assert len(set(stamps)) == 4


def test_the_stamp_stays_while_the_file_does(buffer: Buffer) -> None:
    buffer.append([line("E1")], CEILING_BYTES)
    before = buffer.stamp()
    buffer.append([line("E2")], 10)
    assert buffer.stamp() == before


# --- the lock -------------------------------------------------------------------------------------------------


def test_the_lock_is_a_file_beside_the_buffer(buffer: Buffer) -> None:
    with buffer.held():
        assert [file.name for file in buffer.path.parent.iterdir()] == ["buffer.lock"]


def test_the_lock_is_not_deleted_when_it_is_given_back(buffer: Buffer) -> None:
    with buffer.held():
        pass
    assert buffer.path.with_name("buffer.lock").exists()


def test_two_holders_at_once_there_are_none(buffer: Buffer) -> None:
    other = FileLock(buffer.path.with_name("buffer.lock"), wait_seconds=0)
    with buffer.held(), pytest.raises(LockUnavailable, match="is held by another process"), other.held():
        pass
    other.close()


def test_the_lock_can_be_had_again_after_an_error(buffer: Buffer) -> None:
    other = FileLock(buffer.path.with_name("buffer.lock"), wait_seconds=0)
    with pytest.raises(KeyError), buffer.held():
        raise KeyError
    with other.held():
        pass
    other.close()


def test_the_lock_of_a_dead_process_is_free(buffer: Buffer) -> None:
    script = "import os, sys; from pathlib import Path; from lithify.storage.buffer import Buffer\n"
    script += "held = Buffer(Path(sys.argv[1])).held(); held.__enter__(); os.kill(os.getpid(), 9)"
    dead = subprocess.run([sys.executable, "-c", script, str(buffer.path.parent)], check=False)
    assert dead.returncode == -signal.SIGKILL  # it had the lock
    other = FileLock(buffer.path.with_name("buffer.lock"), wait_seconds=0)
    assert other.try_acquire()
    other.close()


def test_a_lock_whose_file_was_deleted_is_made_anew(buffer: Buffer) -> None:
    with buffer.held():
        pass
    buffer.path.with_name("buffer.lock").unlink()
    other = FileLock(buffer.path.with_name("buffer.lock"), wait_seconds=0)
    with buffer.held(), pytest.raises(LockUnavailable), other.held():
        pass
    other.close()


# --- lines that are kept --------------------------------------------------------------------------------------


def keep(buffer: Buffer, *event_ids: str) -> None:
    """Appends events and keeps what the lines say."""
    buffer.append([line(event_id) for event_id in event_ids], CEILING_BYTES)
    buffer.lines(keep=True)


def told(buffer: Buffer) -> list[str | None]:
    """The ids of the lines, None where there is no entry."""
    return [None if one.entry is None else one.entry.event_id for one in buffer.lines(keep=True)]


def test_lines_that_lie_where_they_did_are_not_read_again(buffer: Buffer) -> None:
    keep(buffer, "E1", "E2")
    kept = buffer.lines(keep=True)
    buffer.append([line("E3")], CEILING_BYTES)
    found = buffer.lines()
    assert [one is other for one, other in zip(found, kept, strict=False)] == [True, True]


def test_lines_that_were_appended_are_found_beside_those_kept(buffer: Buffer) -> None:
    keep(buffer, "E1", "E2")
    buffer.append([line("E3")], CEILING_BYTES)
    assert told(buffer) == ["E1", "E2", "E3"]


def test_a_line_that_was_changed_in_its_place_is_read_again(buffer: Buffer) -> None:
    keep(buffer, "E1", "E2")
    buffer.path.write_bytes(buffer.path.read_bytes().replace(b'"E1"', b'"E9"'))
    assert told(buffer) == ["E9", "E2"]


def test_a_line_that_was_taken_away_is_kept_no_longer(buffer: Buffer) -> None:
    keep(buffer, "E1", "E2")
    buffer.path.write_bytes(f"{line('E2')}\n".encode())
    assert told(buffer) == ["E2"]


def test_a_file_cut_off_in_a_line_keeps_nothing_of_it(buffer: Buffer) -> None:
    keep(buffer, "E1", "E2")
    buffer.path.write_bytes(buffer.path.read_bytes()[:-20])
    assert told(buffer) == ["E1", None]


def test_a_torn_line_that_is_completed_is_read_as_a_whole(buffer: Buffer) -> None:
    buffer.path.write_bytes(line("E1").encode()[:-20])
    assert told(buffer) == [None]
    with buffer.path.open("ab") as file:
        file.write(line("E1").encode()[-20:] + b"\n")
    assert told(buffer) == ["E1"]


def test_after_a_rewrite_the_lines_that_stayed_are_not_read_again(buffer: Buffer) -> None:
    keep(buffer, "E1", "E2")
    stayed = buffer.lines()[1]
    buffer.rewrite([read_line(line("E3").encode()), stayed])
    assert (told(buffer), buffer.lines()[1] is stayed) == (["E3", "E2"], True)


def test_a_rewrite_that_fails_keeps_what_is_in_the_file(buffer: Buffer, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(buffer, "E1", "E2")
    monkeypatch.setattr("lithify.storage.system.rename", refuse)
    with pytest.raises(OSError, match="refused"):
        buffer.rewrite([read_line(line("E2").encode())])
    assert told(buffer) == ["E1", "E2"]


def refuse(*_: Path) -> None:
    raise OSError("refused")


def test_a_long_file_is_read_in_pieces(buffer: Buffer) -> None:
    names = [f"E{number}" for number in range(50)]
    buffer.append(map(line, names), CEILING_BYTES)
    pieces = 0
    while not buffer.read_on(1000):
        pieces += 1
    assert (pieces > 5, told(buffer)) == (True, names)


def test_a_piece_that_was_read_is_not_read_again(buffer: Buffer) -> None:
    buffer.append([line("E1"), line("E2")], CEILING_BYTES)
    buffer.read_on(10)
    assert buffer.lines()[0] is buffer.lines()[0]


def test_reading_in_pieces_ends_where_others_change_the_file_meanwhile(buffer: Buffer) -> None:
    buffer.append([line("E1"), line("E2")], CEILING_BYTES)
    buffer.read_on(10)
    buffer.path.write_bytes(f"{line('E3')}\n{line('E4')}\n".encode())
    assert (buffer.read_on(10), told(buffer)) == (True, ["E3", "E4"])


def test_what_was_let_go_is_read_again(buffer: Buffer) -> None:
    keep(buffer, "E1")
    before = buffer.lines()[0]
    buffer.forget()
    assert buffer.lines()[0] is not before
