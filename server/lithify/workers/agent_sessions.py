"""Lists the sessions of agents on this machine, and keeps what was read of each until it changes."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

from lithify.core.agent_sessions import AgentSession, SessionFile, Unreadable

logger = logging.getLogger(__name__)


class Found(Protocol):
    """What a catalogue finds: the newest session first, and the places that it could not look into."""

    @property
    def files(self) -> Sequence[SessionFile]: ...
    @property
    def unreadable(self) -> Sequence[Unreadable]: ...


class Catalogue(Protocol):
    """The sessions of all agents (`storage.agent_sessions.catalogue`)."""

    def find(self, agent: str | None = None) -> Found: ...
    def head(self, file: SessionFile) -> SessionFile | None: ...
    def session(self, file: SessionFile) -> AgentSession | None: ...
    def live(self, files: Sequence[SessionFile]) -> list[bool | None]: ...


@dataclass(frozen=True, slots=True)
class Listing:
    """Sessions, the newest first. `more`: there are others than the number that was asked for. `files` are all session
    files of the agents that were asked for."""

    sessions: list[AgentSession]
    more: bool
    files: Sequence[SessionFile]
    unreadable: Sequence[Unreadable]


class AgentSessions:
    """The sessions of all agents. A session is read once, and again when its file or its title changes."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._sessions: dict[str, tuple[SessionFile, AgentSession | None]] = {}
        self._heads: dict[str, tuple[SessionFile, SessionFile | None]] = {}
        self._one_at_a_time = threading.Lock()

    async def listed(self, folder: str | None, agent: str | None, limit: int | None) -> Listing:
        """`look` in a thread, which breaks off after the file it reads when this is cancelled."""
        cancelled = threading.Event()
        try:
            return await asyncio.to_thread(partial(self.look, folder, agent, limit, cancelled.is_set))
        finally:
            cancelled.set()

    async def known(self, uri: str) -> AgentSession | None:
        """The session that a URI names, None where no agent has it."""
        return await asyncio.to_thread(self._known, uri)

    def _known(self, uri: str) -> AgentSession | None:
        with self._one_at_a_time:
            file = next((one for one in self._catalogue.find().files if one.uri == uri), None)
            session = None if file is None else self._session(file)
        return session and replace(session, live=self._catalogue.live([session.file])[0])

    def look(
        self,
        folder: str | None,
        agent: str | None,
        limit: int | None,
        is_cancelled: Callable[[], bool] = lambda: False,
    ) -> Listing:
        """The sessions of that agent whose project is the folder or lies in it, at most so many; None means any.

        Raises LithifyError `invalid_params` for an agent that is not known.
        """
        with self._one_at_a_time:
            found = self._catalogue.find(agent)
            for place in found.unreadable:
                logger.info("Sessions of %s could not be looked for in %s: %s", place.agent, place.path, place.why)
            sessions, more = self._read(found.files, _within(folder), limit, is_cancelled)
            if agent is None:
                self._forget_all_but(found.files)
        lives = self._catalogue.live([one.file for one in sessions])
        known = [replace(one, live=live) for one, live in zip(sessions, lives, strict=True)]
        return Listing(known, more, found.files, found.unreadable)

    def _read(
        self,
        files: Sequence[SessionFile],
        belongs: Callable[[str | None], bool] | None,
        limit: int | None,
        is_cancelled: Callable[[], bool],
    ) -> tuple[list[AgentSession], bool]:
        sessions: list[AgentSession] = []
        for file in files:
            if is_cancelled():
                break
            if belongs is not None and not self._is_in(file, belongs):
                continue
            session = self._session(file)
            if session is None:
                continue
            if limit is not None and len(sessions) == limit:
                return sessions, True
            sessions.append(session)
        return sessions, False

    def _is_in(self, file: SessionFile, belongs: Callable[[str | None], bool]) -> bool:
        """Whether the project of a session fits; for that its conversation need not be read."""
        known = self._heads.get(file.uri)
        if known is None or known[0] != file:
            known = self._heads[file.uri] = (file, self._catalogue.head(file))
        return known[1] is not None and belongs(known[1].project)

    def _session(self, file: SessionFile) -> AgentSession | None:
        known = self._sessions.get(file.uri)
        if known is None or known[0] != file:
            known = self._sessions[file.uri] = (file, self._catalogue.session(file))
        return known[1]

    def _forget_all_but(self, files: Sequence[SessionFile]) -> None:
        """Sessions that are gone are not kept for ever."""
        there = {file.uri for file in files}
        for kept in (self._sessions, self._heads):
            for uri in [one for one in kept if one not in there]:
                del kept[uri]


def _within(folder: str | None) -> Callable[[str | None], bool] | None:
    """Whether a project is that folder or lies in it, links followed."""
    if folder is None:
        return None
    above = os.path.realpath(folder)
    known: dict[str, bool] = {}

    def belongs(project: str | None) -> bool:
        if project is None:
            return False
        if project not in known:
            real = _real(project)
            known[project] = real is not None and (real == above or real.startswith(above.rstrip(os.sep) + os.sep))
        return known[project]

    return belongs


def _real(project: str) -> str | None:
    try:
        return os.path.realpath(project) if os.path.isabs(project) else None
    except ValueError:  # no path can be spelled so
        return None
