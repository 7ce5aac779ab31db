"""Users' transcripts on the disk: rewritten only while they are what was read, appended to only while they are free."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from lithify.core.file_writes import Changed, FileWrite, Held, NotAsItWas, Written
from lithify.storage import leases, system
from lithify.storage.backups import MOST_BACKUPS, Backups
from lithify.storage.chat_files import ChatFiles
from lithify.storage.paths import NotAFile
from tests.storage.seam import at_each_call, calls_noted, dying_at, failing_from

OLD, NEW = b'{"a":1}\n', b'{"b":2}\n{"c":3}\n'


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "chats" / "chat.jsonl"
    path.parent.mkdir()
    path.write_bytes(OLD)
    return path


@pytest.fixture
def backups(tmp_path: Path) -> Backups:
    return Backups(tmp_path / "data")


@pytest.fixture
def files(backups: Backups) -> ChatFiles:
    return ChatFiles(backups)


def append(files: ChatFiles, file: Path, before: bytes = OLD, backup_id: str | None = "01") -> FileWrite:
    return files.append(str(file), before, NEW, format_name="claude-code", backup_id=backup_id)


def rewrite(files: ChatFiles, file: Path, before: bytes = OLD, *, rotates: bool = False) -> FileWrite:
    return files.rewrite(str(file), before, b"new", format_name="openai-jsonl", rotates=rotates)


def kept(tmp_path: Path) -> dict[str, bytes]:
    """The backups in the data folder, and what they hold."""
    return {path.name: path.read_bytes() for path in (tmp_path / "data").glob("backups/*/*")}


# --- rewritten ------------------------------------------------------------------------------------------------


def test_a_file_is_rewritten_and_what_it_held_lies_beside_it(files: ChatFiles, file: Path) -> None:
    assert rewrite(files, file, files.read(str(file))) == Written("chat.jsonl.bak")
    assert (file.read_bytes(), file.with_name("chat.jsonl.bak").read_bytes()) == (b"new", OLD)


def test_a_session_of_kimi_is_numbered_as_kimi_does(files: ChatFiles, file: Path) -> None:
    assert rewrite(files, file.rename(file.with_name("context.jsonl")), rotates=True) == Written("context_1.jsonl")


def test_a_file_that_holds_something_else_is_left_alone(files: ChatFiles, file: Path) -> None:
    file.write_bytes(b"changed")
    assert isinstance(rewrite(files, file), Changed)
    assert [path.read_bytes() for path in file.parent.iterdir()] == [b"changed"]


def test_a_named_pipe_is_not_waited_for(files: ChatFiles, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "chat.jsonl")
    with pytest.raises(NotAFile):
        files.read(str(tmp_path / "chat.jsonl"))


# --- appended to ----------------------------------------------------------------------------------------------


def test_what_is_appended_goes_in_with_one_write_behind_a_backup_of_what_was_there(
    files: ChatFiles, file: Path, tmp_path: Path
) -> None:
    inode = file.stat().st_ino
    with calls_noted() as noted:
        done = append(files, file)
    (place,) = (tmp_path / "data").glob("backups/*/*")
    assert done == Written(str(place))
    assert (file.read_bytes(), place.read_bytes(), place.name) == (OLD + NEW, OLD, "01.chat.jsonl")
    assert [arguments[1] for name, arguments in noted if name == "write"] == [OLD, NEW]
    assert (file.stat().st_ino, [one.name for one in file.parent.iterdir()]) == (inode, ["chat.jsonl"])


def test_a_backup_is_for_the_user_alone(files: ChatFiles, file: Path, tmp_path: Path) -> None:
    file.chmod(0o644)
    append(files, file)
    (place,) = (tmp_path / "data").glob("backups/*/*")
    modes = [stat.S_IMODE(one.stat().st_mode) for one in (place, place.parent, place.parent.parent)]
    assert modes == [0o600, 0o700, 0o700]


def test_where_nothing_is_to_be_kept_there_is_no_backup(files: ChatFiles, file: Path, tmp_path: Path) -> None:
    assert append(files, file, backup_id=None) == Written(None)
    assert (file.read_bytes(), kept(tmp_path)) == (OLD + NEW, {})


def test_of_each_file_only_the_newest_backups_are_kept(files: ChatFiles, file: Path, tmp_path: Path) -> None:
    other = file.with_name("other.jsonl")
    other.write_bytes(OLD)
    append(files, other, backup_id="00")
    for number in range(MOST_BACKUPS + 2):
        append(files, file, file.read_bytes(), f"{number:02}")
    newest = {f"{number:02}.chat.jsonl" for number in range(2, MOST_BACKUPS + 2)}
    assert set(kept(tmp_path)) == newest | {"00.other.jsonl"}


def test_a_backup_is_found_by_its_id_as_long_as_it_is_there(files: ChatFiles, file: Path, tmp_path: Path) -> None:
    done = append(files, file)
    assert isinstance(done, Written)
    assert done.backup == files.backup(str(file), "01")
    (link := tmp_path / "link.jsonl").symlink_to(file)
    assert files.backup(str(link), "01") == done.backup
    assert files.backup(str(file), "02") is None


@pytest.mark.parametrize("name", ["h" * 240 + ".jsonl", "é" * 120 + ".jsonl", "h" * 180])
def test_a_file_of_a_very_long_name_is_appended_to_and_its_backup_is_found(
    files: ChatFiles, file: Path, name: str
) -> None:
    long = file.rename(file.with_name(name))
    backup_id = "01M8NYERZ3F2WPMWTNGEBWY7JC"
    done = append(files, long, backup_id=backup_id)
    assert isinstance(done, Written)
    assert done.backup == files.backup(str(long), backup_id)
    assert Path(str(done.backup)).read_bytes() == OLD


def test_a_file_that_grew_is_not_appended_to(files: ChatFiles, file: Path, tmp_path: Path) -> None:
    file.write_bytes(OLD + b'{"more":1}\n')
    assert isinstance(append(files, file), Changed)
    assert (file.read_bytes(), kept(tmp_path)) == (OLD + b'{"more":1}\n', {})


def test_a_file_that_is_not_there_is_not_made(files: ChatFiles, file: Path) -> None:
    file.unlink()
    with pytest.raises(FileNotFoundError):
        append(files, file)
    assert not file.exists()


@contextmanager
def just_before(name: str, count: int, change: Callable[[], object]) -> Iterator[None]:
    """Something that another program does just before a call of that name on the file itself, counted from 0."""
    seen = -1

    def look(_: int, called: str, __: object) -> None:
        nonlocal seen
        seen += called == name
        if called == name and seen == count:
            change()

    with at_each_call(look):
        yield


FOREIGN = b'{"foreign":1}\n'


def write_behind(file: Path) -> None:
    with file.open("ab") as agent:
        agent.write(FOREIGN)


def test_what_came_in_just_before_the_write_is_kept_and_ours_is_cut_off_again(
    files: ChatFiles, file: Path, tmp_path: Path
) -> None:
    with just_before("write", 1, lambda: write_behind(file)):
        assert isinstance(append(files, file), Changed)
    assert (file.read_bytes(), kept(tmp_path)) == (OLD + FOREIGN, {})


def test_what_comes_just_behind_the_write_is_kept_and_so_is_ours(files: ChatFiles, file: Path) -> None:
    with just_before("fsync", 2, lambda: write_behind(file)):
        assert isinstance(append(files, file), Written)
    assert file.read_bytes() == OLD + NEW + FOREIGN


def test_ours_with_what_came_in_on_both_sides_stays_where_nobody_is_kept_off_and_that_is_told(
    files: ChatFiles, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "_tried", lambda _: None)
    with (
        just_before("write", 1, lambda: write_behind(file)),
        just_before("fsync", 2, lambda: write_behind(file)),
        pytest.raises(NotAsItWas) as told,
    ):
        append(files, file)
    assert file.read_bytes() == OLD + FOREIGN + NEW + FOREIGN
    start = len(OLD + FOREIGN)
    (backup,) = (tmp_path / "data" / "backups").rglob("*.jsonl")
    assert f"stands in it (bytes {start} to {start + len(NEW)})" in told.value.told
    assert (told.value.told.endswith(f"is in {backup}"), backup.read_bytes()) == (True, OLD)


def test_a_file_that_is_put_anew_with_ours_in_it_is_told(files: ChatFiles, file: Path) -> None:
    def put_anew() -> None:
        other = file.with_name("other")
        other.write_bytes(FOREIGN + NEW)
        other.replace(file)

    with just_before("fsync", 2, put_anew), pytest.raises(NotAsItWas, match="put the file anew"):
        append(files, file)
    assert file.read_bytes() == FOREIGN + NEW


def test_an_end_that_was_cut_off_and_then_could_not_be_synced_is_told(files: ChatFiles, file: Path) -> None:
    def fail() -> None:
        raise OSError(errno.EIO, "Input/output error")

    append(files, file)
    with just_before("fsync", 0, fail), pytest.raises(NotAsItWas, match="it was cut off"):
        files.cut(str(file), OLD + NEW, OLD, format_name="claude-code")
    assert file.read_bytes() == OLD


def test_a_file_that_is_replaced_meanwhile_is_not_written(files: ChatFiles, file: Path) -> None:
    def replace() -> None:
        other = file.with_name("other")
        other.write_bytes(FOREIGN)
        other.replace(file)

    with just_before("write", 1, replace):
        assert isinstance(append(files, file), Changed)
    assert file.read_bytes() == FOREIGN


# --- a disk that fails, a process that dies -------------------------------------------------------------------


def calls_of_an_append(files: ChatFiles, file: Path) -> list[str]:
    copy = file.with_name("copy.jsonl")
    copy.write_bytes(OLD)
    with calls_noted() as noted:
        append(files, copy)
    copy.unlink()
    return [name for name, _ in noted]


@pytest.mark.parametrize("call", range(13))
def test_a_disk_that_fails_once_at_any_call_leaves_the_file_as_it_was(files: ChatFiles, file: Path, call: int) -> None:
    assert len(calls_of_an_append(files, file)) == 12
    with failing_from(call, 5, last=call):
        try:
            done: FileWrite | None = append(files, file)
        except OSError:
            done = None
    assert file.read_bytes() == (OLD + NEW if isinstance(done, Written) else OLD)


def test_a_disk_that_is_full_leaves_the_file_as_it_was(
    files: ChatFiles, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = system.write
    monkeypatch.setattr(system, "write", lambda to, data: whole(to, data[:5] if data == NEW else data))
    with pytest.raises(OSError, match="No space left"):
        append(files, file)
    assert file.read_bytes() == OLD


@pytest.mark.parametrize("call", range(13))
def test_a_process_that_dies_before_any_call_leaves_the_old_or_the_new_file_whole(
    files: ChatFiles, file: Path, tmp_path: Path, call: int
) -> None:
    names = calls_of_an_append(files, file)
    with dying_at(call) as died:
        append(files, file)
    assert bool(died) == (call < len(names))
    behind = file.read_bytes().removeprefix(OLD)
    if call < len(names) and names[call] == "write":
        assert NEW.startswith(behind), "a write that was broken off ends in a broken line"
    else:
        assert behind == (NEW if "write" in names[6:call] else b"")
    assert set(kept(tmp_path).values()) <= {OLD, OLD[: len(OLD) // 2], b""}


# --- cut off --------------------------------------------------------------------------------------------------


def test_an_end_is_cut_off(files: ChatFiles, file: Path) -> None:
    append(files, file)
    assert files.cut(str(file), OLD + NEW, OLD, format_name="claude-code") == Written(None)
    assert file.read_bytes() == OLD


def test_nothing_is_cut_off_a_file_that_went_on(files: ChatFiles, file: Path) -> None:
    append(files, file)
    write_behind(file)
    assert isinstance(files.cut(str(file), OLD + NEW, OLD, format_name="claude-code"), Changed)
    assert file.read_bytes() == OLD + NEW + FOREIGN


def test_nothing_is_cut_off_a_file_that_holds_something_else_of_the_same_length(files: ChatFiles, file: Path) -> None:
    other = b"x" * len(OLD + NEW)
    file.write_bytes(other)
    assert isinstance(files.cut(str(file), OLD + NEW, OLD, format_name="claude-code"), Changed)
    assert file.read_bytes() == other


# --- held -----------------------------------------------------------------------------------------------------


def test_a_file_that_somebody_holds_is_written_in_no_way(file: Path, backups: Backups, tmp_path: Path) -> None:
    asked: list[tuple[str, str]] = []

    @contextmanager
    def guard(path: str, format_name: str, ours: bool) -> Iterator[str | None]:
        asked.append((path, format_name))
        yield "Codex (process 7) has it open; end it first."

    files = ChatFiles(backups, guard)
    refused = Held("Codex (process 7) has it open; end it first.")
    (link := file.with_name("link.jsonl")).symlink_to(file)
    assert append(files, link) == rewrite(files, file) == refused
    assert files.cut(str(file), OLD, b"", format_name="codex") == refused
    assert files.held(str(file), "codex") == refused.reason
    assert (file.read_bytes(), kept(tmp_path)) == (OLD, {})
    assert {path for path, _ in asked} == {str(file.resolve())}
    assert [name for _, name in asked] == ["claude-code", "openai-jsonl", "codex", "codex"]


def test_the_file_is_looked_at_and_written_while_the_guard_holds_it(file: Path, backups: Backups) -> None:
    seen: list[bytes] = []

    @contextmanager
    def guard(path: str, format_name: str, ours: bool) -> Iterator[str | None]:
        seen.append(file.read_bytes())
        yield None
        seen.append(file.read_bytes())

    append(ChatFiles(backups, guard), file)
    assert seen == [OLD, OLD + NEW]


PLAIN_USER = ("setpriv", "--bounding-set", "-dac_override,-dac_read_search") if os.geteuid() == 0 else ()
"""What makes permissions count also for root."""

REWRITING = """
import sys
from pathlib import Path
from lithify.storage.backups import Backups
from lithify.storage.chat_files import ChatFiles
path = Path(sys.argv[1])
files = ChatFiles(Backups(path.parent / "data"))
files.rewrite(str(path), path.read_bytes(), b"new", format_name="openai-jsonl", rotates=False)
"""


def test_a_file_that_one_may_not_write_is_not_replaced_either(file: Path) -> None:
    file.chmod(0o444)
    ended = subprocess.run(
        [*PLAIN_USER, sys.executable, "-c", REWRITING, str(file)],
        capture_output=True,
        check=False,
        text=True,
        timeout=30,
    )
    assert "PermissionError" in ended.stderr
    assert (file.read_bytes(), os.listdir(file.parent)) == (OLD, [file.name])


def test_attempts_that_come_to_nothing_push_out_no_backup(
    files: ChatFiles, backups: Backups, file: Path, tmp_path: Path
) -> None:
    append(files, file)
    for number in range(MOST_BACKUPS + 2):  # each killed between its backup and its write
        backups.keep(file, file.read_bytes(), f"02.{number:02}")
    append(files, file, file.read_bytes(), "03")
    assert list(kept(tmp_path)) == ["01.chat.jsonl", "03.chat.jsonl"]


def test_parts_of_backups_that_a_killed_process_left_go_with_the_next_write(
    files: ChatFiles, backups: Backups, file: Path, tmp_path: Path
) -> None:
    append(files, file)
    (place := backups.place(file, "02")).with_name(f"{place.name}{system.LEFTOVER}ab12").write_bytes(b"par")
    append(files, file, file.read_bytes(), "03")
    assert list(kept(tmp_path)) == ["01.chat.jsonl", "03.chat.jsonl"]


def test_old_backups_that_cannot_be_let_go_do_not_undo_the_write(
    files: ChatFiles, backups: Backups, file: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(_: int, name: str, __: tuple[object, ...]) -> None:
        if name == "unlink":
            raise PermissionError("not this one")

    backups.keep(file, OLD, "00")
    with at_each_call(refuse):
        assert isinstance(append(files, file), Written)
    assert "could not be let go" in caplog.text
    assert file.read_bytes() == OLD + NEW


@pytest.mark.parametrize("write", [rewrite, append])
def test_of_two_who_write_what_they_read_at_once_one_is_told_that_it_changed(
    backups: Backups, file: Path, write: Callable[..., FileWrite]
) -> None:
    """The guard is asked with the lock held: there the second begins, and it can only end behind the first."""
    second: list[Future[FileWrite]] = []

    @contextmanager
    def begin_the_second(path: str, name: str, ours: bool) -> Iterator[None]:
        if not second:
            second.append(threads.submit(write, ChatFiles(backups), file))
        yield None

    with ThreadPoolExecutor(1) as threads:
        first = write(ChatFiles(backups, begin_the_second), file)
        done = [first, second[0].result(timeout=30)]
    assert [type(one) for one in done] == [Written, Changed]
    assert file.read_bytes() in (b"new", OLD + NEW)


def test_a_file_that_another_one_is_writing_all_the_time_is_left_alone(backups: Backups, file: Path) -> None:
    lock = backups.lock(file.resolve())
    assert lock.try_acquire()
    told = rewrite(ChatFiles(backups), file)
    assert told == Held("Another window or command of Lithify writes it now; try again when that has ended.")
    lock.close()
    assert isinstance(rewrite(ChatFiles(backups), file), Written)


def test_what_is_written_into_a_file_just_before_it_makes_way_is_kept(
    files: ChatFiles, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace = os.replace

    def replaced(source: str, target: str) -> None:
        if file.read_bytes() == OLD:
            file.write_bytes(OLD + b"more")
        replace(source, target)

    monkeypatch.setattr("os.replace", replaced)
    assert isinstance(rewrite(files, file), Changed)
    assert (file.read_bytes(), os.listdir(file.parent)) == (OLD + b"more", [file.name])
