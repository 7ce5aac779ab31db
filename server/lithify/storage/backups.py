"""Backups of files that Lithify only appends to. They lie in its own data folder: beside the file, its agent might take
one for another session.

`backups/<digest of the path>/<id of the compaction>.<name of the file>`, readable by the user alone.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from lithify.storage import system
from lithify.storage.paths import make_private_folder

MOST_BACKUPS = 8
"""How many are kept of each file; the oldest go. A later one holds what an earlier one does, since the file grows."""

FOLDER = "backups"


class Backups:
    """The backups in one data folder."""

    def __init__(self, data_dir: Path) -> None:
        self._folder = data_dir / FOLDER

    def place(self, path: Path, backup_id: str) -> Path:
        """Where the backup of that id lies, if it was made."""
        digest = hashlib.sha256(str(path).encode(errors="surrogateescape")).hexdigest()[:32]
        return self._folder / digest / f"{backup_id}.{path.name}"

    def keep(self, path: Path, data: bytes, backup_id: str) -> Path:
        """Keeps what a file holds; on the disk when this returns. Ids sort by their time. Raises OSError."""
        place = self.place(path, backup_id)
        make_private_folder(place.parent)
        system.replace_durably(place, data)
        for old in sorted(place.parent.iterdir())[:-MOST_BACKUPS]:
            system.unlink(old)
        return place

    def forget(self, path: Path, backup_id: str) -> None:
        """Lets a backup go, if there is one. Raises OSError."""
        system.delete_durably(self.place(path, backup_id))
