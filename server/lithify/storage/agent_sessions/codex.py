"""Codex: `sessions/YYYY/MM/DD/rollout-<time>-<session id>.jsonl` in `CODEX_HOME`, else in `~/.codex`.

Sessions that were archived (`archived_sessions`) are not listed, for Codex does not go on with them. One whose first
record says that a subagent or Codex itself is its source is no session of the user's. Codex may compress old ones; what
is in them is not read. Source: Codex 0.171, as measured, and its published source.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from lithify.core.agent_sessions import SessionFile, one_line
from lithify.storage.agent_sessions.folders import (
    SMALL_FILE_BYTES,
    Walk,
    first_records,
    folder_of,
    json_object,
    read_head,
    said,
    text_of,
)
from lithify.storage.agent_sessions.versions import Seen
from lithify.storage.foreign_files import read as read_file

name = "codex"
title = "Codex"
format_name = "codex"
resume = "codex resume"
seen = Seen("0.150.0", "0.171.x", is_told=True)
"""Run with 0.150.0, 0.160.0, 0.165.0 and 0.171.0: all of it. A session names the version that began it, whatever went
on with it."""

_SESSION_FILE = r"rollout-.+\.jsonl"
_COMPRESSED = r"rollout-.+\.jsonl\.zst"
_ID = re.compile(
    r"rollout-.*?([0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})(?:_[^/\\]*)?\.jsonl(?:\.zst)?", re.DOTALL
)
_HEAD_RECORDS = 40
_REQUEST = "## My request for Codex:"
"""What stands in front of the user's words where an editor put its own context before them."""


def folder(environment: Mapping[str, str]) -> Path:
    """The folder with a folder for each year."""
    return home(environment) / "sessions"


def home(environment: Mapping[str, str]) -> Path:
    """The folder that Codex keeps everything in."""
    return folder_of(environment, "CODEX_HOME", ".codex")


def find(environment: Mapping[str, str], walk: Walk) -> Iterator[SessionFile]:
    """The files of all days."""
    names = _names(home(environment) / "session_index.jsonl")
    for year in walk.folders(folder(environment), r"\d+"):
        for month in walk.folders(year, r"\d+"):
            for day in walk.folders(month, r"\d+"):
                yield from _of_day(day, names, walk)


def session_id_of(path: Path) -> str | None:
    """The id in the name of a session's file."""
    found = _ID.fullmatch(path.name)
    return found[1] if found else None


def head(file: SessionFile) -> SessionFile | None:
    """What `session_meta` says, and what the user asked first."""
    if file.unread is not None:
        return file
    asked: str | None = None
    meta: dict[str, Any] = {}
    for record in first_records(Path(file.path), _HEAD_RECORDS):
        payload = record.get("payload")
        if not isinstance(payload, dict):
            continue
        if record.get("type") == "session_meta" and not meta:
            meta = payload
            if _is_of_a_subagent(meta):
                return None
        asked = asked or _asked(record.get("type"), payload)
        if meta and asked:
            break
    return replace(
        file,
        session_id=text_of(meta.get("id")) or file.session_id,
        title=file.title or asked,
        project=text_of(meta.get("cwd")),
        version=text_of(meta.get("cli_version")),
    )


def read(file: SessionFile) -> bytes:
    """The file."""
    return read_file(Path(file.path))


def finish(file: SessionFile, text: str) -> SessionFile:  # noqa: ARG001 - the head tells all
    """The same."""
    return file


def _of_day(day: Path, names: Mapping[str, str], walk: Walk) -> Iterator[SessionFile]:
    plain = set()
    for path, status in walk.files(day, _SESSION_FILE):
        plain.add(path.name)
        session_id = session_id_of(path)
        yield SessionFile(
            name, path.as_uri(), str(path), status.st_mtime_ns, status.st_size, session_id, names.get(session_id or "")
        )
    for path, status in walk.files(day, _COMPRESSED):
        if path.name.removesuffix(".zst") in plain:
            continue
        session_id = session_id_of(path)
        yield SessionFile(
            name,
            path.as_uri(),
            str(path),
            status.st_mtime_ns,
            status.st_size,
            session_id,
            names.get(session_id or ""),
            unread="Codex keeps it compressed; go on with it once in Codex, then it can be read here.",
        )


def _names(index: Path) -> dict[str, str]:
    """The names that the user gave sessions, by id; the last one counts."""
    try:
        lines = read_head(index, SMALL_FILE_BYTES).split(b"\n")
    except OSError:
        return {}
    found: dict[str, str] = {}
    for record in map(json_object, lines):
        session_id, given = text_of(record.get("id")), text_of(record.get("thread_name"))
        if session_id and given and (shown := one_line(given)):
            found[session_id] = shown
    return found


def _is_of_a_subagent(meta: Mapping[str, Any]) -> bool:
    source = meta.get("source")
    return isinstance(source, dict) and any(key.lower() in ("subagent", "internal") for key in source)


def _asked(kind: Any, payload: Mapping[str, Any]) -> str | None:
    """What the user wrote, from the event that says it, or from a message that is no context of Codex's own."""
    if kind == "event_msg" and payload.get("type") == "user_message":
        words = payload.get("message")
    elif kind == "response_item" and (payload.get("type"), payload.get("role")) == ("message", "user"):
        words = said(payload.get("content"))
        if words.lstrip().startswith(("<", "# AGENTS.md")):
            return None
    else:
        return None
    if not isinstance(words, str):
        return None
    return one_line(words.rpartition(_REQUEST)[2])
