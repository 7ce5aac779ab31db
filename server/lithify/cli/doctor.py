"""`lithify doctor`: what works on this machine, and what to do where it does not."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from lithify.cli.model_settings import add_settings

if TYPE_CHECKING:
    from lithify.cli.doctor_report import Check


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the command."""
    parser = subparsers.add_parser(
        "doctor",
        help="show what works on this machine, and what to do where it does not",
        description="Looks at Python, models, the prompt, the data folder, its locks and SQLite. Changes nothing. "
        "Exit code 1 when something that Lithify needs does not work.",
    )
    parser.add_argument("--json", action="store_true", help="print the same as JSON")
    parser.add_argument(
        "--data-dir", metavar="DIR", help="the data folder to look at (default: LITHIFY_DATA_DIR, else the platform's)"
    )
    add_settings(parser, "settings (JSON, as an editor sends them) whose model is to be looked at too")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Looks at everything; 0 when all that is needed works, else 1."""
    from lithify.cli.doctor_report import needed_works
    from lithify.cli.output import FAILURE, drop_output, fail, usage

    try:
        checks = _checks(args.data_dir, args.settings)
    except RuntimeError as error:
        return usage(f"the data folder cannot be told: {error}; give its whole path with --data-dir")
    try:
        _show(checks, as_json=args.json)
    except OSError as error:
        drop_output()
        if isinstance(error, BrokenPipeError):
            return FAILURE
        return fail(f"the findings cannot be written: {error}; write them to a place that has room")
    return 0 if needed_works(checks) else FAILURE


def _show(checks: list[Check], *, as_json: bool) -> None:
    from lithify.cli import doctor_report
    from lithify.cli.output import print_text

    if sys.stdout is None:
        return
    if as_json:
        print_text(doctor_report.as_json(checks))
    elif sys.stdout.isatty():
        doctor_report.print_table(checks)
    else:
        print_text("\n".join(doctor_report.as_lines(checks)))
    sys.stdout.flush()


def _data_dir_of(settings_file: str | None) -> str | None:
    """The data folder that settings name; settings that cannot be read have a check of their own."""
    from lithify.cli.model_settings import BadSettings, read_settings_file

    if settings_file is None:
        return None
    try:
        return read_settings_file(settings_file).data_dir
    except BadSettings:
        return None


def _checks(data_dir: str | None, settings_file: str | None) -> list[Check]:
    from lithify.cli import doctor_disk, doctor_folder, doctor_machine, doctor_models
    from lithify.cli.doctor_report import checked
    from lithify.storage.paths import data_dir as find_data_dir

    folder = find_data_dir(data_dir or _data_dir_of(settings_file), os.environ)
    return [
        *checked("Python", doctor_machine.look_at_versions),
        *checked("Command", doctor_machine.look_at_command),
        *checked("Models", lambda: doctor_models.look_at_models(settings_file, os.environ)),
        *checked("Agents at work", lambda: doctor_models.look_at_runs(os.environ)),
        *checked("Prompt", doctor_machine.look_at_prompt),
        *checked("SQLite", doctor_machine.look_at_sqlite),
        *checked("Data folder", lambda: doctor_folder.look_at_folder(folder)),
        *checked("Database", lambda: doctor_folder.look_at_contents(folder)),
        *checked("Locks", lambda: doctor_disk.look_at_disk(folder)),
    ]
