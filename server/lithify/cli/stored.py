"""What the commands share that look into the data folder: their options, the folder, the project, and their errors."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from lithify.cli.output import command_line, fail, usage

if TYPE_CHECKING:
    from lithify.core.projects import Project
    from lithify.storage.store import Store

MOST_ROWS = 1_000_000

Value = TypeVar("Value")


class BadCall(Exception):
    """A call that does not fit: one line that says what to do."""


def add_data_dir(parser: argparse.ArgumentParser) -> None:
    """Adds `--data-dir`."""
    parser.add_argument(
        "--data-dir",
        metavar="DIR",
        help="the data folder to look into (default: LITHIFY_DATA_DIR, else the platform's)",
    )


def command_here(args: argparse.Namespace, *words: str) -> str:
    """A command on the project and the data folder of this call, for a shell."""
    project = [] if args.project is None else ["--project", args.project]
    folder = [] if args.data_dir is None else ["--data-dir", args.data_dir]
    return command_line(*words, *project, *folder)


def to_record(args: argparse.Namespace) -> list[str]:
    """How something is recorded, line by line: the next step where nothing is."""
    return [
        "An editor that runs Lithify records by itself (docs/EDITORS.md). To record an old chat:",
        f"    {command_here(args, 'record')} FILE",
    ]


def add_limit(parser: argparse.ArgumentParser, what: str, default: int | None) -> None:
    """Adds `--limit`."""
    shown = "all" if default is None else str(default)
    parser.add_argument("--limit", type=_limit, default=default, metavar="N", help=f"{what} at most (default: {shown})")


def answered(work: Callable[[], int]) -> int:
    """Does the work of a command; what it stumbles over is one line, and an exit code."""
    from lithify.core.outcomes import LithifyError
    from lithify.storage.reading import Unusable

    try:
        return work()
    except Unusable as error:
        return fail(_visible(error))
    except BadCall as error:
        return usage(_visible(error))
    except LithifyError as error:
        return (fail if error.type == "storage_failed" else usage)(_visible(error))


def sweep() -> None:
    """Takes away what servers and commands that were killed have left of sessions, wherever that lies."""
    from lithify.storage.paths import data_dir
    from lithify.storage.unfinished import Unfinished

    with suppress(RuntimeError):  # nobody has said where the home folder is
        Unfinished(data_dir(None, os.environ)).sweep()


def data_folder(args: argparse.Namespace) -> Path:
    """The data folder; it need not be there. Raises BadCall."""
    from lithify.storage.paths import data_dir

    try:
        return data_dir(args.data_dir, os.environ)
    except RuntimeError as error:
        raise BadCall(f"the data folder cannot be told: {error}; give its whole path with --data-dir") from error


def read(folder: Path, look: Callable[[Store], Value]) -> Value | None:
    """What `look` finds in the store of a data folder; None where nothing was recorded yet. Raises Unusable."""
    from lithify.storage.reading import read_store

    return read_store(folder, look)


def find_project(named: str | None, folder: Path) -> Project:
    """The project of a path, else of the working folder, as the data folder knows it.

    An editor that was opened on a part of a repository looks no higher than that: so a root that something was recorded
    for, at or above the path, comes before the root of the repository. Raises BadCall, or LithifyError for what no path
    can be.
    """
    from lithify.core.events import project_id_of
    from lithify.core.projects import Project
    from lithify.storage import projects
    from lithify.storage.paths import buffer_folder

    try:
        home = str(Path.home())
        path = os.getcwd() if named is None else os.path.abspath(os.path.expanduser(projects.path_of(named)))
    except RuntimeError as error:
        raise BadCall(f"the home folder cannot be told: {error}; set HOME") from error
    except OSError as error:
        raise BadCall(f"the working folder cannot be told ({error.strerror}); go to one that is there") from error
    whole = projects.find_project(path, (), home)
    root = os.path.realpath(path)
    while not _holds(root, os.path.realpath(home)):
        project = Project(project_id_of(root), root)
        if os.path.isdir(buffer_folder(folder, project.project_id)):
            return project
        if any(os.path.exists(os.path.join(root, marker)) for marker in projects.MARKERS):
            break
        root = os.path.dirname(root)
    return whole


def _holds(folder: str, path: str) -> bool:
    return os.path.commonpath([folder, path]) == folder


def _visible(error: Exception) -> str:
    from lithify.cli.visible_text import visible

    return visible(str(error))


def _limit(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(MOST_ROWS)) and 0 < int(text) <= MOST_ROWS):
        raise argparse.ArgumentTypeError(f"{text[:40]!a} is not a number from 1 to {MOST_ROWS}")
    return int(text)
