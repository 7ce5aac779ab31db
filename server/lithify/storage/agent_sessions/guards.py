"""Live guards: whether an agent has a session open now, and what holds it off while somebody writes into its file.

What can be known differs. Codex holds a lock, which is taken here too. Claude Code says in a file which session each of
its processes has open. kimi-code takes what is appended while it lives; where an end is to be cut off, it must not run.
Of Gemini CLI and kimi-cli it is known only who has the file open, how long ago it was written, and whether one of them
runs in the project.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

from lithify.core.agent_sessions import SessionFile, is_session_id
from lithify.storage.agent_sessions import claude_code, codex, gemini, kimi_cli, kimi_code, opencode, processes
from lithify.storage.agent_sessions.agent import Agent
from lithify.storage.agent_sessions.folders import Walk, read_object
from lithify.storage.agent_sessions.processes import Process, Program
from lithify.storage.locks import FileLock
from lithify.transcripts.chat_messages import whole

RECENT_SECONDS = 10.0
"""A session that was written so lately may be in use, where nothing better tells."""

CLOCK_SECONDS = 2.0
"""How much the start of a process and the time of a file may differ by the clocks they are told in."""

GLANCE_SECONDS = 0.05
GLANCES = 3
"""How often and how long one looks again whether a file is still open: somebody may just be reading it."""

_PROGRAMS: Mapping[str, Program] = {
    claude_code.name: Program(("claude", "claude-code")),
    codex.name: Program(("codex",)),
    kimi_code.name: Program(("kimi", "kimi-code"), never_in="python"),
    kimi_cli.name: Program(("kimi", "kimi-cli", "Kimi Code"), never_in="node"),
    gemini.name: Program(("gemini", "gemini-cli")),
    opencode.name: Program(("opencode",)),
}
"""What each agent runs as."""

_FOLDERS = {one.name: one.folder for one in (claude_code, codex, kimi_code, kimi_cli, gemini, opencode)}

_UNSEEN = Process(0, (), None)
"""Stands for who has a file open where that could not be seen."""

Guard: TypeAlias = AbstractContextManager[str | None]

_ours: dict[str, tuple[int, int]] = {}
"""Sessions that were last written under a guard of this process, and what their files were then: one's own writing does
not make a session look used."""


def hold(path: str, format_name: str, ours: bool = False) -> Guard:
    """Holds the agent off, as far as that can be done, while the block writes into its session.

    The value is None when one may write, else one sentence that says who uses the session and what to do. Takes about a
    second at most, and never raises for what lies there. A file that is none of the agents' sessions, also behind
    links, may be written unless another process has it open to write into it.
    `ours`: it holds just what a compaction of ours made of it, so that its agent did not write it last.
    """
    environment = os.environ
    try:
        real = os.path.realpath(path)
    except ValueError:  # no path can be spelled so
        return nullcontext()
    _note_ours(real, ours=ours)
    guarded: tuple[Agent, ...] = (claude_code, codex, kimi_cli, gemini)
    for agent in guarded:
        if agent.format_name == format_name and (place := place_in(agent, real, environment)) is not None:
            return _GUARDS[agent.name](place, real, environment)
    return nullcontext(None if format_name == kimi_code.format_name else _if_written(real))


def writer(path: str, format_name: str, ours: bool = False) -> str | None:
    """Why kimi-code, which needs no guard while its sessions are appended to, may write into one at any moment: one
    sentence that says what to do; None where it does not use the session. Of all others `hold` says it."""
    environment = os.environ
    if format_name != kimi_code.format_name:
        return None
    real = os.path.realpath(path)
    if (place := place_in(kimi_code, real, environment)) is None:
        return None
    _note_ours(real, ours=ours)
    if not processes.VISIBLE:
        return "Whether kimi-code uses this session cannot be seen on this system."
    project = kimi_code.project_of(Path(place))
    reason = _if_open(real, kimi_code.title) or _if_recent(real, kimi_code.title)
    return reason or _if_runs_in(project, kimi_code.name, kimi_code.title, environment)


def live(files: Sequence[SessionFile], environment: Mapping[str, str]) -> list[bool | None]:
    """Whether each session is open in its agent now; None where that cannot be known. Holds nothing."""
    if not files:
        return []
    look = _Look(files, environment)
    return [look.at(file) for file in files]


class _Look:
    """One look at all that tells which of some sessions are open."""

    def __init__(self, files: Sequence[SessionFile], environment: Mapping[str, str]) -> None:
        self._real = {file.path: os.path.realpath(file.path) for file in files}
        self._processes = processes.others()
        self._open = processes.open_in(set(self._real.values()), self._processes, processes.LOOK_SECONDS)
        self._environment = environment
        self._now = time.time()

    def at(self, file: SessionFile) -> bool | None:
        """What is known of one."""
        if file.agent == opencode.name:
            return self._none_runs(file.agent)
        if self._real[file.path] in self._open.holders:
            return True
        if file.agent == claude_code.name:
            return self._is_open_in_claude_code(file)
        if file.agent == codex.name:
            return self._is_locked(file.session_id) or (False if self._has_locks else self._none_runs(file.agent))
        if not 0 <= self._now - file.modified_ns / 1e9 < RECENT_SECONDS or _is_ours(self._real[file.path]):
            return self._none_runs(file.agent)
        return True if self._none_runs(file.agent) is None and processes.VISIBLE else None

    def _is_open_in_claude_code(self, file: SessionFile) -> bool | None:
        told = self._claude
        if told is not None and told.process_of(file.session_id, self._real[file.path]) is not None:
            return True
        return self._none_runs(file.agent) if told is None or told.not_known else False

    @cached_property
    def _claude(self) -> _Told | None:
        return _told_by_claude_code(self._environment)

    @cached_property
    def _has_locks(self) -> bool:
        """Whether this Codex locks sessions at all: then it keeps a lock of its own among them, which we never make."""
        return (_codex_locks(self._environment) / ".coordination.lock").exists()

    def _none_runs(self, agent: str) -> bool | None:
        """False where it can be seen that the agent does not run at all; else nothing is known."""
        if not (processes.VISIBLE and self._open.all_seen) or _running(agent, self._environment, self._processes):
            return None
        return False

    def _is_locked(self, session_id: str | None) -> bool:
        if session_id is None or not is_session_id(session_id):
            return False
        try:
            return FileLock(_codex_locks(self._environment) / f"{session_id}.lock").is_held()
        except OSError:
            return False


def _codex_locks(environment: Mapping[str, str]) -> Path:
    return codex.home(environment) / "thread-writer-locks"


@contextmanager
def _codex(place: str, real: str, environment: Mapping[str, str]) -> Iterator[str | None]:
    """Codex' own lock on the session, without which Codex does not start. Its file stays: Codex removes free ones."""
    session_id = codex.session_id_of(Path(place))
    if session_id is None:
        yield _if_open(real, codex.title)
        return
    lock = FileLock(_codex_locks(environment) / f"{session_id}.lock", wait_seconds=0.0)
    try:
        yield _taken(lock) or _if_open(real, codex.title)
    finally:
        lock.close()


