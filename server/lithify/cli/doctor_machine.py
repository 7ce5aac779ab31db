"""What `lithify doctor` looks at outside the data folder: Python, the command, prompts, SQLite."""

from __future__ import annotations

import os
import platform
import shutil
import sqlite3
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from lithify import __version__
from lithify.cli.doctor_report import Check
from lithify.prompt_files.pins import FETCH_COMMAND
from lithify.prompt_files.templates import find_conversation_prompt, list_prompts, user_prompts_dir

LEAST_SQLITE = "3.35"
_NEEDED = {
    "RETURNING": "CREATE TABLE one (a); INSERT INTO one VALUES (1) RETURNING a",
    "row values": "SELECT (1, 2) < (2, 1)",
    "JSON": "SELECT json_insert('[1]', '$[#]', 2)",
}
_WISHED = {"FTS5": "CREATE VIRTUAL TABLE words USING fts5 (word)"}


def look_at_versions() -> Iterator[Check]:
    """Python and Lithify."""
    yield Check("Python", "ok", f"{platform.python_version()} ({sys.executable})")
    yield Check("Lithify", "ok", f"{__version__} ({Path(__file__).resolve().parents[1]})")


def look_at_command() -> Iterator[Check]:
    """Whether an editor that starts `lithify` gets this one."""
    found = shutil.which("lithify")
    own = Path(sysconfig.get_path("scripts")) / ("lithify.exe" if os.name == "nt" else "lithify")
    own_path = str(own) if own.exists() else f"{sys.executable} -m lithify"
    details = {"path": found}
    if found is None:
        step = f"give your editor the whole path: {own_path}"
        yield Check("Command", "note", "'lithify' is not on PATH", step, details)
    elif own.exists() and not os.path.samefile(found, own):
        step = f"give your editor the whole path of the one you want; this one is {own_path}"
        yield Check("Command", "attention", f"'lithify' on PATH is another one ({found})", step, details)
    else:
        yield Check("Command", "ok", f"'lithify' is on PATH ({found})", None, details)


def look_at_prompt() -> Iterator[Check]:
    """The prompt that conversations are compacted with."""
    prompt = find_conversation_prompt(user_prompts_dir())
    place = next(one.place for one in list_prompts(user_prompts_dir()) if one.name == "conversation" and one.in_use)
    details = {"source": prompt.source, "exact": prompt.exact, "place": str(place)}
    if prompt.exact:
        text, step = f"the exact one of {prompt.source} ({place})", prompt.problem
    else:
        text = f"Lithify's own ({place}), not the exact one of kimi-cli"
        step = prompt.problem or f"run '{FETCH_COMMAND}' to get the exact one"
    yield Check("Prompt", "attention" if step else "ok", text, step, details)


def look_at_sqlite() -> Iterator[Check]:
    """The SQLite that Python brings, and what Lithify needs of it."""
    missing = [name for name, script in _NEEDED.items() if not _works(script)]
    unwished = [name for name, script in _WISHED.items() if not _works(script)]
    there = [name for name in (*_NEEDED, *_WISHED) if name not in (*missing, *unwished)]
    text = f"{sqlite3.sqlite_version} with {', '.join(there) or 'none of what is needed'}"
    details = {"version": sqlite3.sqlite_version, "features": there, "missing": [*missing, *unwished]}
    another = f"use a Python with SQLite {LEAST_SQLITE} or newer, such as one from python.org"
    if missing:
        yield Check("SQLite", "fails", f"{text}; without {', '.join(missing)}", another, details)
    elif unwished:
        yield Check("SQLite", "attention", f"{text}; without FTS5, which searches in text need", another, details)
    else:
        yield Check("SQLite", "ok", text, None, details)


def _works(script: str) -> bool:
    connection = sqlite3.connect(":memory:")
    try:
        for statement in script.split(";"):
            connection.execute(statement).fetchall()
    except sqlite3.Error:
        return False
    finally:
        connection.close()
    return True
