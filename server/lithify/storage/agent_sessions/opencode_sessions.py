"""Sessions of opencode, named by their URIs: read through `opencode export`, written through `opencode import`.

The order of a write: exported again, so that nothing is planned on what has changed; a backup of our own; imported;
exported once more, and compared with what was meant. opencode sees it at its next turn, also while it runs.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lithify.core.agent_sessions import SessionFile
from lithify.core.file_writes import Changed, FileWrite, Written
from lithify.storage.agent_sessions import opencode
from lithify.storage.agent_sessions.folders import Walk
from lithify.storage.agent_sessions.opencode_program import OpencodeFailed, OpencodeProgram
from lithify.storage.backups import Backups
from lithify.storage.paths import make_private_folder
from lithify.storage.unfinished import folder_beside
from lithify.transcripts.model import Stamp
from lithify.transcripts.session_copies import opencode_copy


class OpencodeSessions:
    """The sessions of the opencode of somebody with these variables. Every method raises OSError."""

    def __init__(self, environment: Mapping[str, str], backups: Backups) -> None:
        self._environment = environment
        self._backups = backups
        self._program = OpencodeProgram(environment)

    def read(self, uri: str) -> bytes:
        """The session as `opencode export` prints it."""
        found = self._found(uri)
        return self._program.exported(found.session_id or "", found.project or "")

    def add(self, uri: str, before: bytes, after: bytes, backup_id: str | None) -> FileWrite:
        """Adds to a session that was exported as `before` the messages that `after` holds more.

        What it holds is kept first, under `backup_id`; None keeps nothing. `Changed` where it holds others by now.
        """
        found = self._found(uri)
        session_id, project = found.session_id or "", found.project or ""
        self._program.check_version()
        if _messages(self._program.exported(session_id, project)) != _messages(before):
            return Changed("the session went on in opencode meanwhile")
        place = None if backup_id is None else str(self._backups.keep(_named(uri), before, backup_id))
        try:
            self._take_up(after, project)
            now = _messages(self._program.exported(session_id, project))
        except OSError as error:
            raise _uncertain(error, place) from error
        if any(now.get(key) != message for key, message in _messages(after).items()):
            raise _uncertain("what opencode has now is not what was meant", place)
        return Written(place)

    def backup(self, uri: str, backup_id: str) -> Path:
        """Where the backup of that id lies, if there is one."""
        return self._backups.place(_named(uri), backup_id)

    def restore(self, uri: str, export: bytes, stamp: Stamp) -> str:
        """A session as it was exported, taken up as a new one; the URI of that. With the same `stamp` it is the same
        one, with what was said in it by then: opencode changes nothing that it has."""
        project = self._found(uri).project or ""
        self._program.check_version()
        copied, session_id = opencode_copy(export.decode(), stamp)
        self._take_up(copied.encode(), project)
        now = _messages(self._program.exported(session_id, project))
        if any(now.get(key) != message for key, message in _messages(copied.encode()).items()):
            raise OpencodeFailed(f"opencode took up the session {session_id}, but it holds other messages than meant")
        return opencode.URI + session_id

    def _take_up(self, export: bytes, project: str) -> None:
        """Imports an export from a file for the user alone, which goes also when this process is killed."""
        self._backups.unfinished.sweep()
        made = folder_beside(Path(tempfile.gettempdir()) / "session.json")
        with self._backups.unfinished.noted(made):
            try:
                make_private_folder(made)
                (made / "session.json").write_bytes(export)
                self._program.take_up(made / "session.json", project)
            finally:
                shutil.rmtree(made, ignore_errors=True)

    def _found(self, uri: str) -> SessionFile:
        if not uri.startswith(opencode.URI):
            raise OpencodeFailed(f"{uri[:60]!a} names no session: only opencode's have such URIs, all others a file")
        walk = Walk(opencode.name)
        found = next((one for one in opencode.find(self._environment, walk) if one.uri == uri), None)
        if found is not None:
            return found
        why = f" ({walk.unreadable[0].why})" if walk.unreadable else ""
        raise OpencodeFailed(f"opencode has no session {uri.removeprefix(opencode.URI)[:60]}{why}")


def _named(uri: str) -> Path:
    """What backups of a session are named by."""
    return Path(uri.removeprefix(opencode.URI) + ".json")


def _messages(export: bytes) -> dict[str, Any]:
    """The messages of an export, by their ids. Raises OpencodeFailed for what is none."""
    try:
        return {one["info"]["id"]: one for one in json.loads(export)["messages"]}
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise OpencodeFailed(f"what 'opencode export' printed is no session ({type(error).__name__})") from error


def _uncertain(why: object, backup: str | None) -> OpencodeFailed:
    """The failure of an import of which nobody knows what it did. opencode takes nothing back that it has imported."""
    kept = f"; the session as it was is in {backup}" if backup else ""
    return OpencodeFailed(f"{why}; look at the session in opencode before you go on{kept}")
