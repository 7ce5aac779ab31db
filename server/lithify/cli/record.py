"""`lithify record`: feeds old chats into the memory of a project, after saying what that will cost."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lithify.cli.doctor_report import counted
from lithify.cli.output import fail, say, usage
from lithify.cli.stored import add_data_dir, answered, data_folder, find_project

if TYPE_CHECKING:
    from lithify.core.events import EventResult, NewEvent
    from lithify.core.projects import Project

SURFACE = "lithify record"
BATCH = 200

_DESCRIPTION = """Records what was said in old chats, in any format that 'lithify compact' reads, as events of a
project: scrubbed, stored, and put into its buffer, where the next editor that runs Lithify makes memory of them. What
was recorded before, from a file that has grown or was moved, is not recorded again."""


@dataclass(frozen=True, slots=True)
class _Chat:
    """What one file says: its events, and the tokens a model will be shown of them."""

    title: str
    events: list[NewEvent]
    tokens: int


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the command."""
    parser = subparsers.add_parser("record", help="make memory of old chats", description=_DESCRIPTION)
    parser.add_argument("files", nargs="+", metavar="FILE", help="a chat file")
    parser.add_argument("--tools", action="store_true", help="record tool calls with their results too")
    parser.add_argument("--project", metavar="DIR", help="the project they belong to (default: the working folder's)")
    parser.add_argument("--yes", action="store_true", help="record without asking")
    add_data_dir(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Records the files; 0, 1 where one cannot be read or nothing can be stored, 2 for a call that does not fit."""
    return answered(lambda: _record(args))


def _record(args: argparse.Namespace) -> int:
    from lithify.cli.chat_file import ChatFileError

    project = find_project(args.project, data_folder(args))
    try:
        chats = [_read(name, project, tools=args.tools) for name in args.files]
    except ChatFileError as error:
        return fail(f"{error}; nothing was recorded")
    events = [event for chat in chats for event in chat.events]
    if not events:
        say("Nothing is said in these files that would become memory.")
        return 0
    _tell_cost(chats, project)
    if not args.yes and not sys.stdin.isatty():
        return usage("nothing was recorded; say --yes to record without being asked")
    if not args.yes and input("Record them? [y/N] ").strip().lower() not in ("y", "yes"):
        return fail("nothing was recorded")
    return _tell_results(_stored(events, args, project))


def _read(name: str, project: Project, *, tools: bool) -> _Chat:
    """What a chat file says. Raises ChatFileError."""
    from datetime import UTC, datetime

    from lithify.assembly import actor_id
    from lithify.cli.chat_file import read_chat_file
    from lithify.core.events import EventSource, NewEvent, storable_json
    from lithify.core.messages import tokens_of_bytes, utf8_length
    from lithify.core.utterances import event_id_of, utterances

    chat = read_chat_file(name, None)
    changed_at = datetime.now(UTC).timestamp() if chat.path is None else chat.path.stat().st_mtime
    at = datetime.fromtimestamp(changed_at, UTC).isoformat(timespec="milliseconds")
    source = EventSource(surface=SURFACE, project_path=project.root)
    said = list(utterances(chat.transcript.conversation, tools=tools))
    events = [
        NewEvent(
            event_id=event_id_of(project.project_id, one),
            session_id=chat.title[-128:],
            actor_id=actor_id(),
            kind=one.kind,
            body=one.body,
            valid_time=at,
            surface=SURFACE,
            source=source,
            id_given=True,
        )
        for one in said
    ]
    return _Chat(chat.title, events, sum(tokens_of_bytes(utf8_length(storable_json(one.body))) for one in said))


def _tell_cost(chats: Sequence[_Chat], project: Project) -> None:
    from lithify.cli.stored_text import root_of, visible
    from lithify.workers.extraction import BATCH_TOKENS

    for chat in chats:
        say(f"{visible(chat.title)}: {counted(len(chat.events), 'event')}, {chat.tokens:,} tokens")
    tokens = sum(chat.tokens for chat in chats)
    calls = counted(-(-tokens // BATCH_TOKENS), "model call")
    say(f"Making memory of them takes about {calls} ({tokens:,} tokens). The project: {root_of(project)}")


def _stored(events: Sequence[NewEvent], args: argparse.Namespace, project: Project) -> list[EventResult]:
    from lithify.assembly import now
    from lithify.core.settings import Settings
    from lithify.storage.store import open_store
    from lithify.workers.ingestion import EventBatch, Ingestion

    settings = Settings()
    store = open_store(data_folder(args), now)
    try:
        ingestion = Ingestion(lambda: settings, lambda _: project, lambda _: None)
        batches = [events[start : start + BATCH] for start in range(0, len(events), BATCH)]
        return [result for batch in batches for result in ingestion.handle(store, [EventBatch(batch, asked=True)])[0]]
    finally:
        store.close()


def _tell_results(results: Sequence[EventResult]) -> int:
    kinds = Counter(one.status for one in results)
    recorded = kinds["buffered"] + kinds["stored"]
    say(f"Recorded {counted(recorded, 'event')}; {kinds['duplicate']:,} were known already.")
    for reason, number in Counter(one.reason for one in results if one.status == "rejected").items():
        say(f"Not recorded: {counted(number, 'event')}, {reason}")
    if recorded:
        say("The next editor that runs Lithify makes memory of them.")
    return 0
