"""What the disk last refused, for each project and each kind of work, until it takes it again."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

from lithify.storage.locks import LockUnavailable
from lithify.storage.paths import NotAFile

Trouble: TypeAlias = Literal["lock", "append", "rewrite", "size", "extraction", "compaction"]
"""The buffer's lock, what is done to its file, and the locks of the two kinds of work."""


class Troubles:
    """What went wrong with the files of one data folder, in this process."""

    def __init__(self) -> None:
        self._told: dict[tuple[str, Trouble], str] = {}

    def note(self, project_id: str, kind: Trouble, path: object, error: Exception) -> None:
        """The disk refused something: `path` is named where the error does not name what is in the way."""
        reason = getattr(error, "strerror", None) or error
        named = isinstance(error, NotAFile | LockUnavailable)
        self._told[project_id, kind] = str(error) if named else f"{path}: {reason}"

    def projects(self, *kinds: Trouble) -> list[str]:
        """The projects with trouble of one of these kinds."""
        return list(dict.fromkeys(project_id for project_id, kind in self._told if kind in kinds))

    def over(self, project_id: str, *kinds: Trouble) -> None:
        """The disk took it."""
        for kind in kinds:
            self._told.pop((project_id, kind), None)

    def of(self, project_id: str) -> str | None:
        """What is wrong with a project's files; None where nothing is."""
        return next((told for kind in get_args(Trouble) if (told := self._told.get((project_id, kind)))), None)