def _taken(lock: FileLock) -> str | None:
    """Takes the lock; why not, where that cannot be done."""
    try:
        taken = lock.try_acquire()
    except OSError as error:
        why = error.strerror or str(error)
        return f"Codex' lock on this session cannot be taken ({why}), so Codex might write into it at the same time."
    return None if taken else "Codex has this session open; end it there, then try again."


@contextmanager
def _claude_code(place: str, real: str, environment: Mapping[str, str]) -> Iterator[str | None]:
    told = _told_by_claude_code(environment)
    process_id = None if told is None else told.process_of(Path(place).name.removesuffix(".jsonl"), real)
    if process_id is not None:
        yield f"Claude Code has this session open (process {process_id}); end it there, then try again."
        return
    reason = _if_open(real, claude_code.title) or (None if told is None else told.not_known)
    if reason is None and told is None:  # an older one, which does not tell what it has open
        reason = _if_runs_in(_project_of_claude_code(place), claude_code.name, claude_code.title, environment)
    yield reason


def _project_of_claude_code(place: str) -> str | None:
    try:
        return claude_code.project_of(Path(place))
    except OSError:
        return None


@contextmanager
def _idle_only(
    real: str, project: str | None, environment: Mapping[str, str], agent: str, title: str
) -> Iterator[str | None]:
    """A session that may be written only while nobody uses it."""
    reason = _if_open(real, title) or _if_recent(real, title)
    if reason is None:
        reason = _if_runs_in(project, agent, title, environment)
    before = _stamp(real)
    try:
        yield reason
    finally:
        after = _stamp(real)
        if reason is None and after is not None and after != before:
            _ours[real] = after


