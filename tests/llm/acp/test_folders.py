"""The folders of runs: which paths lie in one, and which are swept."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

import pytest

from lithify.llm.acp.folders import RunFolder, is_run_folder, try_lock
from lithify.llm.acp.runs import ORPHAN_SECONDS, live_runs, sweep

RUN = "lithify-agent-0123456789abcdef"


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """An environment whose private run-time folder is the test's own; runs of others are not seen."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    tmp_path.chmod(0o700)
    return {"XDG_RUNTIME_DIR": str(tmp_path)}


def dead_run(base: Path, name: str = RUN) -> Path:
    folder = base / name
    (folder / "work").mkdir(parents=True)
    folder.chmod(0o700)
    folder.with_name(name + ".lock").touch()
    return folder


def age(path: Path) -> None:
    at = time.time() - ORPHAN_SECONDS - 60
    os.utime(path, (at, at))


@pytest.mark.parametrize(
    "path",
    [
        f"/tmp/{RUN}",
        f"/tmp/{RUN}/work",
        f"/run/user/1000/{RUN}/home/.kimi/sessions/x.jsonl",
        f"file:///private/var/folders/ab/T/{RUN}/work",
        f"C:\\Users\\me\\AppData\\Local\\Temp\\{RUN}\\work",
    ],
)
def test_a_path_in_the_folder_of_a_run_is_known_by_its_name(path: str) -> None:
    assert is_run_folder(path)


@pytest.mark.parametrize(
    "path",
    ["", "/tmp", "/home/me/lithify-agent", f"/tmp/{RUN}0/work", f"/tmp/x{RUN}", f"/tmp/{RUN}.lock", "/a/" + RUN[:-1]],
)
def test_any_other_path_is_not(path: str) -> None:
    assert not is_run_folder(path)


def test_a_folder_is_private_and_its_lock_is_held_until_it_is_gone(environment: dict[str, str], tmp_path: Path) -> None:
    folder = RunFolder.create(environment)
    assert folder.path.parent == tmp_path
    assert is_run_folder(str(folder.path))
    assert all(path.stat().st_mode & 0o777 == 0o700 for path in (folder.path, folder.work, folder.home))
    assert sweep(environment) == []
    assert [run.folder for run in live_runs(environment)] == [folder.path]
    folder.remove()
    assert os.listdir(tmp_path) == []


def test_a_folder_whose_lock_is_free_is_swept(environment: dict[str, str], tmp_path: Path) -> None:
    folder = dead_run(tmp_path)
    assert sweep(environment) == [folder]
    assert os.listdir(tmp_path) == []


def test_a_folder_whose_lock_is_held_is_not(environment: dict[str, str], tmp_path: Path) -> None:
    folder = dead_run(tmp_path)
    lock = os.open(folder.with_name(RUN + ".lock"), os.O_RDWR)
    try:
        assert try_lock(lock)
        assert sweep(environment) == []
        assert folder.is_dir()
    finally:
        os.close(lock)


def test_a_lock_without_a_folder_may_be_a_run_that_is_starting(environment: dict[str, str], tmp_path: Path) -> None:
    lock = tmp_path / f"{RUN}.lock"
    lock.touch()
    assert sweep(environment) == []
    assert lock.exists()
    age(lock)
    sweep(environment)
    assert not lock.exists()


def test_a_folder_without_a_lock_is_swept_when_it_is_old(environment: dict[str, str], tmp_path: Path) -> None:
    folder = dead_run(tmp_path)
    folder.with_name(RUN + ".lock").unlink()
    assert sweep(environment) == []
    age(folder)
    assert sweep(environment) == [folder]


def test_a_link_and_a_folder_open_to_others_are_left_alone(environment: dict[str, str], tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir(0o700)
    (kept / "file").touch()
    (tmp_path / RUN).symlink_to(kept)
    (tmp_path / f"{RUN}.lock").touch()
    others = dead_run(tmp_path, RUN[:-1] + "0")
    others.chmod(0o755)
    assert sweep(environment) == []
    assert (kept / "file").exists()
    assert others.is_dir()


def test_facts_that_cannot_be_read_do_no_harm(environment: dict[str, str], tmp_path: Path) -> None:
    for number, text in enumerate(["{", "[]", '{"agentPid": "1", "startedAt": "x"}', '{"agentPid": -1}']):
        (dead_run(tmp_path, RUN[:-1] + str(number)) / "run.json").write_text(text)
    assert len(sweep(environment)) == 4
    folder = RunFolder.create(environment)
    (folder.path / "run.json").write_text('{"serverPid": true, "agent": 5}')
    (run,) = live_runs(environment)
    assert (run.agent, run.server_pid, run.server_alive, run.started_at) == (None, None, False, None)
    folder.remove()
