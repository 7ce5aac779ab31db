"""What all agents' session folders share: where they lie, and how they are gone through without stumbling."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from lithify.core.agent_sessions import Unreadable
from lithify.storage import system

HEAD_BYTES = 1 << 18
"""How much of a file is looked at for what its first records say."""

SMALL_FILE_BYTES = 4 << 20
"""The largest file of notes beside sessions (titles, projects) that is read."""


def home_folder(environment: Mapping[str, str]) -> Path:
    """The user's home folder. Raises RuntimeError where there is none."""
    named = environment.get("USERPROFILE" if os.name == "nt" else "HOME")
    return Path(named) if named else Path.home()


def folder_of(environment: Mapping[str, str], variable: str, *below_home: str) -> Path:
    """The folder that a variable of an agent names, else the usual one below the home folder."""
    named = environment.get(variable)
    return Path(named).absolute() if named else home_folder(environment).joinpath(*below_home)


class Walk:
    """Goes through the folders of one agent. Links are followed; what cannot be looked into is kept in `unreadable`."""

    def __init__(self, agent: str) -> None:
        self.agent = agent
        self.unreadable: list[Unreadable] = []

    def folders(self, folder: Path, name: str = ".*") -> Iterator[Path]:
        """The folders in a folder, of those names; none where there is no such folder."""
        return (Path(entry.path) for entry in self._entries(folder, name) if _is(entry, stat.S_ISDIR))

    def files(self, folder: Path, name: str) -> Iterator[tuple[Path, os.stat_result]]:
        """The regular files in a folder, of those names: no named pipe, no socket, no device."""
        for entry in self._entries(folder, name):
            status = _status(entry)
            if status is not None and stat.S_ISREG(status.st_mode):
                yield Path(entry.path), status

    def _entries(self, folder: Path, name: str) -> list[os.DirEntry[str]]:
        wanted = re.compile(name, re.DOTALL)
        try:
            with os.scandir(folder) as entries:
                return sorted((one for one in entries if wanted.fullmatch(one.name)), key=lambda one: one.name)
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            self.unreadable.append(Unreadable(self.agent, str(folder), error.strerror or str(error)))
            return []


def _status(entry: os.DirEntry[str]) -> os.stat_result | None:
    """What lies behind an entry; None for a link to nowhere, and for what is gone by now."""
    try:
        return entry.stat()
    except OSError:
        return None


def _is(entry: os.DirEntry[str], kind: Any) -> bool:
    status = _status(entry)
    return status is not None and bool(kind(status.st_mode))


def read_head(path: Path, size_bytes: int = HEAD_BYTES) -> bytes:
    """The first bytes of a regular file. Raises OSError; never waits."""
    return system.read(path, size_bytes)


def first_records(path: Path, most: int) -> Iterator[dict[str, Any]]:
    """The first JSON objects of a file of JSON lines, as far as they lie in its head. Raises OSError."""
    head = read_head(path)
    lines = head.split(b"\n")
    return objects(lines if len(head) < HEAD_BYTES else lines[:-1], most)


def objects(lines: list[bytes], most: int) -> Iterator[dict[str, Any]]:
    """The JSON objects among the first lines; what is none is passed over."""
    for line in islice(lines, most):
        value = json_object(line)
        if value:
            yield value


def lines_backwards(text: str) -> Iterator[str]:
    """The lines of a text, the last one first."""
    end = len(text)
    while end > 0:
        begin = text.rfind("\n", 0, end - 1) + 1
        yield text[begin:end]
        end = begin


def json_object(text: bytes | str) -> dict[str, Any]:
    """A JSON object; an empty one for all else."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def read_object(path: Path) -> dict[str, Any]:
    """The JSON object that a small file of an agent holds; an empty one where there is none, or it cannot be read: what
    it tells is a title or a folder, and is then not known."""
    try:
        return json_object(read_head(path, SMALL_FILE_BYTES))
    except OSError:
        return {}


def text_of(value: Any) -> str | None:
    """A text that says something, None for all else, also for one that cannot be written as UTF-8."""
    if not isinstance(value, str) or not value.strip():
        return None
    try:
        value.encode()
    except UnicodeEncodeError:
        return None
    return value


def said(content: Any) -> str:
    """The words of a message's content: a string, or parts with a text."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str))
