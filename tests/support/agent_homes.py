"""A home folder in which coding agents have kept sessions, each in the shape of its agent, written by the test."""

from __future__ import annotations

import hashlib
import json
import os
import re
import sqlite3
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from subprocess import PIPE, Popen
from types import MappingProxyType
from typing import Any

Json = dict[str, Any]

CLAUDE_ID = "3f2a9c41-5a7b-4c1d-9d61-0c1f2e3d4a5b"
CODEX_ID = "01996135-afde-7911-97f0-d863511eca56"
KIMI_CLI_ID = "7c0e7f3a-1b2c-4d3e-8f90-a1b2c3d4e5f6"
KIMI_CODE_ID = "session_07308d83-3ce4-488e-b6f0-5f0cb1ffdcd1"
GEMINI_ID = "0ab84937-9fe7-4284-986a-33c832af0b6a"
OPENCODE_ID = "ses_dd5934e6bffeEch037c4qyeMCe"

LONG_AGO = 1_700_000_000.0


@dataclass(frozen=True, slots=True)
class AgentHome:
    """One home folder. Each method writes a session and gives the path of its file; `project` is a folder's path."""

    folder: Path

    @property
    def environment(self) -> dict[str, str]:
        """The variables of somebody whose home it is, and who set none of the agents'."""
        return {"HOME": str(self.folder)}

    def claude_code(
        self,
        session_id: str = CLAUDE_ID,
        project: str = "/home/ana/shop",
        records: list[Json] | None = None,
        version: str = "2.1.332",
    ) -> Path:
        folder = self.folder / ".claude" / "projects" / re.sub(r"[^A-Za-z0-9]", "-", project)
        common = {"cwd": project, "sessionId": session_id, "version": version, "isSidechain": False}
        said = claude_code_records() if records is None else records
        return written(folder / f"{session_id}.jsonl", [{**common, **one} for one in said])

    def claude_code_runs(self, process_id: int, session_id: str = CLAUDE_ID) -> Path:
        """The file in which Claude Code says what a process has open."""
        told = {"pid": process_id, "sessionId": session_id, "status": "idle"}
        return written(self.folder / ".claude" / "sessions" / f"{process_id}.json", [told])

    def codex(
        self,
        session_id: str = CODEX_ID,
        project: str = "/home/ana/shop",
        source: Any = "cli",
        folder: str = "sessions/2026/07/01",
        asked: str = "Read the cart",
        version: str | None = "0.171.0",
    ) -> Path:
        meta = {"id": session_id, "cwd": project, "cli_version": version, "source": source}
        context = "<environment_context>\n</environment_context>"
        records = [
            codex_record("session_meta", meta),
            codex_record("response_item", codex_message("user", context)),
            codex_record("response_item", codex_message("user", asked)),
            codex_record("event_msg", {"type": "user_message", "message": asked}),
            codex_record("response_item", codex_message("assistant", "It is slow.")),
        ]
        return written(self.folder / ".codex" / folder / f"rollout-2026-07-01T09-31-40-{session_id}.jsonl", records)

    def codex_lock(self, session_id: str = CODEX_ID) -> Path:
        """Where Codex locks a session."""
        return self.folder / ".codex" / "thread-writer-locks" / f"{session_id}.lock"

    def kimi_cli(self, session_id: str = KIMI_CLI_ID, project: str = "/home/ana/shop") -> Path:
        share = self.folder / ".kimi"
        written(share / "kimi.json", [{"work_dirs": [{"path": project, "kaos": "local"}]}])
        folder = share / "sessions" / hashlib.md5(project.encode()).hexdigest() / session_id
        records = [
            {"role": "_system_prompt", "content": "Be brief."},
            {"role": "user", "content": "Read the cart"},
            {"role": "assistant", "content": [{"type": "text", "text": "It is slow."}]},
        ]
        return written(folder / "context.jsonl", records)

    def kimi_code(self, session_id: str = KIMI_CODE_ID, project: str = "/home/ana/shop", **state: Any) -> Path:
        folder = self.folder / ".kimi-code" / "sessions" / "wd_shop_a0315dc96175" / session_id
        written(folder / "state.json", [{"id": session_id, "version": 2, "cwd": project, **state}])
        said = {"role": "user", "content": [{"type": "text", "text": "Read the cart"}], "toolCalls": []}
        records = [
            {"type": "metadata", "protocol_version": "1.5", "created_at": 1796008086544},
            {"type": "turn.prompt", "agentId": "main", "input": said["content"], "origin": {"kind": "user"}, "time": 1},
            {"type": "context.append_message", "agentId": "main", "message": said, "time": 2},
        ]
        return written(folder / "agents" / "main" / "wire.jsonl", records)

    def gemini(self, session_id: str = GEMINI_ID, project: str = "/home/ana/shop", kind: str = "main") -> Path:
        folder = self.folder / ".gemini" / "tmp" / "shop"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / ".project_root").write_text(project)
        records: list[Json] = [
            {"sessionId": session_id, "projectHash": "shop", "startTime": "2026-07-01T07:31:40.906Z", "kind": kind},
            {
                "id": "1",
                "timestamp": "2026-07-01T07:31:41.906Z",
                "type": "user",
                "content": [{"text": "Read the cart"}],
            },
            {"id": "2", "timestamp": "2026-07-01T07:31:42.906Z", "type": "gemini", "content": "It is slow."},
        ]
        return written(folder / "chats" / f"session-2026-07-01T07-31-{session_id[:8]}.jsonl", records)

    def opencode(
        self, session_id: str = OPENCODE_ID, project: str = "/home/ana/shop", parent: str | None = None
    ) -> Path:
        path = self.folder / ".local" / "share" / "opencode" / "opencode.db"
        path.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(path)) as database, database:
            database.executescript(f"PRAGMA journal_mode = WAL; {_TABLES}")
            row = (session_id, parent, project, "Reading the cart", "1.18.34", 1_796_008_096_148, 1_796_008_102_775)
            database.execute("INSERT INTO session VALUES (?, ?, ?, ?, ?, ?, ?, NULL)", row)
            for number, (role, text) in enumerate((("user", "Read the cart"), ("assistant", "It is slow."))):
                message, at = f"msg_{session_id}{number}", 1_796_008_096_148 + number
                data = {"role": role, "time": {"created": at, "completed": at}, "finish": "stop"}
                database.execute("INSERT INTO message VALUES (?, ?, ?, ?)", (message, session_id, at, json.dumps(data)))
                part = (f"prt_{session_id}{number}", message, session_id, json.dumps({"type": "text", "text": text}))
                database.execute("INSERT INTO part VALUES (?, ?, ?, ?)", part)
        return path

    def all(self) -> None:
        """A session of every agent."""
        for write in (self.claude_code, self.codex, self.kimi_cli, self.kimi_code, self.gemini, self.opencode):
            write()


