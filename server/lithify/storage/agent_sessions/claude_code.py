"""Claude Code: `projects/<folder with dashes>/<session id>.jsonl` in `CLAUDE_CONFIG_DIR`, else in `~/.claude`.

A file whose name begins with `agent-`, one in a folder of the session's own, and one whose first message is a sidechain
are those of subagents. Source: Claude Code 2.1.332, as measured.
"""

from __future__ import annotations

import re
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
    lines_backwards,
    said,
    text_of,
)
from lithify.storage.agent_sessions.versions import Seen, last_version
from lithify.storage.foreign_files import read as read_file

name = "claude-code"
title = "Claude Code"
format_name = "claude-code"
resume = "claude --resume"
seen = Seen("2.1.150", "2.1.332", is_told=True, by_last=True)
"""Run with 2.1.150, 2.1.200, 2.1.250, 2.1.300 and 2.1.332: all of it. 2.1.112 loses calls of a tail, where an answer
had several. There is no series of patches: any of them may change what a session holds."""

_SESSION_FILE = r"(?!agent-).+\.jsonl"
_HEAD_RECORDS = 200
_TITLES = (("custom-title", "customTitle"), ("ai-title", "aiTitle"), ("summary", "summary"))
"""The records that name a session, and the key with the name; the user's own name for it comes first."""

_NOT_ASKED = ("<command-", "<local-command-", "<system-reminder>", "<bash-", "Caveat: ", "[Request interrupted")
"""How user messages begin that the user did not write."""


def folder(environment: Mapping[str, str]) -> Path:
    """The folder with a folder for each project."""
    return config_folder(environment) / "projects"


def config_folder(environment: Mapping[str, str]) -> Path:
    """The folder that Claude Code keeps everything in."""
    return folder_of(environment, "CLAUDE_CONFIG_DIR", ".claude")


def find(environment: Mapping[str, str], walk: Walk) -> Iterator[SessionFile]:
    """The files of all projects."""
    for project in walk.folders(folder(environment)):
        for path, status in walk.files(project, _SESSION_FILE):
            session_id = text_of(path.name.removesuffix(".jsonl"))
            yield SessionFile(name, path.as_uri(), str(path), status.st_mtime_ns, status.st_size, session_id)


def head(file: SessionFile) -> SessionFile | None:
    """The folder that Claude Code was started in, and what the user asked first."""
    path = Path(file.path)
    folders: list[str] = []
    version = asked = None
    speakers = 0
    for record in first_records(path, _HEAD_RECORDS):
        if record.get("type") in ("user", "assistant"):
            speakers += 1
            if speakers == 1 and record.get("isSidechain") is True:
                return None
        if (where := text_of(record.get("cwd"))) is not None:
            folders.append(where)
        version = version or text_of(record.get("version"))
        asked = asked or _asked(record)
        if asked and folders and _names(path.parent.name, folders[-1]):
            break
    return replace(file, project=_project(path.parent.name, folders), version=version, title=asked)


def read(file: SessionFile) -> bytes:
    """The file."""
    return read_file(Path(file.path))


def finish(file: SessionFile, text: str) -> SessionFile:
    """The name that the session was given, and the version that wrote it last."""
    given = next((found for kind, key in _TITLES if (found := _last_title(text, kind, key)) is not None), None)
    return replace(file, title=given or file.title, version=last_version(lines_backwards(text)) or file.version)


def project_of(path: Path) -> str | None:
    """The folder that a session's file belongs to, where its first records tell. Raises OSError."""
    records = first_records(path, _HEAD_RECORDS)
    folders = [where for record in records if (where := text_of(record.get("cwd"))) is not None]
    return _project(path.parent.name, folders)


def _asked(record: dict[str, Any]) -> str | None:
    message = record.get("message")
    if record.get("type") != "user" or record.get("isMeta") is True or not isinstance(message, dict):
        return None
    words = said(message.get("content")).strip()
    return None if words.startswith(_NOT_ASKED) else one_line(words)


def _project(folder_name: str, folders: list[str]) -> str | None:
    """The folder that the session belongs to: Claude Code only finds it from there. A command may change the folder
    later, so the one counts that the project's folder is named after."""
    return next((one for one in folders if _names(folder_name, one)), folders[0] if folders else None)


def _names(folder_name: str, project: str) -> bool:
    """Whether the folder of a project's sessions is named after that project."""
    return re.sub(r"[^A-Za-z0-9]", "-", project) == folder_name


def _last_title(text: str, kind: str, key: str) -> str | None:
    """What the last record of that type says."""
    place = len(text)
    while (place := text.rfind(f'"{kind}"', 0, place)) >= 0:
        record = json_object(text[text.rfind("\n", 0, place) + 1 : _end_of_line(text, place)])
        if record.get("type") == kind and (found := text_of(record.get(key))) is not None:
            return one_line(found)
    return None


def _end_of_line(text: str, place: int) -> int:
    end = text.find("\n", place)
    return len(text) if end < 0 else end
