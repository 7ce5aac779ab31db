"""kimi-code: `sessions/wd_<folder>/session_<id>/agents/main/wire.jsonl` in `KIMI_CODE_HOME`, else in `~/.kimi-code`.

`state.json` of a session tells its folder and its title. What other agents of the session said lies beside `main` and
is no session. Source: kimi-code 2.1.0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from lithify.core.agent_sessions import SessionFile, one_line
from lithify.storage.agent_sessions.folders import Walk, first_records, folder_of, read_object, said, text_of
from lithify.storage.agent_sessions.versions import Seen
from lithify.storage.foreign_files import read as read_file

name = "kimi-code"
title = "kimi-code"
format_name = "kimi-code"
resume = "kimi --session"
seen = Seen("2.0.2", "2.1.0", is_told=False)
"""Run with 2.0.2 and 2.1.0: all of it. A session names that of its protocol instead
(`transcripts.kimi_code.PROTOCOL`)."""

_HEAD_RECORDS = 60


def folder(environment: Mapping[str, str]) -> Path:
    """The folder with a folder for each working folder."""
    return folder_of(environment, "KIMI_CODE_HOME", ".kimi-code") / "sessions"


def find(environment: Mapping[str, str], walk: Walk) -> Iterator[SessionFile]:
    """The main agents of all sessions."""
    for working in walk.folders(folder(environment), r"(?!\.).+"):
        for session in walk.folders(working, r"session_.+"):
            for path, status in walk.files(session / "agents" / "main", r"wire\.jsonl"):
                state = read_object(session / "state.json")
                given = text_of(state.get("title")) or text_of(state.get("customTitle"))
                yield SessionFile(
                    name,
                    path.as_uri(),
                    str(path),
                    status.st_mtime_ns,
                    status.st_size,
                    text_of(session.name),
                    one_line(given) if given else None,
                    _working_folder(state),
                )


def head(file: SessionFile) -> SessionFile | None:
    """What the user asked first."""
    if file.title:
        return file
    asked = (found for record in first_records(Path(file.path), _HEAD_RECORDS) if (found := _asked(record)))
    return replace(file, title=next(asked, None))


def read(file: SessionFile) -> bytes:
    """The file."""
    return read_file(Path(file.path))


def finish(file: SessionFile, text: str) -> SessionFile:  # noqa: ARG001 - nothing more is told
    """The same."""
    return file


def project_of(path: Path) -> str | None:
    """The working folder of a session's file, where kimi-code tells it."""
    return _working_folder(read_object(path.parent.parent.parent / "state.json"))


def _working_folder(state: Mapping[str, Any]) -> str | None:
    """Older versions wrote it under other names."""
    custom = state.get("custom")
    places = (state.get("cwd"), state.get("workDir"), custom.get("cwd") if isinstance(custom, dict) else None)
    return next((found for one in places if (found := text_of(one)) is not None), None)


def _asked(record: Mapping[str, Any]) -> str | None:
    origin = record.get("origin")
    if record.get("type") != "turn.prompt" or (isinstance(origin, dict) and origin.get("kind", "user") != "user"):
        return None
    return one_line(said(record.get("input")))
