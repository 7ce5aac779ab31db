"""The versions of agents that Lithify was seen with. A session that another one wrote can only be read.

What was seen is what was run: the real agent recorded a session with tool calls, it was compacted from outside, and the
agent went on from it with the summary and the exact tail, compacted it itself, and went on from it again once that was
undone. `make test-resume` does so with the newest version of a range. The oldest one and some in between were run once
in the same way, as each adapter says; those between two that were run count as seen. A newer one is never guessed at.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from lithify.core.agent_sessions import SessionFile
from lithify.core.brief import brief
from lithify.storage.agent_sessions.folders import json_object
from lithify.transcripts.lines import Lines

if TYPE_CHECKING:
    from lithify.storage.agent_sessions.agent import Agent

_LAST_LINES = 200
"""Lines at the end of a session that its version is looked for in; records that name none are few and short."""

_VERSION = re.compile(r"(\d{1,9})\.(\d{1,9})\.(\d{1,9})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Seen:
    """The versions from `oldest` to `newest`, such as `2.1.250` to `2.1.332`; `newest` may be any patch of a series
    (`0.171.x`). `is_told`: sessions name the version that wrote them; of the others, only their records tell whether
    they are of a known kind. `by_last`: each record names one, and the last one counts, not the one that began it."""

    oldest: str
    newest: str
    is_told: bool
    by_last: bool = False

    @property
    def versions(self) -> str:
        """The range, as a sentence names it: `2.1.250 to 2.1.332`."""
        return self.newest if self.oldest == self.newest else f"{self.oldest} to {self.newest}"

    def holds(self, version: str) -> bool:
        """Whether a version is one of them; a pre-release is not."""
        found = _numbers(version)
        return found is not None and _bound(self.oldest, "0") <= found <= _bound(self.newest, "999999999")


def unseen(agent: Agent, version: str | None) -> str | None:
    """Why a session that this version wrote can only be read, in a sentence or two; None where it can be written."""
    if not agent.seen.is_told or (version is not None and agent.seen.holds(version)):
        return None
    wrote = f"{agent.title} {brief(version)} wrote it" if version else f"It does not say which {agent.title} wrote it"
    return (
        f"{wrote}, and only {agent.seen.versions} was seen with Lithify, so it can only be read: compact it in "
        f"{agent.title} itself (/compact), or use a Lithify that knows this version."
    )


def unseen_at(path: str, lines: Lines, agent: Agent, environment: Mapping[str, str]) -> str | None:
    """The same of a file that holds this text; None also for one that does not lie among the agent's own sessions. The
    first records of the file are looked at, and the last ones of the text, so that a long one costs no more."""
    if not agent.seen.is_told:
        return None
    try:
        real, above = os.path.realpath(path), os.path.realpath(agent.folder(environment))
        if not any(one.startswith(above.rstrip(os.sep) + os.sep) for one in (real, os.path.abspath(path))):
            return None
        file = agent.head(SessionFile(agent.name, Path(real).as_uri(), real, 0, 0))
    except (OSError, RuntimeError, ValueError):  # there is no such file, no home folder, no such path
        return None
    if file is None:
        return None
    last = last_version(map(lines.line, reversed(range(lines.count)))) if agent.seen.by_last else None
    return unseen(agent, last or file.version)


def last_version(lines: Iterable[str]) -> str | None:
    """The version that the last record names which names one. `lines` come the last one first."""
    for line in islice(lines, _LAST_LINES):
        version = json_object(line).get("version") if '"version"' in line else None
        if isinstance(version, str) and version:
            return version
    return None


def _numbers(version: str) -> tuple[int, ...] | None:
    found = _VERSION.fullmatch(version)
    return None if found is None else tuple(map(int, found.groups()))


def _bound(version: str, patch: str) -> tuple[int, ...]:
    return tuple(map(int, version.replace("x", patch).split(".")))
