"""kimi-cli: `sessions/<md5 of the working folder>/<session id>/context.jsonl` in `KIMI_SHARE_DIR`, else in `~/.kimi`.

`kimi.json` lists the working folders. What subagents said lies in a folder `subagents` of the session, and what was
compacted away in `context_<number>.jsonl`; neither is a session. Source: kimi-cli 1.50.0, as measured.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from lithify.core.agent_sessions import SessionFile, one_line
from lithify.storage.agent_sessions.folders import Walk, first_records, folder_of, read_object, said, text_of
from lithify.storage.agent_sessions.versions import Seen
from lithify.storage.foreign_files import read as read_file

name = "kimi-cli"
title = "kimi-cli"
format_name = "kimi-context"
resume = "kimi --session"
seen = Seen("1.50.x", "1.50.x", is_told=False)
"""Run with 1.50.0; 1.52.0 no longer runs as an agent. A session names no version."""

_HEAD_RECORDS = 40


def folder(environment: Mapping[str, str]) -> Path:
    """The folder with a folder for each working folder."""
    return folder_of(environment, "KIMI_SHARE_DIR", ".kimi") / "sessions"


def find(environment: Mapping[str, str], walk: Walk) -> Iterator[SessionFile]:
    """The sessions of all working folders."""
    projects = _projects(folder(environment).parent / "kimi.json")
    for working in walk.folders(folder(environment)):
        for session in walk.folders(working):
            for path, status in walk.files(session, r"context\.jsonl"):
                given = text_of(read_object(session / "state.json").get("custom_title"))
                yield SessionFile(
                    name,
                    path.as_uri(),
                    str(path),
                    status.st_mtime_ns,
                    status.st_size,
                    text_of(session.name),
                    one_line(given) if given else None,
                    projects.get(working.name),
                )


def head(file: SessionFile) -> SessionFile | None:
    """What the user asked first, also where that was compacted away since."""
    return file if file.title else replace(file, title=_asked(Path(file.path)))


def read(file: SessionFile) -> bytes:
    """The file."""
    return read_file(Path(file.path))


def finish(file: SessionFile, text: str) -> SessionFile:  # noqa: ARG001 - nothing more is told
    """The same."""
    return file


def project_of(path: Path, environment: Mapping[str, str]) -> str | None:
    """The working folder of a session's file, where kimi-cli knows it."""
    return _projects(folder(environment).parent / "kimi.json").get(path.parent.parent.name)


def _projects(listing: Path) -> dict[str, str]:
    """The working folders, by the names of the folders of their sessions; those of other machines have a prefix."""
    listed = read_object(listing).get("work_dirs")
    found: dict[str, str] = {}
    for one in listed if isinstance(listed, list) else []:
        where = text_of(one.get("path")) if isinstance(one, dict) else None
        if where is not None and one.get("kaos", "local") == "local":
            found[hashlib.md5(where.encode(errors="surrogatepass"), usedforsecurity=False).hexdigest()] = where
    return found


def _asked(path: Path) -> str | None:
    """From the log of what went over the wire; from the session itself where there is none."""
    try:
        records = list(first_records(path.with_name("wire.jsonl"), _HEAD_RECORDS))
    except OSError:
        records = []
    words = next((found for record in records if (found := _turn(record))), None)
    if words is None:
        messages = (record for record in first_records(path, _HEAD_RECORDS) if record.get("role") == "user")
        words = next((found for message in messages if (found := said(message.get("content")))), None)
    return one_line(words) if words else None


def _turn(record: Mapping[str, Any]) -> str | None:
    message = record.get("message")
    if not isinstance(message, dict) or message.get("type") != "TurnBegin":
        return None
    payload = message.get("payload")
    return said(payload.get("user_input")) if isinstance(payload, dict) else None
