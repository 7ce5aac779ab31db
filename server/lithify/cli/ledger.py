"""`lithify ledger`: what left the machine, when, to whom and for what."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lithify.cli.doctor_report import as_bytes, counted
from lithify.cli.stored import add_data_dir, add_limit, answered, data_folder, read

if TYPE_CHECKING:
    from rich.text import Text

    from lithify.core.model_calls import ModelCall
    from lithify.core.settings import Background
    from lithify.storage.store import Store

OFFLINE = "offline"
HEADER = ("TIME", "PURPOSE", "ASKED BY", "SENT TO", "MODEL", "SIZE", "TOKENS", "OUTCOME")
RIGHT = frozenset({"SIZE", "TOKENS"})

_SENT_TO = {OFFLINE: "nobody", "editor": "the editor", "acp": "the agent", "http": "an endpoint"}
"""Where the text of a call went that names no host."""


@dataclass(frozen=True, slots=True)
class _Ledger:
    """The newest calls, one more than asked for where there are more; whether any left the machine; the last hour."""

    calls: list[ModelCall]
    any_left: bool
    background_calls: int
    background_tokens: int


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the command."""
    parser = subparsers.add_parser(
        "ledger",
        help="show what left the machine: every call of a model",
        description="Lists the calls of models, the newest first: to whom how much was sent, for what, who asked for "
        "it, and what came of it. The texts are not kept. The offline model sends nothing to anybody; what it did for "
        "'lithify compact' is not listed.",
    )
    add_limit(parser, "calls", 20)
    parser.add_argument("--json", action="store_true", help="answer as JSON")
    add_data_dir(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Shows the ledger; 0, or 1 where it cannot be read."""
    return answered(lambda: _show(args))


def _show(args: argparse.Namespace) -> int:
    from lithify.assembly import hour_ago
    from lithify.cli.stored_text import print_lines
    from lithify.core.settings import Background

    def look(store: Store) -> _Ledger:
        left = store.model_calls(1, without_provider=OFFLINE)
        return _Ledger(store.model_calls(args.limit + 1), bool(left), *store.model_use_since(hour_ago()))

    found = read(data_folder(args), look) or _Ledger([], False, 0, 0)
    calls, budget = found.calls[: args.limit], Background()
    if args.json:
        _print_json(calls, found, budget)
        return 0
    if not calls:
        print_lines(["Nothing ever left this machine: no call of a model is listed."])
        return 0
    _print_calls(calls)
    more = "" if len(found.calls) <= args.limit else f" Shown: the last {args.limit}; for more: --limit."
    print_lines(["", *_conclusion(found, budget, more)])
    return 0


def _print_calls(calls: Sequence[ModelCall]) -> None:
    from lithify.cli.stored_text import columns, on_terminal, print_lines, print_table, table_columns

    rows = [_cells(call) for call in calls]
    if on_terminal() and table_columns(HEADER, rows) > columns():
        print_lines([line for row in rows for line in _narrow(row)])
    else:
        print_table(HEADER, rows, RIGHT)


def _cells(call: ModelCall) -> tuple[str, ...]:
    from lithify.cli.stored_text import local_time
    from lithify.cli.visible_text import visible

    return (
        local_time(call.at),
        visible(call.purpose),
        "you" if call.user_initiated else "background",
        visible(call.host or _SENT_TO.get(call.provider, "unknown")),
        visible(call.provider if call.model in (None, call.provider) else f"{call.provider}: {call.model}"),
        as_bytes(call.size_bytes),
        f"{call.tokens:,}",
        visible(call.outcome),
    )


def _narrow(row: Sequence[str]) -> list[str | Text]:
    """A call on two lines, for a terminal that is too narrow for the table."""
    from rich.text import Text

    time, purpose, asked_by, sent_to, model, size, tokens, outcome = row
    first = Text.assemble((time, "bold"), f"  {purpose}, asked by {asked_by}: {outcome}")
    return [first, Text(f"    sent to {sent_to} ({model}): {size}, {tokens} tokens", "dim")]


def _conclusion(found: _Ledger, budget: Background, more: str) -> list[str]:
    lines = []
    if not found.any_left:
        lines.append("Nothing ever left this machine: only its own offline model was asked.")
    used = (
        f"{counted(found.background_calls, 'background call')} of {budget.max_model_calls_per_hour:,}, "
        f"{found.background_tokens:,} tokens of {budget.max_tokens_per_hour:,}"
    )
    return [*lines, f"Last hour: {used} (the default budget).{more}"]


def _print_json(calls: Sequence[ModelCall], found: _Ledger, budget: Background) -> None:
    from lithify.cli.stored_text import print_json

    shown = [
        {
            "at": call.at,
            "purpose": call.purpose,
            "provider": call.provider,
            "model": call.model,
            "host": call.host,
            "bytes": call.size_bytes,
            "tokens": call.tokens,
            "userInitiated": call.user_initiated,
            "outcome": call.outcome,
        }
        for call in calls
    ]
    hour = {
        "modelCalls": found.background_calls,
        "maxModelCalls": budget.max_model_calls_per_hour,
        "tokens": found.background_tokens,
        "maxTokens": budget.max_tokens_per_hour,
    }
    print_json({"calls": shown, "anyLeft": found.any_left, "backgroundLastHour": hour})
