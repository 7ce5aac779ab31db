"""The `lithify` command: finds the command that was asked for and runs it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import NoReturn

from lithify import __version__
from lithify.cli import compact, demo, doctor, prompts, serve
from lithify.cli.output import FAILURE, USAGE

COMMANDS = (serve, compact, demo, doctor, prompts)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """One line that says what to do, instead of the whole usage."""
        self.exit(USAGE, f"{self.prog}: {message}; see '{self.prog} --help'\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; the exit code: 0, 1 for a failure, 2 for a call that does not fit."""
    parser = _Parser(
        prog="lithify", description="Compacts AI coding conversations, and keeps what the work taught, in any editor."
    )
    parser.add_argument("--version", action="version", version=f"lithify {__version__}")
    subparsers = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=_Parser)
    for command in COMMANDS:
        command.add_parser(subparsers)
    args = parser.parse_args(argv)
    try:
        return int(args.run(args))
    except KeyboardInterrupt:
        print("lithify: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        return FAILURE


if __name__ == "__main__":
    sys.exit(main())
