"""Drafts of the ground the work stands on: the environment, what was found out, commands run again and again."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from lithify.core.digest import shell, surroundings, work
from lithify.core.digest import talk as conversation
from lithify.core.digest.actions import CommandRun, Finding
from lithify.core.digest.cleaning import clean
from lithify.core.digest.labels import CWD, DEPENDENCIES, LAYOUT, THEN
from lithify.core.digest.shortening import one_line, shortened
from lithify.core.memory_digest.drafts import Draft, drafted
from lithify.core.memory_digest.reading import Reading
from lithify.core.memory_digest.terms import concepts, files

MOST_FINDINGS, MOST_STATEMENTS, OFTEN = 2, 2, 3

_LEAST_FINDING = 200

_ROUTINE_TOOLS = re.compile(r"(?i)grep|glob|^search_files|^ls$|^list|todo|intent|update_topic")
_TELLING = re.compile(r"`[^`\n]+`|\b[\w/]+\.[a-z]{1,4}\b|\b\d[\d.]*\b")
_KNOWS = re.compile(
    r"(?i)\b(?:found|uses?|is (?:defined|implemented|stored|called|set)|lives? in|depends? on|requires?|only|turns out|"
    r"actually|contains?|returns?|expects?|handles?|located|caused by|works? by)\b|發現|发现|使用|位於|位于"
)


def drafts(reading: Reading) -> Iterator[Draft]:
    """The environment, findings of tools, statements about the code, and habits."""
    yield from _environment(reading)
    yield from _findings(reading)
    yield from _statements(reading)
    yield from _habits(reading)


def _environment(reading: Reading) -> Iterator[Draft]:
    """Versions, dependencies and platform as they were shown."""
    found = sorted(surroundings.items(reading.facts), key=lambda item: (item.rank, -item.position))
    told = [item for item in found if not item.text.startswith((CWD, LAYOUT))]
    if not told:
        return
    texts = list(dict.fromkeys(one_line(clean(item.text)) for item in [*told, *found] if item.text))[:8]
    positions = [item.position for item in found[:12] if item.position >= 0]
    draft = drafted("discovery", 50, "; ".join(texts[:2]), "\n".join(texts), positions, facts=texts)
    needed = [name for text in texts if text.startswith(DEPENDENCIES) for name in text.partition(": ")[2].split(", ")]
    plain = [text for text in texts if not text.startswith((LAYOUT, DEPENDENCIES))]
    yield replace(draft, concepts=concepts(plain, needed), files=files([text.partition(": ")[0] for text in texts]))


def _findings(reading: Reading) -> Iterator[Draft]:
    """What pages, documents and subagents brought, the longest answers, each once."""
    last: dict[str, Finding] = {}
    for finding in reading.facts.findings:
        tool = finding.tool.rpartition("__")[2]
        if tool and not _ROUTINE_TOOLS.search(tool) and len(finding.output) >= _LEAST_FINDING:
            last[clean(finding.output[:200])] = finding
    longest = sorted(last.values(), key=lambda each: (-min(len(each.output), 2000), -each.position))
    for finding in longest[:MOST_FINDINGS]:
        output = conversation.plain(clean(finding.output[:8000]))
        lines = [line.strip() for line in output.splitlines() if len(line.strip()) > 30]
        title = f"{one_line(finding.subject) or finding.tool}{THEN}{one_line(lines[0] if lines else output)}"
        named = [finding.tool.rpartition("__")[2]]
        yield drafted("discovery", 48, title, output, [finding.position], facts=lines[:5], named=named)


def _statements(reading: Reading) -> Iterator[Draft]:
    """What was said on the way about how things are, the most specific messages."""
    weighed = []
    for said in conversation.told_on_the_way(reading.facts.turns):
        specific = len(set(_TELLING.findall(said.text[:3000])))
        if specific > 1 and _KNOWS.search(said.text[:3000]):
            weighed.append((min(specific, 12), said.position, said.text))
    for weight, position, text in sorted(weighed, reverse=True)[:MOST_STATEMENTS]:
        sentences = [each for each in re.split(r"(?<=[.!?。])\s*(?=[A-Z`\u3040-\u9fff])|; ", text) if each.strip()]
        telling = [each for each in sentences if _TELLING.search(each) and _KNOWS.search(each)] or sentences
        title = telling[0]
        yield drafted("discovery", 46 + weight, title, text, [position], facts=telling[:6])


def _habits(reading: Reading) -> Iterator[Draft]:
    """Commands that were run three times or more, in one draft."""
    runs: dict[str, list[CommandRun]] = {}
    for run in reading.facts.commands:
        if not run.silent and not shell.only_looks(run.parsed):
            runs.setdefault(work.command_key(run.parsed), []).append(run)
    often = sorted((each for each in runs.values() if len(each) >= OFTEN), key=lambda each: -len(each))[:6]
    if not often:
        return
    told = [f"`{shortened(one_line(each[-1].command), 120)}` × {len(each)}" for each in often]
    last = [work.run_with_outcome(each[-1], check=True) for each in often]
    positions = {run.position for each in often for run in each[-8:]}
    programs = Counter(shell.program(each[-1].parsed) for each in often)
    yield drafted("pattern", 52, "; ".join(told[:3]), "\n".join(last), positions, facts=told, named=programs)
