"""An auditor who knows the wire contract (section 8) and nothing of our code: reads the database and the buffer files,
and says what is not so."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ALLOWED_FILES = {"buffer.ndjson", "buffer.lock", "extraction.lock"}


@dataclass(slots=True)
class Found:
    """What a project's buffer file holds: lines that are entries, in order, and how often each event is in it."""

    own: list[str] = field(default_factory=list)
    places: Counter[str] = field(default_factory=Counter)


def audit(data_dir: Path, *, healed: bool = True, whole: bool = True, ordered: bool = True) -> list[str]:
    """What is wrong with "each accepted event in exactly one place, none extracted twice"; nothing, if all is well.

    `healed`: nothing may be left of steps that a crash cut in two. Without it an event's line may outlive the mark
    that it is gone, and may come before the mark that it is there. `whole`: nobody took lines away since the last look.
    `ordered`: nobody ever put lines in or took some away, whose events got new lines behind the others.
    """
    wrong: list[str] = []
    with closing(sqlite3.connect(data_dir / "lithify.db")) as connection:
        events = connection.execute("SELECT event_id, project_id, state FROM events ORDER BY sequence").fetchall()
        named = Counter(row[0] for row in connection.execute("SELECT event_id FROM record_events"))
        if connection.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
            wrong.append("the database is not sound")
    files = {project_id: _read(data_dir, project_id) for _, project_id, _ in events}
    for event_id, project_id, state in events:
        in_file = files[project_id].places[event_id]
        wrong.extend(_judge(event_id, state, in_file, named[event_id], healed))
        if whole and state == "buffered" and in_file == 0:
            wrong.append(f"{event_id} should be in the buffer, and is nowhere")
    for project_id in files if ordered else ():
        wrong.extend(_order(project_id, events, files[project_id]))
    if healed:
        wrong.extend(f"left over: {name}" for name in leftovers(data_dir))
    return wrong


def leftovers(data_dir: Path) -> list[str]:
    """Files beside the buffers that nobody should find."""
    return [file.name for file in data_dir.glob("buffers/*/*") if file.name not in ALLOWED_FILES]


def _judge(event_id: str, state: str, in_file: int, named: int, healed: bool) -> list[str]:
    wrong = []
    if in_file > 1:
        wrong.append(f"{event_id} is in the buffer {in_file} times")
    if healed and state != "buffered" and in_file:
        wrong.append(f"{event_id} is {state}, and in the buffer")
    if named > 1:
        wrong.append(f"{event_id} was extracted {named} times")
    if named and state != "extracted":
        wrong.append(f"{event_id} is {state}, and a record was made of it")
    return wrong


def _order(project_id: str, events: list[Any], found: Found) -> list[str]:
    sequence = {event_id: index for index, (event_id, _, _) in enumerate(events)}
    numbers = [sequence[event_id] for event_id in found.own if event_id in sequence]
    waiting = [sequence[one] for one, project, state in events if (project, state) == (project_id, "waiting")]
    out = [sequence[event_id] for event_id in found.places if event_id in sequence]
    wrong = [] if numbers == sorted(numbers) else [f"the lines of {project_id} are not in order"]
    truly_waiting = [number for number in waiting if number not in out]
    if truly_waiting and out and min(truly_waiting) < max(out):
        wrong.append(f"an event of {project_id} overtook one that waits")
    return wrong


def _read(data_dir: Path, project_id: str) -> Found:
    file, found = data_dir / "buffers" / project_id / "buffer.ndjson", Found()
    for line in file.read_bytes().split(b"\n") if file.exists() else []:
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if isinstance(entry, dict) and "event_id" in entry:
            covered = entry.get("source_event_ids") or [entry["event_id"]]
            found.places.update(covered)
            if not entry.get("source_event_ids"):
                found.own.append(entry["event_id"])
    return found
