"""The versions of agents that Lithify was seen with. A session that another one wrote can only be read.

What was seen is what was run: the real agent recorded a session, it was compacted from outside, and the agent went on
from it with the summary and the exact tail (`make test-resume`). A whole minor series stands where nothing but patches
of it can be told apart in its sessions.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lithify.core.agent_sessions import SessionFile

if TYPE_CHECKING:
    from lithify.storage.agent_sessions.agent import Agent


@dataclass(frozen=True, slots=True)
class Seen:
    """`versions` is one version (`2.1.332`), or those of a minor series (`0.171.x`). `is_told`: sessions name the
    version that wrote them; of the others, only their records tell whether they are of a known kind."""

    versions: str
    is_told: bool

    def holds(self, version: str) -> bool:
        """Whether a version is one of them; a pre-release is not."""
        return re.fullmatch(re.escape(self.versions).replace("x", "[0-9]+"), version) is not None


def unseen(agent: Agent, version: str | None) -> str | None:
    """Why a session that this version wrote can only be read, in a sentence or two; None where it can be written."""
    if not agent.seen.is_told or (version is not None and agent.seen.holds(version)):
        return None
    wrote = f"{agent.title} {version} wrote it" if version else f"It does not say which {agent.title} wrote it"
    return (
        f"{wrote}, and only {agent.seen.versions} was seen with Lithify, so it can only be read: compact it in "
        f"{agent.title} itself (/compact), or use a Lithify that knows this version."
    )


def unseen_at(path: str, text: str, agent: Agent, environment: Mapping[str, str]) -> str | None:
    """The same of a file that holds this text; None also for one that does not lie among the agent's own sessions."""
    try:
        real, above = os.path.realpath(path), os.path.realpath(agent.folder(environment))
        if not any(one.startswith(above.rstrip(os.sep) + os.sep) for one in (real, os.path.abspath(path))):
            return None
        file = agent.head(SessionFile(agent.name, Path(real).as_uri(), real, 0, 0))
    except (OSError, RuntimeError, ValueError):  # there is no such file, no home folder, no such path
        return None
    return None if file is None else unseen(agent, agent.finish(file, text).version)
