"""A stand-in for the program `opencode`: `export` and `import` on the database in HOME, as opencode 1.18 does them.

Facts this replays: `import` takes up messages and parts by their ids, and changes none that is there; a session is
listed with the folder that PWD names; messages are exported in the order of their times, and their keys in an order of
its own. `STUB_OPENCODE` makes it misbehave: `old` (another version), `fails`, `hangs`, `forgets` (imports nothing),
`answers` (says more in its last message, and another one, while it imports), `rewrites` (its first message, too).
"""

from __future__ import annotations

import json
import os
import sqlite3
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

Json = dict[str, Any]

SESSION = "ses_dd5934e6bffeEch037c4qyeMCe"
KEYS = ("role", "time", "parentID", "agent", "model", "modelID", "providerID", "mode", "path", "summary")
"""The keys of a message that come first, in the order in which opencode keeps them."""

MODEL = {"providerID": "own", "modelID": "small"}
_TABLES = """
CREATE TABLE IF NOT EXISTS session (
    id TEXT PRIMARY KEY, parent_id TEXT, directory TEXT, title TEXT, version TEXT, time_created INTEGER,
    time_updated INTEGER, revert TEXT
);
CREATE TABLE IF NOT EXISTS message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, data TEXT);
CREATE TABLE IF NOT EXISTS part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, data TEXT);
"""


def install(folder: Path) -> Path:
    """The folder with a program `opencode` in it, for PATH."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "opencode"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -I {Path(__file__).resolve()} "$@"\n')
    program.chmod(0o755)
    return folder


def keep_session(home: Path, project: Path, turns: int = 3) -> str:
    """A session of so many questions and answers in a home folder, as opencode would have kept it; its URI."""
    project.mkdir(parents=True, exist_ok=True)
    for number in range(turns):
        say(home, project, number)
    return f"lithify-agent:opencode/{SESSION}"


def say(home: Path, project: Path, number: int) -> None:
    """One question and its answer more."""
    at = 1_796_008_096_148 + number * 1000
    asked = {"role": "user", "time": {"created": at}, "agent": "build", "model": MODEL}
    answer = {"role": "assistant", "time": {"created": at + 1}, "parentID": f"msg_{number:012}a", "finish": "stop"}
    told = [
        _spoken(f"msg_{number:012}a", asked, f"question {number}: " + "why is the cart slow? " * 20),
        _spoken(f"msg_{number:012}b", answer, f"answer {number}: " + "it reads every price. " * 20),
    ]
    info = {"id": SESSION, "title": "Carts", "version": "1.18.34", "directory": str(project), "time": {"created": at}}
    _take_up(home, {"info": info, "messages": told}, str(project))


def exported(home: Path, session_id: str) -> Json | None:
    """The session as it is exported; None where there is none."""
    with closing(_database(home)) as database:
        row = database.execute("SELECT * FROM session WHERE id = ?", (session_id,)).fetchone()
        if row is None:
            return None
        messages = [
            {
                "info": {**json.loads(data), "id": key, "sessionID": session_id},
                "parts": [
                    {**json.loads(part), "id": part_id, "sessionID": session_id, "messageID": key}
                    for part_id, part in database.execute(
                        "SELECT id, data FROM part WHERE message_id = ? ORDER BY id", (key,)
                    )
                ],
            }
            for key, data in database.execute(
                "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id", (session_id,)
            )
        ]
    told = dict(zip(("id", "parentID", "directory", "title", "version", "created", "updated"), row, strict=False))
    info = {"id": told["id"], "projectID": "global", "directory": told["directory"], "title": told["title"]}
    times = {"created": told["created"], "updated": told["updated"]}
    return {"info": {**info, "version": told["version"], "time": times}, "messages": messages}


def _spoken(key: str, info: Json, text: str) -> Json:
    return {"info": {**info, "id": key}, "parts": [{"type": "text", "text": text, "id": f"prt_{key[4:]}"}]}


def _database(home: Path) -> sqlite3.Connection:
    path = home / ".local" / "share" / "opencode" / "opencode.db"
    path.parent.mkdir(parents=True, exist_ok=True)
    database = sqlite3.connect(path)
    database.executescript(_TABLES)
    return database


def _take_up(home: Path, export: Json, folder: str) -> None:
    info = export["info"]
    with closing(_database(home)) as database, database:
        now = time.time_ns() // 1_000_000
        row = (info["id"], folder, info.get("title"), info["version"], info["time"]["created"], now)
        database.execute("INSERT OR IGNORE INTO session VALUES (?, NULL, ?, ?, ?, ?, ?, NULL)", row)
        database.execute("UPDATE session SET time_updated = ? WHERE id = ?", (now, info["id"]))
        for one in export["messages"]:
            known = {key: value for key, value in one["info"].items() if key not in ("id", "sessionID")}
            told = {key: known[key] for key in dict.fromkeys((*KEYS, *known)) if key in known}
            found = (one["info"]["id"], info["id"], told["time"]["created"], json.dumps(told))
            database.execute("INSERT OR IGNORE INTO message VALUES (?, ?, ?, ?)", found)
            for part in one["parts"]:
                data = {key: value for key, value in part.items() if key not in ("id", "sessionID", "messageID")}
                row = (part["id"], one["info"]["id"], info["id"], json.dumps(data))
                database.execute("INSERT OR IGNORE INTO part VALUES (?, ?, ?, ?)", row)


def _say_more(home: Path, order: str) -> None:
    """The text of the first or the last message grows."""
    with closing(_database(home)) as database, database:
        key, data = database.execute(f"SELECT id, data FROM part ORDER BY id {order}").fetchone()
        part = json.loads(data)
        grown = json.dumps({**part, "text": part["text"] + " and more"})
        database.execute("UPDATE part SET data = ? WHERE id = ?", (grown, key))


def main(arguments: list[str]) -> int:
    home, wrong = Path(os.environ["HOME"]), os.environ.get("STUB_OPENCODE")
    if wrong == "hangs":
        (home / "hanging").write_text(str(os.getpid()))
        time.sleep(600)
    if arguments[0] == "--version":
        sys.stdout.write("1.4.3\n" if wrong == "old" else "1.18.34\n")
        return 0
    if arguments[0] == "export":
        session = exported(home, arguments[1])
        sys.stderr.write(f"Exporting session: {arguments[1]}")
        sys.stdout.write(json.dumps(session, indent=2) if session else "")
        return 0 if session else 1
    if wrong == "fails":
        sys.stderr.write("\x1b[91m\x1b[1mError: \x1b[0mDatabase is locked\n")
        return 1
    if wrong in ("answers", "rewrites"):
        _say_more(home, "DESC" if wrong == "answers" else "ASC")
        say(home, Path(os.environ["PWD"]), 9)
    if wrong != "forgets":
        _take_up(home, json.loads(Path(arguments[1]).read_bytes()), os.environ["PWD"])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
