"""Chat files that no editor has open: read whole, and rewritten with a backup beside them."""

from __future__ import annotations

from pathlib import Path

from lithify.storage.atomic import replace_with_backup
from lithify.storage.backup_names import next_backup, next_rotation
from lithify.storage.paths import require_file


class ChatFiles:
    """The files of the user, each named by its path."""

    def read(self, path: str) -> bytes:
        """The bytes of a file. Raises OSError; ValueError for what no path can be."""
        require_file(Path(path))
        return Path(path).read_bytes()

    def rewrite(self, path: str, before: bytes, after: bytes, *, rotates: bool) -> str | None:
        """The file rewritten if it still holds `before`; the name of its backup, None where it holds something else.

        `rotates`: it is a session of kimi-cli, whose old files are numbered as kimi-cli does. Raises OSError; then the
        file is as it was.
        """
        real = Path(path).resolve(strict=True)
        if real.read_bytes() != before:
            return None
        backup = next_rotation(real) if rotates else next_backup(real)
        replace_with_backup(real, after, backup)
        return backup.name
