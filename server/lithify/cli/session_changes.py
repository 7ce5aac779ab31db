"""`lithify sessions compact` and `undo`: a session of an agent is compacted where it lies, and that is taken back."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lithify.cli.compact_words import why_nothing
from lithify.cli.compacting import (
    OFFLINE,
    NothingToGain,
    add_compaction,
    concluded,
    options_of,
    previewed,
    say_problems,
    settings_of,
    summarised,
    tell_outcome,
    too_many,
    undo_command,
)
from lithify.cli.model_settings import add_settings
from lithify.cli.output import fail, say, usage

if TYPE_CHECKING:
    from lithify.cli.chat_file import ChatFile
    from lithify.core.agent_sessions import AgentSession
    from lithify.core.conversation import Noop
    from lithify.workers.document_undo import UndoneDocument

COMPACT = """Replaces the older part of a session by a summary, in the way its agent does that itself; the agent goes on
with it when it next resumes the session. Without --settings the offline model answers and nothing leaves this machine.
What the session held is kept, and 'lithify sessions undo' brings it back."""

UNDO = """Takes a compaction of a session back, or of any chat file that 'lithify compact --in-place' wrote. Where the
agent has gone on behind it, and for opencode, the session is left as it is, and what it held before becomes a new
session beside it."""


def add_compact(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `sessions compact`."""
    add_compaction(parser)
    parser.add_argument("--dry-run", action="store_true", help="show what a model would be sent, and ask none")
    parser.set_defaults(act=compact)


