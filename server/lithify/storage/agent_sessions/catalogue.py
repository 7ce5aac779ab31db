"""The agents whose sessions are known, and all that can be asked of them: what there is, and what is in one."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lithify.core.agent_sessions import AgentSession, SessionFile, Unreadable, one_line, resume_command
from lithify.core.kimi import is_summary
from lithify.core.messages import role_of, text_of
from lithify.core.outcomes import LithifyError
from lithify.storage.agent_sessions import claude_code, codex, gemini, guards, kimi_cli, kimi_code, opencode
from lithify.storage.agent_sessions.agent import Agent
from lithify.storage.agent_sessions.folders import Walk
from lithify.storage.agent_sessions.opencode_program import found_program
from lithify.storage.agent_sessions.versions import unseen, unseen_at
from lithify.transcripts.line_reading import tokens_of
from lithify.transcripts.lines import Lines
from lithify.transcripts.model import Transcript
from lithify.transcripts.registry import by_name
from lithify.transcripts.undecodable import decoded, unreadable_line

AGENTS: tuple[Agent, ...] = (claude_code, codex, kimi_code, kimi_cli, gemini, opencode)

_NO_PROGRAM = "Only opencode itself writes into its database, and it is not found on the search path (PATH)."


@dataclass(frozen=True, slots=True)
class Found:
    """What there is: the newest session first, and the places that could not be looked into."""

    files: list[SessionFile]
    unreadable: list[Unreadable]


class Catalogue:
    """The sessions of all agents, as the variables of an environment say where they lie. Nothing is kept."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment

    def find(self, agent: str | None = None) -> Found:
        """The sessions of one agent, or of all. Raises LithifyError `invalid_params` for an agent that is not known."""
        files: list[SessionFile] = []
        unreadable: list[Unreadable] = []
        for one in _named(agent):
            walk = Walk(one.name)
            try:
                files.extend(one.find(self._environment, walk))
            except RuntimeError as error:  # nobody has said where the home folder is
                walk.unreadable.append(Unreadable(one.name, "~", str(error)))
            unreadable.extend(walk.unreadable)
        files.sort(key=lambda one: (-one.modified_ns, one.uri))
        return Found(list(_each_once(files)), unreadable)

    def folders(self, agent: str | None = None) -> list[tuple[str, str]]:
        """The titles of agents, and where the sessions of each are looked for. Raises LithifyError as `find` does."""
        found = []
        for one in _named(agent):
            try:
                found.append((one.title, str(one.folder(self._environment))))
            except RuntimeError:  # nobody has said where the home folder is, so there is no such place
                continue
        return found

    def head(self, file: SessionFile) -> SessionFile | None:
        """The same with what its first records say; None for what is no session of its own."""
        try:
            return _agent(file).head(file)
        except OSError as error:
            return replace(file, unread=_unreadable(error))

    def session(self, file: SessionFile) -> AgentSession | None:
        """What is in a session; None for what is no session, such as one in which nothing was said yet."""
        looked = self.look(file)
        return looked[0] if looked else None

    def look(self, file: SessionFile) -> tuple[AgentSession, Transcript | None] | None:
        """The same with the conversation itself, where it can be read."""
        known = self.head(file)
        if known is None:
            return None
        agent = _agent(file)
        text = None if known.unread else _text(agent, known)
        if isinstance(text, _Unread):
            known, text = replace(known, unread=text.reason), None
        if text is None:
            return _without_conversation(agent, known), None
        known = agent.finish(known, text)
        chat_format = by_name(agent.format_name)
        if chat_format is None:
            reason = f"This version of Lithify cannot read sessions of {agent.title} yet."
            return _without_conversation(agent, replace(known, unread=reason)), None
        transcript = chat_format.parse(text)
        if (line := unreadable_line(text, transcript.messages)) is not None:
            return _without_conversation(agent, replace(known, unread=f"It is not UTF-8 (line {line}).")), None
        if transcript.messages:
            return _with_conversation(agent, known, transcript, self._environment), transcript
        if not text.strip() or chat_format.recognise(text, Path(file.path).name):
            return None
        reason = f"It holds nothing that Lithify knows as a session of {agent.title}; it may be damaged."
        return _without_conversation(agent, replace(known, unread=reason)), None

    def live(self, files: Sequence[SessionFile]) -> list[bool | None]:
        """Whether each session is open in its agent now; None where that cannot be known."""
        return guards.live(files, self._environment)


@dataclass(frozen=True, slots=True)
class _Unread:
    reason: str


def names() -> list[str]:
    """What the agents are called."""
    return [one.name for one in AGENTS]


def title_of(agent: str) -> str:
    """What an agent is called in a sentence."""
    return next(one.title for one in AGENTS if one.name == agent)


def format_of(agent: str) -> str:
    """The name of the transcript format of an agent's sessions."""
    return next(one.format_name for one in AGENTS if one.name == agent)


def unseen_version(path: str, lines: Lines, format_name: str, environment: Mapping[str, str]) -> str | None:
    """Why a file with this text, if it is a session of an agent, can only be read: a version wrote it that Lithify was
    not seen with. None where none did."""
    those = (one for one in AGENTS if one.format_name == format_name and one.name != opencode.name)
    return next((why for one in those if (why := unseen_at(path, lines, one, environment))), None)


def _named(agent: str | None) -> tuple[Agent, ...]:
    found = tuple(one for one in AGENTS if agent in (None, one.name))
    if not found:
        raise LithifyError(
            "invalid_params", f"agent: {agent!r:.80} is none that is known; give one of {', '.join(names())}"
        )
    return found


def _agent(file: SessionFile) -> Agent:
    return next(one for one in AGENTS if one.name == file.agent)


def _each_once(files: Sequence[SessionFile]) -> Iterator[SessionFile]:
    """Without files that are another one again, over a link."""
    seen: set[str] = set()
    for file in files:
        real = file.uri if file.uri.startswith(opencode.URI) else os.path.realpath(file.path)
        if real not in seen:
            seen.add(real)
            yield file


def _text(agent: Agent, file: SessionFile) -> str | _Unread:
    try:
        return decoded(agent.read(file))
    except OSError as error:
        return _Unread(_unreadable(error))


def _unreadable(error: OSError) -> str:
    return f"It cannot be read ({error.strerror or error})."


def _with_conversation(
    agent: Agent, file: SessionFile, transcript: Transcript, environment: Mapping[str, str]
) -> AgentSession:
    said = (one.message for one in transcript.messages)
    asked = (one_line(text_of(one)) for one in said if role_of(one) == "user" and not is_summary(one))
    title = file.title or next((words for words in asked if words), None)
    reason = None if transcript.writable else transcript.read_only_reason or "It can only be read."
    reason = reason or unseen(agent, file.version)
    if agent.name == opencode.name:
        reason = reason or (None if found_program(environment) else _NO_PROGRAM)
    elif reason is None and not os.access(file.path, os.W_OK):
        reason = "You may not write its file."
    return _session(agent, replace(file, title=title), len(transcript.messages), tokens_of(transcript), reason)


def _without_conversation(agent: Agent, file: SessionFile) -> AgentSession:
    return _session(agent, file, 0, 0, file.unread or "It cannot be read.")


def _session(agent: Agent, file: SessionFile, messages: int, tokens: int, reason: str | None) -> AgentSession:
    return AgentSession(
        file=file,
        session_id=file.session_id,
        title=file.title,
        project=file.project,
        version=file.version,
        messages=messages,
        tokens=tokens,
        reason=reason,
        resume_command=resume_command(agent.resume, file.session_id, file.project),
    )
