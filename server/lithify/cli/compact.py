"""`lithify compact`: compacts a chat file, or what a pipe brings, without any editor."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from lithify.cli.compact_words import answer_of, answered_by, compacted, count, why_nothing
from lithify.cli.model_settings import add_settings
from lithify.cli.output import as_called, fail, print_text, progress, say, usage, write_bytes
from lithify.core.format_names import FORMAT_NAMES

if TYPE_CHECKING:
    from lithify.cli.chat_file import ChatFile
    from lithify.core.agents import CompactionOptions
    from lithify.core.compaction_results import Preview, Summarised
    from lithify.core.conversation import Noop
    from lithify.core.settings import Settings
    from lithify.workers.conversation import Ask, Workshop

STANDARD_STREAM = "-"
OFFLINE: Literal["offline"] = "offline"

_DESCRIPTION = """Replaces the older part of a conversation by a summary and leaves the rest as it is. Prints the
summary, unless --output or --in-place asks for the whole file. The file is read as it is on the disk, and nothing is
written but what these two options name; what --in-place replaced is kept in the data folder, so that it can be undone
(see the setting conversation.keepOriginals)."""

_EPILOG = """When there is nothing to compact, a file is left alone and no new one is written, and '--output -' passes
the conversation on as it came. A leading system message counts as a message and always stays. Exit code: 0 also when
there was nothing to do, 1 for a failure, 2 for a call that does not fit."""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the command."""
    parser = subparsers.add_parser(
        "compact", help="compact a chat file or a pipe", description=_DESCRIPTION, epilog=_EPILOG
    )
    parser.add_argument("file", type=_named, metavar="FILE", help="the chat file; - reads standard input")
    part = parser.add_mutually_exclusive_group()
    part.add_argument("--up-to", type=_positive, metavar="N", help="compact the first N messages")
    part.add_argument(
        "--preserve",
        type=_not_negative,
        metavar="N",
        help="compact all but the last N user and assistant messages (default 2)",
    )
    parser.add_argument(
        "--instructions",
        default="",
        metavar="TEXT",
        help="what the summary should give weight to; the offline model does not heed it",
    )
    add_settings(
        parser,
        "settings (JSON, as an editor sends them) that name the model to ask: an agent or an endpoint; without them "
        "the offline model answers and nothing leaves this machine",
    )
    parser.add_argument(
        "--model", type=_model, metavar="NAME", help="the model of that agent or endpoint; or 'offline', the default"
    )
    parser.add_argument("--format", choices=FORMAT_NAMES, help="read the file as this, whatever it looks like")
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
    from lithify.cli.chat_file import ChatFileError
    from lithify.cli.model_settings import BadSettings
    from lithify.core.outcomes import LithifyError

    if args.file == STANDARD_STREAM and args.in_place:
        return usage("standard input cannot be rewritten in place; name a file, or use '--output -'")
    if args.model not in (None, OFFLINE) and args.settings is None:
        return usage(
            f"--model {args.model}: only 'offline' answers by itself; name the agent or endpoint that has another "
            "model with --settings, see docs/MODELS.md"
        )
    try:
        return _compact(args)
    except BadSettings as error:
        return usage(str(error))
    except ChatFileError as error:
        return fail(str(error))
    except LithifyError as error:
        return fail(_what_to_do(error))


def _compact(args: argparse.Namespace) -> int:
    from lithify.cli.chat_file import check_target, read_chat_file
    from lithify.core.conversation import Noop

    chat = read_chat_file(args.file, args.format)
    length = len(chat.transcript.messages)
    if args.up_to is not None and args.up_to > length:
        return usage(f"--up-to is {args.up_to}, but {chat.title} has {length} messages; give a number up to {length}")
    if args.output is not None or args.in_place:
        check_target(chat, args.output)
    _say_problems(chat)
    settings = _settings(args)
    if args.dry_run:
        return _preview(chat, args, settings)
    if args.in_place:
        from lithify.cli.in_place import check_free

        check_free(chat, settings)
    outcome = _summarise(chat, _options(args), settings)
    if isinstance(outcome, Noop):
        return _tell_noop(chat, outcome, args)
    return _deliver(chat, outcome, args, settings)


def _options(args: argparse.Namespace) -> CompactionOptions:
    from lithify.core.agents import DEFAULT_PRESERVED, CompactionOptions, request_settings

    return CompactionOptions(
        start=None,
        end=None,
        up_to=None if args.up_to is None else args.up_to - 1,
        max_preserved_messages=DEFAULT_PRESERVED if args.preserve is None else args.preserve,
        exact=False,
        instructions=args.instructions,
        prompt=None,
        model=None if args.model == OFFLINE else args.model,
        settings=request_settings(None, {}),
    )


def _settings(args: argparse.Namespace) -> Settings:
    """The settings in force: those of the file; without one, the offline model's."""
    from lithify.cli.model_settings import read_settings_file
    from lithify.core.settings import Model, Settings

    settings = Settings() if args.settings is None else read_settings_file(args.settings)
    if args.settings is None or args.model == OFFLINE:
        settings = settings.model_copy(update={"model": Model(provider=OFFLINE)})
    return settings


def _workshop(settings: Settings) -> Workshop:
    from lithify.prompt_files.templates import find_conversation_prompt, user_prompts_dir
    from lithify.workers.conversation import Workshop, ask_directly

    return Workshop(find_conversation_prompt(user_prompts_dir()), settings.conversation, ask_directly)


