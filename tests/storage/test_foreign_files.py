"""What lies where others keep their files may be anything: nothing is waited for, and nothing is read without end."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path

import pytest

from lithify.storage.agent_sessions.catalogue import Catalogue
from lithify.storage.agent_sessions.opencode_program import OpencodeProgram
from lithify.storage.backups import Backups
from lithify.storage.chat_files import ChatFiles
from lithify.storage.foreign_files import LARGEST_BYTES, TooLarge
from lithify.storage.paths import NotAFile
from tests.support.agent_homes import AgentHome


@pytest.fixture
def home(tmp_path: Path) -> AgentHome:
    return AgentHome(tmp_path / "home")


@pytest.fixture
def files(tmp_path: Path) -> ChatFiles:
    return ChatFiles(Backups(tmp_path / "data"))


def agents_listed(home: AgentHome) -> list[str]:
    return sorted(one.agent for one in Catalogue(home.environment).find().files)


def test_a_file_that_is_too_large_is_refused_before_it_is_read(tmp_path: Path, files: ChatFiles) -> None:
    (tmp_path / "chat.jsonl").touch()
    os.truncate(tmp_path / "chat.jsonl", LARGEST_BYTES + 1)
    tracemalloc.start()
    try:
        with pytest.raises(TooLarge, match="it is larger than 256 MiB, the most that is read"):
            files.read(str(tmp_path / "chat.jsonl"))
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_a_session_of_opencode_that_is_too_large_is_refused_too(tmp_path: Path) -> None:
    (tmp_path / "opencode").write_text(f"#!/bin/sh\nexec truncate -s {LARGEST_BYTES + 1} /dev/stdout\n")
    (tmp_path / "opencode").chmod(0o755)
    path = os.pathsep.join([str(tmp_path), os.defpath])
    with pytest.raises(TooLarge):
        OpencodeProgram({"HOME": str(tmp_path), "PATH": path}).exported("ses_1", str(tmp_path))


@pytest.mark.parametrize("place", ["/dev/zero", "/dev/tty"])
def test_a_device_is_refused(files: ChatFiles, place: str) -> None:
    with pytest.raises(NotAFile, match="it is a device"):
        files.read(place)


@pytest.mark.parametrize("ending", ["-wal", "-shm", "-journal"])
def test_a_named_pipe_beside_the_database_of_opencode_costs_nothing_but_its_sessions(
    home: AgentHome, ending: str
) -> None:
    home.codex()
    database = home.opencode()
    os.mkfifo(database.with_name(database.name + ending))
    found = Catalogue(home.environment).find()
    assert [one.agent for one in found.files] == ["codex"]
    assert "it is a named pipe, where a file belongs" in found.unreadable[0].why


def test_what_only_poses_as_a_file_costs_nothing_but_itself(home: AgentHome) -> None:
    home.codex()
    database = home.opencode()
    database.unlink()
    database.symlink_to("/proc/kmsg")
    for path in (home.claude_code(), home.kimi_code(), home.kimi_cli(), home.gemini()):
        path.unlink()
        path.symlink_to("/proc/kmsg")
    (home.folder / ".codex" / "session_index.jsonl").symlink_to("/proc/kmsg")
    catalogue = Catalogue(home.environment)
    sessions = [catalogue.session(one) for one in catalogue.find().files]
    assert [one.file.agent for one in sessions if one is not None and one.messages] == ["codex"]


def test_a_link_to_the_database_of_opencode_is_followed_to_its_log(home: AgentHome, tmp_path: Path) -> None:
    database = home.opencode()
    real = database.rename(tmp_path / "real.db")
    database.symlink_to(real)
    assert agents_listed(home) == ["opencode"]
    real.with_name("real.db-wal").touch()
    assert agents_listed(home) == []
