"""The private folder of one run of an agent, and the lock by which its owners show that they live.

`<base>/lithify-agent-<16 hex digits>/` holds `work` (the agent's working folder, empty), `home` (files for the agent
alone) and `run.json` (which agent, whose, since when). Beside it lies `<folder>.lock`, locked before the folder exists
and until it is gone, by the server and by the launcher: a folder whose lock is free belongs to nobody.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import stat
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PREFIX = "lithify-agent-"
NAME = re.compile(rf"{PREFIX}[0-9a-f]{{16}}")
PART = re.compile(rf"(?:^|[/\\]){NAME.pattern}(?:[/\\]|$)")


def is_run_folder(path: str) -> bool:
    """Whether a path (or a file URI) is or lies in the folder of a run, so that what happens there is our own doing."""
    return PART.search(path) is not None


def bases(environment: Mapping[str, str]) -> list[Path]:
    """Where folders of runs may lie; new ones go into the first: the user's private run-time folder, where there is
    one, else the folder for temporary files."""
    temporary = Path(tempfile.gettempdir())
    runtime = environment.get("XDG_RUNTIME_DIR", "")
    return [Path(runtime), temporary] if os.path.isabs(runtime) and is_private(Path(runtime)) else [temporary]


def is_private(folder: Path) -> bool:
    """Whether it is a real folder of this user that nobody else can enter."""
    try:
        found = folder.lstat()
    except OSError:
        return False
    if not stat.S_ISDIR(found.st_mode):
        return False
    return sys.platform == "win32" or (found.st_uid == os.getuid() and not found.st_mode & 0o077)


@dataclass(frozen=True, slots=True)
class RunFolder:
    """A run's folder, owned by this process; `lock` is an open descriptor."""

    path: Path
    lock: int

    @classmethod
    def create(cls, environment: Mapping[str, str]) -> RunFolder:
        """A new one with its lock held. Raises OSError."""
        path = bases(environment)[0] / f"{PREFIX}{secrets.token_hex(8)}"
        lock = os.open(lock_path(path), os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            wait_for_lock(lock)
            path.mkdir(0o700)
            folder = cls(path, lock)
            folder.work.mkdir(0o700)
            folder.home.mkdir(0o700)
        except BaseException:
            os.close(lock)
            remove_tree(path)
            lock_path(path).unlink(missing_ok=True)
            raise
        return folder

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def work(self) -> Path:
        return self.path / "work"

    @property
    def home(self) -> Path:
        return self.path / "home"

    def note(self, facts: Mapping[str, Any]) -> None:
        """Says in `run.json` whose run it is; whole or not at all."""
        new = self.path / "run.json.new"
        new.write_text(json.dumps(facts), encoding="utf-8")
        new.replace(self.path / "run.json")

    def regain(self) -> None:
        """Makes the folder enterable again, whatever the agent did to it. Raises OSError."""
        if not self.path.is_symlink():
            self.path.chmod(0o700)

    def remove(self) -> None:
        """Takes the folder away, then lets the lock go. Raises OSError where something could not be removed; a later
        server sweeps it."""
        try:
            remove_tree(self.path)
        finally:
            if sys.platform == "win32":
                os.close(self.lock)
                lock_path(self.path).unlink(missing_ok=True)
            else:
                if not self.path.exists():
                    lock_path(self.path).unlink(missing_ok=True)
                os.close(self.lock)


def lock_path(folder: Path) -> Path:
    """Where the lock of a run's folder lies."""
    return folder.with_name(folder.name + ".lock")


def remove_tree(path: Path) -> None:
    """Removes a folder with all that is in it, folders without the right to write included; no error where it is not
    there. Raises OSError."""
    try:
        shutil.rmtree(path)
    except FileNotFoundError:
        return
    except OSError:
        _open_up(path)
        shutil.rmtree(path)


def _open_up(path: Path) -> None:
    if not path.is_symlink():
        path.chmod(0o700)
    for root, folders, _ in os.walk(path):
        for name in folders:
            inner = Path(root, name)
            if not inner.is_symlink():
                inner.chmod(0o700)


if sys.platform == "win32":
    import msvcrt

    def try_lock(descriptor: int) -> bool:
        """Takes a lock if nobody holds it."""
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def wait_for_lock(descriptor: int) -> None:
        """Takes a lock that somebody may be looking at right now."""
        msvcrt.locking(descriptor, msvcrt.LK_LOCK, 1)

else:
    import fcntl

    def try_lock(descriptor: int) -> bool:
        """Takes a lock if nobody holds it."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def wait_for_lock(descriptor: int) -> None:
        """Takes a lock that somebody may be looking at right now."""
        fcntl.flock(descriptor, fcntl.LOCK_EX)