def add_undo(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `sessions undo`."""
    parser.add_argument(
        "compaction",
        nargs="?",
        metavar="COMPACTION_ID",
        help="which one, as 'sessions show' lists them (default: the newest)",
    )
    add_settings(parser, "the settings that the session was compacted with, if they name another data folder (dataDir)")
    parser.set_defaults(act=undo, model=OFFLINE)


def compact(args: argparse.Namespace) -> int:
    """Compacts a session; the exit code."""
    return concluded(args, lambda: _compact(args))


def undo(args: argparse.Namespace) -> int:
    """Undoes a compaction of a session; the exit code."""
    return concluded(args, lambda: _undo(args))


@dataclass(frozen=True, slots=True)
class _Named:
    """What was asked for: a session of an agent, or (for an undo) any chat file. `place` is what it is read and written
    by, `name` its shortest name for a command, `called` how it is told of."""

    place: str
    name: str
    called: str
    session: AgentSession | None = None
    agent: str = ""
    format_name: str = ""


def _compact(args: argparse.Namespace) -> int:
    named = _session_named(args.session)
    if named is None or named.session is None:
        return _is_none(args)
    if named.session.reason is not None:
        return fail(f"{_large(named.called)} cannot be compacted. {named.session.reason}")
    return _told_as(named, lambda: _compact_it(named, args))


def _compact_it(named: _Named, args: argparse.Namespace) -> int:
    from lithify.cli.in_place import check_writable, put_in_place, read_in_place
    from lithify.core.conversation import Noop

    settings = settings_of(args)
    chat = read_in_place(named.place, named.called, named.format_name, settings)
    if (why := too_many(chat, args.up_to)) is not None:
        return usage(why)
    say_problems(chat)
    try:
        if args.dry_run:
            nothing = previewed(chat, args, settings)
            return 0 if nothing is None else _leave(chat, nothing, args)
        check_writable(chat, settings)
        outcome = summarised(chat, options_of(args), settings)
        if isinstance(outcome, Noop):
            return _leave(chat, outcome, args)
        put = put_in_place(chat, outcome, settings)
    except NothingToGain as reason:
        say(f"Nothing to gain in {chat.title}, left as it is: {reason}.")
        return 0
    tell_outcome(chat, put.outcome)
    say(put.wrote)
    _tell_next(named)
    if put.can_undo:
        say(f"To take it back: {undo_command(named.name, args, settings)}")
    return 0


def _undo(args: argparse.Namespace) -> int:
    named = _named_to_undo(args.session)
    return _is_none(args) if named is None else _told_as(named, lambda: _undo_it(named, args))


def _undo_it(named: _Named, args: argparse.Namespace) -> int:
    from lithify.cli.in_place import undo_in_place

    done = undo_in_place(named.place, args.compaction, settings_of(args))
    if done.restored is not None:
        return _tell_restored(named, done)
    say(f"Undid compaction {done.compaction_id}: {named.called} holds again what its summary stood for.")
    _tell_next(named)
    return 0


def _told_as(named: _Named, work: Callable[[], int]) -> int:
    """Does the work; where that fails, the sentence names the session as this command does. Raises LithifyError."""
    from lithify.core.outcomes import LithifyError
    from lithify.workers.document_places import title

    try:
        return work()
    except LithifyError as error:
        known = title(named.place)
        told = error.message.replace(known, _large(named.called)).replace(_small(known), named.called)
        raise LithifyError(
            error.type, told, retryable=error.retryable, may_have_written=error.may_have_written
        ) from error


def _large(words: str) -> str:
    return words[0].upper() + words[1:]


def _small(words: str) -> str:
    return words[0].lower() + words[1:]


def _session_named(name: str) -> _Named | None:
    """The session of that name; None for what is no session of its own. Raises LithifyError `unknown_session`."""
    from dataclasses import replace

    from lithify.cli.sessions import find
    from lithify.core.agent_sessions import in_agent, short_names
    from lithify.storage.agent_sessions.catalogue import Catalogue, format_of, title_of

    catalogue = Catalogue(os.environ)
    session = catalogue.session(find(catalogue, name))
    if session is None:
        return None
    agent, file = title_of(session.file.agent), session.file
    known = replace(session, live=catalogue.live([file])[0])
    place = file.uri if in_agent(file.uri) else file.path
    short = short_names(catalogue.find().files).get(file.uri, place)
    return _Named(place, short, f"the {agent} session {short}", known, agent, format_of(file.agent))


def _named_to_undo(name: str) -> _Named | None:
    """A session, or a chat file, that may have been compacted; None where it is neither. Raises LithifyError."""
    from lithify.core.outcomes import LithifyError

    there = os.path.isfile(name)
    try:
        named = _session_named(name)
    except LithifyError:
        if not there:
            raise
        named = None
    if named is None and there:
        real = os.path.realpath(name)
        return _Named(real, real, f"the file {name}")
    return named


def _is_none(args: argparse.Namespace) -> int:
    return fail(f"{args.session[:80]!r} is no session of its own: nothing was said in it, or it is a subagent's")


def _tell_next(named: _Named) -> None:
    """Says when the agent sees it, and how to go on there."""
    from lithify.core.agent_sessions import in_agent

    if named.session is None:
        return
    if in_agent(named.place):
        say(f"{named.agent} sees it at its next turn, also where it runs now.")
    elif named.session.live:
        say(f"{named.agent} has this session open now; there it counts from its next start.")
    else:
        say(f"{named.agent} sees it when it next resumes the session; one that is running keeps its own history.")
    if named.session.resume_command is not None:
        say(f"To go on there: {named.session.resume_command}")


def _tell_restored(named: _Named, done: UndoneDocument) -> int:
    """Says that the session as it was is a new one, and how to go on with that."""
    from lithify.core.agent_sessions import in_agent
    from lithify.core.outcomes import LithifyError

    say(
        f"{_large(named.called)} is left as it is, with compaction {done.compaction_id} and all that is said behind it."
    )
    try:
        restored = _session_named(done.restored or "")
    except LithifyError:  # beside a file that lies in no folder of its agent's
        restored = None
    if restored is None or restored.session is None:
        say(f"What it held before is the new session {done.restored or ''}.")
        return 0
    say(f"What it held before is a new session: {restored.session.session_id or restored.place}")
    if not in_agent(restored.place):  # opencode's copy says in its title that it is one
        say(f"It has the same title as the first one, and lies in {restored.place}.")
    if restored.session.resume_command is not None:
        say(f"To go on there: {restored.session.resume_command}")
    return 0


def _leave(chat: ChatFile, noop: Noop, args: argparse.Namespace) -> int:
    say(f"Nothing to compact in {chat.title}, left as it is: {why_nothing(noop, args.up_to)}.")
    return 0
