"""The end of a session cut off, while its agent, whom nothing holds off, may write at any moment."""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE, Popen

import pytest

from lithify.core.file_writes import Changed, InUse, Written
from lithify.storage import appending, leases, system
from lithify.storage.backups import Backups
from lithify.storage.chat_files import ChatFiles
from lithify.storage.session_files import SessionFiles
from tests.storage.seam import at_each_call
from tests.support.agent_homes import HOLDING, WAITING, AgentHome, another_process
from tests.support.stores import IN_MEMORY

OLD, OURS, FOREIGN = b'{"a":1}\n', b'{"b":2}\n', b'{"foreign":1}\n'


@pytest.fixture
def file() -> Iterator[Path]:
    """A file on a file system that has leases."""
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder:
        path = Path(folder) / "wire.jsonl"
        path.write_bytes(OLD + OURS)
        yield path


def write_behind(file: Path, what: bytes = FOREIGN) -> None:
    with file.open("ab", buffering=0) as agent:
        agent.write(what)


def test_what_an_agent_writes_in_the_very_moment_of_the_cut_is_kept(file: Path) -> None:
    agent = threading.Thread(target=write_behind, args=(file,))

    def begin(_: int, name: str, __: object) -> None:
        if name == "truncate":
            agent.start()
            agent.join(0.2)

    with at_each_call(begin):
        done = appending.cut(file, OLD + OURS, len(OLD))
    agent.join()
    assert (done, file.read_bytes()) == (Written(), OLD + FOREIGN)


def test_what_an_agent_writes_while_an_append_is_taken_back_is_kept(file: Path) -> None:
    agent = threading.Thread(target=write_behind, args=(file,))

    def begin(_: int, name: str, arguments: tuple[object, ...]) -> None:
        if name == "write":
            write_behind(file)  # so that ours is taken back
        if name == "truncate":
            agent.start()
            agent.join(0.2)

    with at_each_call(begin):
        assert not appending.append(file, OLD + OURS, b'{"c":3}\n')
    agent.join()
    assert file.read_bytes() == OLD + OURS + FOREIGN + FOREIGN


@pytest.mark.parametrize("written", [3, 9])
@pytest.mark.parametrize("behind", [FOREIGN, FOREIGN * 5])
def test_what_was_written_of_an_append_is_taken_out_of_the_middle_and_what_others_wrote_stays(
    file: Path, monkeypatch: pytest.MonkeyPatch, written: int, behind: bytes
) -> None:
    addition, whole = b'{"ours":12345}\n', system.write

    def between(descriptor: int, data: bytes) -> int:
        monkeypatch.setattr(system, "write", whole)
        write_behind(file)
        count = whole(descriptor, data[:written])
        write_behind(file, behind)
        return count

    monkeypatch.setattr(system, "write", between)
    with pytest.raises(OSError, match="No space left"):
        appending.append(file, OLD + OURS, addition)
    assert file.read_bytes() == OLD + OURS + FOREIGN + behind


def test_a_whole_append_is_taken_out_of_the_middle_too_however_long_it_is(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = system.write

    def between(descriptor: int, data: bytes) -> int:
        monkeypatch.setattr(system, "write", whole)
        write_behind(file)
        count = whole(descriptor, data)
        write_behind(file)
        return count

    monkeypatch.setattr(system, "write", between)
    assert not appending.append(file, OLD + OURS, b'{"ours":"' + b"x" * 100_000 + b'"}\n')
    assert file.read_bytes() == OLD + OURS + FOREIGN + FOREIGN


def test_a_file_that_somebody_keeps_open_is_not_cut_off(file: Path) -> None:
    with file.open("ab"):
        assert isinstance(appending.cut(file, OLD + OURS, len(OLD)), InUse)
    assert file.read_bytes() == OLD + OURS


def test_a_file_that_somebody_just_reads_is_cut_off(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = file.open("rb")
    monkeypatch.setattr("time.sleep", lambda _: reader.close())
    assert appending.cut(file, OLD + OURS, len(OLD)) == Written()


def test_after_the_cut_anybody_can_open_the_file_at_once(file: Path) -> None:
    appending.cut(file, OLD + OURS, len(OLD))
    descriptor = os.open(file, os.O_RDWR | os.O_NONBLOCK)
    os.close(descriptor)
    assert file.read_bytes() == OLD


def test_without_leases_the_file_is_looked_at_just_before_the_cut(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leases, "_tried", lambda _: None)
    looked = system.read_open

    def look(descriptor: int) -> bytes:
        found = looked(descriptor)
        write_behind(file)
        return found

    monkeypatch.setattr(system, "read_open", look)
    assert isinstance(appending.cut(file, OLD + OURS, len(OLD)), Changed)
    assert file.read_bytes() == OLD + OURS + FOREIGN


@contextmanager
def running(name: str, folder: Path) -> Iterator[None]:
    """A program of that name that is no script, until the block ends."""
    arguments = [name, "-c", WAITING]
    with Popen(arguments, executable=sys.executable, stdin=PIPE, stdout=PIPE, cwd=folder) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline()
            yield
        finally:
            process.kill()


def cut(path: Path, tmp_path: Path, *, ours: bool = True) -> object:
    whole = path.read_bytes()
    files = SessionFiles(tmp_path / "data", {})
    return files.cut(str(path), whole, whole[:-20], format_name="kimi-code", ours=ours)


def test_a_session_of_kimi_code_is_cut_off_while_kimi_code_does_not_use_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KIMI_CODE_HOME", raising=False)
    (project := tmp_path / "shop").mkdir()
    path = AgentHome(tmp_path).kimi_code(project=str(project))
    before = path.read_bytes()
    with another_process(HOLDING, str(path)):
        assert isinstance(cut(path, tmp_path), InUse)
    with running("kimi", project):
        assert isinstance(cut(path, tmp_path), InUse)
    os.utime(path)
    assert isinstance(cut(path, tmp_path, ours=False), InUse)
    assert path.read_bytes() == before
    assert cut(path, tmp_path) == Written()


def test_where_nobody_can_see_who_runs_a_session_of_kimi_code_is_not_cut_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KIMI_CODE_HOME", raising=False)
    monkeypatch.setattr("lithify.storage.agent_sessions.processes.VISIBLE", False)
    assert isinstance(cut(AgentHome(tmp_path).kimi_code(), tmp_path), InUse)


def test_what_lithify_wrote_last_is_known_in_another_process_too(file: Path, tmp_path: Path) -> None:
    told: list[bool] = []

    def note(_: str, __: str, ours: bool) -> None:
        told.append(ours)

    def by_another_process() -> ChatFiles:
        return ChatFiles(Backups(tmp_path / "data"), writer=note)

    files = by_another_process()
    files.append(str(file), OLD + OURS, FOREIGN, format_name="gemini", backup_id=None)
    by_another_process().cut(str(file), OLD + OURS + FOREIGN, OLD, format_name="gemini")
    write_behind(file)
    by_another_process().cut(str(file), OLD + FOREIGN, OLD, format_name="gemini")
    assert told == [True, False]
