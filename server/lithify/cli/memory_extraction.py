"""`lithify memory extract`: makes memory of what waits in a project's buffer, now."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from lithify.cli.compacting import OFFLINE, add_model, nobody_has, settings_of
from lithify.cli.doctor_report import counted
from lithify.cli.output import fail, print_text, progress, say, usage
from lithify.cli.stored import add_data_dir, command_here, data_folder, find_project, to_record

if TYPE_CHECKING:
    from lithify.core.pipeline import Extraction
    from lithify.core.projects import Project
    from lithify.core.settings import Settings

CLOSING_SECONDS = 10.0

DESCRIPTION = """Makes memory records of all that was recorded of a project and waits in its buffer. Without --settings
the offline model makes them, of words that were said, and nothing leaves this machine. What became memory leaves the
buffer, so it is made into records once."""


def add_extract(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds `memory extract`."""
    parser = actions.add_parser("extract", help="make memory of what was recorded, now", description=DESCRIPTION)
    parser.add_argument("--project", metavar="DIR", help="the project of this path (default: of the working folder)")
    add_model(parser)
    parser.add_argument("--json", action="store_true", help="answer as JSON")
    add_data_dir(parser)
    parser.set_defaults(act=_extract)


def _extract(args: argparse.Namespace) -> int:
    import asyncio

    from lithify.cli.model_settings import BadSettings, models_of
    from lithify.storage.reading import has_store

    if (why := nobody_has(args)) is not None:
        return usage(why)
    try:
        settings = settings_of(args)
        models_of(settings)
    except BadSettings as error:
        return usage(str(error))
    args.data_dir = args.data_dir or settings.data_dir
    folder = data_folder(args)
    project = find_project(args.project, folder)
    if not has_store(folder):
        from lithify.core.pipeline import Extraction

        return _tell(Extraction(0, 0, 0), project, args)
    with progress("Making memory ..."):
        done = asyncio.run(_extracted(project, folder, settings))
    return _tell(done, project, args)


async def _extracted(project: Project, folder: Path, settings: Settings) -> Extraction:
    """One extraction, as an editor's command starts it. Raises LithifyError."""
    import asyncio

    from lithify.assembly import hour_ago, new_id, now, now_ms
    from lithify.llm import choice
    from lithify.prompt_files.templates import find_template
    from lithify.storage.store import open_store
    from lithify.workers.extraction import Extractor
    from lithify.workers.model_use import ModelUse
    from lithify.workers.storage_thread import StorageThread

    models = choice.Models(None, os.environ)
    storage: StorageThread[None, None] = StorageThread(lambda: open_store(folder, now), lambda _, items: [*items])
    use = ModelUse(storage.run, lambda: settings, lambda: models.choose(settings.model), now, hour_ago)
    extractor = Extractor(
        use, lambda: settings, lambda: find_template("extraction"), new_id, now_ms, asyncio.sleep, lambda _: None
    )
    try:
        return await extractor.run(project, by_user=True)
    finally:
        await asyncio.to_thread(storage.close, CLOSING_SECONDS)


def _tell(done: Extraction, project: Project, args: argparse.Namespace) -> int:
    if args.json:
        _print_json(done)
        return 0 if done.problem is None else 1
    events = counted(done.extracted, "event")
    if done.extracted:
        by = "" if done.answerer is None else f" ({done.answerer.in_words})"
        say(f"Made {counted(done.records, 'memory record')} of {events} of {project.root}{by}.")
    if done.problem is not None:
        left = f"{counted(done.remaining, 'event')} still {'waits' if done.remaining == 1 else 'wait'}"
        return fail(f"{left} to become memory: {done.problem}")
    if not done.extracted:
        print_text("\n".join([f"Nothing of {project.root} waits to become memory.", *to_record(args)]), to_error=True)
        return 0
    if done.method == OFFLINE:
        say("The offline model only picks words that were said; one that --settings names writes better records.")
    if done.records:
        say(f"To see them: {command_here(args, 'memory', 'list')}")
    return 0


def _print_json(done: Extraction) -> None:
    from lithify.cli.stored_text import print_json

    shown = {"extracted": done.extracted, "records": done.records, "remaining": done.remaining}
    method = {} if done.method is None else {"method": done.method}
    print_json(shown | method | ({} if done.problem is None else {"problem": done.problem}))
