"""Live guards: who holds a session is told, and nobody else is in the way of a write."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import portalocker
import pytest

from lithify.storage.agent_sessions import processes
from lithify.storage.agent_sessions.catalogue import AGENTS, Catalogue
from lithify.storage.agent_sessions.guards import hold
from tests.support.agent_homes import (
    CLAUDE_ID,
    CODEX_ID,
    HOLDING,
    LOCKING,
    LONG_AGO,
    WAITING,
    AgentHome,
    another_process,
    another_program,
)

READING = HOLDING.replace("'a'", "'r'")
FORMATS = {one.name: one.format_name for one in AGENTS}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AgentHome:
    """The home of whoever runs this very process."""
    for variable in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "KIMI_SHARE_DIR", "KIMI_CODE_HOME", "GEMINI_CLI_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return AgentHome(tmp_path)


def reason(path: Path, agent: str) -> str | None:
    with hold(str(path), FORMATS[agent]) as told:
        return told


def live(home: AgentHome) -> list[bool | None]:
    catalogue = Catalogue(home.environment)
    return catalogue.live(catalogue.find().files)


# --- every agent ---


@pytest.mark.parametrize("agent", ["claude-code", "codex", "kimi-code", "kimi-cli", "gemini"])
def test_a_session_that_nobody_uses_may_be_written(home: AgentHome, agent: str) -> None:
    home.all()
    (file,) = Catalogue(home.environment).find(agent).files
    assert reason(Path(file.path), agent) is None
    assert Catalogue(home.environment).live([file]) != [True]


@pytest.mark.parametrize("agent", ["claude-code", "codex", "kimi-cli", "gemini"])
def test_a_process_that_has_the_session_open_is_a_reason_and_named(home: AgentHome, agent: str) -> None:
    home.all()
    (file,) = Catalogue(home.environment).find(agent).files
    with another_process(HOLDING, file.path) as process_id:
        assert f"(process {process_id})" in str(reason(Path(file.path), agent))
        assert Catalogue(home.environment).live([file]) == [True]
    assert reason(Path(file.path), agent) is None


@pytest.mark.parametrize("linked", ["file", "folder", "folder above"])
@pytest.mark.parametrize("agent", ["claude-code", "codex", "kimi-cli", "gemini"])
def test_a_session_behind_a_link_in_the_agents_folder_is_guarded_as_any_other(
    home: AgentHome, tmp_path: Path, agent: str, linked: str
) -> None:
    home.all()
    (file,) = Catalogue(home.environment).find(agent).files
    moved = {"file": Path(file.path), "folder": Path(file.path).parent, "folder above": Path(file.path).parent.parent}
    link, elsewhere = moved[linked], tmp_path / "another disk"
    link.rename(elsewhere)
    link.symlink_to(elsewhere)
    with another_process(HOLDING, file.path) as process_id:
        assert f"(process {process_id})" in str(reason(Path(os.path.realpath(file.path)), agent))
    assert reason(Path(file.path), agent) is None


def test_claude_code_and_codex_say_what_they_have_open_also_behind_a_link(home: AgentHome, tmp_path: Path) -> None:
    for number, path in enumerate((home.claude_code(), home.codex())):
        path.rename(tmp_path / str(number))
        path.symlink_to(tmp_path / str(number))
    with another_process(WAITING) as process_id:
        os.utime(home.claude_code_runs(process_id))
        assert f"Claude Code has this session open (process {process_id})" in str(reason(tmp_path / "0", "claude-code"))
    home.codex_lock().parent.mkdir(parents=True)
    with another_process(LOCKING, str(home.codex_lock())):
        assert "Codex has this session open" in str(reason(tmp_path / "1", "codex"))


def test_a_process_that_has_the_session_open_over_a_link_is_a_reason_too(home: AgentHome, tmp_path: Path) -> None:
    path = home.gemini()
    (tmp_path / "link").symlink_to(path)
    with another_process(HOLDING, str(tmp_path / "link")):
        assert reason(tmp_path / "link", "gemini") is not None


def test_a_file_that_this_very_process_has_open_is_no_reason(home: AgentHome) -> None:
    path = home.gemini()
    with path.open("rb"):
        assert (reason(path, "gemini"), live(home)) == (None, [False])


def test_a_session_of_kimi_code_may_be_written_while_it_is_open(home: AgentHome) -> None:
    path = home.kimi_code()
    with another_process(HOLDING, str(path)):
        assert reason(path, "kimi-code") is None
        assert live(home) == [True]


@pytest.mark.parametrize("agent", ["codex", "gemini", "kimi-cli"])
def test_a_file_outside_of_the_agents_folders_has_no_guard_of_the_agent(
    home: AgentHome, tmp_path: Path, agent: str
) -> None:
    copied = tmp_path / f"rollout-{CODEX_ID}.jsonl"
    copied.write_text("{}\n")
    with another_process(READING, str(copied)):
        assert reason(copied, agent) is None


@pytest.mark.parametrize("name", ["\0", "\ud800", "", "x" * 5000, "nowhere/at/all"])
@pytest.mark.parametrize("agent", ["claude-code", "codex", "gemini"])
def test_no_path_makes_a_guard_fail(home: AgentHome, name: str, agent: str) -> None:
    home.all()
    folder = next(one.folder(home.environment) for one in AGENTS if one.name == agent)
    with hold(f"{folder}/{name}", FORMATS[agent]) as told:
        assert told is None or told.endswith(".")


def test_what_goes_wrong_under_a_guard_comes_out_of_it(home: AgentHome) -> None:
    for path, agent in ((home.codex(), "codex"), (home.gemini(), "gemini"), (home.claude_code(), "claude-code")):
        with pytest.raises(ZeroDivisionError), hold(str(path), FORMATS[agent]):
            raise ZeroDivisionError
    assert reason(home.codex(), "codex") is None


# --- Codex ---


def test_codex_is_held_off_by_its_own_lock_while_the_block_writes(home: AgentHome) -> None:
    path = home.codex()
    trying = "import fcntl, sys; fcntl.flock(open(sys.argv[1], 'a'), fcntl.LOCK_EX | fcntl.LOCK_NB)"
    command = [sys.executable, "-c", trying, str(home.codex_lock())]
    with hold(str(path), "codex") as told:
        assert told is None
        assert subprocess.run(command, stderr=subprocess.PIPE, check=False).returncode != 0
    assert subprocess.run(command, check=False).returncode == 0


def test_a_codex_that_holds_its_lock_is_a_reason(home: AgentHome) -> None:
    path = home.codex()
    home.codex_lock().parent.mkdir()
    with another_process(LOCKING, str(home.codex_lock())):
        assert reason(path, "codex") == "Codex has this session open; end it there, then try again."
        assert live(home) == [True]
    assert reason(path, "codex") is None
    assert live(home) == [False]


def test_a_lock_file_that_a_dead_codex_left_holds_nothing(home: AgentHome) -> None:
    path = home.codex()
    home.codex_lock().parent.mkdir()
    home.codex_lock().touch()
    assert (reason(path, "codex"), live(home)) == (None, [False])


def test_a_codex_that_runs_and_locks_sessions_has_those_open_that_it_locks(home: AgentHome, tmp_path: Path) -> None:
    home.codex()
    home.codex_lock().parent.mkdir()
    with another_program("codex", tmp_path, tmp_path):
        assert live(home) == [None]
        home.codex_lock().with_name(".coordination.lock").touch()
        assert live(home) == [False]


def test_a_lock_file_that_was_replaced_while_it_was_taken_is_taken_anew(
    home: AgentHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, lock = home.codex(), home.codex_lock()
    lock.parent.mkdir()
    lock.touch()
    take, taken = portalocker.lock, []

    def replaced_meanwhile(descriptor: int, flags: portalocker.LockFlags) -> None:
        take(descriptor, flags)
        if not taken:
            taken.append(lock.unlink())
            lock.touch()

    monkeypatch.setattr(portalocker, "lock", replaced_meanwhile)
    with hold(str(path), "codex") as told:
        assert told is None
        with lock.open() as file, pytest.raises(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_a_lock_that_cannot_be_made_is_a_reason_that_says_why(home: AgentHome) -> None:
    path = home.codex()
    home.codex_lock().parent.write_text("a file where the folder belongs")
    assert "cannot be taken" in str(reason(path, "codex"))


# --- Claude Code ---


def test_a_claude_code_that_says_that_it_has_the_session_open_is_a_reason(home: AgentHome) -> None:
    path = home.claude_code()
    with another_process(WAITING) as process_id:
        touched = home.claude_code_runs(process_id)
        os.utime(touched)
        told = f"Claude Code has this session open (process {process_id}); end it there, then try again."
        assert reason(path, "claude-code") == told
        assert live(home) == [True]
    assert (reason(path, "claude-code"), live(home)) == (None, [False])


def test_a_claude_code_with_another_session_is_no_reason(home: AgentHome) -> None:
    path = home.claude_code()
    with another_process(WAITING) as process_id:
        os.utime(home.claude_code_runs(process_id, "another"))
        assert (reason(path, "claude-code"), live(home)) == (None, [False])


def test_a_process_that_began_after_claude_code_last_spoke_has_the_id_of_one_that_is_gone(home: AgentHome) -> None:
    path = home.claude_code()
    with another_process(WAITING) as process_id:
        os.utime(home.claude_code_runs(process_id), (LONG_AGO, LONG_AGO))
        assert (reason(path, "claude-code"), live(home)) == (None, [False])


def test_a_claude_code_whose_start_looks_later_because_a_clock_was_set_is_a_reason(
    home: AgentHome, tmp_path: Path
) -> None:
    path = home.claude_code()
    with another_program("claude", tmp_path, tmp_path) as process_id:
        os.utime(home.claude_code_runs(process_id), (LONG_AGO, LONG_AGO))
        assert f"(process {process_id})" in str(reason(path, "claude-code"))


@pytest.mark.parametrize(
    "told",
    [
        *("", "{half", "[]", '{"pid": "x", "sessionId": 1}', '{"pid": 1e99}'),
        *('{"pid": -1, "sessionId": "ID"}', '{"pid": true, "sessionId": "ID"}', '{"pid": 1.0, "sessionId": "ID"}'),
    ],
)
def test_a_file_of_claude_code_that_tells_nothing_is_no_reason(home: AgentHome, told: str) -> None:
    path = home.claude_code()
    said = home.claude_code_runs(4_000_000)
    said.write_text(told.replace("ID", CLAUDE_ID))
    os.mkfifo(said.with_name("7.json"))
    assert (reason(path, "claude-code"), live(home)) == (None, [False])


@pytest.mark.parametrize("told", ["", '{"pid": 12, "sess', "[]", '{"pid": 12}', None])
def test_a_claude_code_that_does_not_say_what_it_has_open_may_have_any_session_open(
    home: AgentHome, tmp_path: Path, told: str | None
) -> None:
    path = home.claude_code()
    with another_program("claude", tmp_path, tmp_path) as process_id:
        said = home.claude_code_runs(process_id)
        if told is None:
            said.write_bytes(b"\xff")
        else:
            said.write_text(told)
        refused = str(reason(path, "claude-code"))
        assert (f"(process {process_id}) cannot be seen" in refused, refused.endswith("end it, then try again.")) == (
            True,
            True,
        )
        assert live(home) == [None]
    assert (reason(path, "claude-code"), live(home)) == (None, [False])


def test_where_nobody_may_look_which_sessions_claude_code_has_open_none_is_written(
    home: AgentHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = home.claude_code()
    folder = home.claude_code_runs(4_000_000).parent
    scan = os.scandir

    def refuse(where: str | Path) -> Iterator[os.DirEntry[str]]:
        if str(where) == str(folder):
            raise PermissionError(13, "Permission denied")
        return scan(where)

    monkeypatch.setattr(os, "scandir", refuse)
    assert f"cannot be seen, since {folder} cannot be read (Permission denied)" in str(reason(path, "claude-code"))


def test_a_session_that_claude_code_has_open_by_the_name_of_a_link_is_open_by_every_name(home: AgentHome) -> None:
    path = home.claude_code()
    link = path.with_name("aaaaaaaa-5a7b-4c1d-9d61-0c1f2e3d4a5b.jsonl")
    link.symlink_to(path.name)
    with another_process(WAITING) as process_id:
        os.utime(home.claude_code_runs(process_id, link.stem))
        for name in (path, link):
            assert f"Claude Code has this session open (process {process_id})" in str(reason(name, "claude-code"))
        assert live(home) == [True] * len(Catalogue(home.environment).find().files)


def test_an_older_claude_code_that_runs_in_the_project_is_a_reason(home: AgentHome, tmp_path: Path) -> None:
    project = tmp_path / "shop"
    project.mkdir()
    path = home.claude_code(project=str(project))
    with another_program("claude", tmp_path, project) as process_id:
        assert f"(process {process_id})" in str(reason(path, "claude-code"))
        assert live(home) == [None]


# --- agents that tell nothing ---


@pytest.mark.parametrize("agent", ["gemini", "kimi-cli"])
def test_a_session_that_was_just_written_is_a_reason_that_says_how_long_to_wait(home: AgentHome, agent: str) -> None:
    home.all()
    (file,) = Catalogue(home.environment).find(agent).files
    os.utime(file.path)
    assert "try again 10 seconds later" in str(reason(Path(file.path), agent))


def test_a_session_that_was_just_written_is_live_where_its_agent_runs_and_else_nobody_knows(
    home: AgentHome, tmp_path: Path
) -> None:
    os.utime(home.gemini())
    assert live(home) == [None]
    with another_program("gemini", tmp_path, tmp_path):
        assert live(home) == [True]


@pytest.mark.parametrize("agent", ["gemini", "kimi-cli"])
def test_what_was_written_under_a_guard_makes_a_session_not_look_used(home: AgentHome, agent: str) -> None:
    home.all()
    (file,) = Catalogue(home.environment).find(agent).files
    with hold(file.path, FORMATS[agent]), open(file.path, "a") as session:
        session.write("\n")
    assert reason(Path(file.path), agent) is None
    with open(file.path, "a") as session:
        session.write("\n")
    assert reason(Path(file.path), agent) is not None


@pytest.mark.parametrize(("agent", "name"), [("gemini", "gemini"), ("kimi-cli", "kimi")])
def test_an_agent_that_runs_in_the_project_of_a_session_is_a_reason(
    home: AgentHome, tmp_path: Path, agent: str, name: str
) -> None:
    project = tmp_path / "shop"
    project.mkdir()
    path = home.gemini(project=str(project)) if agent == "gemini" else home.kimi_cli(project=str(project))
    with another_program(name, tmp_path, project) as process_id:
        assert f"runs in this project (process {process_id})" in str(reason(path, agent))
        assert live(home) == [None]
    assert (reason(path, agent), live(home) == [True]) == (None, False)


def test_an_agent_that_runs_in_another_project_is_no_reason_but_may_have_the_session_open(
    home: AgentHome, tmp_path: Path
) -> None:
    path = home.gemini(project=str(tmp_path / "shop"))
    with another_program("gemini", tmp_path, tmp_path):
        assert (reason(path, "gemini"), live(home)) == (None, [None])


def test_an_agent_that_keeps_its_sessions_in_another_home_has_none_of_these_open(
    home: AgentHome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = home.gemini(project=str(tmp_path))
    monkeypatch.setenv("HOME", "/home/somebody")
    with another_program("gemini", tmp_path, tmp_path):
        monkeypatch.setenv("HOME", str(tmp_path))
        assert (reason(path, "gemini"), live(home)) == (None, [False])


def test_an_agent_that_does_not_tell_its_home_may_have_any_session_open(
    home: AgentHome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.opencode()  # of which no other test that may run at the same time expects that it does not run
    monkeypatch.delenv("HOME")
    with another_program("opencode", tmp_path, tmp_path):
        monkeypatch.setenv("HOME", str(tmp_path))
        assert live(home) == [None]


def test_a_program_that_is_only_told_the_name_of_an_agent_is_none(home: AgentHome, tmp_path: Path) -> None:
    path = home.gemini(project=str(tmp_path))
    (tmp_path / "gemini").touch()
    with subprocess.Popen(["tail", "-f", "gemini"], cwd=tmp_path) as process:
        try:
            assert (reason(path, "gemini"), live(home)) == (None, [False])
        finally:
            process.kill()


def test_who_has_a_session_open_that_could_not_be_seen_in_time_is_a_reason_too(
    home: AgentHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = home.gemini()
    monkeypatch.setattr(processes, "LOOK_SECONDS", -1.0)
    assert "too busy to see" in str(reason(path, "gemini"))
    assert live(home) == [None]


def test_a_guard_that_says_no_has_looked_for_about_a_second_at_most(home: AgentHome) -> None:
    path = home.gemini()
    with another_process(HOLDING, str(path)):
        began = time.monotonic()
        assert reason(path, "gemini") is not None
        assert time.monotonic() - began < 3  # the machine may be busy with other tests


@pytest.mark.parametrize("agent", ["gemini", "kimi-cli"])
def test_what_another_process_of_ours_wrote_last_does_not_look_used_where_that_is_known(
    home: AgentHome, agent: str
) -> None:
    home.all()
    (file,) = Catalogue(home.environment).find(agent).files
    os.utime(file.path)
    with hold(file.path, FORMATS[agent], ours=True) as told:
        assert told is None
    os.utime(file.path)
    assert reason(Path(file.path), agent) is not None


APPENDING = """
import os, sys
from pathlib import Path
from lithify.storage.session_files import SessionFiles
path, name = sys.argv[1:]
files, before = SessionFiles(Path(os.environ["HOME"]) / "data", os.environ), Path(path).read_bytes()
if name == "gemini":
    done = files.append(path, before, b"{}\\n", format_name=name, backup_id=None)
