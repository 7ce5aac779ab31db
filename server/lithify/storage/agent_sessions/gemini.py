"""Gemini CLI: `.gemini/tmp/<project>/chats/session-<time>-<id>.jsonl` in `GEMINI_CLI_HOME`, else in the home folder.

`.project_root` beside `chats` names the project's folder, else `projects.json` or the hash of the path does. What
subagents said lies one folder deeper, or says so in its first record. Each start leaves a file without any message,
which is no session. Source: Gemini CLI 0.61, and its published source.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from lithify.core.agent_sessions import SessionFile, one_line
from lithify.storage.agent_sessions.folders import (
    Walk,
    first_records,
    folder_of,
    json_object,
    read_head,
    read_object,
    said,
    text_of,
)
from lithify.storage.agent_sessions.versions import Seen
from lithify.storage.foreign_files import read as read_file

name = "gemini"
title = "Gemini CLI"
format_name = "gemini"
resume = "gemini --resume"
seen = Seen("0.61.x", "0.61.x", is_told=False)
"""Run with 0.61.0. A session names no version; a record of another kind makes it read-only."""

_HEAD_RECORDS = 60
_PATH_BYTES = 8192
_OLDER = "An older Gemini CLI wrote it; go on with it once in Gemini CLI, then it can be read here."


def folder(environment: Mapping[str, str]) -> Path:
    """The folder with a folder for each project."""
    return home(environment) / "tmp"


def home(environment: Mapping[str, str]) -> Path:
    """The folder that Gemini CLI keeps everything in."""
    return folder_of(environment, "GEMINI_CLI_HOME") / ".gemini"


def find(environment: Mapping[str, str], walk: Walk) -> Iterator[SessionFile]:
    """The sessions of all projects."""
    projects = _projects(home(environment))
    for project in walk.folders(folder(environment)):
        where = _root(project, projects)
        names = set()
        for path, status in walk.files(project / "chats", r"session-.+\.jsonl"):
            names.add(path.stem)
            yield SessionFile(
                name, path.as_uri(), str(path), status.st_mtime_ns, status.st_size, _id(path), project=where
            )
        for path, status in walk.files(project / "chats", r"session-.+\.json"):
            if path.stem not in names:
                yield SessionFile(
                    name, path.as_uri(), str(path), status.st_mtime_ns, status.st_size, project=where, unread=_OLDER
                )


def head(file: SessionFile) -> SessionFile | None:
    """The id, and what the user asked first."""
    if file.unread is not None:
        return file
    asked = None
    for record in first_records(Path(file.path), _HEAD_RECORDS):
        if record.get("kind") == "subagent":
            return None
        asked = asked or _asked(record)
    return replace(file, title=asked)


def read(file: SessionFile) -> bytes:
    """The file."""
    return read_file(Path(file.path))


def finish(file: SessionFile, text: str) -> SessionFile:
    """The title that Gemini CLI itself made of the session."""
    place = len(text)
    while (place := text.rfind('"summary"', 0, place)) >= 0:
        end = text.find("\n", place)
        record = json_object(text[text.rfind("\n", 0, place) + 1 : len(text) if end < 0 else end])
        changed = record.get("$set")
        given = text_of((changed if isinstance(changed, dict) else record).get("summary"))
        if given is not None:
            return replace(file, title=one_line(given))
    return file


def project_of(path: Path, environment: Mapping[str, str]) -> str | None:
    """The project's folder of a session's file, where Gemini CLI knows it."""
    return _root(path.parent.parent, _projects(home(environment)))


def _id(path: Path) -> str | None:
    """The id that the first record names: the name of the file holds its beginning only."""
    try:
        first = read_head(path, _PATH_BYTES).partition(b"\n")[0]
    except OSError:
        return None
    return text_of(json_object(first).get("sessionId"))


def _root(project: Path, projects: Mapping[str, str]) -> str | None:
    try:
        written = read_head(project / ".project_root", _PATH_BYTES).decode("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        written = ""
    return written or projects.get(project.name)


def _projects(home_folder: Path) -> dict[str, str]:
    """The folders of all projects, by what their folders here are named: a short name, earlier a hash of the path."""
    listed = read_object(home_folder / "projects.json").get("projects")
    found: dict[str, str] = {}
    for where, short in listed.items() if isinstance(listed, dict) else ():
        found[hashlib.sha256(where.encode(errors="surrogatepass")).hexdigest()] = where
        if isinstance(short, str):
            found[short] = where
    return found


def _asked(record: Mapping[str, Any]) -> str | None:
    return one_line(said(record.get("content"))) if record.get("type") == "user" else None