_TABLES = """
CREATE TABLE IF NOT EXISTS session (
    id TEXT PRIMARY KEY, parent_id TEXT, directory TEXT, title TEXT, version TEXT, time_created INTEGER,
    time_updated INTEGER, revert TEXT
);
CREATE TABLE IF NOT EXISTS message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, data TEXT);
CREATE TABLE IF NOT EXISTS part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, data TEXT);
"""


def claude_code_records(asked: str = "Read the cart", **more: Any) -> list[Json]:
    """A question and its answer."""
    answer = {"id": "m1", "role": "assistant", "content": [{"type": "text", "text": "It is slow."}]}
    return [
        {"type": "user", "uuid": "u1", "parentUuid": None, "message": {"role": "user", "content": asked}, **more},
        {"type": "assistant", "uuid": "u2", "parentUuid": "u1", "message": answer, **more},
    ]


def codex_record(kind: str, payload: Json) -> Json:
    """One record of Codex."""
    return {"timestamp": "2026-07-01T07:31:40.906Z", "type": kind, "payload": payload}


def codex_message(role: str, text: str) -> Json:
    """A message as an item of Codex' history."""
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


def written(path: Path, records: list[Json]) -> Path:
    """A file of JSON lines that was written long ago."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")
    os.utime(path, (LONG_AGO, LONG_AGO))
    return path


_TELL_AND_WAIT = "print('ready', flush=True); sys.stdin.read()"
WAITING = f"import sys; {_TELL_AND_WAIT}"
HOLDING = f"import sys; file = open(sys.argv[1], 'a'); {_TELL_AND_WAIT}"
LOCKING = f"import fcntl, sys; file = open(sys.argv[1], 'a'); fcntl.flock(file, fcntl.LOCK_EX); {_TELL_AND_WAIT}"
"""What another process can do until it is ended."""


@contextmanager
def another_process(script: str, *arguments: str) -> Iterator[int]:
    """Another process that has done what the script says and lives until the block ends; its id."""
    with _started(["-c", script, *arguments]) as process_id:
        yield process_id


@contextmanager
def another_program(name: str, folder: Path, runs_in: Path, **environment: str) -> Iterator[int]:
    """A program of that name, a script in a folder, that runs in another one until the block ends; its id."""
    path = folder / name
    path.write_text(WAITING)
    with _started([str(path)], runs_in, environment) as process_id:
        yield process_id


@contextmanager
def _started(
    arguments: list[str], runs_in: Path | None = None, environment: Mapping[str, str] = MappingProxyType({})
) -> Iterator[int]:
    variables = {**os.environ, **environment}
    command = [sys.executable, *arguments]
    with Popen(command, stdin=PIPE, stdout=PIPE, text=True, cwd=runs_in, env=variables) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield process.pid
        finally:
            process.kill()
