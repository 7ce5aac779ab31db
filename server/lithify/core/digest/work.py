"""Items from what was done: TODOs, commands with their outcome, errors with what followed."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from lithify.core.digest import failures, shell
from lithify.core.digest.actions import CommandRun, Failure
from lithify.core.digest.cleaning import clean, without_stamps
from lithify.core.digest.gathering import Facts
from lithify.core.digest.items import Entry, Item, newest_first
from lithify.core.digest.labels import COMPLETED, COMPLETED_STATE, CONTEXT, FAILED, FAILING, ISSUES, REFUSED, RUNS
from lithify.core.digest.shortening import one_line, shortened
from lithify.core.digest.talk import prose

CHECK = re.compile(
    r"(?i)test|build|lint|check|mypy|ruff|tsc|compile|make|commit|push|install|migrate|deploy|release|format"
)
_EDIT = re.compile(r"(?i)\b(?:edit|replace|patch)")
_ANY_EDIT = "\0\0"
_MOST_FAILURES = 100
_MOST_OUTCOMES = 600
_LEAST_ORPHAN = 200
_STATUS_LINE = re.compile(r"^<?/?(?:system|exited|returncode|output)\b[^\n]*>?$|^\(?no (?:content|output)\)?$", re.I)


@dataclass(frozen=True, slots=True)
class _Trouble:
    """One failure; `lasting` when it stays an issue in later turns: a failed check, not a file that was not there."""

    position: int
    text: str
    lasting: bool


def items(facts: Facts, earlier_runs: Mapping[str, int]) -> Iterator[Item]:
    """Everything the work of a transcript gives, ranked; `earlier_runs` are passing runs that summaries tell of."""
    yield from _todos(facts)
    yield from _commands(facts, earlier_runs)
    yield from _errors(facts)
    yield from newest_first(CONTEXT, 14, 5, _refusals(facts), share=40)
    yield from newest_first(CONTEXT, 27, 3, _findings(facts), share=25, counted=False)


def _todos(facts: Facts) -> Iterator[Item]:
    nth = 0
    done: list[Entry] = []
    for text, (position, state) in facts.todos.items():
        line = f"[{state}] {one_line(text)}"
        if state == COMPLETED_STATE:
            done.append(Entry(position, line))
        else:
            yield Item(ISSUES, 3 + nth / 2, position, line, share=25)
            nth += 1
    yield from newest_first(COMPLETED, 18, 2, done, share=20)


def _commands(facts: Facts, earlier_runs: Mapping[str, int]) -> Iterator[Item]:
    """Commands that worked, the last run of each; what merely shows things is left out. Of a check stands how many
    of its runs went well."""
    keys = [command_key(run.parsed) for run in facts.commands]
    answered = [(key, run) for key, run in zip(keys, facts.commands, strict=True) if run.answered]
    passed = Counter(key for key, run in answered if not run.failed)
    runs_by_key = dict(zip(keys, facts.commands, strict=True)) | dict(answered)
    last = dict(sorted(runs_by_key.items(), key=lambda each: each[1].position))
    checks: list[Entry] = []
    others: list[Entry] = []
    for nth, (key, run) in enumerate(last.items()):
        if not (run.failed or run.silent or shell.only_looks(run.parsed)):
            check = CHECK.search(run.command[:300]) is not None
            old = nth < len(last) - _MOST_OUTCOMES
            text = f"`{shown(run.command)}`" if old else run_with_outcome(run, check)
            if check and (runs := passed[key] + earlier_runs.get(key, 0)) > 1:
                text = f"{text} ({runs}{RUNS}"
            (checks if check else others).append(Entry(run.position, text))
    yield from newest_first(COMPLETED, 13, 3, checks, share=35)
    yield from newest_first(COMPLETED, 16, 6, others, share=25)


def run_with_outcome(run: CommandRun, check: bool) -> str:
    """A command with its outcome: the last two lines of a check, the first and the last of anything else."""
    output = run.output if len(run.output) < 4000 else f"{run.output[:1000]}\n{run.output[-3000:]}"
    lines = [line.strip() for line in without_stamps(clean(output)).split("\n")]
    spoken = [shortened(line, 160) for line in lines if line and not _STATUS_LINE.match(line)]
    told = spoken[-2:] if check or len(spoken) < 2 else [spoken[0], spoken[-1]]
    outcome = one_line("\n".join(told))
    return f"`{shown(run.command)}`" + (f": {outcome}" if outcome else "")


def shown(command: str) -> str:
    """A command as it is quoted."""
    return shortened(one_line(command), 200)


def _errors(facts: Facts) -> Iterator[Item]:
    """Each failure: with what followed when it was got over, else as an open issue, the newest first."""
    over, minor, active = [], [], []
    passed = passed_at(facts)
    starts = [turn.position for turn in facts.turns if not turn.trivial]
    for key, trouble in _failed(facts).items():
        if passed.get(key, passed.get(key.partition("\0")[0], -1)) > trouble.position:
            over.append(_told(facts, trouble, FAILED))
        elif trouble.lasting or not starts or trouble.position >= starts[-1]:
            active.append(_told(facts, trouble, FAILING))
        else:
            minor.append(_told(facts, trouble, FAILED))
    yield from newest_first(ISSUES, 5, 4, active, share=60)
    yield from newest_first(COMPLETED, 12, 2, over, share=60)
    yield from newest_first(COMPLETED, 25, 5, minor, share=40)


def _told(facts: Facts, trouble: _Trouble, label: str) -> Entry:
    follow = followed(facts, trouble.position)
    text = label + trouble.text
    return Entry(trouble.position, follow, lead=text) if follow else Entry(trouble.position, text)


def _failed(facts: Facts) -> dict[str, _Trouble]:
    """The last failure of each command, or of each tool on a path."""
    found: dict[str, _Trouble] = {}
    for run in [run for run in facts.commands if run.failed][-_MOST_FAILURES:]:
        text = f"`{shortened(one_line(run.command), 160)}`: {_why(run.output)}"
        found[command_key(run.parsed)] = _Trouble(run.position, text, CHECK.search(run.command[:300]) is not None)
    for failure in facts.failures[-_MOST_FAILURES:]:
        if not failures.refused(failure.output):
            what, why = _what(failure), _why(failure.output)
            key = "\0" + facts.files.spelling(failure.subject)
            if not what and _EDIT.search(failure.output[:300]):
                key = _ANY_EDIT
            found[key] = _Trouble(failure.position, f"{what}: {why}" if what else why, False)
    return found


def _why(output: str) -> str:
    return shortened(one_line("\n".join(failures.key_lines(output))), 300)


def _refusals(facts: Facts) -> Iterator[Entry]:
    """What the person did not let a tool do, and what they said then."""
    for failure in facts.failures:
        if failures.refused(failure.output):
            text = REFUSED + _what(failure)
            nth = bisect_right(facts.turns, failure.position, key=lambda turn: turn.position)
            said = one_line(facts.turns[nth].request) if nth < len(facts.turns) else ""
            yield Entry(failure.position, said, lead=text) if said else Entry(failure.position, text)


def _findings(facts: Facts) -> Iterator[Entry]:
    """What searches, pages and subagents brought, the last answer for each subject."""
    last = {(finding.tool, finding.subject): finding for finding in facts.findings[-_MOST_FAILURES:]}
    for finding in last.values():
        if not finding.tool and len(finding.output) < _LEAST_ORPHAN:
            continue
        lead = f"{finding.tool} {shortened(one_line(finding.subject), 160)}".strip()
        yield Entry(finding.position, one_line(finding.output[:1500]), lead=lead)


def _what(failure: Failure) -> str:
    return f"{failure.tool} {shortened(one_line(failure.subject), 160)}".strip()


def passed_at(facts: Facts) -> dict[str, int]:
    """Where each command, program and changed path last went well, and any edit at all: the answer to an edit whose
    call is not in the transcript names no path."""
    passed: dict[str, int] = {}
    for run in facts.commands:
        if run.answered and not run.failed:
            passed[command_key(run.parsed)] = run.position
            passed[shell.program(run.parsed)] = run.position
    for path, position in facts.changed_paths.items():
        key = "\0" + facts.files.spelling(path)
        passed[key] = max(position, passed.get(key, -1))
        passed[_ANY_EDIT] = max(position, passed.get(_ANY_EDIT, -1))
    return passed


def followed(facts: Facts, position: int) -> str:
    """What the model said first after a position, in the same turn."""
    nth = bisect_right(facts.turns, position, key=lambda turn: turn.position) - 1
    if nth < 0:
        return ""
    said = facts.turns[nth].said
    after = bisect_right(said, position, key=lambda each: each[0])
    return shortened(one_line(prose(said[after][1][:1500])), 240, tail=0.0) if after < len(said) else ""


def command_key(parsed: shell.Commands) -> str:
    """One key for runs of one command: its program, then its words, without a leading change of folder."""
    words = [" ".join(each) for each in parsed if each[0] != "cd"]
    return f"{shell.program(parsed)}\0{' ; '.join(words)}"
