"""Buffers of projects that the database does not know: it was deleted, or put back from a copy, and they stayed.

Such a project is noted, so that the watcher sees its buffer; the lines are adopted when the buffer is settled. Where
the project lies nobody knows until something comes from it: till then the folder of its buffer stands for its root.
"""

from __future__ import annotations

import logging
import sqlite3
from pathlib import Path

from lithify.core.entries import read_lines
from lithify.storage.buffer import Buffer
from lithify.storage.database import sound_text, transaction
from lithify.storage.paths import buffers_folder
from lithify.storage.settling import project_named

logger = logging.getLogger(__name__)


def note_left_behind(connection: sqlite3.Connection, data_dir: Path) -> None:
    """Notes every project that has lines of its own in its buffer and no row. A buffer that cannot be read is told in
    the log, and looked at again when the store is opened next. Raises sqlite3.Error."""
    known = {row[0] for row in connection.execute("SELECT project_id FROM projects")}
    found = [folder for folder in _folders(data_dir) if folder.name not in known and _holds_lines(folder)]
    if found:
        with transaction(connection):
            connection.executemany(
                "INSERT INTO projects (project_id, root) VALUES (?, ?) ON CONFLICT DO NOTHING",
                [(folder.name, sound_text(str(folder.absolute()))) for folder in found],
            )
        logger.warning("Buffers of projects that the database did not know, and now does: %d", len(found))


def _folders(data_dir: Path) -> list[Path]:
    try:
        return sorted(buffers_folder(data_dir).iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        logger.warning("Buffers that the database does not know cannot be looked for: %s", error)
        return []


def _holds_lines(folder: Path) -> bool:
    """Whether a line in the folder's buffer names the project that the folder is named after."""
    try:
        lines = read_lines(Buffer(folder).read())
    except NotADirectoryError:
        return False
    except OSError as error:
        logger.warning("%s: a buffer that the database does not know cannot be read: %s", folder, error)
        return False
    return any(line.entry is not None and project_named(line.entry.namespace) == folder.name for line in lines)
