"""Which backups beside a rewritten file are Lithify's own, so that there are not ever more of them.

`backups/<digest of the path>.beside` lists their names and what they hold, the oldest first. Only what still is just
that is ever let go: a file of another's, or one that was changed, stays.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lithify.storage import system
from lithify.storage.paths import make_private_folder


@dataclass(frozen=True, slots=True)
class BackupsBeside:
    """The backups of one file, as they are noted in `notes`."""

    notes: Path

    def note(self, backup: Path, data: bytes) -> None:
        """Notes one that is about to be made. Raises OSError."""
        make_private_folder(self.notes.parent)
        self._keep([*self._known(), {"name": backup.name, "sha256": _digest(data)}])

    def let_old_go(self, folder: Path, most: int) -> None:
        """Keeps the oldest, which holds what nobody had compacted yet, and the newest, `most` of them. Nobody else may
        do that meanwhile. Raises OSError."""
        system.sweep(self.notes)
        known = [one for one in self._known() if _is_file(folder / one["name"])]
        for one in known[1:-most]:
            place = folder / one["name"]
            if _digest(system.read(place)) == one["sha256"]:
                system.unlink(place)
        self._keep([*known[:1], *known[1:][-most:]])

    def _known(self) -> list[dict[str, str]]:
        """What is noted; nothing where that cannot be understood. Raises OSError."""
        try:
            noted = json.loads(system.read(self.notes))
        except (FileNotFoundError, ValueError):
            return []
        return [one for one in noted if _is_note(one)] if isinstance(noted, list) else []

    def _keep(self, known: list[dict[str, str]]) -> None:
        system.replace_durably(self.notes, json.dumps(known).encode())


def _is_note(value: Any) -> bool:
    """Whether a value names a file in a folder, and its digest."""
    if not isinstance(value, dict) or not all(isinstance(value.get(key), str) for key in ("name", "sha256")):
        return False
    return bool(value["name"]) and Path(value["name"]).name == value["name"]


def _is_file(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
