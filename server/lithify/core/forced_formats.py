"""Formats of chat files that the user decides: the setting `documents.formats`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from lithify.core.exclusion import Exclusion
from lithify.core.format_names import FORMAT_NAMES


def forced_format(formats: Mapping[str, str], place: str) -> str | None:
    """The format of a path or URI by the globs given, read as `recording.exclude` reads them; None where none fits.

    Where several fit, the longest glob decides: an object of JSON has no order.
    """
    return _forced(tuple(sorted(formats.items())), place) if formats else None


@lru_cache(maxsize=1024)
def _forced(formats: tuple[tuple[str, str], ...], place: str) -> str | None:
    fitting = [(len(glob), glob) for glob, _ in formats if Exclusion((glob,)).excludes(place)]
    return dict(formats)[max(fitting)[1]] if fitting else None


def problem_of(formats: Mapping[str, str]) -> str | None:
    """What is expected where a glob or a name is none, in words; None where all are sound."""
    for glob, name in formats.items():
        if name not in FORMAT_NAMES:
            return f"names of formats: {name!r} is none of {', '.join(FORMAT_NAMES)}"
        try:
            Exclusion((glob,))
        except ValueError as error:
            return f"globs of paths ({error})"
        if glob.startswith("!"):
            return f"globs of paths ({glob!r} would take back another one)"
    return None
