"""`lithify buffer`: shows what waits in a project's buffer, and how the buffer stands."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lithify.cli.doctor_report import as_bytes, counted
from lithify.cli.output import as_called, print_text, write_bytes
from lithify.cli.stored import (
    add_data_dir,
    add_limit,
    answered,
    command_here,
    data_folder,
    find_project,
    read,
    to_record,
)

if TYPE_CHECKING:
    from rich.text import Text

    from lithify.core.entries import Entry, Line
    from lithify.core.pipeline import Purpose
    from lithify.core.projects import Project
    from lithify.core.settings import Settings
    from lithify.core.status import BufferStatus, WorkStatus
    from lithify.storage.store import Store

LINES = 3
"""Of an input and of an output."""

LINE_CHARACTERS = 200
GAUGE_COLUMNS = 24

_STATES = {
    "idle": "idle",
    "extracting": "memory records are being extracted from it now",
    "compacting": "it is being compacted now",
    "full": "full: events wait in the database until there is room",
    "degraded": "something went wrong, see below",
}


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds `buffer show` and `buffer status`."""
    parser = subparsers.add_parser("buffer", help="show what was recorded and waits to become memory")
    actions = parser.add_subparsers(dest="buffer_action", metavar="ACTION", required=True)
    show = actions.add_parser(
        "show",
        help="show the entries, the oldest first",
        description="Shows the entries of a project's buffer, in their order, each with its first lines.",
    )
    show.add_argument("--json", action="store_true", help="print the lines of the file as they are (NDJSON)")
    add_limit(show, "the last entries,", None)
    show.set_defaults(act=_show)
    status = actions.add_parser(
        "status",
        help="show its size, what waits, and how the work on it goes",
        description="Shows the size of a project's buffer against its thresholds, what waits, and how the last runs "
        "of extraction and compaction went.",
    )
    status.add_argument("--json", action="store_true", help="answer as JSON, as lithify/bufferStatus does")
    status.set_defaults(act=_status)
    for one in (show, status):
        one.add_argument("--project", metavar="PATH", help="the project of this path (default: of the working folder)")
        add_data_dir(one)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Shows what was asked for; 0, 1 where it cannot be read, 2 for a call that does not fit."""
    return answered(lambda: int(args.act(args)))


# --- show ---


def _show(args: argparse.Namespace) -> int:
    from lithify.cli.stored_text import print_lines, root_of
    from lithify.core.entries import read_lines
    from lithify.storage.reading import read_buffer

    folder = data_folder(args)
    project = find_project(args.project, folder)
    data = read_buffer(folder, project.project_id)
    lines = read_lines(data)
    shown = lines if args.limit is None else lines[-args.limit :]
    if args.json:
        write_bytes(data if len(shown) == len(lines) else b"".join(line.data + b"\n" for line in shown))
    elif shown:
        print_lines([*(one for line in shown for one in _block(line)), _sum(lines, len(data), project)])
    elif folder.exists():
        print_text("\n".join([f"The buffer of {root_of(project)} is empty: nothing waits there.", *to_record(args)]))
    else:
        print_text("\n".join([f"Nothing was recorded in {folder} yet.", *to_record(args)]))
    return 0


def _block(line: Line) -> list[str | Text]:
    from rich.text import Text

    from lithify.cli.stored_text import cut
    from lithify.cli.visible_text import INDENT, visible

    if line.entry is None:
        start = cut(visible(line.data.decode(errors="replace")), LINE_CHARACTERS)
        return [Text("a line that is no entry, passed over", "yellow"), Text(" " * INDENT + start, "dim"), ""]
    from lithify.core.observations import contents

    tool_name, given, output = contents(line.entry)
    texts = [*_first_lines("", given), *(_first_lines("→ ", output) if output is not None else [])]
    return [_heading(line.entry, tool_name), *(" " * INDENT + text for text in texts), ""]


def _heading(entry: Entry, tool_name: str) -> Text:
    from rich.text import Text

    from lithify.cli.stored_text import local_time
    from lithify.cli.visible_text import visible

    parts: list[tuple[str, str]] = [(visible(entry.kind), "cyan")]
    if tool_name != entry.kind:
        parts.append((visible(tool_name), "bold"))
    if entry.source_event_ids:
        parts.append((f"of {counted(len(entry.source_event_ids), 'event')}", "bold"))
    parts += [(local_time(entry.timestamp), ""), (visible(entry.event_id), "dim")]
    return Text("  ").join([Text(*part) for part in parts])


def _first_lines(mark: str, text: str) -> list[str]:
    from lithify.cli.stored_text import cut
    from lithify.cli.visible_text import visible_lines

    lines = [line for line in visible_lines(text) if line.strip()]
    first = [cut(line, LINE_CHARACTERS) for line in lines[:LINES]]
    if len(lines) > LINES:
        first.append(f"… {counted(len(lines) - LINES, 'more line')}")
    return [(mark if index == 0 else " " * len(mark)) + line for index, line in enumerate(first)]


def _sum(lines: Sequence[Line], size_bytes: int, project: Project) -> str:
    from lithify.cli.stored_text import root_of

    entries = sum(line.entry is not None for line in lines)
    others = len(lines) - entries
    more = f", {counted(others, 'line')} that {'is' if others == 1 else 'are'} no entry" if others else ""
    return f"{entries:,} {'entry' if entries == 1 else 'entries'}{more}, {as_bytes(size_bytes)}: {root_of(project)}"


# --- status ---


def _status(args: argparse.Namespace) -> int:
    from lithify.cli.stored_text import print_json, root_of
    from lithify.core.settings import Settings

    folder, settings = data_folder(args), Settings()
    project = find_project(args.project, folder)
    status = _found(folder, project, settings)
    if args.json:
        from lithify.lsp.convert import buffer_status as wire_status

        print_json(wire_status(status, settings))
    elif _untouched(status):
        print_text("\n".join([f"Nothing was recorded of {root_of(project)} yet.", *to_record(args)]))
    else:
        waits = bool(status.size.entries or status.counts.waiting)
        _print_status(status, settings, command_here(args, "memory", "extract") if waits else None)
    return 0


def _found(folder: Path, project: Project, settings: Settings) -> BufferStatus:
    from lithify.assembly import hour_ago, now_ms
    from lithify.core.breaker import phase
    from lithify.core.projects import ProjectCounts
    from lithify.core.status import WorkStatus, buffer_status
    from lithify.storage.reading import buffer_size, is_working

    def work(store: Store, purpose: Purpose, cooldown_ms: int) -> WorkStatus:
        run = store.pipeline.run_state(project.project_id, purpose)
        in_flight = is_working(store, folder, project.project_id, purpose)
        return WorkStatus(in_flight, phase(run.breaker, now_ms(), cooldown_ms), run)

    def look(store: Store) -> BufferStatus:
        return buffer_status(
            project,
            buffer_size(folder, project.project_id),
            store.events.counts(project.project_id),
            settings,
            extraction=work(store, "extraction", settings.extraction.cooldown_ms),
            compaction=work(store, "compaction", settings.buffer_compaction.cooldown_ms),
            use=store.model_use_since(hour_ago()),
        )

    nothing = ProjectCounts(waiting=0, records=0, recording=True)
    size = buffer_size(folder, project.project_id)
    return read(folder, look) or buffer_status(project, size, nothing, settings)


def _untouched(status: BufferStatus) -> bool:
    counts = status.counts
    runs = (status.extraction.run.last_run_at, status.compaction.run.last_run_at)
    return not (status.size.size_bytes or counts.waiting or counts.records or any(runs)) and counts.recording


def _print_status(status: BufferStatus, settings: Settings, extract: str | None) -> None:
    """The status; `extract` is the command that makes memory of what waits, if anything does."""
    from rich.text import Text

    from lithify.cli.stored_text import print_lines, print_pairs, root_of, to_copy

    counts, buffer = status.counts, settings.buffer
    style = {"degraded": "bold red", "full": "yellow"}.get(status.state, "green")
    size = status.size.size_bytes
    pairs: list[tuple[str, str | Text]] = [
        ("Project", root_of(status.project)),
        ("State", Text(_STATES[status.state], style)),
        ("Extraction from", _gauge(size, buffer.extraction_bytes)),
        ("Compaction above", _gauge(size, buffer.compaction_bytes)),
        ("Full at", _gauge(size, buffer.ceiling_bytes)),
        ("Entries", f"{status.size.entries:,} in the buffer, {counts.waiting:,} waiting outside"),
        ("Memory", counted(counts.records, "record")),
        ("Recording", "on" if counts.recording else Text("off", "yellow")),
        ("Extraction", _work(status.extraction, settings.extraction.cooldown_ms)),
        ("Compaction", _compaction(status.compaction, settings)),
        ("Last hour", _background(status, settings)),
    ]
    print_pairs(pairs)
    if status.extraction.run.last_error is not None:
        kept = "No event is lost: what could not be extracted stays, and is tried again by itself."
        print_lines(["", as_called(f"{kept} Models: 'lithify doctor', and docs/MODELS.md.")])
    if extract is not None:
        print_lines(["", "To make memory of what waits now:", to_copy(f"    {extract}")])
    print_lines(["", "Thresholds, cooldown and budget are the defaults; your editor's settings may name others."])


def _gauge(size: int, threshold: int) -> Text:
    """A bar, filled as far as the size has come towards a threshold, and both in numbers."""
    from rich.text import Text

    from lithify.cli.stored_text import draws_blocks

    share = size / threshold
    full = min(max(round(share * GAUGE_COLUMNS), int(size > 0)), GAUGE_COLUMNS)
    full_mark, empty_mark = ("█", "░") if draws_blocks() else ("#", ".")
    return Text.assemble(
        (full_mark * full, "yellow" if share >= 1 else "green"),
        (empty_mark * (GAUGE_COLUMNS - full), "dim"),
        f"  {as_bytes(size)} of {as_bytes(threshold)} ({share:.0%})",
    )


def _compaction(work: WorkStatus, settings: Settings) -> Text:
    from rich.text import Text

    if not (settings.buffer_compaction.enabled or work.in_flight or work.run.last_run_at):
        return Text("off by default; the setting bufferCompaction.enabled turns it on")
    return _work(work, settings.buffer_compaction.cooldown_ms)


def _work(work: WorkStatus, cooldown_ms: int) -> Text:
    from rich.text import Text

    lines = [Text("running now, in some window", "cyan")] if work.in_flight else []
    lines.append(_last_run(work))
    failures = counted(work.run.breaker.failures, "run")
    match work.phase:
        case "closed":
            lines.append(
                Text("breaker closed" + (f", {failures} failed in a row" if work.run.breaker.failures else ""))
            )
        case "open":
            again = (
                f"by default it tries again {_minutes(cooldown_ms)} after that"
                if cooldown_ms
                else "waits for a run by hand"
            )
            lines.append(Text(f"breaker open: {failures} failed in a row; {again}", "bold red"))
        case "half_open":
            lines.append(Text(f"breaker half-open: {failures} failed in a row; the next run is a try", "yellow"))
    return Text("\n").join(lines)


def _last_run(work: WorkStatus) -> Text:
    from rich.text import Text

    from lithify.cli.stored_text import local_time
    from lithify.cli.visible_text import visible

    run = work.run
    if run.last_run_at is None:
        return Text("has not run yet")
    at = local_time(run.last_run_at)
    if run.last_error is not None:
        return Text(f"last run {at} failed: {visible(run.last_error)}", "red")
    if run.last_method == "eviction":
        return Text(f"last run {at} let the older entries go")
    by = "" if run.last_answerer is None else f" by {visible(run.last_answerer.in_words)}"
    return Text(f"last run {at} succeeded{by}")


def _minutes(duration_ms: int) -> str:
    return counted(duration_ms // 60_000, "minute")


def _background(status: BufferStatus, settings: Settings) -> str:
    limits = settings.background
    used = (
        f"{counted(status.model_calls_last_hour, 'background call')} of {limits.max_model_calls_per_hour:,}, "
        f"{status.tokens_last_hour:,} tokens of {limits.max_tokens_per_hour:,}"
    )
    return f"{used}: background work waits" if status.paused else used
