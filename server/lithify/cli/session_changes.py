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
    add_compaction,
    concluded,
    options_of,
    previewed,
    say_problems,
    settings_of,
    summarised,
    tell_outcome,
    too_many,
)
from lithify.cli.model_settings import add_settings
from lithify.cli.output import command_name, fail, say, usage

if TYPE_CHECKING:
    from lithify.cli.chat_file import ChatFile
    from lithify.core.agent_sessions import AgentSession
    from lithify.core.conversation import Noop
    from lithify.storage.agent_sessions.catalogue import Catalogue
    from lithify.workers.document_undo import UndoneDocument

COMPACT = """Replaces the older part of a session by a summary, in the way its agent does that itself; the agent goes on
with it when it next resumes the session. Without --settings the offline model answers and nothing leaves this machine.
What the session held is kept, and 'lithify sessions undo' brings it back."""

UNDO = """Takes a compaction of a session back. Where the agent has gone on behind it, and for opencode, the session is
left as it is, and what it held before becomes a new session beside it."""


def add_compact(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `sessions compact`."""
    add_compaction(parser)
    parser.add_argument("--dry-run", action="store_true", help="show what a model would be sent, and ask none")
    parser.set_defaults(act=compact)


def add_undo(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `sessions undo`."""
    parser.add_argument(
        "compaction", nargs="?", metavar="COMPACTION_ID", help="which one (default: the newest that is not undone)"
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
    """A session that was asked for. `short` is its shortest name, `called` how it is told of, `agent` how its agent
    is."""

    session: AgentSession
    short: str
    called: str
    agent: str
    format_name: str

    @property
    def place(self) -> str:
        """What it is read and written by."""
        from lithify.core.agent_sessions import in_agent

        return self.session.file.uri if in_agent(self.session.file.uri) else self.session.file.path


def _compact(args: argparse.Namespace) -> int:
    named = _named(args.session)
    if named is None:
        return _is_none(args)
    if named.session.reason is not None:
        return fail(f"{_large(named.called)} can only be read. {named.session.reason}")
    return _told_as(named, lambda: _compact_it(named, args))


def _compact_it(named: _Named, args: argparse.Namespace) -> int:
    from lithify.cli.in_place import check_free, put_in_place, read_in_place
    from lithify.core.conversation import Noop

    settings = settings_of(args)
    chat = read_in_place(named.place, named.called, named.format_name, settings)
    if (why := too_many(chat, args.up_to)) is not None:
        return usage(why)
    say_problems(chat)
    if args.dry_run:
        nothing = previewed(chat, args, settings)
        return 0 if nothing is None else _tell_noop(chat, nothing, args)
    check_free(chat, settings)
    outcome = summarised(chat, options_of(args), settings)
    if isinstance(outcome, Noop):
        return _tell_noop(chat, outcome, args)
    outcome, wrote = put_in_place(chat, outcome, settings)
    tell_outcome(chat, outcome)
    say(wrote)
    _tell_next(named)
    say(f"To take it back: {command_name()} sessions undo {named.short}")
    return 0


def _undo(args: argparse.Namespace) -> int:
    named = _named(args.session)
    if named is None:
        return _is_none(args)
    return _told_as(named, lambda: _undo_it(named, args))


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
        raise LithifyError(error.type, told, retryable=error.retryable) from error


def _large(words: str) -> str:
    return words[0].upper() + words[1:]


def _small(words: str) -> str:
    return words[0].lower() + words[1:]


def _named(name: str) -> _Named | None:
    """The session of that name; None for what is no session of its own. Raises LithifyError `unknown_session`."""
    from lithify.cli.sessions import find
    from lithify.storage.agent_sessions.catalogue import Catalogue

    catalogue = Catalogue(os.environ)
    session = catalogue.session(find(catalogue, name))
    return None if session is None else _as_named(catalogue, session)


def _as_named(catalogue: Catalogue, session: AgentSession) -> _Named:
    from dataclasses import replace

    from lithify.core.agent_sessions import short_names
    from lithify.storage.agent_sessions.catalogue import format_of, title_of

    agent, file = title_of(session.file.agent), session.file
    known = replace(session, live=catalogue.live([file])[0])
    short = short_names(catalogue.find().files).get(file.uri, file.path)
    return _Named(known, short, f"the {agent} session {short}", agent, format_of(file.agent))


def _is_none(args: argparse.Namespace) -> int:
    return fail(f"{args.session[:80]!r} is no session of its own: nothing was said in it, or it is a subagent's")


def _tell_next(named: _Named) -> None:
    """Says when the agent sees it, and how to go on there."""
    from lithify.core.agent_sessions import in_agent

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
    restored = next((one for one in [_named(done.restored or "")] if one is not None), None)
    say(f"{_large(named.called)} is left as it is; what was said behind compaction {done.compaction_id} stays in it.")
    if restored is None:
        say(f"What it held before is the new session {done.restored}.")
        return 0
    say(f"What it held before is a new session: {restored.session.session_id or done.restored}")
    if restored.session.resume_command is not None:
        say(f"To go on there: {restored.session.resume_command}")
    return 0


def _tell_noop(chat: ChatFile, noop: Noop, args: argparse.Namespace) -> int:
    say(f"Nothing to compact in {chat.title}, left as it is: {why_nothing(noop, args.up_to)}.")
    return 0
