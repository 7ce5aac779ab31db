"""What every compaction on the command line shares: its options, the model that is asked, and what is told of it."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from lithify.cli.compact_words import answered_by, compacted, count, lone_summary
from lithify.cli.model_settings import add_settings
from lithify.cli.output import as_called, command_line, fail, print_text, progress, say, usage

if TYPE_CHECKING:
    from lithify.cli.chat_file import ChatFile
    from lithify.core.agents import CompactionOptions
    from lithify.core.compaction_results import Preview, Summarised
    from lithify.core.conversation import Noop
    from lithify.core.outcomes import LithifyError
    from lithify.core.settings import Settings
    from lithify.workers.conversation import Ask, Workshop

OFFLINE: Literal["offline"] = "offline"


def add_compaction(parser: argparse.ArgumentParser) -> None:
    """Adds the options that say which part is compacted, by which model, and with what weight."""
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
    add_model(parser)


def add_model(parser: argparse.ArgumentParser) -> None:
    """Adds the options that say which model answers."""
    add_settings(
        parser,
        "settings (JSON, as an editor sends them) that name the model to ask: an agent or an endpoint; without them "
        "the offline model answers and nothing leaves this machine",
    )
    parser.add_argument(
        "--model", type=_model, metavar="NAME", help="the model of that agent or endpoint; or 'offline', the default"
    )


class NothingToGain(Exception):
    """A compaction that would not make the conversation smaller; the text says why, as a part of a sentence."""


def concluded(args: argparse.Namespace, compact: Callable[[], int]) -> int:
    """Compacts; the exit code. What it stumbles over is told in one line."""
    from lithify.cli.chat_file import ChatFileError
    from lithify.cli.model_settings import BadSettings
    from lithify.core.outcomes import LithifyError

    if (why := nobody_has(args)) is not None:
        return usage(why)
    try:
        return compact()
    except BadSettings as error:
        return usage(str(error))
    except ChatFileError as error:
        return fail(str(error))
    except LithifyError as error:
        return fail(_what_to_do(error))


def nobody_has(args: argparse.Namespace) -> str | None:
    """Why the model that was asked for cannot answer; None where it may."""
    if args.model in (None, OFFLINE) or args.settings is not None:
        return None
    return (
        f"--model {args.model}: only 'offline' answers by itself; name the agent or endpoint that has another "
        "model with --settings, see docs/MODELS.md"
    )


def too_many(chat: ChatFile, up_to: int | None) -> str | None:
    """Why that many messages cannot be compacted; None where they can."""
    length = len(chat.transcript.messages)
    if up_to is None or up_to <= length:
        return None
    return f"--up-to is {up_to}, but {chat.title} has {length} messages; give a number up to {length}"


def say_problems(chat: ChatFile) -> None:
    """Warns of what could not be read."""
    problems = chat.transcript.problems
    for problem in problems[:3]:
        say(f"warning: line {problem.line + 1} of {chat.title}: {problem.message}")
    if len(problems) > 3:
        say(f"warning: and {len(problems) - 3} more places like these")


def options_of(args: argparse.Namespace) -> CompactionOptions:
    """What was asked for."""
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


def settings_of(args: argparse.Namespace) -> Settings:
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


def check_gain(chat: ChatFile, options: CompactionOptions) -> None:
    """Raises NothingToGain where all that would be compacted is a summary."""
    from lithify.core.conversation import Plan
    from lithify.workers.conversation import plan

    planned = plan(chat.transcript.conversation, options)
    if isinstance(planned, Plan) and lone_summary(chat.transcript.conversation, planned):
        raise NothingToGain("what would be compacted is a summary already")


def summarised(chat: ChatFile, options: CompactionOptions, settings: Settings) -> Summarised | Noop:
    """The summary, made with a spinner on a terminal. Raises NothingToGain."""
    import asyncio

    from lithify.cli.model_settings import models_of
    from lithify.workers.conversation import summarise

    check_gain(chat, options)
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


def previewed(chat: ChatFile, args: argparse.Namespace, settings: Settings) -> Noop | None:
    """Prints what a compaction would send; the no-op where it would send nothing. Raises NothingToGain."""
    from lithify.cli.model_settings import models_of
    from lithify.core.conversation import Noop
    from lithify.workers.conversation import preview

    check_gain(chat, options_of(args))
    found = preview(chat.transcript.conversation, options_of(args), _workshop(settings), models_of(settings))
    if isinstance(found, Noop):
        return found
    _print_request(found)
    stats = found.stats
    requests = count(found.requests, "request")
    what = compacted(chat.transcript.conversation, found.plan, f" of {stats.messages_before}")
    say(f"Would compact {what} in {requests}; no model was asked.")
    say(f"{stats.tokens_before:,} tokens would become some {stats.tokens_after:,}, by the size of an offline summary.")
    if args.instructions.strip() and settings.model.provider == OFFLINE:
        say("warning: The offline model does not heed instructions; one that --settings names does.")
    return None


def _print_request(found: Preview) -> None:
    first = "" if found.requests == 1 else f" 1 of {found.requests}"
    print_text(f"=== system prompt of request{first} ===\n{found.request.system_prompt}")
    print_text(f"=== message of request{first} ===\n{''.join(found.request.parts)}")


def tell_outcome(chat: ChatFile, outcome: Summarised) -> None:
    """Says what became of the conversation."""
    stats, what = outcome.stats, compacted(chat.transcript.conversation, outcome.plan)
    prompt = "" if outcome.method == "offline" else f", prompt {outcome.prompt_source}"  # the offline model reads none
    say(
        f"Compacted {what}: {count(stats.messages_before, 'message')} became "
        f"{stats.messages_after}, {count(stats.tokens_before, 'token')} became {stats.tokens_after:,} "
        f"({answered_by(outcome)}{prompt})."
    )
    for warning in outcome.warnings:
        if outcome.method != "offline" or warning.code != "prompt_fallback":
            say(as_called(f"warning: {warning.message}"))


def undo_command(place: str, args: argparse.Namespace, settings: Settings) -> str:
    """The command that takes a compaction back, for a shell; `place` is what names the chat."""
    elsewhere = args.settings is not None and settings.data_dir is not None
    return command_line("sessions", "undo", *(["--settings", args.settings] if elsewhere else []), name=place)


def _what_to_do(error: LithifyError) -> str:
    if error.may_have_written:
        return str(error)
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


def _model(text: str) -> str:
    if not text:
        raise argparse.ArgumentTypeError("the name is empty; name a model, or 'offline'")
    return text