def _kimi_cli(place: str, real: str, environment: Mapping[str, str]) -> Guard:
    project = kimi_cli.project_of(Path(place), environment)
    return _idle_only(real, project, environment, kimi_cli.name, kimi_cli.title)


def _gemini(place: str, real: str, environment: Mapping[str, str]) -> Guard:
    project = gemini.project_of(Path(place), environment)
    return _idle_only(real, project, environment, gemini.name, gemini.title)


_GUARDS: Mapping[str, Callable[[str, str, Mapping[str, str]], Guard]] = {
    claude_code.name: _claude_code,
    codex.name: _codex,
    kimi_cli.name: _kimi_cli,
    gemini.name: _gemini,
}


def _if_open(real: str, title: str) -> str | None:
    """The reason where another process has the file open, and keeps it open."""
    holder = _holder(real)
    if holder is None:
        return None
    if holder == _UNSEEN:
        return f"The machine is too busy to see whether somebody has this session of {title} open; try again later."
    return f"{holder.name} (process {holder.process_id}) has this session of {title} open; end it, then try again."


def _if_written(real: str) -> str | None:
    """The reason where another process has a file open to write into it, and keeps it open: what it writes next would
    land in the backup of one that is rewritten."""
    holder = _holder(real, to_write=True)
    if holder is None:
        return None
    if holder == _UNSEEN:
        return "The machine is too busy to see whether somebody has this file open to write into it; try again later."
    who = f"{holder.name} (process {holder.process_id})"
    return f"{who} has this file open to write into it; end it, or close the file there, then try again."


def _holder(real: str, *, to_write: bool = False) -> Process | None:
    """Who has a file open and keeps it open; `_UNSEEN` where the time did not suffice to see it."""
    deadline = time.monotonic() + processes.LOOK_SECONDS
    holder = None
    for _ in range(GLANCES):
        seen = processes.open_in([real], processes.others(), deadline - time.monotonic(), to_write=to_write)
        if real not in seen.holders:
            if seen.all_seen:
                return None
            break
        holder = seen.holders[real]
        time.sleep(GLANCE_SECONDS)
    return _UNSEEN if holder is None else holder


def _if_recent(real: str, title: str) -> str | None:
    try:
        age = time.time() - os.stat(real).st_mtime
    except OSError:
        return None  # there is nothing that could be used, nor written
    if not 0 <= age < RECENT_SECONDS or _is_ours(real):
        return None
    return (
        f"This session was written {age:.0f} seconds ago, so {title} may be using it; end it there, and try again "
        f"{RECENT_SECONDS:.0f} seconds later."
    )


def _if_runs_in(project: str | None, agent: str, title: str, environment: Mapping[str, str]) -> str | None:
    """The reason where the agent runs in the project of the session: which one it has open cannot be known."""
    if project is None:
        return None
    real = os.path.realpath(project)
    found = [one for one in _running(agent, environment, processes.others()) if one.folder == real]
    if not found:
        return None
    where = f"{title} runs in this project (process {found[0].process_id})"
    return f"{where} and may use this session; end it there, then try again."


