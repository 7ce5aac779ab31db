"""What tool uses did: the typed actions, whichever agent's tools they were."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from lithify.core.digest import shell
from lithify.core.digest.steps import Speech


@dataclass(frozen=True, slots=True)
class FileRead:
    """A file was shown; `text` is what was shown of it."""

    position: int
    path: str
    text: str


@dataclass(frozen=True, slots=True)
class FileWrite:
    """A file was written whole."""

    position: int
    path: str
    content: str


@dataclass(frozen=True, slots=True)
class FileEdit:
    """A file was changed in part; `change` holds the changed lines, marked `-` and `+`, or the new text.

    `replaced` are the pairs of old and new text, where the call gave them.
    """

    position: int
    path: str
    change: str
    replaced: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class FileDelete:
    """A file was deleted."""

    position: int
    path: str


@dataclass(frozen=True, slots=True)
class CommandRun:
    """A command was run; `failed` is None where neither an exit code nor its output tells;
    `parsed` are its simple commands.

    `silent` when all it did was to change files, which other actions tell; not `answered` when its result is not in
    the transcript.
    """

    position: int
    command: str
    output: str
    failed: bool | None
    parsed: shell.Commands
    silent: bool = False
    answered: bool = True


@dataclass(frozen=True, slots=True)
class TodoList:
    """A TODO list as it stood: pairs of text and state (`pending`, `in progress`, `completed`)."""

    position: int
    items: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Failure:
    """A tool use that failed: what it was, the path or pattern it was about, and what it answered."""

    position: int
    tool: str
    subject: str
    output: str


@dataclass(frozen=True, slots=True)
class Listing:
    """Names of files under a place, as some tool listed them."""

    position: int
    place: str
    text: str


@dataclass(frozen=True, slots=True)
class Finding:
    """What any other tool answered: a search, a page of the web, a subagent."""

    position: int
    tool: str
    subject: str
    output: str


@dataclass(frozen=True, slots=True)
class WorkingDirectory:
    """Where commands ran, as a tool's prompt showed it."""

    position: int
    path: str


Action: TypeAlias = (
    FileRead
    | FileWrite
    | FileEdit
    | FileDelete
    | CommandRun
    | TodoList
    | Failure
    | Finding
    | Listing
    | WorkingDirectory
    | Speech
)
