"""`lithify doctor`: what it finds on a healthy machine and on broken ones, and that it changes nothing."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import lithify
from lithify.cli import doctor_disk, doctor_machine, main
from lithify.cli.doctor_report import Check, checked, conclusion, shortened
from lithify.prompt_files.pins import kimi_pin
from lithify.storage.database import MIGRATIONS
from tests.cli.running import CONTROL, SECONDS, Ended, Place

PLAIN_USER = ("setpriv", "--bounding-set", "-dac_override,-dac_read_search") if os.geteuid() == 0 else ()
"""What makes permissions count also for root."""


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture
def data_dir(place: Place) -> Path:
    """A data folder that a server has worked in and left."""
    fill(place)
    return place.folder / "data"


def fill(place: Place, script: str = "") -> None:
    """Lets a server store two sessions in two projects; `script` goes on with its store before it ends."""
    code = f"""
import os, sqlite3, sys
from pathlib import Path
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
from lithify.cli.demo_editor import Editor
folder = Path({str(place.folder)!r})
editor = Editor(folder, {SECONDS})
editor.start()
editor.request("initialize", {{"capabilities": {{}}}})
for name in ("one", "two"):
    messages = [{{"role": "user", "content": f"{{name}} {{number}}"}} for number in range(3)]
    editor.notify("lithify/didOpenSession", {{"sessionId": name, "agent": None, "messages": messages,
        "projectUri": (Path(os.environ["HOME"]) / name).as_uri()}})
editor.request("lithify/bufferStatus", {{}})
{script}
editor.close()
"""
    subprocess.run([sys.executable, "-c", code], env=place.environment(), timeout=SECONDS, check=False)


def found(ended: Ended) -> dict[str, tuple[str, str]]:
    """Mark and text of each check, by name."""
    checks = [re.match(r"(ok|note|attention|fails) +(.+?) {2,}(.+)", line) for line in ended.lines]
    return {check[2]: (check[1], check[3]) for check in checks if check}


def next_step(ended: Ended, name: str) -> str:
    """What is to be done about a check."""
    index = next(index for index, line in enumerate(ended.lines) if re.match(rf"\w+ +{name} ", line))
    return ended.lines[index + 1].partition("next: ")[2]


def as_json(ended: Ended) -> dict[str, Any]:
    """The checks of `--json` by name."""
    return {check["name"]: check for check in json.loads(ended.out)["checks"]}


def snapshot(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Mode and content of all there is; SQLite's shared memory counts for its presence alone."""
    return {
        str(path.relative_to(folder)): (
            path.stat().st_mode,
            path.read_bytes() if path.is_file() and path.suffix != ".db-shm" else b"",
        )
        for path in sorted(folder.rglob("*"))
    }


def alter(data_dir: Path, script: str) -> None:
    with closing(sqlite3.connect(data_dir / "lithify.db")) as connection:
        connection.executescript(script)


# A healthy machine


def test_all_is_well_before_the_first_use(place: Place) -> None:
    ended = place.run("doctor")
    assert (ended.code, ended.err, [name for name, (mark, _) in found(ended).items() if mark == "fails"]) == (0, "", [])


def test_a_data_folder_that_is_not_there_is_not_made(place: Place) -> None:
    ended = place.run("doctor", "--data-dir", str(place.folder / "nothing"))
    assert found(ended)["Data folder"][1].endswith("nothing is not there yet; it is made on first use")
    assert not (place.folder / "nothing").exists()
    assert list(place.home.iterdir()) == []


def test_nothing_is_left_in_the_folder_for_temporary_files(place: Place) -> None:
    place.run("doctor")
    assert list(place.temporary.iterdir()) == []


def test_versions_are_named(place: Place) -> None:
    checks = found(place.run("doctor"))
    assert checks["Python"][1].startswith(".".join(map(str, sys.version_info[:3])))
    assert checks["Lithify"][1].startswith(lithify.__version__)


def test_sqlite_is_named_with_what_lithify_needs_of_it(place: Place) -> None:
    expected = f"{sqlite3.sqlite_version} with RETURNING, row values, JSON, FTS5"
    assert found(place.run("doctor"))["SQLite"] == ("ok", expected)