def _summarise(chat: ChatFile, options: CompactionOptions, settings: Settings) -> Summarised | Noop:
    import asyncio

    from lithify.cli.model_settings import models_of
    from lithify.workers.conversation import summarise

    workshop, models, messages = _workshop(settings), models_of(settings), chat.transcript.conversation
    with progress(f"Compacting {chat.title} ...") as tell:
        if all(one.name == OFFLINE for one in models):
            return asyncio.run(summarise(messages, options, workshop, models, tell))
        return _listed(settings, lambda ask: summarise(messages, options, replace(workshop, ask=ask), models, tell))


def _listed(settings: Settings, work: Callable[[Ask], Coroutine[Any, Any, Summarised | Noop]]) -> Summarised | Noop:
    """Work that sends text away, with every call in the ledger."""
    import asyncio

    from lithify.cli.call_ledger import CallLedger

    ledger = CallLedger(settings)
    try:
        return asyncio.run(ledger.kept(work))
    finally:
        if ledger.problem is not None:
            say(f"warning: 'lithify ledger' will not show this call: {ledger.problem}")


def _preview(chat: ChatFile, args: argparse.Namespace, settings: Settings) -> int:
    from lithify.core.conversation import Noop
    from lithify.workers.conversation import preview

    found = preview(chat.transcript.conversation, _options(args), _workshop(settings))
    if isinstance(found, Noop):
        return _tell_noop(chat, found, args)
    _print_request(found)
    stats = found.stats
    requests = count(found.requests, "request")
    what = compacted(chat.transcript.conversation, found.plan, f" of {stats.messages_before}")
    say(f"Would compact {what} in {requests}; no model was asked.")
    say(f"{stats.tokens_before:,} tokens would become some {stats.tokens_after:,}, by the size of an offline summary.")
    return 0


def _print_request(found: Preview) -> None:
    first = "" if found.requests == 1 else f" 1 of {found.requests}"
    print_text(f"=== system prompt of request{first} ===\n{found.request.system_prompt}")
    print_text(f"=== message of request{first} ===\n{''.join(found.request.parts)}")


def _deliver(chat: ChatFile, outcome: Summarised, args: argparse.Namespace, settings: Settings) -> int:
    """Hands the result on, then says on standard error what became of the conversation; the exit code."""
    from lithify.cli.chat_file import write_output
    from lithify.cli.in_place import write_in_place, wrote_in_place

    wrote = None
    if args.in_place:
        shorter = chat.compacted(outcome)
        if len(shorter) > len(chat.data) and not shorter.startswith(chat.data):
            return _refuse_larger(chat, len(shorter))
        done = write_in_place(chat, outcome, settings)
        outcome = replace(outcome, stats=done.summarised.stats, warnings=done.summarised.warnings)
        wrote = wrote_in_place(chat, done, appended=shorter.startswith(chat.data))
    elif args.output == STANDARD_STREAM:
        write_bytes(chat.compacted(outcome))
    elif args.output is not None:
        write_output(args.output, chat.compacted(outcome))
        wrote = f"Wrote {args.output}."
    else:
        print_text(answer_of(outcome))
    _tell(chat, outcome)
    if wrote is not None:
        say(wrote)
    if args.in_place and chat.owner is not None:
        say(f"{chat.owner} sees the change when it next opens this session; one that is running keeps its own history.")
    return 0


def _refuse_larger(chat: ChatFile, size_bytes: int) -> int:
    return fail(
        f"{chat.title} is left as it is, since compacted it would be larger ({size_bytes:,} bytes instead of "
        f"{len(chat.data):,}); compact more of it, or write it elsewhere with --output"
    )


def _tell(chat: ChatFile, outcome: Summarised) -> None:
    stats, what = outcome.stats, compacted(chat.transcript.conversation, outcome.plan)
    say(
        f"Compacted {what}: {count(stats.messages_before, 'message')} became "
        f"{stats.messages_after}, {count(stats.tokens_before, 'token')} became {stats.tokens_after:,} "
        f"({answered_by(outcome)}, prompt {outcome.prompt_source})."
    )
    for warning in outcome.warnings:
        if outcome.method != "offline" or warning.code != "prompt_fallback":  # the offline model reads no prompt
            say(as_called(f"warning: {warning.message}"))


def _tell_noop(chat: ChatFile, noop: Noop, args: argparse.Namespace) -> int:
    passed_on = args.output == STANDARD_STREAM
    if passed_on:
        write_bytes(chat.data)
    left = "passed on as it came" if passed_on else "nothing was written" if args.output else "left as it is"
    say(f"Nothing to compact in {chat.title}, {left}: {why_nothing(noop, args.up_to)}.")
    return 0


def _say_problems(chat: ChatFile) -> None:
    problems = chat.transcript.problems
    for problem in problems[:3]:
        say(f"warning: line {problem.line + 1} of {chat.title}: {problem.message}")
    if len(problems) > 3:
        say(f"warning: and {len(problems) - 3} more places like these")


def _what_to_do(error: Exception) -> str:
    return f"{error} Nothing was written." if str(error).endswith(".") else f"{error}; nothing was written"


def _positive(text: str) -> int:
    number = _not_negative(text)
    if number == 0:
        raise argparse.ArgumentTypeError("0 messages are nothing to compact; give 1 or more")
    return number


def _not_negative(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of messages")
    return int(text)


def _named(text: str) -> str:
    if not text:
        raise argparse.ArgumentTypeError("the name is empty; name a file, or - for the standard stream")
    return text


def _model(text: str) -> str:
    if not text:
        raise argparse.ArgumentTypeError("the name is empty; name a model, or 'offline'")
    return text
