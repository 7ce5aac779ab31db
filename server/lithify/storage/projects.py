"""Which project a path belongs to: the nearest folder above it that looks like a project's root."""

from __future__ import annotations

import os
from collections.abc import Sequence
from urllib.parse import unquote, urlsplit

from lithify.core.events import project_id_of
from lithify.core.outcomes import LithifyError
from lithify.core.projects import Project

MARKERS = (
    ".git",
    ".hg",
    ".svn",
    ".jj",
    "pyproject.toml",
    "setup.py",
    "package.json",
    "Cargo.toml",
    "go.mod",
    "pom.xml",
    "build.gradle",
    "build.gradle.kts",
    "Gemfile",
    "composer.json",
    "mix.exs",
    "deno.json",
    "CMakeLists.txt",
)
"""Names that make a folder a project's root."""


def path_of(named: str) -> str:
    """The path of a file URI or of a path as it stands; other schemes give their path part.

    Raises LithifyError `invalid_params` for what is neither.
    """
    scheme, separator, _ = named.partition("://")
    if not separator:
        return named
    try:
        parts = urlsplit(named)
    except ValueError as error:
        raise _no_path(named, error) from None
    if scheme.lower() != "file" or os.name == "posix":
        return unquote(parts.path)
    from urllib.request import url2pathname  # knows drives, and brings all of HTTP with it

    return url2pathname(parts.path)


def find_project(path: str, workspace_folders: Sequence[str], home: str) -> Project:
    """The project of a path (wire contract, section 2).

    Its root is the nearest folder at or above the path with a marker, looked for no higher than the workspace folder
    that holds the path, and never in or above the home folder; else the folder itself. Links are followed first.
    Raises LithifyError `invalid_params` for what no path can be.
    """
    try:
        real = os.path.realpath(path)
    except ValueError as error:
        raise _no_path(path, error) from None
    folder = os.path.dirname(real) if os.path.isfile(real) else real
    limits = {os.path.realpath(one) for one in workspace_folders}
    real_home = os.path.realpath(home)
    root = _nearest_marked(folder, limits, real_home) or folder
    return Project(project_id_of(root), root)


def _nearest_marked(folder: str, limits: set[str], home: str) -> str | None:
    while not _holds(folder, home):
        if any(os.path.exists(os.path.join(folder, marker)) for marker in MARKERS):
            return folder
        parent = os.path.dirname(folder)
        if folder in limits or parent == folder:
            return None
        folder = parent
    return None


def _no_path(named: str, error: ValueError) -> LithifyError:
    return LithifyError("invalid_params", f"{named[:200]!a} is no path ({error})")


def _holds(folder: str, path: str) -> bool:
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)
