"""`lithify compact`: compacts a chat file, or what a pipe brings, without any editor."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from lithify.cli.output import fail, usage

if TYPE_CHECKING:
    from lithify.cli.chat_file import ChatFile
    from lithify.core.agents import CompactionOptions
    from lithify.core.compaction_results import Preview, Summarised
    from lithify.core.conversation import Noop
    from lithify.workers.conversation import Workshop

FORMAT_NAMES = ("kimi-context", "openai-json", "openai-jsonl")
STANDARD_STREAM = "-"

_DESCRIPTION = """Replaces the older part of a conversation by a summary and leaves the rest as it is. Prints the
summary, unless --output or --in-place asks for the whole file. The file is read as it is on the disk, and nothing is
written but what these two options name."""

_EPILOG = """When there is nothing to compact, a file is left alone and no new one is written, and '--output -' passes
the conversation on as it came. A leading system message counts as a message and always stays. Exit code: 0 also when
there was nothing to do, 1 for a failure, 2 for a call that does not fit."""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the command."""
    parser = subparsers.add_parser(
        "compact", help="compact a chat file or a pipe", description=_DESCRIPTION, epilog=_EPILOG
    )
    parser.add_argument("file", metavar="FILE", help="the chat file; - reads standard input")
    part = parser.add_mutually_exclusive_group()
    part.add_argument("--up-to", type=_positive, metavar="N", help="compact the first N messages")
    part.add_argument(
        "--preserve",
        type=_not_negative,
        default=2,
        metavar="N",
        help="compact all but the last N user and assistant messages (default 2)",
    )
    parser.add_argument("--instructions", default="", metavar="TEXT", help="what the summary should give weight to")
    parser.add_argument("--model", type=_offline, default="offline", help="which model writes it: offline")
    parser.add_argument("--format", choices=FORMAT_NAMES, help="read the file as this, whatever it looks like")
    result = parser.add_mutually_exclusive_group()
    result.add_argument("--dry-run", action="store_true", help="show what a model would be sent, and ask none")
    result.add_argument(
        "--output", metavar="FILE", help="write the whole compacted conversation to a new file; - is standard output"
    )
    result.add_argument("--in-place", action="store_true", help="rewrite the file and leave a backup beside it")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Compacts what was named; the exit code."""
    from lithify.cli.chat_file import ChatFileError
    from lithify.core.outcomes import LithifyError

    if args.file == STANDARD_STREAM and args.in_place:
        return usage("standard input cannot be rewritten in place; name a file, or use '--output -'")
    try:
        return _compact(args)
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
    if args.dry_run:
        return _preview(chat, args)
    outcome = _summarise(chat, _options(args), _workshop())
    if isinstance(outcome, Noop):
        return _tell_noop(chat, outcome, args)
    _deliver(chat, outcome, args)
    return 0


def _options(args: argparse.Namespace) -> CompactionOptions:
    from lithify.core.agents import CompactionOptions, request_settings

    return CompactionOptions(
        start=None,
        end=None,
        up_to=None if args.up_to is None else args.up_to - 1,
        max_preserved_messages=args.preserve,
        exact=False,
        instructions=args.instructions,
        prompt=None,
        model=None,
        settings=request_settings(None, {}),
    )


def _workshop() -> Workshop:
    from lithify.core.settings import Conversation
    from lithify.prompt_files.templates import find_conversation_prompt, user_prompts_dir
    from lithify.workers.conversation import Workshop, ask_directly

    return Workshop(find_conversation_prompt(user_prompts_dir()), Conversation(), ask_directly)


def _summarise(chat: ChatFile, options: CompactionOptions, workshop: Workshop) -> Summarised | Noop:
    import asyncio

    from lithify.llm.offline import OfflineModel
    from lithify.workers.conversation import summarise

    with _progress(f"Compacting {chat.title} ...") as progress:
        return asyncio.run(summarise(chat.transcript.conversation, options, workshop, OfflineModel(), progress))


def _preview(chat: ChatFile, args: argparse.Namespace) -> int:
    from lithify.core.conversation import Noop
    from lithify.workers.conversation import preview

    found = preview(chat.transcript.conversation, _options(args), _workshop())
    if isinstance(found, Noop):
        return _tell_noop(chat, found, args)
    _print_request(found)
    stats = found.stats
    requests = _count(found.requests, "request")
    _say(f"Would compact {_span(found.plan.range.end)} of {stats.messages_before} in {requests}; no model was asked.")
    _say(
        f"{stats.tokens_before:,} tokens would become {stats.tokens_after:,} or fewer, estimated for the offline model."
    )
    return 0


def _print_request(found: Preview) -> None:
    first = "" if found.requests == 1 else f" 1 of {found.requests}"
    _print(f"=== system prompt of request{first} ===\n{found.request.system_prompt}")
    _print(f"=== message of request{first} ===\n{''.join(found.request.parts)}")


def _deliver(chat: ChatFile, outcome: Summarised, args: argparse.Namespace) -> None:
    """Hands the result on, then says on standard error what became of the conversation."""
    from lithify.cli.chat_file import rewrite, write_output

    wrote = None
    if args.in_place:
        backup = rewrite(chat, chat.compacted(outcome))
        wrote = f"Rewrote {chat.title}; what it held before is in {backup.name}."
    elif args.output == STANDARD_STREAM:
        _write_bytes(chat.compacted(outcome))
    elif args.output is not None:
        write_output(args.output, chat.compacted(outcome))
        wrote = f"Wrote {args.output}."
    else:
        _print(_answer(outcome))
    _tell(outcome)
    if wrote is not None:
        _say(wrote)
    if args.in_place and chat.rotates:
        _say("kimi-cli sees the change when it next opens this session; one that is running keeps its own history.")


def _answer(outcome: Summarised) -> str:
    """The summary as the model wrote it, without the line that marks it in a conversation."""
    from lithify.core.kimi import OUTPUT_PREFIX
    from lithify.core.messages import text_of

    return text_of(outcome.summary).removeprefix(OUTPUT_PREFIX).removeprefix("\n")


def _tell(outcome: Summarised) -> None:
    stats = outcome.stats
    _say(
        f"Compacted {_span(outcome.plan.range.end)}: {stats.messages_before} messages became {stats.messages_after}, "
        f"{stats.tokens_before:,} tokens became {stats.tokens_after:,} "
        f"(method {outcome.method}, prompt {outcome.prompt_source})."
    )
    for warning in outcome.warnings:
        _say(f"warning: {warning.message}")


_NOOPS = {
    "empty": "there are no messages",
    "preserve_none": "--preserve 0 keeps no tail and compacts nothing; use --up-to to compact everything",
    "too_few_messages": "it holds no more user and assistant messages than are preserved; see --preserve",
    "nothing_before_tail": "nothing comes before the messages that are preserved; see --preserve",
    "system_only": "only system messages come before the messages that are preserved",
}


def _tell_noop(chat: ChatFile, noop: Noop, args: argparse.Namespace) -> int:
    passed_on = args.output == STANDARD_STREAM
    if passed_on:
        _write_bytes(chat.data)
    left = "passed on as it came" if passed_on else "nothing was written" if args.output else "left as it is"
    _say(f"Nothing to compact in {chat.title}, {left}: {_NOOPS[noop.reason]}.")
    return 0


def _say_problems(chat: ChatFile) -> None:
    problems = chat.transcript.problems
    for problem in problems[:3]:
        _say(f"warning: line {problem.line + 1} of {chat.title}: {problem.message}")
    if len(problems) > 3:
        _say(f"warning: and {len(problems) - 3} more places like these")


def _span(end: int) -> str:
    return "message 1" if end == 1 else f"messages 1 to {end}"


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"


def _what_to_do(error: Exception) -> str:
    return f"{error} Nothing was written." if str(error).endswith(".") else f"{error}; nothing was written"


def _say(message: str) -> None:
    _print(message, to_error=True)


def _print(text: str, *, to_error: bool = False) -> None:
    """Prints whatever the text holds: what the stream cannot show is escaped."""
    stream = sys.stderr if to_error else sys.stdout
    encoding = stream.encoding or "utf-8"
    print(text.encode(encoding, "backslashreplace").decode(encoding), file=stream)


def _write_bytes(data: bytes) -> None:
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


@contextmanager
def _progress(text: str) -> Iterator[Callable[[str], None]]:
    """A spinner on a terminal's standard error, nothing in a pipe."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _: None
        return
    with console.status(text) as status:
        yield lambda step: status.update(f"{text} {step}")


def _positive(text: str) -> int:
    number = _not_negative(text)
    if number == 0:
        raise argparse.ArgumentTypeError("0 messages are nothing to compact; give 1 or more")
    return number


def _not_negative(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of messages")
    return int(text)


def _offline(text: str) -> str:
    if text != "offline":
        raise argparse.ArgumentTypeError(f"{text!r} is not there: this version's command line has only 'offline'")
    return text