def _note_ours(real: str, *, ours: bool) -> None:
    if ours and (stamp := _stamp(real)) is not None:
        _ours[real] = stamp


def _is_ours(real: str) -> bool:
    return real in _ours and _ours[real] == _stamp(real)


def _stamp(real: str) -> tuple[int, int] | None:
    try:
        status = os.stat(real)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


@dataclass(frozen=True, slots=True)
class _Told:
    """What Claude Code tells of the sessions that it has open: the process of each, by its id, and by the real path of
    each file of that name. `not_known`: why it may have others open too, in a sentence that says what to do."""

    by_id: Mapping[str, int]
    by_path: Mapping[str, int]
    not_known: str | None

    def process_of(self, session_id: str | None, real: str) -> int | None:
        """The process that has a session open, None for none."""
        return self.by_id.get(session_id or "", self.by_path.get(real))


def _told_by_claude_code(environment: Mapping[str, str]) -> _Told | None:
    """What Claude Code says in a file for each of its processes; None where this one does not tell."""
    folder, walk = claude_code.config_folder(environment) / "sessions", Walk(claude_code.name)
    if not os.path.isdir(folder):
        return None
    by_id: dict[str, int] = {}
    not_known = None
    for path, status in walk.files(folder, r"\d+\.json"):
        told = read_object(path)
        session_id, process_id = told.get("sessionId"), whole(told.get("pid"))
        if isinstance(session_id, str) and process_id is not None:
            if processes.is_alive(process_id, status.st_mtime + CLOCK_SECONDS, _PROGRAMS[claude_code.name]):
                by_id[session_id] = process_id
        elif processes.is_alive(int(path.stem), 0.0, _PROGRAMS[claude_code.name]):
            not_known = (
                f"Which session Claude Code has open (process {path.stem}) cannot be seen, since {path} does not say; "
                "end it, then try again."
            )
    for place in walk.unreadable:
        not_known = (
            f"Which sessions Claude Code has open cannot be seen, since {place.path} cannot be read ({place.why}); "
            "let it be read, then try again."
        )
    return _Told(by_id, dict(_files_of(by_id, environment)), not_known)


def _files_of(by_id: Mapping[str, int], environment: Mapping[str, str]) -> Iterator[tuple[str, int]]:
    """The real path of each file that is named after one of those sessions, which may be a link to another one's."""
    named = {session_id: process_id for session_id, process_id in by_id.items() if is_session_id(session_id)}
    for project in Walk(claude_code.name).folders(claude_code.folder(environment)) if named else ():
        for session_id, process_id in named.items():
            if os.path.lexists(path := project / f"{session_id}.jsonl"):
                yield os.path.realpath(path), process_id


def _running(agent: str, environment: Mapping[str, str], among: Sequence[Process]) -> list[Process]:
    """The processes of an agent that may have sessions of ours open: not those that keep theirs in another folder."""
    ours = _FOLDERS[agent](environment)
    return [one for one in processes.running(_PROGRAMS[agent], among) if _keeps_in(ours, one, _FOLDERS[agent])]


def _keeps_in(ours: Path, process: Process, folder: Callable[[Mapping[str, str]], Path]) -> bool:
    told = processes.environment_of(process.process_id)
    if told is None or "HOME" not in told:  # a program that changes its title loses them
        return True
    return os.path.realpath(folder(told)) == os.path.realpath(ours)


def place_in(agent: Agent, real: str, environment: Mapping[str, str]) -> str | None:
    """Where an agent finds a file among its sessions; None where it does not. A link below its folder leads there too:
    what is named after the session, and after its project, are the names that the agent sees."""
    try:
        folder = agent.folder(environment)
        above = os.path.realpath(folder)
        if real.startswith(above.rstrip(os.sep) + os.sep):
            return str(folder / os.path.relpath(real, above))
        found = agent.find(environment, Walk(agent.name))
        return next((one.path for one in found if os.path.realpath(one.path) == real), None)
    except RuntimeError:  # nobody has said where the home folder is
        return None