else:
    done = files.rewrite(path, before, before + b"{}\\n", format_name=name, rotates=True)
print(type(done).__name__, files.held(path, name))
"""


@pytest.mark.parametrize("agent", ["gemini", "kimi-cli"])
def test_a_session_that_lithify_has_just_written_can_be_written_again_by_another_process(
    home: AgentHome, agent: str
) -> None:
    path: Path = getattr(home, agent.replace("-", "_"))()
    arguments = [sys.executable, "-c", APPENDING, str(path), FORMATS[agent]]
    told = [subprocess.run(arguments, capture_output=True, text=True, check=True, timeout=60).stdout for _ in range(2)]
    assert told == ["Written None\n"] * 2
    with path.open("a") as file:
        file.write("{}\n")
    refused = subprocess.run(arguments, capture_output=True, text=True, check=True, timeout=60).stdout
    assert refused.startswith("Held This session was written ")


# --- a file that is no session of an agent ---


@pytest.fixture
def chat(home: AgentHome, tmp_path: Path) -> Path:
    (path := tmp_path / "chat.jsonl").write_text("{}\n")
    return path


@pytest.mark.parametrize("link", [False, True])
def test_a_process_that_has_a_chat_file_open_to_write_into_it_is_a_reason_and_named(
    chat: Path, tmp_path: Path, link: bool
) -> None:
    (named := tmp_path / "link.jsonl").symlink_to(chat)
    with another_process(HOLDING, str(chat)) as process_id, hold(str(named if link else chat), "openai-jsonl") as told:
        assert f"(process {process_id}) has this file open to write into it" in str(told)
    with hold(str(chat), "openai-jsonl") as told:
        assert told is None


def test_a_process_that_only_reads_a_chat_file_is_no_reason(chat: Path) -> None:
    with another_process(READING, str(chat)), hold(str(chat), "openai-jsonl") as told:
        assert told is None
