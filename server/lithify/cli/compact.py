"""`lithify compact`: compacts a chat file, or what a pipe brings, without any editor."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from lithify.cli.compact_words import answer_of, why_nothing
from lithify.cli.compacting import (
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
from lithify.cli.output import print_text, say, usage, write_bytes
from lithify.cli.stored import sweep
from lithify.core.format_names import FORMAT_NAMES

if TYPE_CHECKING:
    from lithify.cli.chat_file import ChatFile
    from lithify.core.compaction_results import Summarised
    from lithify.core.conversation import Noop
    from lithify.core.settings import Settings

STANDARD_STREAM = "-"

_DESCRIPTION = """Replaces the older part of a conversation by a summary and leaves the rest as it is. Prints the
summary, unless --output or --in-place asks for the whole file. The file is read as it is on the disk, and nothing is
written but what these two options name; what --in-place replaced is kept in the data folder, so that it can be undone
(see the setting conversation.keepOriginals)."""

_EPILOG = """When there is nothing to compact, a file is left alone and no new one is written, and '--output -' passes
the conversation on as it came. A leading system message counts as a message and always stays. Exit code: 0 also when
there was nothing to do, 1 for a failure, 2 for a call that does not fit."""

_FORMAT = f"read the file as this, whatever it looks like: {', '.join(FORMAT_NAMES)}"


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the command."""
    parser = subparsers.add_parser(
        "compact", help="compact a chat file or a pipe", description=_DESCRIPTION, epilog=_EPILOG
    )
    parser.add_argument("file", type=_named, metavar="FILE", help="the chat file; - reads standard input")
    add_compaction(parser)
    parser.add_argument("--format", choices=FORMAT_NAMES, metavar="NAME", help=_FORMAT)
    result = parser.add_mutually_exclusive_group()
    result.add_argument("--dry-run", action="store_true", help="show what a model would be sent, and ask none")
    result.add_argument(
        "--output",
        type=_named,
        metavar="FILE",
        help="write the whole compacted conversation to a new file; - is standard output",
    )
    result.add_argument("--in-place", action="store_true", help="write into the file, and leave a backup of it")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Compacts what was named; the exit code."""
    if args.file == STANDARD_STREAM and args.in_place:
        return usage("standard input cannot be rewritten in place; name a file, or use '--output -'")
    sweep()
    return concluded(args, lambda: _compact(args))


def _compact(args: argparse.Namespace) -> int:
    from lithify.cli.chat_file import check_target, read_chat_file

    chat = read_chat_file(args.file, args.format)
    if (why := too_many(chat, args.up_to)) is not None:
        return usage(why)
    if args.output is not None or args.in_place:
        check_target(chat, args.output)
    say_problems(chat)
    settings = settings_of(args)
    try:
        nothing = previewed(chat, args, settings) if args.dry_run else _made(chat, args, settings)
    except NothingToGain as reason:
        return _leave(chat, args, "Nothing to gain", str(reason))
    return 0 if nothing is None else _leave(chat, args, "Nothing to compact", why_nothing(nothing, args.up_to))


def _made(chat: ChatFile, args: argparse.Namespace, settings: Settings) -> Noop | None:
    """Compacts, and hands the result on; the no-op where there was nothing to do. Raises NothingToGain."""
    from lithify.core.conversation import Noop

    if args.in_place:
        from lithify.cli.in_place import check_writable

        check_writable(chat, settings)
    outcome = summarised(chat, options_of(args), settings)
    if isinstance(outcome, Noop):
        return outcome
    if args.in_place:
        _put(chat, outcome, args, settings)
    else:
        _deliver(chat, outcome, args)
    return None


def _deliver(chat: ChatFile, outcome: Summarised, args: argparse.Namespace) -> None:
    """Hands the result on, then says on standard error what became of the conversation."""
    from lithify.cli.chat_file import write_output

    if args.output == STANDARD_STREAM:
        write_bytes(chat.compacted(outcome))
    elif args.output is not None:
        write_output(args.output, chat.compacted(outcome))
    else:
        print_text(answer_of(outcome))
    tell_outcome(chat, outcome)
    if args.output not in (None, STANDARD_STREAM):
        say(f"Wrote {args.output}.")


def _put(chat: ChatFile, outcome: Summarised, args: argparse.Namespace, settings: Settings) -> None:
    """Writes the result into the file, and says how to take it back."""
    from lithify.cli.in_place import put_in_place

    put = put_in_place(chat, outcome, settings)
    tell_outcome(chat, put.outcome)
    say(put.wrote)
    if chat.owner is not None:
        say(f"{chat.owner} sees the change when it next opens this session; one that is running keeps its own history.")
    if put.can_undo and chat.place is not None:
        say(f"To take it back: {undo_command(chat.place, args, settings)}")


def _leave(chat: ChatFile, args: argparse.Namespace, nothing: str, why: str) -> int:
    passed_on = args.output == STANDARD_STREAM
    if passed_on:
        write_bytes(chat.data)
    left = "passed on as it came" if passed_on else "nothing was written" if args.output else "left as it is"
    say(f"{nothing} in {chat.title}, {left}: {why}.")
    return 0


def _named(text: str) -> str:
    if not text:
        raise argparse.ArgumentTypeError("the name is empty; name a file, or - for the standard stream")
    return text
