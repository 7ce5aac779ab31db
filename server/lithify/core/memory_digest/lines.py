"""What a compaction could keep of entries: lines, each with its worth; near-identical ones are one, counted."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from lithify.core.digest import failures, shell, talk, work
from lithify.core.digest.actions import (
    Action,
    CommandRun,
    Failure,
    FileDelete,
    FileEdit,
    FileRead,
    FileWrite,
    Finding,
    Listing,
    TodoList,
)
from lithify.core.digest.cleaning import clean
from lithify.core.digest.gathering import Turn
from lithify.core.digest.labels import ASSISTANT, DELETED, EDITED, FAILED, LAYOUT, READ, USER, WRITTEN
from lithify.core.digest.shortening import excerpt, one_line, shortened
from lithify.core.digest.steps import Speech
from lithify.core.memory_digest.reading import Reading
from lithify.core.memory_digest.troubles import telling
from lithify.core.observations import contents

_VARIABLE = re.compile(r"0x[0-9a-fA-F]+|\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){0,3}[0-9a-fA-F-]*\b|\d+(?:[.,:]\d+)*")
_TELLING = re.compile(r"(?i)error|fail|exception|decid|instead of|because|rather than|root cause|決定|决定|因|原因")
_ENDS = 1500
_MOST_LINES = 200


@dataclass(frozen=True, slots=True)
class Line:
    """One thing to keep. `brief` says it shortly, `full` at more length; `place` orders it, `key` tells its like."""

    place: tuple[int, int]
    worth: float
    key: tuple[str, ...]
    brief: str
    full: str
    count: int = 1


def lines(reading: Reading) -> list[Line]:
    """All lines, the newest of its like for each, in order."""
    newest: dict[tuple[str, ...], Line] = {}
    for line in sorted(_all(reading), key=lambda line: line.place):
        before = newest.pop(line.key, None)
        newest[line.key] = replace(line, count=before.count + 1) if before is not None else line
    return sorted(newest.values(), key=lambda line: line.place)


def _all(reading: Reading) -> Iterator[Line]:
    passed = work.passed_at(reading.facts)
    decided: dict[int, list[str]] = {}
    for found in talk.decisions(talk.listen(reading.facts.turns)):
        decided.setdefault(found.position, []).append(found.text)
    told = set()
    for nth, action in enumerate(reading.actions):
        line = _said(action, nth, decided) if isinstance(action, Speech) else _done(action, nth, passed)
        if line is not None:
            told.add(action.position)
            yield line
    for position, text in reading.summaries:
        told.add(position)
        yield from _earlier(position, text)
    for index, entry in enumerate(reading.entries):
        if index not in told:
            name, given, _ = contents(entry)
            text = f"{name} {one_line(given[:400])}".strip()
            yield Line((index, 0), 6, ("other", name, _alike(given)), shortened(text, 120), shortened(text, 200))


def _said(speech: Speech, nth: int, decided: dict[int, list[str]]) -> Line | None:
    text = one_line(talk.prose(speech.text[:20_000]))
    if not text or speech.role in {"system", "developer"}:
        return None
    user = speech.role == "user"
    label = USER if user else ASSISTANT
    reasons = " ".join(decided.get(speech.position, []))
    trivial = user and Turn(0, text).trivial
    worth = 20 if trivial else 78 if reasons else 70 if user else 42
    brief = shortened(reasons, 320) if reasons and len(text) > 320 else shortened(text, 240)
    key = text if user or reasons else _alike(text)
    return Line((speech.position, nth), worth, ("said", speech.role, key), label + brief, label + text)


def _done(action: Action, nth: int, passed: dict[str, int]) -> Line | None:
    place = (action.position, nth)
    match action:
        case CommandRun():
            return _run(action, place, passed)
        case FileWrite(path=path, content=text):
            return _file(place, WRITTEN, path, text, 58)
        case FileEdit(path=path, change=text):
            return _file(place, EDITED, path, text, 60)
        case FileDelete(path=path):
            return _file(place, DELETED, path, "", 56)
        case FileRead(path=path):
            return _file(place, READ, path, "", 8)
        case Listing(place=listed, text=text):
            head = LAYOUT + shortened(listed, 120)
            full = f"{head}: {one_line(text[:600])}"
            return Line(place, 5, ("listed", listed), head, shortened(full, 240))
        case Failure(tool=tool, subject=subject, output=output):
            why = one_line("\n".join(failures.key_lines(output)))
            head = f"{tool} {shortened(one_line(subject), 160)}: {FAILED}"
            return Line(place, 50, ("failure", tool, subject, _alike(why)), head + shortened(why, 160), head + why)
        case Finding(tool=tool, subject=subject, output=output):
            head = f"{tool} {shortened(one_line(subject), 160)}".strip()
            full = f"{head}: {one_line(clean(output[:4000]))}"
            return Line(place, 28, ("finding", tool, subject), shortened(full, 200), shortened(full, 900))
        case TodoList(items=items):
            text = "; ".join(f"[{state}] {one_line(text)}" for text, state in items)
            return Line(place, 46, ("todos",), shortened(text, 240), text)
        case _:
            return None


def _run(run: CommandRun, place: tuple[int, int], passed: dict[str, int]) -> Line | None:
    key = work.command_key(run.parsed)
    if run.failed:
        over = passed.get(key, passed.get(shell.program(run.parsed), -1)) > run.position
        why = failures.key_lines(run.output, 5)
        head = f"`{shortened(one_line(run.command), 160)}`: {FAILED}"
        full = head + one_line("\n".join(why))
        brief = head + shortened(one_line(telling(why)), 200)
        return Line(place, 72 if over else 80, ("failed", key, _alike(one_line("\n".join(why)))), brief, full)
    if run.silent:
        return None
    check = work.CHECK.search(run.command[:300]) is not None
    worth = 7 if shell.only_looks(run.parsed) else 44 if check else 32
    text = work.run_with_outcome(run, check)
    return Line(place, worth, ("run", key), shortened(text, 200), text)


def _file(place: tuple[int, int], state: str, path: str, text: str, worth: float) -> Line:
    head = f"{state} {path}"
    brief = f"{head}: {shortened(one_line(text[:600]), 120)}" if text.strip() else head
    full = f"{head}:\n{excerpt(text[:40_000], 1200)}" if text.strip() else head
    return Line(place, worth, ("file" if state != READ else READ, path), brief, full)


def _earlier(position: int, text: str) -> Iterator[Line]:
    """The lines of an earlier summary: carried on, after what is new and of the same weight."""
    for nth, line in enumerate(text.splitlines()[:_MOST_LINES]):
        said = line.strip()
        if said:
            worth = 52 if _TELLING.search(said) else 30
            yield Line((position, nth), worth, ("earlier", _alike(said)), shortened(said, 200), said)


def _alike(text: str) -> str:
    """What near-identical outputs share: numbers, ids and times become placeholders."""
    ends = text if len(text) <= 2 * _ENDS else text[:_ENDS] + text[-_ENDS:]
    return _VARIABLE.sub("#", clean(ends))
