"""What `memory`, `buffer` and `ledger` share: they read a data folder, whatever its state, and change nothing."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from lithify.core.records import RecordDraft
from lithify.storage.database import MIGRATIONS
from tests.cli.running import COMMAND, SECONDS, Ended, Place
from tests.support.stores import Bench, change, event

PLAIN_USER = ("setpriv", "--bounding-set", "-dac_override,-dac_read_search") if os.geteuid() == 0 else ()
"""What makes permissions count also for root."""

READING = [
    ("memory", "list"),
    ("memory", "search", "milk"),
    ("memory", "show", "r1"),
    ("buffer", "show"),
    ("buffer", "status"),
    ("ledger",),
]
OF_THE_DATABASE = [command for command in READING if command != ("buffer", "show")]

reading = pytest.mark.parametrize("command", READING, ids=" ".join)
one_of_each = pytest.mark.parametrize(
    "command", [("memory", "list"), ("buffer", "show"), ("buffer", "status"), ("ledger",)], ids=" ".join
)
of_the_database = pytest.mark.parametrize("command", OF_THE_DATABASE, ids=" ".join)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture
def data_dir(place: Place) -> Path:
    """A data folder that a server has worked in and left."""
    fill(place).store.close()
    return place.folder / "data"


def fill(place: Place) -> Bench:
    """A record and a buffered event of the working folder's project; the store is left open."""
    bench = Bench(place.folder / "data", root=os.path.realpath(place.folder))
    bench.store.events.note_project(bench.project)
    bench.store.events.accept([event("e1", project_id=bench.project.project_id)], 1_000_000)
    with bench.store.transaction():
        draft = RecordDraft("discovery", "The milk is sour", "It stood in the sun.")
        bench.store.memory.keep(bench.project.project_id, draft, "r1", bench.now(), "model")
    return bench


def run(place: Place, *arguments: str, under: tuple[str, ...] = ()) -> Ended:
    return place.run(*arguments, under=under, LITHIFY_DATA_DIR=str(place.folder / "data"))


