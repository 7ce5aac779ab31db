"""What tool uses did: the typed actions, whichever agent's tools they were."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from lithify.core.digest import shell
from lithify.core.digest.steps import Speech


class FileRead(NamedTuple):
    """A file was shown; `text` is what was shown of it."""

    position: int
    path: str
    text: str


class FileWrite(NamedTuple):
    """A file was written whole."""

    position: int
    path: str
    content: str


class FileEdit(NamedTuple):
    """A file was changed in part; `change` holds the changed lines, marked `-` and `+`, or the new text.

    `replaced` are the pairs of old and new text, where the call gave them.
    """

    position: int
    path: str
    change: str
    replaced: tuple[tuple[str, str], ...] = ()


class FileDelete(NamedTuple):
    """A file was deleted."""

    position: int
    path: str


class CommandRun(NamedTuple):
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


class TodoList(NamedTuple):
    """A TODO list as it stood: pairs of text and state (`pending`, `in progress`, `completed`)."""

    position: int
    items: tuple[tuple[str, str], ...]


class Failure(NamedTuple):
    """A tool use that failed: what it was, the path or pattern it was about, and what it answered."""

    position: int
    tool: str
    subject: str
    output: str


class Listing(NamedTuple):
    """Names of files under a place, as some tool listed them."""

    position: int
    place: str
    text: str


class Finding(NamedTuple):
    """What any other tool answered: a search, a page of the web, a subagent."""

    position: int
    tool: str
    subject: str
    output: str


class WorkingDirectory(NamedTuple):
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
