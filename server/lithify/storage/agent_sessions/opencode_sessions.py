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
from lithify.core.file_writes import Changed, FileWrite, NotAsItWas, Written
from lithify.storage.agent_sessions import opencode
from lithify.storage.agent_sessions.folders import Walk
from lithify.storage.agent_sessions.opencode_program import OpencodeFailed, OpencodeProgram
from lithify.storage.backups import Backups
from lithify.storage.paths import make_private_folder
from lithify.storage.unfinished import folder_beside
from lithify.transcripts.chat_messages import listed, mapped
from lithify.transcripts.model import Stamp
from lithify.transcripts.opencode import canonical, sent_keys
from lithify.transcripts.session_copies import opencode_copy
from lithify.transcripts.undecodable import decoded, encoded


class OpencodeSessions:
    """The sessions of the opencode of somebody with these variables. Every method raises OSError."""

    def __init__(self, environment: Mapping[str, str], backups: Backups) -> None:
        self._environment = environment
        self._backups = backups
        self._program = OpencodeProgram(environment)

    def read(self, uri: str) -> bytes:
        """The session as `opencode export` prints it, its compactions as they were written."""
        found = self._found(uri)
        return self._exported(found.session_id or "", found.project or "")

    def add(self, uri: str, before: bytes, after: bytes, backup_id: str | None) -> FileWrite:
        """Adds to a session that was exported as `before` the messages that `after` holds more.

        What it holds is kept first, under `backup_id`; None keeps nothing. `Changed` where it holds others by now. What
        is said in opencode meanwhile comes behind. Raises NotAsItWas where what opencode has then may not be what was
        meant; it takes nothing back.
        """
        found = self._found(uri)
        session_id, project = found.session_id or "", found.project or ""
        self._program.check_version()
        if _state(self._program.exported(session_id, project)) != _state(before):
            return Changed("the session went on in opencode meanwhile")
        place = None if backup_id is None else str(self._backups.keep(named_file(uri), before, backup_id))
        try:
            self._take_up(after, project)
            now = self._exported(session_id, project)
            meant = _is_as_meant(before, after, now)
        except OSError as error:
            raise _uncertain(error, place) from error
        if not meant:
            raise _uncertain("what opencode has now is not what was meant", place)
        return Written(place)

    def backup(self, uri: str, backup_id: str) -> Path:
        """Where the backup of that id lies, if there is one."""
        return self._backups.place(named_file(uri), backup_id)

    def restore(self, uri: str, export: bytes, stamp: Stamp) -> str:
        """A session as it was exported, taken up as a new one; the URI of that. With the same `stamp` it is the same
        one, with what was said in it by then: opencode changes nothing that it has."""
        project = self._found(uri).project or ""
        self._program.check_version()
        copied, session_id = opencode_copy(export.decode(), stamp)
        try:
            self._take_up(copied.encode(), project)
            now = _messages(self._program.exported(session_id, project))
        except OSError as error:
            raise NotAsItWas(f"{error}; opencode may have the session {session_id} all the same") from error
        if any(now.get(key) != message for key, message in _messages(copied.encode()).items()):
            raise NotAsItWas(f"opencode took up the session {session_id}, but it holds other messages than meant")
        return opencode.URI + session_id

    def _take_up(self, export: bytes, project: str) -> None:
        """Imports an export from a file for the user alone, which goes also when this process is killed."""
        made = folder_beside(Path(tempfile.gettempdir()) / "session.json")
        with self._backups.unfinished.noted(made):
            try:
                make_private_folder(made)
                (made / "session.json").write_bytes(export)
                self._program.take_up(made / "session.json", project)
            finally:
                shutil.rmtree(made, ignore_errors=True)

    def _exported(self, session_id: str, project: str) -> bytes:
        return encoded(canonical(decoded(self._program.exported(session_id, project))))

    def _found(self, uri: str) -> SessionFile:
        if not uri.startswith(opencode.URI):
            raise OpencodeFailed(f"{uri[:60]!a} names no session: only opencode's have such URIs, all others a file")
        walk = Walk(opencode.name)
        found = next((one for one in opencode.find(self._environment, walk) if one.uri == uri), None)
        if found is not None:
            return found
        why = f" ({walk.unreadable[0].why})" if walk.unreadable else ""
        raise OpencodeFailed(f"opencode has no session {uri.removeprefix(opencode.URI)[:60]}{why}")


def named_file(uri: str) -> Path:
    """What the backups and the lock of a session are named by."""
    return Path(uri.removeprefix(opencode.URI) + ".json")


def _messages(export: bytes) -> dict[str, Any]:
    """The messages of an export, by their ids. Raises OpencodeFailed for what is none."""
    try:
        return {one["info"]["id"]: one for one in json.loads(export)["messages"]}
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise OpencodeFailed(f"what 'opencode export' printed is no session ({type(error).__name__})") from error


def _state(export: bytes) -> tuple[Any, dict[str, Any]]:
    """What an export tells that a compaction is planned on: where the session was turned back to, and its messages."""
    messages = _messages(export)
    return mapped(json.loads(export).get("info")).get("revert"), messages


def _is_as_meant(before: bytes, after: bytes, now: bytes) -> bool:
    """Whether opencode has what it was given: what was added and what that stands for just as they are in `after`, and
    in the conversation the summary, the messages behind it, as far as they were said, and then what else was said."""
    meant, found = _messages(after), _messages(now)
    sent = sent_keys(decoded(after))
    going_on = set(sent) & _messages(before).keys()
    exact = all(found.get(key) == message for key, message in meant.items() if key not in going_on)
    return (
        exact
        and sent_keys(decoded(now))[: len(sent)] == sent
        and all(_goes_on(meant[key], found[key]) for key in going_on)
    )


def _goes_on(before: Any, now: Any) -> bool:
    """Whether a message is one that was there, to which opencode may have added: a model answers in pieces."""
    had, has = ({part.get("id"): part for part in map(mapped, listed(one.get("parts")))} for one in (before, now))
    return before["info"].get("role") == now["info"].get("role") and all(
        _says_at_least(part, has.get(key, {})) for key, part in had.items()
    )


def _says_at_least(before: Any, now: Any) -> bool:
    texts = [str(one.get("text", "")).rstrip() for one in (before, now)]
    return before.get("type") == now.get("type") and texts[1].startswith(texts[0])


def _uncertain(why: object, backup: str | None) -> NotAsItWas:
    """The failure of an import of which nobody knows what it did. opencode takes nothing back that it has imported."""
    kept = f"; the session as it was is in {backup}" if backup else ""
    return NotAsItWas(f"{why}; look at the session in opencode before you go on{kept}")
