"""What an agent is to the catalogue of sessions: where its sessions lie, and what its records say about them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Protocol

from lithify.core.agent_sessions import SessionFile
from lithify.storage.agent_sessions.folders import Walk
from lithify.storage.agent_sessions.versions import Seen


class Agent(Protocol):
    """One coding agent. A module of this package with these names is one."""

    @property
    def name(self) -> str:
        """What the agent is called on the wire and on the command line."""

    @property
    def title(self) -> str:
        """What the agent is called in a sentence."""

    @property
    def format_name(self) -> str:
        """The name of the transcript format of its sessions (`transcripts.registry`)."""

    @property
    def resume(self) -> str:
        """The agent's own command that goes on with a session, without the id behind it."""

    @property
    def seen(self) -> Seen:
        """The versions whose sessions can be written."""

    def folder(self, environment: Mapping[str, str]) -> Path:
        """The folder that the sessions lie in, or somewhere below."""

    def find(self, environment: Mapping[str, str], walk: Walk) -> Iterator[SessionFile]:
        """Every session file that there is, as far as folders and small files beside it tell. Never raises for what
        lies there: folders that cannot be looked into are kept by the walk."""

    def head(self, file: SessionFile) -> SessionFile | None:
        """The same with what the first records say; None for what is no session of its own, such as a subagent's. A
        title found here is what the user asked first. Raises OSError."""

    def read(self, file: SessionFile) -> bytes:
        """The text of the session in its transcript format, as UTF-8. Raises OSError."""

    def finish(self, file: SessionFile, text: str) -> SessionFile:
        """The same with what only all of the text tells, such as a title that the user gave later."""
