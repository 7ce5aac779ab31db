"""What is carried over from earlier summaries: older than everything else, and only where nothing newer says better."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from lithify.core.digest import shell, talk, work
from lithify.core.digest.gathering import Facts
from lithify.core.digest.items import Item
from lithify.core.digest.labels import (
    ASKED,
    COMPLETED,
    CONTEXT,
    ENVIRONMENT,
    FAILED,
    FAILING,
    FIRST_REQUEST,
    IN_PROGRESS,
    ISSUES,
    PENDING,
    REQUEST,
    RUNS,
    USER,
)

_COMMAND = re.compile(r"`([^`]{1,400})`")
_RUNS = re.compile(r" \((\d{1,9})" + re.escape(RUNS) + "$")
_OPEN_TODOS = (f"[{IN_PROGRESS}] ", f"[{PENDING}] ")
_OLD = 1_000_000_000


@dataclass(slots=True)
class Past:
    """The bullets of earlier summaries that still hold, the newest first; `runs` counts passing runs by command."""

    bullets: list[tuple[int, str, str]] = field(default_factory=list)
    runs: dict[str, int] = field(default_factory=dict)


def sift(facts: Facts) -> Past:
    """The carried bullets without those that newer facts replace: outcomes of a command that ran again, questions
    that had an answer, a TODO list that has a successor. A failure that was got over counts among what was done."""
    past = Past()
    if not facts.carried:
        return past
    news = _News(facts)
    first = next((text for _, _, text in facts.carried if text.startswith(FIRST_REQUEST)), "")
    for nth, (at, section, text) in reversed(list(enumerate(facts.carried))):
        if text.startswith(FIRST_REQUEST) and text != first:
            continue
        if section == COMPLETED and (key := _key(text)):
            past.runs[key] = past.runs.get(key, 0) + _runs(text)
            if key in news.ran:
                continue
            news.ran.add(key)
        if section == ISSUES:
            if news.settles(at, text):
                continue
            if (outcome := news.got_over(text)) is not None:
                section, text = COMPLETED, FAILED + text.removeprefix(FAILING)
                if not outcome:
                    continue
        past.bullets.append((nth - _OLD, section, text))
    return past


def items(past: Past, newer: Mapping[str, int], labels: set[str]) -> Iterator[Item]:
    """The items of what is carried, ranked behind the `newer` items of their section, whose numbers are given;
    of the environment only what has none of the `labels` of newer items."""
    nth: dict[tuple[str, float], int] = {}
    for position, section, text in past.bullets:
        if section == ENVIRONMENT and text.partition(": ")[0] in labels:
            continue
        base, step, share = _rank(section, text, newer)
        older = nth.get((section, base), 0)
        nth[section, base] = older + 1
        yield Item(section, base + step * older, position, text, share=share, counted=section != ENVIRONMENT)


def _rank(section: str, text: str, newer: Mapping[str, int]) -> tuple[float, float, int]:
    """The rank of the newest bullet of its kind, the step from one to the next, and the share."""
    behind = 1.5 * newer.get(section, 0)
    if section == ISSUES:
        return 8, 1, 30
    if section == CONTEXT:
        if text.startswith(FIRST_REQUEST):
            return 5, 0, 100
        if text.startswith(USER) and talk.is_rule(text.removeprefix(USER)):
            return talk.RULE_RANK + 0.1, talk.RULE_STEP, 60
        if text.startswith((USER, REQUEST)) or talk.is_wish(text):
            return 8, 0.5, 40
        return 12 + min(behind, 15), 1, 30
    return (12 + behind, 1, 30) if section == COMPLETED else (12, 1, 30)


class _News:
    """What the newer part of a transcript tells of matters that earlier summaries speak of."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._passed = work.passed_at(facts)
        self._asked_at = max((turn.position for turn in facts.turns if turn.request), default=-1)
        self.ran = {_key(f"`{work.shown(run.command)}`") for run in facts.commands if run.answered}
        self.ran |= {work.command_key(run.parsed) for run in facts.commands if run.answered}

    def settles(self, at: int, text: str) -> bool:
        """Whether an issue is none any more: a question followed by a request, an open item of a replaced list."""
        if text.startswith(ASKED):
            return self._asked_at > at
        return bool(self._facts.todos) and text.startswith(_OPEN_TODOS)

    def got_over(self, text: str) -> bool | None:
        """Whether a failure was got over; False when it failed again, None when nothing newer is known of it."""
        if not text.startswith(FAILING):
            return None
        if key := _key(text.removeprefix(FAILING)):
            if key in self._passed:
                return True
            return False if key in self.ran else None
        path = text.removeprefix(FAILING).partition(": ")[0].rpartition(" ")[2]
        return True if "\0" + self._facts.files.spelling(path) in self._passed else None


def _key(text: str) -> str:
    """The key of the command a bullet is about, or nothing."""
    found = _COMMAND.match(text)
    return work.command_key(shell.parse(found[1])) if found else ""


def _runs(text: str) -> int:
    found = _RUNS.search(text)
    return int(found[1]) if found else 1
