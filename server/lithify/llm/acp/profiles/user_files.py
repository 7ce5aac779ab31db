"""The user's own files, in which agents keep their logins and settings: found, read, and lent to a run."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lithify.llm.acp.profile import Finding

STRING_OR_COMMENT = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
STRING_OR_LAST_COMMA = re.compile(r'("(?:\\.|[^"\\])*")|,(?=\s*[}\]])')


def home_folder(environment: Mapping[str, str]) -> Path:
    """The user's home folder."""
    home = environment.get("HOME") or environment.get("USERPROFILE")
    return Path(home) if home else Path.home()


def folder_of(environment: Mapping[str, str], variable: str, *below_home: str) -> Path:
    """A folder that a variable names, else the usual one below the home folder."""
    named = environment.get(variable)
    return Path(named) if named else home_folder(environment).joinpath(*below_home)


def read_object(path: Path) -> dict[str, Any]:
    """A JSON object with comments and last commas, as agents allow them in their settings; empty where there is no such
    file. Raises OSError, and ValueError with a sentence that names the file."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return {}
    try:
        found = json.loads(without_comments(text) or "{}")
    except ValueError as error:
        raise ValueError(f"{path} is not JSON: {error}") from error
    match found:
        case dict():
            return found
    raise ValueError(f"{path} does not hold a JSON object")


def without_comments(text: str) -> str:
    """JSON without its comments and without commas before a closing bracket."""
    bare = STRING_OR_COMMENT.sub(lambda found: found[1] or " ", text)
    return STRING_OR_LAST_COMMA.sub(lambda found: found[1] or "", bare).strip()


def lend_folder(source: Path, target: Path) -> None:
    """Puts the user's folder into a run as a link, so that a login renewed there is renewed for the user too. Raises
    OSError."""
    if not source.is_dir():
        return
    if sys.platform == "win32":
        import _winapi

        _winapi.CreateJunction(str(source), str(target))
    else:
        target.symlink_to(source, target_is_directory=True)


def lend_file(source: Path, target: Path) -> None:
    """The same for a file; on Windows, where links to files need rights that users lack, a copy. Raises OSError."""
    if not source.is_file():
        return
    if sys.platform == "win32":
        shutil.copyfile(source, target)
    else:
        target.symlink_to(source)


def login_finding(environment: Mapping[str, str], logins: Sequence[Path], keys: Sequence[str], how: str) -> Finding:
    """Whether a login of the agent or a key for its model is here. `logins` are files that a login leaves; `how` says
    how to log in."""
    if any(path.exists() for path in logins):
        return Finding(True, "logged in")
    given = [key for key in keys if environment.get(key)]
    if given:
        names = " and ".join(given)
        return Finding(True, f"not logged in, but {names} is set here; the agent gets it where model.acp.env names it")
    return Finding(
        False,
        "neither a login nor a key was found",
        f"{how}, or set one of {', '.join(keys)} and name it in model.acp.env",
    )
