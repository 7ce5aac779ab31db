"""Installs the agents that `make test-resume` runs into `.resume-agents`, once a version: 1.7 GB, most of it binaries.

Those of npm come as `tools.agents` installs them. kimi-cli is a Python package that needs a Python of its own; where
none is found, the others are installed and its tests say what is missing.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tools.agents import ROOT, digest_of, install, is_current

FOLDER = ROOT / ".resume-agents"
PINNED = ROOT / "tests" / "resume"
REQUIREMENTS = PINNED / "kimi-cli-requirements.txt"
KIMI_FOLDER = FOLDER / "kimi-cli"
KIMI_PYTHONS = ("3.13", "3.12")
"""The Pythons on which kimi-cli runs, the best first."""
SOURCES_ONLY = "ripgrepy"
"""The one package of kimi-cli that comes without a wheel."""


def main() -> int:
    """Installs what is not there yet; the exit code."""
    code = install(FOLDER, PINNED)
    return code or _install_kimi_cli()


def _install_kimi_cli() -> int:
    stamp, wanted = KIMI_FOLDER / ".installed", digest_of(REQUIREMENTS)
    if is_current(stamp, wanted):
        return 0
    python = _find_python()
    if python is None:
        print(f"kimi-cli needs Python {' or '.join(KIMI_PYTHONS)}, and none was found: its tests will fail. Name one")
        print("with 'make test-resume KIMI_PYTHON=/path/to/python3.13'.")
        return 0
    print(f"Installing kimi-cli into {FOLDER.name}/{KIMI_FOLDER.name} ...", flush=True)
    shutil.rmtree(KIMI_FOLDER, ignore_errors=True)
    subprocess.run([python, "-m", "venv", str(KIMI_FOLDER)], check=True)
    pip = [str(KIMI_FOLDER / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "-qq", "install"]
    wheels = ["--no-deps", "--only-binary=:all:", f"--no-binary={SOURCES_ONLY}"]
    subprocess.run([*pip, *wheels, "-r", str(REQUIREMENTS)], check=True)
    stamp.write_text(wanted, encoding="utf-8")
    return 0


def _find_python() -> str | None:
    """The named Python, else one on the path, else one that pyenv keeps; None where none of them fits."""
    named = os.environ.get("KIMI_PYTHON")
    places = [named] if named else [place for version in KIMI_PYTHONS for place in _places(version)]
    return next(filter(_fits, places), None)


def _places(version: str) -> list[str]:
    """Where a Python of that version may be."""
    on_path = shutil.which(f"python{version}")
    kept = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    return [*([on_path] if on_path else []), *map(str, sorted(kept.glob(f"{version}.*/bin/python")))]


def _fits(python: str) -> bool:
    """Whether it starts (what pyenv puts on the path may not) and is of a version that does."""
    ask = "import sys; print('%d.%d' % sys.version_info[:2])"
    try:
        told = subprocess.run([python, "-c", ask], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return False
    return told.strip() in KIMI_PYTHONS


if __name__ == "__main__":
    sys.exit(main())
