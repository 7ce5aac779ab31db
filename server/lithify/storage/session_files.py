"""All that is compacted where it lies: chat files, and sessions that an agent keeps in a database of its own."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from pathlib import Path

from lithify.core.agent_sessions import in_agent
from lithify.core.file_writes import FileWrite, Held
from lithify.storage.agent_sessions import catalogue, guards
from lithify.storage.agent_sessions.opencode_sessions import OpencodeSessions, named_file
from lithify.storage.agent_sessions.restoring import restored
from lithify.storage.backups import Backups
from lithify.storage.chat_files import ChatFiles, Guard
from lithify.transcripts.lines import Lines
from lithify.transcripts.model import Stamp


class SessionFiles(ChatFiles):
    """Files are named by their paths, sessions in a database by their URIs (`core.agent_sessions.in_agent`). No session
    that its agent has open is written. Backups lie in the data folder."""

    def __init__(self, data_dir: Path, environment: Mapping[str, str], guard: Guard = guards.hold) -> None:
        backups = Backups(data_dir)
        super().__init__(backups, guard, guards.writer)
        self._environment = environment
        self._opencode = OpencodeSessions(environment, backups)

    def read(self, path: str) -> bytes:
        """The bytes of a file; a session as its agent exports it. Raises OSError; ValueError for what is no path."""
        return self._opencode.read(path) if in_agent(path) else super().read(path)

    def real(self, path: str) -> str:
        """The path with its links followed, whether something lies there or not."""
        return path if in_agent(path) else super().real(path)

    def held(self, path: str, format_name: str) -> str | None:
        """Why a session must not be written now; None where it may be. A running opencode takes up what is imported."""
        return None if in_agent(path) else super().held(path, format_name)

    def unseen(self, path: str, lines: Lines, format_name: str) -> str | None:
        """Why a file that holds this text can only be read: a version of its agent wrote it that Lithify was not seen
        with. None where it may be written."""
        return catalogue.unseen_version(path, lines, format_name, self._environment)

    def backup(self, path: str, backup_id: str) -> str | None:
        """Where the backup of that id lies; None where there is none, or no longer."""
        if not in_agent(path):
            return super().backup(path, backup_id)
        place = self._opencode.backup(path, backup_id)
        return str(place) if place.is_file() else None

    def add(self, path: str, before: bytes, after: bytes, *, backup_id: str | None) -> FileWrite:
        """Has the agent of a session in a database take up what `after` holds more than `before`. Raises OSError."""
        with self._alone(named_file(path)) as reason:
            return self._opencode.add(path, before, after, backup_id) if reason is None else Held(reason)

    def restore(self, path: str, data: bytes, format_name: str, stamp: Stamp) -> str | None:
        """A new session that holds what a session once held; its URI. It is named by the `stamp`: with the same one it
        is the same session, as it is by then. None where that cannot be done safely. Raises OSError."""
        real = path if in_agent(path) else os.path.realpath(path)
        with self._alone(named_file(path) if in_agent(path) else Path(real)) as reason:
            if reason is not None:
                raise BlockingIOError(errno.EAGAIN, reason)
            if in_agent(path):
                return self._opencode.restore(path, data, stamp)
            made = restored(real, data, format_name, self._environment, stamp.new_uuid(), self._backups.unfinished)
        return None if made is None else made.as_uri()
