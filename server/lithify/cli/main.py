"""The `lithify` command: finds the command that was asked for and runs it."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NoReturn

from lithify import __version__
from lithify.cli.output import FAILURE, INTERRUPTED, USAGE, Told, as_called, drop_output, fail, say
from lithify.cli.visible_text import visible

COMMANDS = (
    "serve",
    "compact",
    "sessions",
    "record",
    "memory",
    "buffer",
    "ledger",
    "demo",
    "doctor",
    "agents",
    "prompts",
)
"""In the order of the help; each is the module of that name beside this one."""


class _Parser(argparse.ArgumentParser):
    """Takes options by their whole names alone, and shows its help where nothing at all was asked of it."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{"allow_abbrev": False, **settings})

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Refuses what it does not know by itself: the parser above would point to the help above."""
        if self._subparsers is not None and not (sys.argv[1:] if args is None else args):
            self.print_help(sys.stderr)
            self.exit(USAGE)
        known, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return known, unknown

    def error(self, message: str) -> NoReturn:
        """One line that says what to do, instead of the whole usage."""
        see = as_called(f"see '{self.prog} --help'")
        say(f"{self.prog}: {visible(message)}; {see}")
        self.exit(USAGE)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; the exit code: 0, 1 for a failure, 2 for a call that does not fit."""
    arguments = sys.argv[1:] if argv is None else argv
    args = _parser(arguments[:1]).parse_args(arguments)
    logging.lastResort = Told(logging.WARNING)
    try:
        code = int(args.run(args))
        if sys.stdout is not None:
            sys.stdout.flush()
    except KeyboardInterrupt:
        return _interrupted()
    except OSError as error:
        if error.filename is not None:
            raise
        drop_output()
        if isinstance(error, BrokenPipeError):
            return FAILURE  # whoever read has seen enough
        return fail(f"the output cannot be written ({error.strerror or error}); send it somewhere else")
    return code


def _parser(called: Sequence[str]) -> argparse.ArgumentParser:
    """Knows the command that is called, and all where none is: only their help and their errors need each other."""
    parser = _Parser(
        prog="lithify", description="Compacts AI coding conversations, and keeps what the work taught, in any editor."
    )
    parser.add_argument("--version", action="version", version=f"lithify {__version__}")
    subparsers = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=_Parser)
    for command in called if set(called) & set(COMMANDS) else COMMANDS:
        import_module(f"lithify.cli.{command}").add_parser(subparsers)
    return parser


def _interrupted() -> int:
    say("lithify: interrupted")
    return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