def test_no_model_is_claimed_but_the_offline_one(place: Place) -> None:
    checks = found(place.run("doctor"))
    assert [name for name, (mark, _) in checks.items() if "model" in name and mark == "ok"] == ["Offline model"]


def test_what_is_stored_is_counted(place: Place, data_dir: Path) -> None:
    check = as_json(place.run("doctor", "--json", "--data-dir", str(data_dir)))["Database"]
    with closing(sqlite3.connect(data_dir / "lithify.db")) as connection:
        sessions, events = (
            connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in ("sessions", "events")
        )
    assert (check["mark"], check["sessions"], check["events"], check["schema"]) == (
        "ok",
        sessions,
        events,
        len(MIGRATIONS),
    )
    assert (sessions, events) == (2, 6)


def test_the_size_of_the_database_is_that_of_its_file(place: Place, data_dir: Path) -> None:
    check = as_json(place.run("doctor", "--json", "--data-dir", str(data_dir)))["Database"]
    assert check["sizeBytes"] == (data_dir / "lithify.db").stat().st_size


def test_each_buffer_is_named_with_its_size(place: Place, data_dir: Path) -> None:
    check = as_json(place.run("doctor", "--json", "--data-dir", str(data_dir)))["Buffers"]
    sizes = {one["projectId"]: one["sizeBytes"] for one in check["buffers"]}
    assert sizes == {file.parent.name: file.stat().st_size for file in data_dir.glob("buffers/*/buffer.ndjson")}
    assert {one["root"] for one in check["buffers"]} == {"~/one", "~/two"}


def test_events_that_wait_outside_their_buffer_are_counted(place: Place, data_dir: Path) -> None:
    alter(data_dir, "UPDATE events SET state = 'waiting' WHERE sequence IN (1, 2)")
    ended = place.run("doctor", "--data-dir", str(data_dir))
    mark, text = found(ended)["Buffers"]
    assert (ended.code, mark, text.endswith("; 2 events waiting outside")) == (0, "attention", True)


def test_the_data_folder_of_the_environment_is_looked_at(place: Place, data_dir: Path) -> None:
    assert found(place.run("doctor", LITHIFY_DATA_DIR=str(data_dir)))["Database"][1].startswith("2 sessions, 6 events")


def test_a_data_folder_that_is_named_wins_over_the_environment(place: Place, data_dir: Path) -> None:
    ended = place.run("doctor", "--data-dir", "elsewhere", LITHIFY_DATA_DIR=str(data_dir))
    assert found(ended)["Database"] == ("note", "not there yet; it is made on first use")


def test_a_private_folder_with_all_in_order_is_ok(place: Place, data_dir: Path) -> None:
    ended = place.run("doctor", "--data-dir", str(data_dir))
    names = ("Data folder", "Database", "Buffers", "Locks", "SQLite WAL")
    assert (ended.code, {found(ended)[name][0] for name in names}) == (0, {"ok"})


# It changes nothing


def test_a_data_folder_at_rest_stays_as_it_is(place: Place, data_dir: Path) -> None:
    before = snapshot(data_dir)
    place.run("doctor", "--data-dir", str(data_dir))
    assert snapshot(data_dir) == before


def test_what_a_killed_server_left_behind_stays_as_it_is(place: Place) -> None:
    fill(place, script="editor._running.kill()")
    data_dir = place.folder / "data"
    before = snapshot(data_dir)
    ended = place.run("doctor", "--data-dir", str(data_dir))
    assert found(ended)["Database"][1].startswith("2 sessions, 6 events")
    assert "lithify.db-wal" in before
    assert snapshot(data_dir) == before


def test_a_database_that_a_server_has_open_is_read_and_stays_as_it_is(place: Place, data_dir: Path) -> None:
    with closing(sqlite3.connect(data_dir / "lithify.db")) as connection:
        connection.execute("UPDATE sessions SET title = 'new'")
        connection.commit()
        before = snapshot(data_dir)
        ended = place.run("doctor", "--data-dir", str(data_dir))
        assert found(ended)["Database"][0] == "ok"
        assert snapshot(data_dir) == before


