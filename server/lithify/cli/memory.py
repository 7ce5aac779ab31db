"""`lithify memory`: makes, searches, lists, shows and forgets what was learned."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lithify.cli.doctor_report import counted
from lithify.cli.memory_extraction import add_extract
from lithify.cli.output import agreed, asks_somebody, fail, print_text, say
from lithify.cli.stored import (
    BadCall,
    add_data_dir,
    add_limit,
    answered,
    command_here,
    data_folder,
    find_project,
    read,
    to_record,
)
from lithify.cli.visible_text import escaped

if TYPE_CHECKING:
    from rich.text import Text

    from lithify.core.projects import Project
    from lithify.core.records import MemoryRecord
    from lithify.storage.store import Store

SUMMARY_CHARACTERS = 400
"""Of a summary, in the answer to a search."""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds `memory extract`, `search`, `list`, `show` and `forget`."""
    parser = subparsers.add_parser("memory", help="make, search, list, show and forget what was learned")
    actions = parser.add_subparsers(dest="memory_action", metavar="ACTION", required=True)
    add_extract(actions)

    search = actions.add_parser(
        "search",
        help="find records by their words, the best first",
        description="Finds memory records that hold words of the query, the best first.",
    )
    search.add_argument("query", metavar="QUERY", nargs="+", help="words to look for")
    _add_scope(search)
    add_limit(search, "records", 10)
    search.set_defaults(act=_search)

    listing = actions.add_parser(
        "list", help="list records, the newest first", description="Lists memory records, the newest first."
    )
    _add_scope(listing)
    add_limit(listing, "records", 50)
    listing.set_defaults(act=_list)

    show = actions.add_parser("show", help="show one record in full", description="Shows one memory record in full.")
    show.set_defaults(act=_show)

    forget = actions.add_parser(
        "forget",
        help="delete one record for good",
        description="Deletes one memory record for good, also from the search index. The events it was made from stay. "
        "Asks first on a terminal.",
    )
    forget.add_argument("--yes", action="store_true", help="do not ask")
    forget.set_defaults(act=_forget)

    for one in (show, forget):
        one.add_argument("record_id", metavar="ID", help="the record's id, as 'lithify memory list' tells it")
    for one in (search, listing, show, forget):
        one.add_argument("--json", action="store_true", help="answer as JSON")
        add_data_dir(one)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Does what was asked for; 0 when it was done, 1 when it failed, 2 for a call that does not fit."""
    return answered(lambda: int(args.act(args)))


def _add_scope(parser: argparse.ArgumentParser) -> None:
    scope = parser.add_mutually_exclusive_group()
    scope.add_argument("--project", metavar="PATH", help="the project of this path (default: of the working folder)")
    scope.add_argument("--all", action="store_true", help="all projects")


# --- search and list ---


@dataclass(frozen=True, slots=True)
class _Found:
    """Records, one more than was asked for where there are more, and the roots of all projects by id. Of what was
    looked at: whether there is any record, and how many entries wait. Whether any other project has a record."""

    records: list[MemoryRecord]
    roots: dict[str, str]
    any_record: bool
    waiting: int
    elsewhere: bool


def _search(args: argparse.Namespace) -> int:
    from lithify.storage.memory import match_expression

    query = " ".join(args.query)
    if not match_expression(query):
        raise BadCall("the query holds no word; give one word or more, or see 'lithify memory list'")
    return _answer(args, lambda store, project_id: store.memory.search(project_id, query, args.limit + 1), _print_hits)


def _list(args: argparse.Namespace) -> int:
    return _answer(
        args,
        lambda store, project_id: [one for _, one in store.memory.recent(project_id, args.limit + 1, None)],
        _print_list,
    )


def _answer(
    args: argparse.Namespace,
    look: Callable[[Store, str | None], list[MemoryRecord]],
    show: Callable[[list[MemoryRecord], dict[str, str] | None], None],
) -> int:
    """Reads and shows records; `show` is given the roots of projects where records of several are shown."""
    folder = data_folder(args)
    project = None if args.all else find_project(args.project, folder)
    project_id = None if project is None else project.project_id

    def looked(store: Store) -> _Found:
        roots = _roots(store)
        others = set(roots) - {project_id}
        return _Found(
            records=look(store, project_id),
            roots=roots,
            any_record=bool(store.memory.recent(project_id, 1, None)),
            waiting=_waiting(store, folder, project_id),
            elsewhere=project_id is not None and any(store.events.counts(one).records for one in others),
        )

    found = read(folder, looked)
    records = [] if found is None else found.records[: args.limit]
    if args.json:
        _print_records(records)
    elif found is None or not records:
        _print_none(found, project, folder, args)
    else:
        show(records, found.roots if args.all else None)
        if len(found.records) > args.limit:
            say(f"Shown: {args.limit}. There are more; ask with a larger --limit.")
    return 0


def _waiting(store: Store, folder: Path, project_id: str | None) -> int:
    """Entries that wait to become memory."""
    from lithify.storage.reading import buffer_size

    looked_at = {look.project.project_id for look in store.staging.look()} if project_id is None else {project_id}
    return sum(buffer_size(folder, one).entries + store.events.counts(one).waiting for one in looked_at)


def _print_hits(records: list[MemoryRecord], roots: dict[str, str] | None) -> None:
    from lithify.cli.stored_text import cut, print_lines
    from lithify.cli.visible_text import INDENT, visible

    lines: list[str | Text] = []
    for record in records:
        lines.extend([*_heading(record, roots), " " * INDENT + cut(visible(record.summary), SUMMARY_CHARACTERS), ""])
    print_lines(lines[:-1])


def _print_list(records: list[MemoryRecord], roots: dict[str, str] | None) -> None:
    from lithify.cli.stored_text import local_time, on_terminal, print_lines, print_table
    from lithify.cli.visible_text import visible

    if on_terminal():
        print_lines([line for record in records for line in _heading(record, roots)])
        return
    project = [] if roots is None else ["PROJECT"]
    rows = []
    for one in records:
        root = [] if roots is None else [_root(one, roots)]
        rows.append([visible(one.record_id), local_time(one.created_at), visible(one.type), *root, visible(one.title)])
    print_table(["ID", "CREATED", "TYPE", *project, "TITLE"], rows)


def _heading(record: MemoryRecord, roots: dict[str, str] | None) -> list[str | Text]:
    """Two lines: what it is about; its id, when and how it was made, and, where roots are given, its project."""
    from rich.text import Text

    from lithify.cli.stored_text import local_time
    from lithify.cli.visible_text import INDENT, visible

    parts = [visible(record.record_id), local_time(record.created_at), _made_by(record)]
    if roots is not None:
        parts.append(_root(record, roots))
    title = Text.assemble((visible(record.type), "cyan"), "  ", (visible(record.title), "bold"))
    return [title, Text(" " * INDENT + " · ".join(parts), "dim")]


def _print_none(found: _Found | None, project: Project | None, folder: Path, args: argparse.Namespace) -> None:
    """Says why nothing is shown, and the next step."""
    from lithify.cli.stored_text import root_of

    of = "" if project is None else f" of {root_of(project)}"
    if found is None:
        why = f"Nothing was recorded in {escaped(str(folder))} yet, so there is no memory."
    elif found.any_record:
        why = f"No memory record{of} holds a word of the query."
    else:
        why = f"There is no memory record{of} yet."
    lines = [why]
    if found is not None and found.waiting:
        waits = f"{found.waiting:,} {'entry waits' if found.waiting == 1 else 'entries wait'} to become memory."
        lines += [f"{waits} To make it now:", f"    {command_here(args, 'memory', 'extract')}"]
    elif found is None or not found.any_record:
        lines += [*to_record(args), "and then, to make memory of it:", f"    {command_here(args, 'memory', 'extract')}"]
    if found is not None and found.elsewhere:
        lines.append("Other projects have records: --all looks there too.")
    print_text("\n".join(lines))


# --- show and forget ---


def _show(args: argparse.Namespace) -> int:
    found = _find(data_folder(args), args.record_id)
    if found is None:
        return _unknown(args.record_id)
    record, roots = found
    if args.json:
        from lithify.cli.stored_text import print_json
        from lithify.lsp.convert import record as wire_record

        print_json(wire_record(record))
    else:
        _print_record(record, roots)
    return 0


def _forget(args: argparse.Namespace) -> int:
    from lithify.cli.stored_text import print_json, print_lines
    from lithify.cli.visible_text import visible
    from lithify.storage.reading import store_to_change

    folder = data_folder(args)
    found = _find(folder, args.record_id)
    if found is None:
        return _unknown(args.record_id)
    record, _ = found
    if not args.yes and not _agreed(record):
        return fail("nothing was forgotten")
    with store_to_change(folder) as store:
        forgotten = store.forget_record(record.record_id)
    if not forgotten:
        return _unknown(args.record_id)
    if args.json:
        print_json({"recordId": record.record_id, "forgotten": True})
        return 0
    said = f"Forgot {visible(record.record_id)}, '{visible(record.title)}': it is deleted, also from the search index."
    events = counted(len(record.source_event_ids), "event")
    stay = "stays" if len(record.source_event_ids) == 1 else "stay"
    print_lines([f"{said} The {events} it was made from {stay} in the event log."])
    return 0


def _agreed(record: MemoryRecord) -> bool:
    """Whether whoever sits at the terminal says yes; in a pipe nobody is asked."""
    from lithify.cli.visible_text import visible

    return not asks_somebody() or agreed(f"Forget '{visible(record.title)}' for good?")


def _find(folder: Path, record_id: str) -> tuple[MemoryRecord, dict[str, str]] | None:
    from lithify.storage.database import sound_text

    def look(store: Store) -> tuple[MemoryRecord, dict[str, str]] | None:
        record = store.memory.find(sound_text(record_id))
        return None if record is None else (record, _roots(store))

    return read(folder, look)


def _unknown(record_id: str) -> int:
    from lithify.cli.stored_text import cut
    from lithify.cli.visible_text import visible

    shown = cut(visible(record_id), 60)
    return fail(f"there is no memory record '{shown}'; 'lithify memory list --all' shows those there are")


def _print_record(record: MemoryRecord, roots: dict[str, str]) -> None:
    from rich.text import Text

    from lithify.cli.stored_text import local_time, print_pairs
    from lithify.cli.visible_text import visible, visible_lines

    pairs: list[tuple[str, str | Text]] = [
        ("Title", Text(visible(record.title), "bold")),
        ("Type", Text(visible(record.type), "cyan")),
        ("Summary", "\n".join(visible_lines(record.summary))),
        *_listed("Facts", record.facts),
        *_listed("Concepts", record.concepts),
        *_listed("Files", record.files),
        ("Project", _root(record, roots)),
        ("Created", f"{local_time(record.created_at)}, {_made_by(record)}"),
        *_listed("Events", record.source_event_ids),
        ("ID", visible(record.record_id)),
    ]
    print_pairs(pairs)


def _listed(label: str, items: Sequence[str]) -> list[tuple[str, str | Text]]:
    from lithify.cli.visible_text import visible

    return [(label, "\n".join(map(visible, items)))] if items else []


def _made_by(record: MemoryRecord) -> str:
    from lithify.cli.visible_text import visible

    return "by the offline model" if record.method == "offline" else f"by a {visible(record.method)}"


def _root(record: MemoryRecord, roots: dict[str, str]) -> str:
    from lithify.cli.visible_text import visible

    return visible(roots.get(record.project_id, record.project_id))


def _roots(store: Store) -> dict[str, str]:
    return {look.project.project_id: look.project.root for look in store.staging.look()}


def _print_records(records: Sequence[MemoryRecord]) -> None:
    from lithify.cli.stored_text import print_json
    from lithify.lsp.convert import record as wire_record

    print_json({"records": [wire_record(one) for one in records]})
