"""Gathers what a transcript holds: its turns, files, commands, failures, TODOs and surroundings."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from lithify.core.digest import earlier
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
    WorkingDirectory,
)
from lithify.core.digest.files import Files
from lithify.core.digest.steps import Speech

_NO_REQUESTS = (
    "Caveat: The messages below", "[Request interrupted", "System: Please continue", "No response requested",
    "You have not yet marked the task as complete",
)  # fmt: skip
_IDE_REQUEST = "## My request for Codex:"
_TRIVIAL = re.compile(
    r"(?i)(?:(?:ok|okay|yes|yep|yup|y|sure|continue|go on|go ahead|proceed|please|thanks|thank you|hello|hi|hey|great|"
    r"perfect|cool|nice|good|do it|next|done|no response requested)[\s,.!]*){1,4}"
)
_REQUEST_CHARS = 100_000
_GREETING = re.compile(r"(?i)\s*(?:hello|hi|hey|thanks?|thank you)\b[\s,.!\w]{0,20}")
_CONSOLE_TAIL = re.compile(r"\(Open file: [^\n]{0,400}\)\n\(Current directory: [^\n]{0,400}\)\n(?:bash-)?\$\s*$")


@dataclass(slots=True)
class Turn:
    """One request and what the model said after it. It is not `named` when it comes from an earlier
    summary that names no speaker; `acted` is how many things had been said before the last tool use."""

    position: int
    request: str
    said: list[tuple[int, str]] = field(default_factory=list)
    named: bool = True
    acted: int = -1

    @property
    def trivial(self) -> bool:
        """Whether the request names no task: a greeting, a yes, a `continue`."""
        return len(self.request) < 60 and (not self.request or _TRIVIAL.fullmatch(self.request) is not None)

    @property
    def idle(self) -> bool:
        """Whether the turn was only a greeting."""
        return len(self.said) < 2 and _GREETING.fullmatch(self.request) is not None

    def statement(self) -> tuple[int, str]:
        """Where the turn ended: the last thing said, with what was said before it when that is brief."""
        spoken = (each for each in reversed(self.said) if not _TRIVIAL.fullmatch(each[1][:60]))
        at, text = next(spoken, (self.position, ""))
        before = next(spoken, None) if len(text) < 40 else None
        return at, f"{before[1]}\n{text}" if before else text


@dataclass(slots=True)
class Facts:
    """Everything a digest draws on, in the order of the transcript.

    Of earlier summaries, `carried` holds each bullet behind the summary's position and its section, and `left_out`
    the numbers of what they left out; `continued` says that there is one."""

    turns: list[Turn] = field(default_factory=list)
    files: Files = field(default_factory=Files)
    commands: list[CommandRun] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    todos: dict[str, tuple[int, str]] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    listings: list[Listing] = field(default_factory=list)
    surroundings: list[tuple[int, str]] = field(default_factory=list)
    carried: list[tuple[int, str, str]] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=dict)
    continued: bool = False
    changed_paths: dict[str, int] = field(default_factory=dict)
    working_directory: str = ""

    def said(self) -> Iterable[tuple[int, str]]:
        """Everything the model said, with its position."""
        return [each for turn in self.turns for each in turn.said]


def gather(actions: Iterable[Action]) -> Facts:
    """The facts of actions, in one pass."""
    facts = Facts()
    summary_at = -1
    for action in actions:
        if isinstance(action, Speech):
            if action.role == "user" and action.text.startswith(earlier.PREFIX):
                summary_at = action.position
            _hear(facts, action, action.position == summary_at)
        else:
            _see(facts, action)
    return facts


def _hear(facts: Facts, speech: Speech, summary: bool) -> None:
    if speech.context:
        facts.surroundings.extend((speech.position, block) for block in speech.context)
    text = speech.text
    if speech.role in {"system", "developer"}:
        facts.surroundings.append((speech.position, text))
    elif speech.role == "assistant":
        if text and not text.startswith(_NO_REQUESTS):
            _turn(facts, speech.position).said.append((speech.position, text))
            facts.files.shown(speech.position, text)
    elif text.startswith(earlier.PREFIX) and len(text) < 120:
        return
    elif earlier.is_summary(text, summary):
        _carry(facts, speech.position, text)
    elif text and not text.startswith(_NO_REQUESTS):
        request = text.partition(_IDE_REQUEST)[2].strip() or text
        if request.endswith("$"):
            request = _CONSOLE_TAIL.sub("", request).rstrip()
        _ask(facts, speech.position, request)


def _carry(facts: Facts, position: int, text: str) -> None:
    past = earlier.parse(text)
    facts.continued = True
    facts.carried.extend((position, section, text) for section, text in past.bullets)
    for section, number in past.left_out.items():
        facts.left_out[section] = facts.left_out.get(section, 0) + number
    for path, state, body in past.files:
        facts.files.carried(path, state, body)
    if past.request or past.statement:
        said = [(position, past.statement)] if past.statement else []
        facts.turns.append(Turn(position, past.request, said, past.named))


def _ask(facts: Facts, position: int, request: str) -> None:
    if facts.turns and facts.turns[-1].position == position and facts.turns[-1].request:
        if len(facts.turns[-1].request) < _REQUEST_CHARS:
            facts.turns[-1].request += "\n" + request
    else:
        facts.turns.append(Turn(position, request))


def _turn(facts: Facts, position: int) -> Turn:
    if not facts.turns:
        facts.turns.append(Turn(position, ""))
    return facts.turns[-1]


def _see(facts: Facts, action: Action) -> None:
    if facts.turns and not isinstance(action, TodoList):
        facts.turns[-1].acted = len(facts.turns[-1].said)
    match action:
        case FileWrite() | FileEdit() | FileDelete():
            facts.files.changed(action)
            facts.changed_paths[action.path] = action.position
        case FileRead():
            facts.files.read(action)
        case CommandRun():
            facts.commands.append(action)
        case Failure():
            facts.failures.append(action)
        case TodoList():
            facts.todos = _merged(facts.todos, action)
        case Finding():
            facts.findings.append(action)
        case Listing():
            facts.listings.append(action)
        case WorkingDirectory():
            facts.working_directory = action.path


def _merged(known: dict[str, tuple[int, str]], new: TodoList) -> dict[str, tuple[int, str]]:
    """The newest list replaces the open items of older ones; what was completed stays known."""
    kept = {text: (at, state) for text, (at, state) in known.items() if state == "completed"}
    for text, state in new.items:
        kept.pop(text, None)
        kept[text] = (new.position, state)
    return kept
