"""Where Lithify's data lies: one folder for a user, private to them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

DATA_DIR_VARIABLE = "LITHIFY_DATA_DIR"
FOLDER_MODE = 0o700
FILE_MODE = 0o600


def data_dir(configured: str | None, environment: Mapping[str, str]) -> Path:
    """The data folder: the setting `dataDir`, else LITHIFY_DATA_DIR, else the platform's user data folder."""
    named = configured or environment.get(DATA_DIR_VARIABLE)
    if named:
        return Path(named).expanduser().absolute()
    import platformdirs

    return Path(platformdirs.user_data_path("lithify", appauthor=False))


def database_file(folder: Path) -> Path:
    """The one SQLite file of a data folder."""
    return folder / "lithify.db"


def buffer_folder(folder: Path, project_id: str) -> Path:
    """The folder of a project's buffer."""
    return folder / "buffers" / project_id


def make_private_folder(folder: Path) -> None:
    """The folder, with those missing above it, readable by the user alone. Raises OSError where it cannot be made."""
    missing = []
    while not folder.is_dir():
        missing.append(folder)
        folder = folder.parent
    for one in reversed(missing):
        one.mkdir(mode=FOLDER_MODE, exist_ok=True)


def open_private(path: Path, flags: int) -> int:
    """A file descriptor on a file that only the user can read; made when `flags` say so."""
    return os.open(path, flags | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0), FILE_MODE)