# Broken databases


def database_after(place: Place, data_dir: Path) -> tuple[int, str, str]:
    """Exit code, text and next step, once the database has been broken."""
    ended = place.run("doctor", "--data-dir", str(data_dir))
    mark, text = found(ended)["Database"]
    assert mark == "fails"
    assert ended.err == ""
    assert found(ended)["Buffers"][0] == "note"
    return ended.code, text, next_step(ended, "Database")


@pytest.mark.parametrize("begin", ["BEGIN IMMEDIATE", "BEGIN EXCLUSIVE"])
def test_a_database_that_is_locked_is_said_to_be_locked(place: Place, data_dir: Path, begin: str) -> None:
    with closing(sqlite3.connect(data_dir / "lithify.db", isolation_level=None)) as connection:
        connection.execute(begin)
        code, text, step = database_after(place, data_dir)
    assert (code, text.endswith("lithify.db is locked by another program")) == (1, True)
    assert step.startswith("end the program that holds it")


def test_a_database_that_one_program_keeps_for_itself_is_said_to_be_locked(place: Place, data_dir: Path) -> None:
    with closing(sqlite3.connect(data_dir / "lithify.db", isolation_level=None)) as connection:
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("BEGIN IMMEDIATE")
        code, text, _ = database_after(place, data_dir)
    assert (code, text.endswith("is locked by another program")) == (1, True)


def no_database(path: Path) -> None:
    path.write_text("This is no database. " * 100)


def torn_in_the_middle(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[4096 : len(content) : 2] = b"\xff" * len(content[4096 : len(content) : 2])
    path.write_bytes(content)


def cut_short(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:10_000])


