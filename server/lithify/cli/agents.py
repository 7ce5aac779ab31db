"""`lithify agents`: sets up the agents that need files of ours in the user's home, when the user says so."""

from __future__ import annotations

import argparse
import os

from lithify.cli.output import as_called, fail, print_text

KIRO_MODEL = "claude-haiku-4.5"
"""The model that the agent files pin unless another is named."""

_DESCRIPTION = """Writes the two agent files that Kiro needs to answer for Lithify: a compactor and an extractor, with
no tools, no servers and a pinned model. Files that are there and differ are left alone without --force."""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds `agents setup`."""
    parser = subparsers.add_parser("agents", help="set up a coding agent that is to answer for Lithify")
    actions = parser.add_subparsers(dest="agents_action", metavar="ACTION", required=True)
    setup = actions.add_parser("setup", help="write the files that an agent needs", description=_DESCRIPTION)
    setup.add_argument("agent", choices=["kiro"], help="the agent; the others need no files, see 'lithify doctor'")
    setup.add_argument(
        "--model", default=KIRO_MODEL, metavar="NAME", help=f"the model to pin (default {KIRO_MODEL}); '' pins none"
    )
    setup.add_argument("--force", action="store_true", help="write files anew that differ")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Writes the files; 0 when all are as they should be, else 1."""
    from lithify.llm.acp.profiles.kiro import write_agent_files
    from lithify.llm.acp.profiles.user_files import home_folder

    try:
        outcomes = write_agent_files(home_folder(os.environ), args.model or None, force=args.force)
    except OSError as error:
        return fail(f"the agent files cannot be written: {error}; make the folder writable and try again")
    left = [one for one in outcomes if one.found == "changed" and not one.written]
    for one in outcomes:
        word = (
            "Wrote" if one.written else "Left alone, since it differs:" if one in left else "Already as it should be:"
        )
        print_text(f"{word} {one.path}")
    if left:
        return fail("files that differ were left alone; look at them, and use '--force' to write them anew")
    print_text(as_called('Now set model.acp.command to ["kiro-cli", "acp"]; \'lithify doctor\' says what is missing.'))
    return 0
