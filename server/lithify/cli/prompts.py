"""`lithify prompts`: fetches the exact conversation prompt, and lists the prompts at hand."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lithify.cli.output import as_called, fail, print_text, progress, say

if TYPE_CHECKING:
    from lithify.prompt_files.templates import PromptListing

_COLUMNS = ("name", "source", "state", "in use", "place")


def add_parser(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Adds `prompts fetch` and `prompts list` to the command line."""
    parser = subparsers.add_parser("prompts", help="fetch and list the prompts that models are given")
    actions = parser.add_subparsers(dest="prompts_action", metavar="ACTION", required=True)
    actions.add_parser(
        "fetch",
        help="download kimi-cli's exact conversation prompt",
        description="Downloads the pinned kimi-cli release with pip, checks it, and keeps its conversation prompt in "
        "your user data folder. Does nothing when a sound copy is there.",
    )
    actions.add_parser("list", help="show each prompt, where it lies and whether it is sound")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Runs the action asked for; 0 when it was done, 1 when it failed."""
    return _fetch() if args.prompts_action == "fetch" else _list()


def _fetch() -> int:
    from lithify.prompt_files.fetch import AlreadyKept, Fetched, FetchFailed, fetch_kimi_prompt
    from lithify.prompt_files.pins import kimi_pin
    from lithify.prompt_files.templates import user_prompts_dir

    label = kimi_pin().label
    with progress(f"Downloading {label} ..."):
        outcome = fetch_kimi_prompt(user_prompts_dir())
    match outcome:
        case Fetched(folder, replaced_damaged):
            instead = ", in place of a damaged copy" if replaced_damaged else ""
            print_text(f"Fetched the exact conversation prompt of {label} into {folder}{instead}.")
        case AlreadyKept(folder):
            print_text(f"The exact conversation prompt of {label} is already in {folder}.")
        case FetchFailed(message=message):
            return fail(message)
    return 0


def _list() -> int:
    from lithify.prompt_files.templates import find_conversation_prompt, list_prompts, user_prompts_dir

    prompts_dir = user_prompts_dir()
    _print_columns([_cells(listing) for listing in list_prompts(prompts_dir)])
    problem = find_conversation_prompt(prompts_dir).problem
    if problem:
        say(as_called(f"lithify: {problem}"))
    return 0


def _cells(listing: PromptListing) -> tuple[str, ...]:
    return (listing.name, listing.source, listing.state, "yes" if listing.in_use else "no", str(listing.place))


def _print_columns(rows: Sequence[tuple[str, ...]]) -> None:
    """A table on a terminal; in a pipe plain columns, two blanks or more apart, the place last."""
    if sys.stdout.isatty():
        from rich.table import Table

        from lithify.cli.console import console

        table = Table(box=None, pad_edge=False, header_style="bold")
        for column in _COLUMNS:
            table.add_column(column, overflow="fold", no_wrap=column != "place")
        for row in rows:
            table.add_row(*row)
        console().print(table)
        return
    lines = [_COLUMNS, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(_COLUMNS))]
    for line in lines:
        print_text("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