def without_its_tables(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP TABLE sessions")


@pytest.mark.parametrize("broken", [no_database, torn_in_the_middle, cut_short, without_its_tables])
def test_a_damaged_database_is_said_to_be_damaged(place: Place, data_dir: Path, broken: Any) -> None:
    broken(data_dir / "lithify.db")
    code, text, step = database_after(place, data_dir)
    assert (code, " is damaged (" in text) == (1, True)
    assert step.startswith("move lithify.db, lithify.db-wal and lithify.db-shm to another folder and keep them")


def test_a_database_of_a_newer_lithify_is_said_to_be_newer(place: Place, data_dir: Path) -> None:
    alter(data_dir, "PRAGMA user_version = 999")
    code, text, step = database_after(place, data_dir)
    expected = f"was written by a newer Lithify (schema 999; this one knows {len(MIGRATIONS)})"
    assert (code, text.endswith(expected)) == (1, True)
    assert step.startswith("update Lithify")


def test_a_database_that_may_not_be_read_is_told(place: Place, data_dir: Path) -> None:
    (data_dir / "lithify.db").chmod(0)
    ended = place.run("doctor", "--data-dir", str(data_dir), under=PLAIN_USER)
    mark, text = found(ended)["Database"]
    assert (ended.code, mark, text.endswith("lithify.db cannot be read (Permission denied)")) == (1, "fails", True)


def test_a_database_that_may_not_be_written_is_told(place: Place, data_dir: Path) -> None:
    (data_dir / "lithify.db").chmod(0o400)
    ended = place.run("doctor", "--data-dir", str(data_dir), under=PLAIN_USER)
    mark, text = found(ended)["Database"]
    assert (ended.code, mark, text.endswith("lithify.db cannot be written")) == (1, "fails", True)


def test_a_folder_in_the_place_of_the_database_is_told(place: Place) -> None:
    (place.folder / "data" / "lithify.db").mkdir(parents=True)
    code, text, _ = database_after(place, place.folder / "data")
    assert (code, text.endswith("lithify.db cannot be read (Is a directory)")) == (1, True)


def test_an_empty_database_file_is_nothing_bad(place: Place) -> None:
    (place.folder / "data").mkdir(0o700)
    (place.folder / "data" / "lithify.db").touch(0o600)
    ended = place.run("doctor", "--data-dir", "data")
    expected = ("ok", "empty; its tables are made when a server starts")
    assert (ended.code, found(ended)["Database"]) == (0, expected)


# Broken folders


def folder_of(ended: Ended) -> tuple[int, str, str]:
    return (ended.code, *found(ended)["Data folder"])


def test_a_folder_that_others_may_look_into_deserves_a_look(place: Place, data_dir: Path) -> None:
    data_dir.chmod(0o755)
    ended = place.run("doctor", "--data-dir", str(data_dir))
    code, mark, text = folder_of(ended)
    assert (code, mark, text.endswith("others may look into it (mode 755)")) == (0, "attention", True)
    assert next_step(ended, "Data folder") == f"run: chmod 700 {data_dir}"


@pytest.mark.parametrize("mode", [0, 0o300])
def test_a_folder_that_may_not_be_read_is_told(place: Place, data_dir: Path, mode: int) -> None:
    data_dir.chmod(mode)
    ended = place.run("doctor", "--data-dir", str(data_dir), under=PLAIN_USER)
    data_dir.chmod(0o700)
    code, mark, text = folder_of(ended)
    assert (code, mark, text) == (1, "fails", f"{data_dir} cannot be read (Permission denied)")
    assert {found(ended)[name][0] for name in ("Database", "Buffers", "Locks", "SQLite WAL")} == {"note"}


def test_a_folder_that_may_not_be_written_is_told(place: Place, data_dir: Path) -> None:
    data_dir.chmod(0o500)
    ended = place.run("doctor", "--data-dir", str(data_dir), under=PLAIN_USER)
    data_dir.chmod(0o700)
    code, mark, text = folder_of(ended)
    assert (code, mark, text.endswith("you cannot write in it")) == (1, "fails", True)
    assert found(ended)["Locks"] == ("note", "not tried, since the data folder cannot be used")


def test_a_file_in_the_place_of_the_folder_is_told(place: Place) -> None:
    (place.folder / "data").touch()
    code, mark, text = folder_of(place.run("doctor", "--data-dir", "data"))
    assert (code, mark, text.endswith("data is not a folder")) == (1, "fails", True)


def test_a_link_that_leads_nowhere_is_told(place: Place) -> None:
    (place.folder / "data").symlink_to("nowhere")
    code, mark, text = folder_of(place.run("doctor", "--data-dir", "data"))
    assert (code, mark, text.endswith("data is a link that leads nowhere")) == (1, "fails", True)


def test_a_folder_that_cannot_be_made_is_told(place: Place) -> None:
    (place.folder / "sealed").mkdir(0o500)
    ended = place.run("doctor", "--data-dir", "sealed/below/data", under=PLAIN_USER)
    code, mark, text = folder_of(ended)
    assert (code, mark, text.endswith(f"data cannot be made in {place.folder / 'sealed'}")) == (1, "fails", True)


def test_a_folder_on_a_file_system_that_takes_none_is_told(place: Place) -> None:
    ended = place.run("doctor", LITHIFY_DATA_DIR="/proc/nothing/data")
    code, mark, text = folder_of(ended)
    assert (code, mark) == (1, "fails")
    assert text.startswith("/proc/nothing/data cannot be made in /proc")
    assert next_step(ended, "Data folder").startswith("set LITHIFY_DATA_DIR (")


def test_trying_whether_a_folder_can_be_made_leaves_nothing(place: Place) -> None:
    (place.folder / "empty").mkdir()
    ended = place.run("doctor", "--data-dir", "empty/below/data")
    assert (found(ended)["Data folder"][0], list((place.folder / "empty").iterdir())) == ("ok", [])


def test_a_home_that_nobody_has_is_a_usage_error(place: Place) -> None:
    ended = place.run("doctor", "--data-dir", "~nobody-of-that-name/data")
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)


# Broken disks


def locks_with(place: Place, flock: str) -> tuple[int, str, str]:
    """What is found where the operating system locks like this."""
    place.customise(f"import errno, fcntl\nreal = fcntl.flock\ndef flock(file, how):\n    {flock}\nfcntl.flock = flock")
    (place.folder / "data").mkdir(0o700)
    ended = place.run("doctor", "--data-dir", "data")
    assert list((place.folder / "data").iterdir()) == []
    return (ended.code, *found(ended)["Locks"])