def snapshot(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Mode, time of change and content of all there is."""
    return {
        str(path.relative_to(folder)): (
            path.stat().st_mode,
            path.stat().st_mtime_ns,
            path.read_bytes() if path.is_file() else b"",
        )
        for path in sorted(folder.rglob("*"))
    }


# Nothing is there


@pytest.mark.parametrize("command", [one for one in READING if one[1:] != ("show", "r1")], ids=" ".join)
def test_a_data_folder_that_is_not_there_is_no_failure_and_is_not_made(place: Place, command: tuple[str, ...]) -> None:
    ended = run(place, *command)
    assert (ended.code, ended.err, ended.out.startswith("Nothing ")) == (0, "", True)
    assert not (place.folder / "data").exists()


@pytest.mark.parametrize("action", ["show", "forget"])
def test_a_record_is_looked_for_in_vain_where_there_is_no_data_folder(place: Place, action: str) -> None:
    ended = run(place, "memory", action, "r1")
    assert (ended.code, ended.out, ended.err.count("\n")) == (1, "", 1)
    assert not (place.folder / "data").exists()


@reading
def test_no_database_is_made_in_a_folder_without_one(place: Place, command: tuple[str, ...]) -> None:
    (place.folder / "data").mkdir()
    run(place, *command)
    assert list((place.folder / "data").iterdir()) == []


def test_an_empty_database_file_is_a_folder_in_which_nothing_was_recorded(place: Place) -> None:
    (place.folder / "data").mkdir()
    (place.folder / "data" / "lithify.db").touch()
    ended = run(place, "memory", "list")
    said = f"Nothing was recorded in {place.folder / 'data'} yet, so there is no memory."
    assert (ended.code, ended.lines[0], ended.err) == (0, said, "")


# Nothing is changed


@reading
def test_a_data_folder_at_rest_stays_as_it_is(place: Place, data_dir: Path, command: tuple[str, ...]) -> None:
    before = snapshot(data_dir)
    assert run(place, *command).code == 0
    assert snapshot(data_dir) == before


@reading
def test_a_data_folder_that_a_server_uses_is_read_and_stays_as_it_is(place: Place, command: tuple[str, ...]) -> None:
    bench = fill(place)
    before = snapshot(bench.data_dir)
    ended = run(place, *command)
    after = snapshot(bench.data_dir)
    bench.store.close()
    assert (ended.code, ended.err) == (0, "")
    assert after == before


@reading
def test_what_a_killed_server_left_behind_is_read_and_stays_as_it_is(place: Place, command: tuple[str, ...]) -> None:
    bench = fill(place)
    shutil.copytree(bench.data_dir, place.folder / "left")
    bench.store.close()
    before = snapshot(place.folder / "left")
    ended = place.run(*command, "--data-dir", str(place.folder / "left"))
    assert ("lithify.db-wal" in before, ended.code, ended.err) == (True, 0, "")
    assert snapshot(place.folder / "left") == before


def test_what_a_server_has_not_yet_moved_into_the_database_is_seen(place: Place) -> None:
    bench = fill(place)
    ended = run(place, "memory", "list")
    bench.store.close()
    assert ended.lines[1].endswith("The milk is sour")


@reading
def test_a_data_folder_that_may_not_be_written_is_read(place: Place, data_dir: Path, command: tuple[str, ...]) -> None:
    folders = [data_dir, *(path for path in data_dir.rglob("*") if path.is_dir())]
    for path in folders:
        path.chmod(0o500)
    ended = run(place, *command, under=PLAIN_USER)
    for path in folders:
        path.chmod(0o700)
    assert (ended.code, ended.err) == (0, "")


def test_reading_does_not_wait_for_a_server_that_writes(place: Place) -> None:
    bench = fill(place)
    with bench.store.transaction():
        ended = run(place, "memory", "list")
    bench.store.close()
    assert ended.lines[1].endswith("The milk is sour")


# Broken folders


def one_line(ended: Ended) -> str:
    """The failure, which is all that is said."""
    assert (ended.code, ended.out, ended.err.count("\n")) == (1, "", 1)
    assert ended.err.startswith("lithify: ")
    return ended.err


@of_the_database
def test_a_database_of_a_newer_lithify_is_one_line(place: Place, data_dir: Path, command: tuple[str, ...]) -> None:
    change(data_dir, "PRAGMA user_version = 999")
    assert "is of a newer Lithify (schema 999; " in one_line(run(place, *command))


def test_forgetting_in_a_database_of_a_newer_lithify_is_one_line(place: Place, data_dir: Path) -> None:
    change(data_dir, "PRAGMA user_version = 999")
    assert "newer Lithify" in one_line(run(place, "memory", "forget", "r1"))


@of_the_database
def test_a_database_of_an_older_lithify_is_one_line_and_stays(
    place: Place, data_dir: Path, command: tuple[str, ...]
) -> None:
    change(data_dir, f"PRAGMA user_version = {len(MIGRATIONS) - 1}")
    before = snapshot(data_dir)
    assert "open your editor once" in one_line(run(place, *command))
    assert snapshot(data_dir) == before


@of_the_database
def test_a_file_that_is_no_database_is_one_line(place: Place, data_dir: Path, command: tuple[str, ...]) -> None:
    (data_dir / "lithify.db").write_bytes(b"This is no database. " * 1000)
    assert "lithify.db is damaged (" in one_line(run(place, *command))


def test_a_database_that_is_torn_is_one_line(place: Place, data_dir: Path) -> None:
    path = data_dir / "lithify.db"
    content = bytearray(path.read_bytes())
    content[4096::2] = b"\xff" * len(content[4096::2])
    path.write_bytes(content)
    assert "is damaged (" in one_line(run(place, "memory", "list"))


def test_a_database_without_its_tables_is_one_line(place: Place, data_dir: Path) -> None:
    change(data_dir, "DROP TABLE memory_records")
    assert "is damaged (" in one_line(run(place, "memory", "list"))


@of_the_database
def test_a_database_that_may_not_be_read_is_one_line(place: Place, data_dir: Path, command: tuple[str, ...]) -> None:
    (data_dir / "lithify.db").chmod(0)
    said = one_line(run(place, *command, under=PLAIN_USER))
    assert "lithify.db cannot be read or written (Permission denied)" in said


@reading
def test_a_file_in_the_place_of_the_data_folder_is_one_line(place: Place, command: tuple[str, ...]) -> None:
    (place.folder / "data").touch()
    assert "(Not a directory)" in one_line(run(place, *command))


def test_a_database_that_another_program_keeps_locked_is_one_line_for_who_wants_to_forget(
    place: Place, data_dir: Path
) -> None:
    with closing(sqlite3.connect(data_dir / "lithify.db", isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        said = one_line(run(place, "memory", "forget", "r1"))
    assert "is locked by another program" in said


def test_a_data_folder_that_may_not_be_written_is_one_line_for_who_wants_to_forget(
    place: Place, data_dir: Path
) -> None:
    for path in (data_dir / "lithify.db", data_dir):
        path.chmod(0o500 if path.is_dir() else 0o400)
    ended = run(place, "memory", "forget", "r1", under=PLAIN_USER)
    data_dir.chmod(0o700)
    assert str(data_dir) in one_line(ended)


# Calls


@one_of_each
def test_a_data_folder_that_is_named_wins_over_the_environment(
    place: Place, data_dir: Path, command: tuple[str, ...]
) -> None:
    ended = place.run(*command, "--data-dir", str(data_dir), LITHIFY_DATA_DIR=str(place.folder / "elsewhere"))
    assert (ended.code, ended.out.startswith("Nothing was recorded")) == (0, False)


@pytest.mark.parametrize(
    "arguments",
    [
        ("memory", "search"),
        ("memory", "show"),
        ("memory", "forget"),
        ("memory", "nonsense"),
        ("buffer", "nonsense"),
        ("buffer", "show", "extra"),
        ("ledger", "extra"),
        ("ledger", "--limit", "0"),
        ("ledger", "--data-dir", "~nobody-of-that-name/x"),
        ("memory", "list", "--project", "http://[nonsense"),
    ],
    ids=" ".join,
)
def test_a_call_that_does_not_fit_is_one_line_and_exit_code_2(place: Place, arguments: tuple[str, ...]) -> None:
    ended = run(place, *arguments)
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)


def test_a_working_folder_that_is_gone_is_one_line_and_exit_code_2(place: Place, data_dir: Path) -> None:
    script = 'mkdir gone && cd gone && rmdir ../gone && exec "$@"'
    ended = run(place, "memory", "list", under=("sh", "-c", script, "sh"))
    assert (ended.code, ended.err.startswith("lithify: the working folder cannot be told")) == (2, True)


@one_of_each
def test_a_reader_that_goes_away_ends_a_command_without_a_word(
    place: Place, data_dir: Path, command: tuple[str, ...]
) -> None:
    with place.started(*command, LITHIFY_DATA_DIR=str(data_dir)) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        process.wait(SECONDS)
        said = process.stderr.read()
    assert (process.returncode, said) == (1, "")


@one_of_each
def test_an_output_that_is_full_is_one_line_and_exit_code_1(
    place: Place, data_dir: Path, command: tuple[str, ...]
) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*COMMAND, *command],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=SECONDS,
            check=False,
            cwd=place.folder,
            env=place.environment(LITHIFY_DATA_DIR=str(data_dir)),
        )
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)


@pytest.mark.parametrize("as_json", [(), ("--json",)], ids=["text", "json"])
@one_of_each
def test_a_command_without_standard_output_works_all_the_same(
    place: Place, data_dir: Path, command: tuple[str, ...], as_json: tuple[str, ...]
) -> None:
    ended = run(place, *command, *as_json, under=("sh", "-c", 'exec "$@" >&-', "sh"))
    assert ended == Ended(0, "", "")
