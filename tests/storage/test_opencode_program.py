"""The program `opencode`, run by us: found, asked in the session's project, bounded in time, and ended with us."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from lithify.storage import owner
from lithify.storage.agent_sessions.opencode_program import OpencodeFailed, OpencodeProgram


def program(tmp_path: Path, script: str, **more: float) -> OpencodeProgram:
    """An opencode that does what a script of the shell says."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "opencode").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "opencode").chmod(0o755)
    path = os.pathsep.join([str(folder), os.defpath])
    return OpencodeProgram({"HOME": str(tmp_path), "PATH": path}, **more)


def failure(asked: OpencodeProgram, project: Path) -> str:
    with pytest.raises(OpencodeFailed) as raised:
        asked.exported("ses_1", str(project))
    return str(raised.value.strerror)


def test_it_runs_in_the_project_which_pwd_names_too_and_looks_for_no_news(tmp_path: Path) -> None:
    told = program(tmp_path, 'echo "$1 $2 $PWD $(/bin/pwd) $OPENCODE_DISABLE_AUTOUPDATE"').exported(
        "ses_1", str(tmp_path)
    )
    assert told.decode() == f"export ses_1 {tmp_path} {tmp_path} 1\n"


def test_all_of_a_large_session_comes(tmp_path: Path) -> None:
    large = program(tmp_path, "head -c 5000000 /dev/zero").exported("ses_1", str(tmp_path))
    assert len(large) == 5_000_000


def test_what_it_complains_of_is_told_on_one_line_without_colours(tmp_path: Path) -> None:
    asked = program(tmp_path, "printf '\\033[91m\\033[1mError: \\033[0mNo such\\n session\\n' >&2; exit 1")
    assert failure(asked, tmp_path) == "'opencode export' failed: No such session"


def test_one_that_takes_too_long_is_ended_with_all_it_started(tmp_path: Path) -> None:
    asked = program(tmp_path, f"sleep 600 & echo $! > {tmp_path}/child; wait", seconds=0.5)
    assert "took longer than 0.5 seconds and was ended" in failure(asked, tmp_path)
    child = int((tmp_path / "child").read_text())
    assert not _runs(child)


def test_a_folder_that_is_gone_and_a_program_that_is_not_there_are_told(tmp_path: Path) -> None:
    assert "project folder" in failure(program(tmp_path, "exit 0"), tmp_path / "gone")
    nowhere = OpencodeProgram({"HOME": str(tmp_path / "nobody"), "PATH": str(tmp_path)})
    assert "not found on the search path" in failure(nowhere, tmp_path)


def test_one_where_its_own_installer_puts_it_is_found_without_the_search_path(tmp_path: Path) -> None:
    program(tmp_path, "echo here")
    (tmp_path / ".opencode").mkdir()
    (tmp_path / "bin").rename(tmp_path / ".opencode" / "bin")
    assert OpencodeProgram({"HOME": str(tmp_path), "PATH": "/nowhere"}).exported("ses_1", str(tmp_path)) == b"here\n"


@pytest.mark.parametrize(("version", "known"), [("1.18.0", True), ("1.180.0", False), ("1.4.3", False), ("", False)])
def test_only_versions_whose_import_was_tried_are_used(tmp_path: Path, version: str, known: bool) -> None:
    asked = program(tmp_path, f"echo {version}")
    if known:
        asked.check_version()
        return
    with pytest.raises(OpencodeFailed, match="is known here"):
        asked.check_version()


def test_what_a_killed_owner_has_started_ends_with_it(tmp_path: Path) -> None:
    script = f"import os, sys, time; open({str(tmp_path / 'child')!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    command = [sys.executable, owner.__file__, "600", sys.executable, "-c", script]
    ours = "import subprocess, sys; subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", ours, *command], stdin=subprocess.PIPE) as process:
        child = _told(tmp_path / "child")
        assert _runs(child)
        os.kill(process.pid, signal.SIGKILL)
    while _runs(child):
        os.sched_yield()


def _told(path: Path) -> int:
    while not path.exists() or not path.read_text():
        os.sched_yield()
    return int(path.read_text())


def _runs(process_id: int) -> bool:
    try:
        status = Path(f"/proc/{process_id}/stat").read_text()
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"
