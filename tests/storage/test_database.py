"""The database file: its mode, its rights, its migrations, what it holds."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lithify.core.model_calls import ModelCall
from lithify.storage.database import MIGRATIONS, DatabaseTooNew, open_database, sound_text, transaction
from lithify.storage.paths import data_dir, make_private_folder
from lithify.storage.store import Store, open_store
from tests.support.clock import Clock
from tests.support.stores import CEILING_BYTES, event, rows

TOGETHER = 6
OPEN = "import sys; from pathlib import Path; from lithify.storage.database import open_database\n"
OPEN += "print(1, flush=True); sys.stdin.readline(); open_database(Path(sys.argv[1])).close()"

COLUMNS = {
    "events": {"event_id", "project_id", "state"},
    "memory_records": {"record_id", "project_id", "type", "title", "summary"},
    "record_events": {"record_id", "event_id"},
    "model_calls": {"at", "purpose", "provider", "model", "host", "bytes", "tokens", "user_initiated", "outcome"},
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "lithify.db"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(tmp_path / "data", Clock())
    yield opened
    opened.close()


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def pragma(connection: sqlite3.Connection, name: str) -> object:
    return connection.execute(f"PRAGMA {name}").fetchone()[0]


# --- how it is opened -----------------------------------------------------------------------------------------


def test_it_is_in_wal_mode(path: Path) -> None:
    connection = open_database(path)
    assert pragma(connection, "journal_mode") == "wal"
    connection.close()


def test_synchronous_is_normal(path: Path) -> None:
    connection = open_database(path)
    assert pragma(connection, "synchronous") == 1
    connection.close()


def test_synchronous_is_normal_the_second_time_too(path: Path) -> None:
    open_database(path).close()
    connection = open_database(path)
    assert pragma(connection, "synchronous") == 1
    connection.close()


def test_a_writer_waits_for_another_one(path: Path) -> None:
    connection = open_database(path)
    assert pragma(connection, "busy_timeout") == 5000
    connection.close()


@pytest.mark.parametrize("mask", [0o000, 0o022])
def test_every_file_is_for_the_user_alone(tmp_path: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        store = open_store(tmp_path / "data", Clock())
        store.events.accept([event("E1")], CEILING_BYTES)
        files = {file.name: mode_of(file) for file in (tmp_path / "data").rglob("*") if file.is_file()}
        store.close()
    finally:
        os.umask(before)
    names = ("lithify.db", "lithify.db-wal", "lithify.db-shm", "buffer.ndjson", "buffer.lock")
    assert files == dict.fromkeys(names, 0o600)


@pytest.mark.parametrize("mask", [0o000, 0o022])
def test_every_folder_is_for_the_user_alone(tmp_path: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        store = open_store(tmp_path / "a" / "data", Clock())
        store.events.accept([event("E1")], CEILING_BYTES)
        store.close()
    finally:
        os.umask(before)
    folders = [tmp_path / "a", *(folder for folder in (tmp_path / "a").rglob("*") if folder.is_dir())]
    assert {folder.name: mode_of(folder) for folder in folders} == dict.fromkeys(("a", "data", "buffers", "p1"), 0o700)


def test_a_folder_that_is_there_keeps_its_rights(tmp_path: Path) -> None:
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o755)
    make_private_folder(folder / "data")
    assert mode_of(folder) == 0o755


def test_a_file_in_the_place_of_the_folder_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")
    with pytest.raises(OSError, match="data"):
        open_database(tmp_path / "data" / "lithify.db")


def test_a_file_that_is_no_database_is_an_error(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"this is no database, but long enough to be taken for the head of one" * 20)
    with pytest.raises(sqlite3.DatabaseError, match="not a database"):
        open_database(path)


# --- migrations -----------------------------------------------------------------------------------------------


def test_a_new_database_has_the_newest_schema(path: Path) -> None:
    connection = open_database(path)
    assert pragma(connection, "user_version") == len(MIGRATIONS)
    connection.close()


def test_an_open_database_is_migrated_no_second_time(path: Path) -> None:
    first = open_database(path)
    first.execute("INSERT INTO projects (project_id, root) VALUES ('p', '/p')")
    second = open_database(path)
    assert second.execute("SELECT count(*) FROM projects").fetchone() == (1,)
    first.close()
    second.close()


def test_processes_that_open_a_new_folder_at_once_all_succeed(path: Path) -> None:
    openers = [
        subprocess.Popen(
            [sys.executable, "-c", OPEN, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for _ in range(TOGETHER)
    ]
    for one in openers:
        assert one.stdout is not None
        one.stdout.readline()
    problems = []
    for one in openers:
        assert one.stdin is not None
        one.stdin.write(b"go\n")
        one.stdin.flush()
    for one in openers:
        problems.append(one.communicate()[1].decode())
    assert problems == [""] * TOGETHER


def test_opening_waits_for_a_writer_that_keeps_it_from_changing_the_journal_mode(path: Path) -> None:
    path.parent.mkdir()
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    opener = subprocess.Popen(
        [sys.executable, "-c", OPEN, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert opener.stdout is not None
    opener.stdout.readline()
    with pytest.raises(subprocess.TimeoutExpired):
        opener.communicate(b"go\n", timeout=0.3)
    other.execute("ROLLBACK")
    other.close()
    assert opener.communicate()[1] == b""


def test_a_migration_that_is_cut_off_leaves_nothing(path: Path) -> None:
    script = "import sys; from pathlib import Path; import lithify.storage.database as d\n"
    script += "d.MIGRATIONS = (d.MIGRATIONS[0] + '; CREATE TABLE broken (',)\nd.open_database(Path(sys.argv[1]))"
    assert subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, check=False).returncode == 1
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,)
        assert pragma(connection, "user_version") == 0
    connection.close()


def test_a_database_of_the_release_before_is_brought_up_to_date_with_all_it_holds(path: Path) -> None:
    path.parent.mkdir()
    script = "import sys; from pathlib import Path; import lithify.storage.database as d\n"
    script += "d.MIGRATIONS = d.MIGRATIONS[:2]\nmade = d.open_database(Path(sys.argv[1]))\n"
    script += "made.execute(\"INSERT INTO projects (project_id, root) VALUES ('p', '/p')\"); made.close()"
    subprocess.run([sys.executable, "-c", script, str(path)], check=True)
    connection = open_database(path)
    found = connection.execute("SELECT root FROM projects").fetchall()
    (index,) = connection.execute("SELECT sql FROM sqlite_schema WHERE name = 'events_buffered'").fetchone()
    connection.close()
    assert (found, index.endswith("WHERE state = 'buffered'")) == ([("/p",)], True)


def newer(path: Path) -> None:
    connection = open_database(path)
    connection.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    connection.close()


def test_a_newer_schema_is_refused_in_a_sentence_that_says_what_to_do(path: Path) -> None:
    newer(path)
    with pytest.raises(DatabaseTooNew) as refusal:
        open_database(path)
    assert str(refusal.value) == (
        f"{path} was written by a newer Lithify (schema {len(MIGRATIONS) + 1}, this one knows {len(MIGRATIONS)}); "
        "update Lithify, or set dataDir to another folder"
    )


def test_a_newer_schema_is_left_as_it_is(path: Path) -> None:
    newer(path)
    before = path.read_bytes()
    with pytest.raises(DatabaseTooNew):
        open_database(path)
    assert path.read_bytes() == before


# --- what it holds --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("table", COLUMNS)
def test_the_tables_of_the_contract_have_its_columns(store: Store, tmp_path: Path, table: str) -> None:
    found = {row[1] for row in rows(tmp_path / "data", f"PRAGMA table_info({table})")}
    assert COLUMNS[table] - found == set()


@pytest.mark.parametrize(
    ("table", "key"),
    [("events", ["event_id"]), ("memory_records", ["record_id"]), ("record_events", ["record_id", "event_id"])],
)
def test_the_keys_are_those_of_the_contract(store: Store, tmp_path: Path, table: str, key: list[str]) -> None:
    assert [row[1] for row in rows(tmp_path / "data", f"PRAGMA table_info({table})") if row[5]] == key


def test_no_event_is_in_a_state_that_the_contract_does_not_name(store: Store, path: Path) -> None:
    store.events.accept([event("E1")], CEILING_BYTES)
    other = sqlite3.connect(path)
    with pytest.raises(sqlite3.IntegrityError, match="CHECK"):
        other.execute("UPDATE events SET state = 'lost'")
    other.close()


def test_a_model_call_is_one_line_without_text(store: Store, tmp_path: Path) -> None:
    store.note_model_call(
        ModelCall(
            at="2026-01-02T03:04:05.000+00:00",
            purpose="conversation",
            provider="editor",
            model="gpt",
            host=None,
            size_bytes=270,
            tokens=100,
            user_initiated=True,
            outcome="answered",
        )
    )
    assert rows(tmp_path / "data", "SELECT * FROM model_calls") == [
        ("2026-01-02T03:04:05.000+00:00", "conversation", "editor", "gpt", None, 270, 100, 1, "answered")
    ]


def test_only_calls_that_no_user_asked_for_are_counted_as_background(store: Store) -> None:
    for at, asked in (
        ("2026-01-01", False),
        ("2026-01-02T03:00:00.000+00:00", False),
        ("2026-01-02T03:00:00.000+00:00", True),
    ):
        store.note_model_call(ModelCall(at, "extraction", "editor", None, None, 10, 7, asked, "answered"))
    assert store.model_use_since("2026-01-02T02:30:00.000+00:00") == (1, 7)


def test_a_call_that_goes_on_is_counted(store: Store) -> None:
    store.note_model_call(
        ModelCall("2026-01-02T03:00:00.000+00:00", "extraction", "editor", None, None, 10, 7, False, "pending")
    )
    assert store.model_use_since("2026-01-02T02:30:00.000+00:00") == (1, 7)


@pytest.mark.parametrize(
    ("at", "counted"), [("2026-01-02T03:30:59.000+00:00", 1), ("2026-01-02T03:31:01.000+00:00", 0), ("2026-01-09", 0)]
)
def test_calls_noted_before_the_clock_was_put_back_are_not_counted(store: Store, at: str, counted: int) -> None:
    store.note_model_call(ModelCall(at, "extraction", "editor", None, None, 10, 7, False, "answered"))
    assert store.model_use_since("2026-01-02T02:30:00.000+00:00")[0] == counted


def test_calls_of_the_offline_model_cost_nothing_of_the_background_budget(store: Store) -> None:
    store.note_model_call(
        ModelCall("2026-01-02T03:00:00.000+00:00", "extraction", "offline", None, None, 10, 7, False, "answered")
    )
    assert store.model_use_since("2026-01-02T02:30:00.000+00:00") == (0, 0)


def test_without_calls_the_background_used_nothing(store: Store) -> None:
    assert store.model_use_since("2026-01-02T02:30:00.000+00:00") == (0, 0)


# --- transactions, texts, the folder --------------------------------------------------------------------------


def test_a_transaction_that_raises_leaves_nothing(path: Path) -> None:
    connection = open_database(path)
    with pytest.raises(sqlite3.IntegrityError), transaction(connection):
        connection.executemany("INSERT INTO projects (project_id, root) VALUES ('p', ?)", [("/p",), ("/q",)])
    assert connection.execute("SELECT count(*) FROM projects").fetchone() == (0,)
    connection.close()


@pytest.mark.parametrize(
    ("given", "kept"), [("plain", "plain"), ("\U0001f600é", "\U0001f600é"), ("a\ud800b", "a?b"), (None, None), (3, 3)]
)
def test_only_lone_surrogates_of_a_text_are_replaced(given: object, kept: object) -> None:
    assert sound_text(given) == kept


def test_the_setting_names_the_data_folder() -> None:
    assert data_dir("/set", {"LITHIFY_DATA_DIR": "/variable"}) == Path("/set")


def test_the_variable_names_the_data_folder_where_no_setting_does() -> None:
    assert data_dir(None, {"LITHIFY_DATA_DIR": "/variable"}) == Path("/variable")


def test_a_tilde_in_the_data_folder_is_the_home_folder() -> None:
    assert data_dir("~/memory", {}) == Path.home() / "memory"


def test_a_relative_data_folder_is_made_absolute() -> None:
    assert data_dir("memory", {}) == Path.cwd() / "memory"


def test_without_either_it_is_the_platforms_folder() -> None:
    assert data_dir(None, {}).name == "lithify"
