"""Sessions of coding agents on this machine: what is known of one, how it is named, and how its agent resumes it."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from lithify.core.outcomes import LithifyError

SHORTEST_NAME = 8
"""Characters that a session is at least named by."""

TITLE_LENGTH = 120

IN_AGENT = "lithify-agent:"
"""How the URI of a session begins that lies in no file of its own: `lithify-agent:<agent>/<session id>`."""

_SAFE_ID = re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]{0,127}")
_KIND_IN_FRONT = re.compile(r"(?:session|ses)_(?=.)")
"""What kimi-code and opencode put in front of every id, and nobody needs to type."""


@dataclass(frozen=True, slots=True)
class SessionFile:
    """A session as it is found, before its conversation is read; it changes whenever the session does.

    `uri` names it, `path` is the file that holds it. `session_id`, `title`, `project` (a folder) and `version` are
    present where they are known without reading the conversation. `unread` is one sentence that says why the
    conversation cannot be read.
    """

    agent: str
    uri: str
    path: str
    modified_ns: int
    size_bytes: int
    session_id: str | None = None
    title: str | None = None
    project: str | None = None
    version: str | None = None
    unread: str | None = None


@dataclass(frozen=True, slots=True)
class AgentSession:
    """A session whose conversation was looked at: `messages` and `tokens` are those that the agent itself would send.

    `reason` is one sentence, present where `writable` is false. `live` is None where it cannot be known whether the
    agent has the session open now.
    """

    file: SessionFile
    session_id: str | None
    title: str | None
    project: str | None
    version: str | None
    messages: int
    tokens: int
    reason: str | None = None
    live: bool | None = None
    resume_command: str | None = None

    @property
    def writable(self) -> bool:
        """Whether Lithify can put a summary into it."""
        return self.reason is None


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A place where sessions of an agent should lie and that could not be looked into, and why."""

    agent: str
    path: str
    why: str


def resume_command(command: str, session_id: str | None, project: str | None) -> str | None:
    """What a POSIX shell is told to go on with a session in its agent; None for an id that is none.

    Agents look for a session among those of the folder they are started in, so the command goes there first. `command`
    is the agent's own, with the id left out at its end.
    """
    if session_id is None or not is_session_id(session_id):
        return None
    resume = f"{command} {session_id}"
    return resume if project is None else f"cd {shlex.quote(project)} && {resume}"


def in_agent(uri: str) -> bool:
    """Whether a URI names a session that lies in no file of its own: only its agent reads and writes it."""
    return uri.startswith(IN_AGENT)


def is_session_id(text: str) -> bool:
    """Whether a text can be the id of a session: nothing that means something to a shell or in a path."""
    return _SAFE_ID.fullmatch(text) is not None


def one_line(text: str) -> str | None:
    """A title on one line and of bounded length; None where nothing is said."""
    words = " ".join(text[: TITLE_LENGTH * 8].encode(errors="replace").decode().split())
    if len(words) > TITLE_LENGTH:
        words = words[: TITLE_LENGTH - 1].rstrip() + "…"
    return words or None


def short_names(files: Sequence[SessionFile]) -> Mapping[str, str]:
    """By URI, the shortest name that means one session alone: the beginning of its id, without what all ids of its
    agent begin with; for one that has no id of its own the whole path, or the URI where it lies in no file."""
    counts = Counter(_tail(one.session_id) for one in files)
    ids = sorted(one for one in counts if one)
    lengths = {name: _distinct_length(ids, index) for index, name in enumerate(ids)}
    tails = {one.uri: _tail(one.session_id) for one in files}
    return {
        one.uri: tail[: lengths[tail]] if (tail := tails[one.uri]) and counts[tail] == 1 else _place(one)
        for one in files
    }


def named(files: Iterable[SessionFile], name: str) -> SessionFile:
    """The session that a name means: its id, the beginning of it, its path or its URI.

    Raises LithifyError `unknown_session` for a name that means none or several.
    """
    candidates = list(files)
    exact = [one for one in candidates if name in (one.uri, one.path, one.session_id)]
    found = exact or [one for one in candidates if _begins(one.session_id, name)]
    if len(found) == 1:
        return found[0]
    shown = name[:80]
    if not found:
        raise LithifyError(
            "unknown_session", f"no agent has a session {shown!r}; 'lithify sessions list' shows those there are"
        )
    same = len({one.session_id for one in found}) < len(found)
    first = ", ".join(_place(one) if same else one.session_id or _place(one) for one in found[:3])
    way_out = "give one of these instead" if same else "say more of its id"
    raise LithifyError(
        "unknown_session",
        f"{shown!r} means {len(found)} sessions ({first}{', ...' if len(found) > 3 else ''}); {way_out}",
    )


def _place(file: SessionFile) -> str:
    """What means a session alone, whatever its id is."""
    return file.uri if in_agent(file.uri) else file.path


def _begins(session_id: str | None, name: str) -> bool:
    return bool(name) and session_id is not None and (session_id.startswith(name) or _tail(session_id).startswith(name))


def _tail(session_id: str | None) -> str:
    return _KIND_IN_FRONT.sub("", session_id or "", count=1)


def _distinct_length(ids: Sequence[str], index: int) -> int:
    """How much of an id it takes to tell it from its neighbours in a sorted list."""
    neighbours = (*ids[max(index - 1, 0) : index], *ids[index + 1 : index + 2])
    common = max((_common_length(ids[index], other) for other in neighbours), default=0)
    return max(SHORTEST_NAME, common + 1)


def _common_length(one: str, other: str) -> int:
    return next(
        (place for place, (left, right) in enumerate(zip(one, other, strict=False)) if left != right),
        min(len(one), len(other)),
    )
