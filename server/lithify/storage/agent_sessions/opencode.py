"""opencode: one SQLite database, `opencode/opencode.db` in `XDG_DATA_HOME`, else in `~/.local/share`; only ever read.

A session with a parent is that of a subagent. A session is read in the shape of `opencode export`. Nothing is opened
for writing, and no file is made beside the database. Source: opencode 1.18.34.
"""

from __future__ import annotations

import json
import os
import sqlite3
import stat
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from lithify.core.agent_sessions import SessionFile, Unreadable, one_line
from lithify.storage.agent_sessions.folders import Walk, folder_of, json_object, text_of
from lithify.storage.agent_sessions.versions import Seen
from lithify.storage.foreign_files import check_size
from lithify.storage.paths import NotAFile
from lithify.transcripts.chat_messages import whole

name = "opencode"
title = "opencode"
format_name = "opencode"
resume = "opencode --session"
seen = Seen("1.18.x", "1.18.x", is_told=True)
"""Run with 1.18.3 and 1.18.34: all of it. A session names the version that began it, whatever went on with it."""

URI = "lithify-agent:opencode/"
"""What the URI of a session begins with: it has no file of its own."""

_BUSY_SECONDS = 0.5
_BESIDE = ("-wal", "-shm", "-journal")
"""The endings of the files beside a database that SQLite may open too, and would wait for."""

_DATABASE = r"opencode(?:-[A-Za-z0-9._-]+)?\.db"


class _Unusable(OSError):
    """The database cannot be read now; says why."""


def folder(environment: Mapping[str, str]) -> Path:
    """The folder of the database."""
    return folder_of(environment, "XDG_DATA_HOME", ".local", "share") / "opencode"


def find(environment: Mapping[str, str], walk: Walk) -> Iterator[SessionFile]:
    """The sessions of all databases; there are several where other channels of opencode were tried."""
    for path in _databases(environment, walk):
        try:
            yield from _sessions(path)
        except (OSError, sqlite3.Error) as error:
            walk.unreadable.append(Unreadable(name, str(path), str(error)))


def head(file: SessionFile) -> SessionFile | None:
    """The same: the database tells all."""
    return file


def read(file: SessionFile) -> bytes:
    """The session as `opencode export` writes it. Raises OSError."""
    session_id = file.session_id or ""
    try:
        with closing(_opened(Path(file.path))) as database:
            rows = database.execute("SELECT * FROM session WHERE id = ?", (session_id,)).fetchall()
            found = database.execute(
                "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id", (session_id,)
            ).fetchall()
            parts: dict[str, list[dict[str, Any]]] = {}
            characters = 0
            for row in database.execute(
                "SELECT id, message_id, data FROM part WHERE session_id = ? ORDER BY id", (session_id,)
            ):
                check_size(characters := characters + len(str(row["data"])))
                told = {"id": row["id"], "sessionID": session_id, "messageID": row["message_id"]}
                parts.setdefault(row["message_id"], []).append({**json_object(row["data"]), **told})
    except sqlite3.Error as error:
        raise _Unusable(str(error)) from error
    messages = [_message(row, session_id, parts.get(row["id"], [])) for row in found]
    info = _info(rows[0]) if rows else {"id": session_id}
    return json.dumps({"info": info, "messages": messages}, ensure_ascii=False).encode(errors="surrogatepass")


def finish(file: SessionFile, text: str) -> SessionFile:  # noqa: ARG001 - the database tells all
    """The same."""
    return file


def _databases(environment: Mapping[str, str], walk: Walk) -> Iterator[Path]:
    named = environment.get("OPENCODE_DB")
    if named:
        path = folder(environment) / named
        if path.is_file():
            yield path
        return
    for path, _ in walk.files(folder(environment), _DATABASE):
        yield path


def _sessions(path: Path) -> Iterator[SessionFile]:
    with closing(_opened(path)) as database:
        rows = database.execute("SELECT * FROM session WHERE parent_id IS NULL").fetchall()
    for row in rows:
        known = dict(row)
        session_id = text_of(known.get("id"))
        if session_id is None:
            continue
        updated = whole(known.get("time_updated"))
        yield SessionFile(
            name,
            URI + session_id,
            str(path),
            (updated or 0) * 1_000_000,
            0,
            session_id,
            one_line(text_of(known.get("title")) or ""),
            text_of(known.get("directory")),
            text_of(known.get("version")),
        )


def _message(row: sqlite3.Row, session_id: str, parts: list[dict[str, Any]]) -> dict[str, Any]:
    told = {"id": row["id"], "sessionID": session_id}
    return {"info": {**json_object(row["data"]), **told}, "parts": parts}


def _info(row: sqlite3.Row) -> dict[str, Any]:
    known = dict(row)
    return {
        "id": known.get("id"),
        "title": known.get("title"),
        "directory": known.get("directory"),
        "version": known.get("version"),
        "time": {"created": known.get("time_created"), "updated": known.get("time_updated")},
        **({"revert": json_object(known["revert"])} if isinstance(known.get("revert"), str) else {}),
    }


def _opened(path: Path) -> sqlite3.Connection:
    """The database, to be read. Raises OSError and sqlite3.Error.

    With a log beside it, somebody has it open, or died while they had: then it is read through the log, for which the
    index of the log must be there already, since making one would be writing. Else the file is read as it stands.
    """
    path = Path(os.path.realpath(path))
    beside = _files_beside(path)
    if "-wal" in beside:
        if "-shm" not in beside:
            raise _Unusable("opencode did not close it; start opencode once, which mends it")
        how = "readonly_shm=1"
    else:
        how = "immutable=1"
    database = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&{how}", uri=True, timeout=_BUSY_SECONDS)
    database.row_factory = sqlite3.Row
    return database


def _files_beside(path: Path) -> set[str]:
    """The endings of the files beside a database. Raises OSError where one that SQLite would open is no file, also
    behind a link, and where the database itself holds nothing, as what only poses as a file does."""
    if path.stat().st_size == 0:
        raise _Unusable("it is empty; start opencode once, which makes it anew")
    found = set()
    for ending in _BESIDE:
        with suppress(FileNotFoundError):
            place = path.with_name(path.name + ending)
            mode = place.lstat().st_mode
            if not stat.S_ISREG(mode):
                raise NotAFile(place, mode)
            found.add(ending)
    return found