def test_a_file_system_that_refuses_locks_is_told(place: Place) -> None:
    refuse = "raise OSError(errno.ENOLCK, 'No locks available')"
    assert locks_with(place, refuse) == (1, "fails", "cannot be taken (No locks available)")


def test_a_file_system_whose_locks_do_not_hold_is_told(place: Place) -> None:
    text = "do not hold: a lock that is taken can be taken again"
    assert locks_with(place, "return None") == (1, "fails", text)


def test_a_file_system_that_never_gives_locks_back_is_told(place: Place) -> None:
    keep = "return None if how & fcntl.LOCK_UN else real(file, how)"
    text = "are not given back: a lock that was freed cannot be taken again"
    assert locks_with(place, keep) == (1, "fails", text)


def test_a_trial_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    released = doctor_disk.threading.Event()
    monkeypatch.setattr(doctor_disk, "TRIAL_SECONDS", 0.01)
    monkeypatch.setattr(doctor_disk, "_try_locks", lambda _: released.wait(SECONDS) and None)
    locks_check, _ = doctor_disk.look_at_disk(tmp_path)
    released.set()
    assert (locks_check.mark, locks_check.text) == ("fails", "gave no answer within 0.01 s")


@pytest.mark.parametrize("error", [sqlite3.OperationalError("disk I/O error"), OSError("No such device")])
def test_a_disk_on_which_wal_does_not_work_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, error: Exception
) -> None:
    def refuse(_: Path) -> None:
        raise error

    monkeypatch.setattr(doctor_disk, "open_database", refuse)
    _, wal_check = doctor_disk.look_at_disk(tmp_path)
    assert (wal_check.mark, wal_check.text) == ("fails", f"does not work ({error})")


# The machine


