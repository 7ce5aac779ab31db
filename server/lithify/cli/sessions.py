"""`lithify sessions`: lists, shows, compacts and undoes the sessions of coding agents on this machine."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from lithify.cli import session_changes
from lithify.cli.output import as_called, fail, progress, say
from lithify.cli.stored import BadCall, add_limit, answered, sweep

if TYPE_CHECKING:
    from lithify.core.agent_sessions import SessionFile
    from lithify.storage.agent_sessions.catalogue import Catalogue
    from lithify.workers.agent_sessions import Listing

_DESCRIPTION = """Lists and shows the sessions of Claude Code, Codex, kimi-code, kimi-cli, Gemini CLI and opencode on
this machine: what the agent would send when it goes on. Compacts one where it lies, and undoes that."""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds `sessions list`, `show`, `compact` and `undo`."""
    parser = subparsers.add_parser(
        "sessions", help="list, show and compact sessions of coding agents", description=_DESCRIPTION
    )
    actions = parser.add_subparsers(dest="sessions_action", metavar="ACTION", required=True)

    listing = actions.add_parser(
        "list", help="list sessions, the newest first", description="Lists the sessions of agents, the newest first."
    )
    listing.add_argument("--agent", metavar="NAME", help="those of one agent, such as claude-code or codex")
    listing.add_argument("--project", metavar="DIR", help="those of this folder and of folders in it (default: all)")
    add_limit(listing, "sessions", 50)
    listing.set_defaults(act=_list)

    show = actions.add_parser(
        "show", help="show one session", description="Shows a session as its agent would send it when it goes on."
    )
    add_session(show)
    show.add_argument("--full", action="store_true", help="show all of long messages")
    show.set_defaults(act=_show)

    compact = actions.add_parser("compact", help="compact a session where it lies", description=session_changes.COMPACT)
    add_session(compact)
    session_changes.add_compact(compact)

    undo = actions.add_parser("undo", help="take a compaction back", description=session_changes.UNDO)
    add_session(undo, "or of any chat file that Lithify compacted")
    session_changes.add_undo(undo)

    for one in (listing, show):
        one.add_argument("--json", action="store_true", help="answer as JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Does what was asked for; 0 when it was done, 1 when it failed, 2 for a call that does not fit."""
    sweep()
    return answered(lambda: int(args.act(args)))


# --- which session: for every action on one ---


def add_session(parser: argparse.ArgumentParser, others: str = "") -> None:
    """Adds the argument that names a session, which `find` finds; `others` says what else may be named."""
    parser.add_argument(
        "session",
        metavar="SESSION",
        help=f"its id, the beginning of its id, or the path of its file{others and ', '}{others}; see 'sessions list'; "
        "put -- before one that begins with -",
    )


def find(catalogue: Catalogue, name: str) -> SessionFile:
    """The session that was named. Raises LithifyError `unknown_session` for a name that means none, or several."""
    from lithify.core.agent_sessions import named

    files = catalogue.find().files
    if os.path.exists(name):
        real = os.path.realpath(name)
        return named(files, next((one.path for one in files if os.path.realpath(one.path) == real), name))
    return named(files, name)


# --- list ---


def _list(args: argparse.Namespace) -> int:
    from lithify.storage.agent_sessions.catalogue import Catalogue
    from lithify.workers.agent_sessions import AgentSessions

    catalogue = Catalogue(os.environ)
    with progress("Looking at the sessions"):
        listing = AgentSessions(catalogue).look(_folder(args.project), args.agent, args.limit)
    _tell_unreadable(listing)
    if args.json:
        _print_as_json(listing)
    elif listing.sessions:
        _print(listing, catalogue)
    else:
        _print_none(catalogue, args)
    return 0


def _print(listing: Listing, catalogue: Catalogue) -> None:
    from lithify.cli.session_screen import listed_lines
    from lithify.cli.stored_text import print_lines
    from lithify.core.agent_sessions import short_names

    print_lines(listed_lines(listing.sessions, short_names(catalogue.find().files)))
    if any(not one.writable for one in listing.sessions):
        say(as_called("'lithify sessions show SESSION' says why one can only be read."))
    if listing.more:
        say(f"Shown: {len(listing.sessions)}. There are more; ask with a larger --limit.")


def _print_as_json(listing: Listing) -> None:
    from lithify.cli.stored_text import print_json
    from lithify.lsp.agent_session_wire import agent_session

    print_json(
        {"sessions": [agent_session(one) for one in listing.sessions]} | ({"more": True} if listing.more else {})
    )


def _print_none(catalogue: Catalogue, args: argparse.Namespace) -> None:
    from lithify.cli.session_screen import short_path
    from lithify.cli.stored_text import print_lines
    from lithify.cli.visible_text import visible

    looked_at = [f"{short_path(folder)} ({title})" for title, folder in catalogue.folders(args.agent)]
    which = f" for the project {visible(args.project)}" if args.project else ""
    print_lines([f"There is no session of an agent{which}. Looked at: {', '.join(looked_at)}."])


def _tell_unreadable(listing: Listing) -> None:
    from lithify.cli.visible_text import visible

    for place in listing.unreadable:
        say(f"{visible(place.path)} cannot be looked into ({visible(place.why)}); it may hold {place.agent} sessions.")


def _folder(named: str | None) -> str | None:
    from lithify.storage.projects import path_of

    if named is None:
        return None
    folder = os.path.abspath(os.path.expanduser(path_of(named)))
    if "\0" in folder:
        raise BadCall(f"{named[:200]!r} is no path; give the folder of a project with --project, or leave it out")
    return folder


# --- show ---


def _show(args: argparse.Namespace) -> int:
    from dataclasses import replace

    from lithify.core.outcomes import LithifyError
    from lithify.storage.agent_sessions.catalogue import Catalogue

    catalogue = Catalogue(os.environ)
    try:
        file = find(catalogue, args.session)
    except LithifyError as error:
        return fail(error.message)
    looked = catalogue.look(file)
    if looked is None:
        return fail(f"{args.session[:80]!r} is no session of its own: nothing was said in it, or it is a subagent's")
    from lithify.cli.session_compactions import undoable

    session, transcript = looked
    session = replace(session, live=catalogue.live([session.file])[0])
    undos = undoable(session.file)
    if args.json:
        from lithify.cli.session_screen import shown_as_json
        from lithify.cli.stored_text import print_json

        print_json(shown_as_json(session, transcript, undos))
    else:
        from lithify.cli.output import command_line
        from lithify.cli.session_screen import print_session
        from lithify.core.agent_sessions import short_names

        undo = command_line("sessions", "undo", name=short_names(catalogue.find().files)[session.file.uri])
        print_session(session, transcript, undos, undo, full=args.full)
    return 0
