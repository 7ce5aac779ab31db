"""Drafts of errors: what failed, with which words, and what was done until it went well."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from lithify.core.digest import failures, shell, work
from lithify.core.digest.actions import CommandRun, FileEdit, FileWrite
from lithify.core.digest.labels import FAILED
from lithify.core.digest.shortening import one_line, shortened
from lithify.core.memory_digest.drafts import Draft, drafted
from lithify.core.memory_digest.reading import Reading

MOST = 6

_MARK = re.compile(r"^(?:E {2,}|npm ERR! |[-⨯•] +)")
_TELLING = re.compile(r"Error|Exception|\berror\b|fatal|panic|FAILED|not found|No such|denied|⨯")
_ALL = 100
_MOST_PATHS = 4
_LEAST_WORTH = 55.0


@dataclass(slots=True)
class _Trouble:
    """One thing that failed, each time it did; `program` is what a command runs, empty for other tools."""

    key: str
    program: str
    subject: str
    lines: list[str]
    lasting: bool
    positions: list[int] = field(default_factory=list)


def drafts(reading: Reading) -> Iterator[Draft]:
    """The errors worth telling: those that were got over, and failed checks."""
    found = [_draft(reading, trouble) for trouble in _troubles(reading).values()]
    worthy = [draft for draft in found if draft.worth >= _LEAST_WORTH]
    yield from sorted(worthy, key=lambda draft: (-draft.worth, -max(draft.positions)))[:MOST]


def telling(lines: Sequence[str]) -> str:
    """The line of an error that says most; empty where there is none."""
    return next((line for line in reversed(lines) if _TELLING.search(line)), lines[0] if lines else "")


def _troubles(reading: Reading) -> dict[str, _Trouble]:
    """What failed, by what it was about; the words are those of the last time."""
    found: dict[str, _Trouble] = {}
    for run in [run for run in reading.facts.commands if run.failed][-_ALL:]:
        lasting = work.CHECK.search(run.command[:300]) is not None
        subject = f"`{shortened(one_line(run.command), 160)}`"
        _note(
            found, work.command_key(run.parsed), shell.program(run.parsed), subject, run.output, run.position, lasting
        )
    for failure in reading.facts.failures[-_ALL:]:
        if not failures.refused(failure.output):
            subject = f"{failure.tool} {shortened(one_line(failure.subject), 160)}".strip()
            _note(found, "\0" + failure.subject, "", subject, failure.output, failure.position, False)
    return found


def _note(
    found: dict[str, _Trouble], key: str, program: str, subject: str, output: str, position: int, lasting: bool
) -> None:
    lines = [_MARK.sub("", line) for line in failures.key_lines(output, 4)]
    if not lines:
        return
    before = found.get(key)
    found[key] = _Trouble(key, program, subject, lines, lasting, [*(before.positions if before else []), position])


def _draft(reading: Reading, trouble: _Trouble) -> Draft:
    last = trouble.positions[-1]
    passed = _passed(reading, trouble, last)
    changed = _changed(reading, trouble.positions[0], passed.position) if passed is not None else {}
    follow = work.followed(reading.facts, last)
    said = shortened(one_line(telling(trouble.lines)), 200)
    worth = 40 + 25 * (passed is not None and bool(changed)) + 15 * trouble.lasting + 8 * bool(follow)
    worth += 10 * bool(re.search(r"Error|Exception", said)) + min(len(trouble.positions), 5)
    summary = [f"{trouble.subject}: {FAILED}{one_line(chr(10).join(trouble.lines))}", follow]
    summary += [f"{path}: {one_line(change)}" for path, (_, change) in changed.items()]
    summary += [work.run_with_outcome(passed, check=True)] if passed is not None else []
    return drafted(
        "error",
        worth,
        f"{said} ({shortened(trouble.program or trouble.subject, 50, tail=0.0)})",
        "\n".join(shortened(line, 400) for line in summary if line),
        {*trouble.positions[-10:], *(at for at, _ in changed.values()), *([passed.position] if passed else [])},
        facts=[*trouble.lines, *summary[1:]],
        named=[shell.program([trouble.program.split()]) if trouble.program else trouble.subject.partition(" ")[0]],
        paths=changed,
    )


def _passed(reading: Reading, trouble: _Trouble, after: int) -> CommandRun | None:
    """The first run of the same command, else of the same program, that went well after the last failure."""
    if not trouble.program:
        return None
    commands = reading.facts.commands
    later = commands[bisect_right(commands, after, key=lambda run: run.position) :]
    same = [run for run in later if run.failed is not True and shell.program(run.parsed) == trouble.program]
    return next((run for run in same if work.command_key(run.parsed) == trouble.key), same[0] if same else None)


def _changed(reading: Reading, start: int, end: int) -> dict[str, tuple[int, str]]:
    """The files changed between two positions: where last, and the changed lines; the last few of them."""
    found: dict[str, tuple[int, str]] = {}
    for action in reading.actions:
        if isinstance(action, FileEdit | FileWrite) and start < action.position <= end:
            found.pop(action.path, None)
            text = action.change if isinstance(action, FileEdit) else action.content
            found[action.path] = (action.position, shortened(text[:2000], 300))
    return dict(list(found.items())[-_MOST_PATHS:])
