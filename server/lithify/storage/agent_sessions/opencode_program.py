"""The program `opencode`, which alone writes into its database: `export` prints a session, `import` takes one up.

It is run with the user's own variables, in the session's project, which it takes from PWD, with no network use of its
own asked for. `import` only ever adds: what is there already is never changed, nor removed. Source: opencode 1.18.34.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from lithify.storage import owner
from lithify.storage.agent_sessions.folders import home_folder
from lithify.storage.agent_sessions.opencode import seen
from lithify.storage.foreign_files import check_size

SECONDS = 60.0
"""How long one run may take; a large session takes a few seconds on a busy machine."""

_QUIET = ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "SHARE")
_MOST_SAID = 300


class OpencodeFailed(OSError):
    """opencode is not there, is another one than is known, or did not do what it was asked for. Says which."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.strerror = why


def found_program(environment: Mapping[str, str]) -> str | None:
    """Where opencode is installed: on the search path, else where its own installer puts it; None for nowhere."""
    own = home_folder(environment) / ".opencode" / "bin"
    return shutil.which("opencode", path=os.pathsep.join([environment.get("PATH") or os.defpath, str(own)]))


@dataclass(frozen=True, slots=True)
class OpencodeProgram:
    """opencode as somebody with these variables finds it. Every method raises OpencodeFailed, or TooLarge."""

    environment: Mapping[str, str]
    seconds: float = SECONDS

    def check_version(self) -> None:
        """Fails for a version whose import was not tried."""
        told = self._run(["--version"], home_folder(self.environment)).decode(errors="replace").strip()
        if not seen.holds(told):
            raise OpencodeFailed(
                f"the opencode that is installed is {told[:40] or 'of no version'}, and only {seen.versions} is known "
                "here; install that one, or compact the session in opencode itself"
            )

    def exported(self, session_id: str, project: str) -> bytes:
        """The session, as opencode spells it."""
        return self._run(["export", session_id], _folder(project))

    def take_up(self, export: Path, project: str) -> None:
        """Imports the export in a file. Of a session that is there, only messages are taken up that it has not."""
        self._run(["import", str(export)], _folder(project))

    def _run(self, arguments: list[str], folder: Path) -> bytes:
        """What it wrote. Its output goes to a file: into a pipe, programs of its kind may leave the end out."""
        command = [sys.executable, "-I", "-S", owner.__file__, str(self.seconds), self._program(), *arguments, "--pure"]
        quiet = {f"OPENCODE_DISABLE_{name}": "1" for name in _QUIET}
        variables = {**self.environment, **quiet, "PWD": str(folder)}
        with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
            with subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=output, stderr=errors, cwd=folder, env=variables
            ) as process:
                code = process.wait()
            if code == 0:
                check_size(os.fstat(output.fileno()).st_size)
            check_size(os.fstat(output.fileno()).st_size)
            said = [(file.seek(0), file.read())[1] for file in (output, errors)]
        if code == owner.LATE:
            raise OpencodeFailed(f"'opencode {arguments[0]}' took longer than {self.seconds:g} seconds and was ended")
        if code != 0:
            raise OpencodeFailed(f"'opencode {arguments[0]}' failed: {_words(said[1] or said[0])}")
        return said[0]

    def _program(self) -> str:
        found = found_program(self.environment)
        if found is None:
            raise OpencodeFailed(
                "opencode is not found on the search path (PATH), and only it can read and write its sessions; "
                "install it, or start this with its folder in PATH"
            )
        return found


def _folder(project: str) -> Path:
    folder = Path(project)
    if not folder.is_dir():
        raise OpencodeFailed(f"the session's project folder {project} is gone, and opencode works in no other")
    return folder


def _words(said: bytes) -> str:
    """What went wrong, on one line and without colours."""
    text = said.decode(errors="replace")
    plain = "".join(piece.partition("m")[2] if at else piece for at, piece in enumerate(text.split("\x1b[")))
    words = " ".join(plain.split())
    return words[:_MOST_SAID].removeprefix("Error: ") or "it said nothing"