@pytest.mark.parametrize("missing", ["RETURNING", "row values", "JSON"])
def test_an_sqlite_without_what_is_needed_fails(monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    monkeypatch.setitem(doctor_machine._NEEDED, missing, "SELECT nothing")
    (check,) = doctor_machine.look_at_sqlite()
    assert (check.mark, check.text.endswith(f"; without {missing}")) == ("fails", True)


def test_an_sqlite_without_text_search_deserves_a_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(doctor_machine._WISHED, "FTS5", "SELECT nothing")
    (check,) = doctor_machine.look_at_sqlite()
    assert check.mark == "attention"


def test_a_command_that_is_not_on_path_is_a_note(place: Place) -> None:
    ended = place.run("doctor", PATH=os.defpath)
    assert found(ended)["Command"] == ("note", "'lithify' is not on PATH")
    assert next_step(ended, "Command").startswith("give your editor the whole path: ")


def test_another_command_on_path_deserves_a_look(place: Place) -> None:
    other = place.folder / "lithify"
    other.write_text("#!/bin/sh\n")
    other.chmod(0o755)
    ended = place.run("doctor", PATH=str(place.folder))
    assert found(ended)["Command"] == ("attention", f"'lithify' on PATH is another one ({other})")


def test_this_command_on_path_is_ok(place: Place) -> None:
    own = Path(sys.executable).parent / "lithify"
    assert found(place.run("doctor", PATH=str(own.parent)))["Command"] == ("ok", f"'lithify' is on PATH ({own})")


def test_lithifys_own_prompt_deserves_a_look(place: Place) -> None:
    ended = place.run("doctor")
    mark, text = found(ended)["Prompt"]
    assert (mark, text.startswith("Lithify's own ("), text.endswith("not the exact one of kimi-cli")) == (
        "attention",
        True,
        True,
    )
    assert next_step(ended, "Prompt") == f"run '{sys.executable} -m lithify prompts fetch' to get the exact one"


def test_a_damaged_copy_of_the_prompt_is_told_with_the_way_out(place: Place) -> None:
    copy = place.home / ".local" / "share" / "lithify" / "prompts" / kimi_pin().folder_name
    copy.mkdir(parents=True)
    step = next_step(place.run("doctor", XDG_DATA_HOME=str(place.home / ".local" / "share")), "Prompt")
    assert step.startswith(f"The copy of the exact prompt in ~/.local/share/lithify/prompts/{copy.name} is not used")


def test_a_look_that_goes_wrong_is_a_check_that_fails() -> None:
    def look() -> Iterator[Check]:
        yield Check("Thing", "ok", "is there")
        raise RuntimeError("no luck")

    (check,) = checked("Thing", look)
    assert (check.mark, check.text) == ("fails", "could not be looked at (RuntimeError: no luck)")


# How it is told


def test_json_holds_the_same_checks_as_the_text(place: Place, data_dir: Path) -> None:
    text = place.run("doctor", "--data-dir", str(data_dir))
    as_data = as_json(place.run("doctor", "--json", "--data-dir", str(data_dir)))
    without_space = re.compile(r"[\d.]+ GiB free")
    told = {name: (mark, without_space.sub("", text)) for name, (mark, text) in found(text).items()}
    assert told == {name: (one["mark"], without_space.sub("", one["text"])) for name, one in as_data.items()}


def test_json_says_whether_all_that_is_needed_works(place: Place) -> None:
    (place.folder / "data").touch()
    ended = place.run("doctor", "--json", "--data-dir", "data")
    assert (ended.code, json.loads(ended.out)["ok"]) == (1, False)


def test_the_last_line_names_what_does_not_work(place: Place) -> None:
    (place.folder / "data").touch()
    assert place.run("doctor", "--data-dir", "data").lines[-1] == "Lithify cannot work as it should: see Data folder."


@pytest.mark.parametrize(
    ("looks", "said"),
    [(0, "works."), (1, "works; 1 of the above deserves a look."), (2, "2 of the above deserve a look.")],
)
def test_the_last_line_counts_what_deserves_a_look(looks: int, said: str) -> None:
    assert conclusion([Check("Thing", "attention", "")] * looks).endswith(said)


@pytest.mark.parametrize("options", [(), ("--json",)])
@pytest.mark.parametrize("broken", ["nothing", "database"])
def test_the_home_folder_is_written_as_a_tilde(place: Place, options: tuple[str, ...], broken: str) -> None:
    fill(place)
    data_dir = place.home / "data"
    shutil.move(place.folder / "data", data_dir)
    if broken == "database":
        no_database(data_dir / "lithify.db")
    ended = place.run("doctor", *options, "--data-dir", str(data_dir), XDG_DATA_HOME=str(place.home / "share"))
    assert "~/data" in ended.out
    assert str(place.home) not in ended.out + ended.err


def test_only_the_home_folder_itself_is_shortened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ann")
    assert shortened("/home/ann/x /home/anna/x /old/home/ann/x '/home/ann'") == "~/x /home/anna/x /old/home/ann/x '~'"


def test_secrets_of_the_environment_are_not_shown(place: Place) -> None:
    ended = place.run("doctor", "--json", OPENAI_API_KEY="sk-very-secret", GITHUB_TOKEN="ghp-very-secret")
    assert "very-secret" not in ended.out + ended.err


def test_a_pipe_gets_no_control_codes(place: Place, data_dir: Path) -> None:
    assert CONTROL.findall(place.run("doctor", "--data-dir", str(data_dir)).out.replace("\n", "")) == []


def test_a_narrow_terminal_gets_lines_that_fit(place: Place) -> None:
    lines = CONTROL.sub("", place.run_on_terminal("doctor", columns=60)).splitlines()
    assert [line for line in lines if len(line) > 60] == []


def test_marks_are_words_on_a_terminal_without_colour(place: Place) -> None:
    written = place.run_on_terminal("doctor", columns=100, TERM="dumb")
    assert CONTROL.findall(written.replace("\r\n", "")) == []
    assert re.search(r"^ok +Python", written, re.MULTILINE)


def test_control_c_ends_it_in_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupt() -> Iterator[Check]:
        signal.raise_signal(signal.SIGINT)
        yield Check("Python", "ok", "")

    monkeypatch.setattr(doctor_machine, "look_at_versions", interrupt)
    assert (main.main(["doctor"]), *capsys.readouterr()) == (130, "", "lithify: interrupted\n")
