"""`lithify record`: feeds old chats into the memory of a project, after saying what that will cost."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lithify.cli.doctor_report import counted
from lithify.cli.output import agreed, asks_somebody, fail, say, usage
from lithify.cli.stored import add_data_dir, answered, command_here, data_folder, find_project, read

if TYPE_CHECKING:
    from lithify.core.events import EventResult, NewEvent
    from lithify.core.projects import Project

SURFACE = "lithify record"
BATCH = 200

_DESCRIPTION = """Records what was said in old chats, in any format that 'lithify compact' reads, as events of a
project: scrubbed, stored, and put into its buffer. 'lithify memory extract' makes memory of them, or the next editor
that runs Lithify does. What was recorded before, from a file that has grown or was moved, is not recorded again; a turn
that two chats of a project have in common, word for word, is recorded once."""


@dataclass(frozen=True, slots=True)
class _Chat:
    """What one file says: its events, each with the tokens that a model will be shown of it, and how many tool calls
    are left out."""

    title: str
    events: list[tuple[NewEvent, int]]
    left_out: int


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
    events = [event for chat in chats for event, _ in chat.events]
    if not events:
        left_out = any(chat.left_out for chat in chats)
        say(f"Nothing is said in these files that would become memory{'; --tools records tool calls' * left_out}.")
        return 0
    known = _known(events, args)
    if all(event.event_id in known for event in events):
        say(f"Nothing is new in these files: {counted(len(events), 'event')} were known already.")
        return 0
    _tell_cost(chats, known, project)
    if not args.yes and not asks_somebody():
        return usage("nothing was recorded; say --yes to record without being asked")
    if not args.yes and not agreed("Record them?"):
        return fail("nothing was recorded")
    return _tell_results(_stored(events, args, project), args)


def _read(name: str, project: Project, *, tools: bool) -> _Chat:
    """What a chat file says. Raises ChatFileError."""
    from datetime import UTC, datetime

    from lithify.assembly import actor_id
    from lithify.cli.chat_file import read_chat_file
    from lithify.core.events import EventSource, NewEvent
    from lithify.core.messages import tokens_of_bytes, utf8_length
    from lithify.core.stored_json import storable_json
    from lithify.core.utterances import event_id_of, utterances

    chat = read_chat_file(name, None)
    changed_at = datetime.now(UTC).timestamp() if chat.path is None else chat.path.stat().st_mtime
    at = datetime.fromtimestamp(changed_at, UTC).isoformat(timespec="milliseconds")
    source = EventSource(surface=SURFACE, project_path=project.root)
    everything = list(utterances(chat.transcript.conversation, tools=True))
    said = everything if tools else list(utterances(chat.transcript.conversation, tools=False))
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
    tokens = [tokens_of_bytes(utf8_length(storable_json(one.body))) for one in said]
    return _Chat(chat.title, list(zip(events, tokens, strict=True)), len(everything) - len(said))


def _known(events: Sequence[NewEvent], args: argparse.Namespace) -> set[str]:
    """The ids of those that were recorded before. None of an older Lithify's data folder, which recording brings up to
    date first."""
    from lithify.storage.reading import Unusable

    ids = [event.event_id for event in events]
    try:
        return read(data_folder(args), lambda store: store.events.known(ids)) or set()
    except Unusable:
        return set()


def _tell_cost(chats: Sequence[_Chat], known: set[str], project: Project) -> None:
    from lithify.workers.extraction import BATCH_TOKENS

    seen, tokens = set(known), 0
    for chat in chats:
        new = {event.event_id: size for event, size in reversed(chat.events) if event.event_id not in seen}
        seen.update(new)
        tokens += sum(new.values())
        others = len(chat.events) - len(new)
        told = f"; {others:,} more are known already" if others else ""
        say(f"{chat.title}: {counted(len(new), 'event')}, {sum(new.values()):,} tokens{told}")
    if left_out := sum(chat.left_out for chat in chats):
        say(f"{counted(left_out, 'tool call')} with their results are left out; --tools records them too.")
    calls = counted(-(-tokens // BATCH_TOKENS), "model call")
    say(f"Making memory of them takes about {calls} ({tokens:,} tokens). The project: {project.root}")


def _stored(events: Sequence[NewEvent], args: argparse.Namespace, project: Project) -> list[EventResult]:
    from lithify.assembly import now
    from lithify.core.settings import Settings
    from lithify.storage.reading import store_to_change
    from lithify.workers.ingestion import EventBatch, Ingestion

    settings = Settings()
    with store_to_change(data_folder(args), now) as store:
        ingestion = Ingestion(lambda: settings, lambda _: project, lambda _: None)
        batches = [events[start : start + BATCH] for start in range(0, len(events), BATCH)]
        return [result for batch in batches for result in ingestion.handle(store, [EventBatch(batch, asked=True)])[0]]


def _tell_results(results: Sequence[EventResult], args: argparse.Namespace) -> int:
    kinds = Counter(one.status for one in results)
    recorded = kinds["buffered"] + kinds["stored"]
    say(f"Recorded {counted(recorded, 'event')}; {kinds['duplicate']:,} were known already.")
    for reason, number in Counter(one.reason for one in results if one.status == "rejected").items():
        say(f"Not recorded: {counted(number, 'event')}, {reason}")
    say(f"To make memory of it now: {command_here(args, 'memory', 'extract')}")
    if recorded:
        say("Or leave it to the next editor that runs Lithify, and its model.")
    return 0
