"""Where Lithify's data lies: one folder for a user, private to them."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Mapping
from pathlib import Path

DATA_DIR_VARIABLE = "LITHIFY_DATA_DIR"
FOLDER_MODE = 0o700
FILE_MODE = 0o600

_AT_ONCE = sum(getattr(os, name, 0) for name in ("O_CLOEXEC", "O_BINARY", "O_NONBLOCK", "O_NOCTTY"))
"""Flags of every opening. A named pipe would else be waited for until somebody opens its other end."""

_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (lambda mode: stat.S_ISCHR(mode) or stat.S_ISBLK(mode), "a device"),
)


class NotAFile(OSError):
    """Something that is no regular file lies where one of ours belongs. Says what it is, and the way out."""

    def __init__(self, path: Path, mode: int) -> None:
        kind = next((name for holds, name in _KINDS if holds(mode)), "no file")
        number = errno.EISDIR if stat.S_ISDIR(mode) else errno.EINVAL
        super().__init__(number, f"it is {kind}, where a file belongs; move it away, and Lithify goes on", str(path))

    def __str__(self) -> str:
        return f"{self.filename}: {self.strerror}"


def data_dir(configured: str | None, environment: Mapping[str, str]) -> Path:
    """The data folder: the setting `dataDir`, else LITHIFY_DATA_DIR, else the platform's user data folder."""
    if (named := named_data_dir(configured, environment)) is not None:
        return named
    import platformdirs  # where a folder is named, nobody needs it

    return Path(platformdirs.user_data_path("lithify", appauthor=False))


def named_data_dir(configured: str | None, environment: Mapping[str, str]) -> Path | None:
    """The data folder that the setting or the variable names; None where neither does. Raises RuntimeError for one in
    the home of somebody who is not there."""
    named = configured or environment.get(DATA_DIR_VARIABLE)
    return Path(named).expanduser().absolute() if named else None


def database_file(folder: Path) -> Path:
    """The one SQLite file of a data folder."""
    return folder / "lithify.db"


def buffer_folder(folder: Path, project_id: str) -> Path:
    """The folder of a project's buffer."""
    return buffers_folder(folder) / project_id


def buffers_folder(folder: Path) -> Path:
    """The folder with a folder for each project's buffer."""
    return folder / "buffers"


def make_private_folder(folder: Path) -> None:
    """The folder, with those missing above it, readable by the user alone. Raises OSError where it cannot be made."""
    missing = []
    while not folder.is_dir():
        missing.append(folder)
        folder = folder.parent
    for one in reversed(missing):
        one.mkdir(mode=FOLDER_MODE, exist_ok=True)


def open_private(path: Path, flags: int) -> int:
    """A file descriptor on a file that only the user can read; made when `flags` say so.

    Raises OSError; NotAFile, and without waiting, for anything that is no regular file.
    """
    try:
        descriptor = os.open(path, flags | _AT_ONCE, FILE_MODE)
    except OSError:
        require_file(path)
        raise
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        raise NotAFile(path, mode)
    return descriptor


def require_file(path: Path) -> None:
    """Raises NotAFile where something else than a regular file lies; opens nothing. A path that cannot be looked at
    passes: who opens it gets the reason."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return
    if not stat.S_ISREG(mode):
        raise NotAFile(path, mode)
