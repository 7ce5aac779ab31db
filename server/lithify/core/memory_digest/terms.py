"""Words somebody would search for: identifiers, names and paths, as they stand in a text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

MOST_CONCEPTS, MOST_FILES = 8, 12

_PATH = re.compile(
    r"(?<![\w/.@:+-])(?:~|\.{1,2}|[A-Za-z]:)?(?:[\w@.+-]*[/\\])*[\w@+-][\w@.+-]*\.[A-Za-z][A-Za-z0-9]{0,7}(?![\w/(])"
)
_IDENTIFIER = re.compile(
    r"`([^`\s]{2,60})`|\b([A-Za-z_]\w*(?:Error|Exception|Warning))\b|\b([A-Z][a-z0-9]+(?:[A-Z][a-z0-9]+)+)\b|"
    r"\b([a-z]+(?:_[a-z0-9]+)+)\b|\b([a-z]+(?:[A-Z][a-z0-9]+)+)\b"
)
_LIBRARY = re.compile(
    r"(?:^|[\n;+-])[ \t]*(?:from ([\w.]{2,40}) import|import ([\w.]{2,40})(?=[\s;,]|$))|"
    r"\b(?:pip|uv|npm|pnpm|yarn|cargo|gem|go|poetry|bun)\d? (?:pip )?(?:install|add|get|i) (?:-\S+ )*([\w@./-]{2,60})"
)
_EXTENSIONS = frozenset(
    """
    c cc cfg clj cpp cs css csv dart env ex exs go gradle graphql h hpp hs html ini ipynb java js json jsonl jsx kt less
    lock lua md mdx mjs ml mod mts php pl proto ps1 py pyi r rb rs rst sass scala scss sh sol sql sum svelte svg swift
    tf toml traj ts tsx txt vue xml yaml yml zig
    """.split()  # noqa: SIM905
)
_MAX_TEXT = 20_000
_ARGUMENTS = re.compile(r"(?<=\w)[(\[{=<:\"'].*", re.S)


def concepts(texts: Iterable[str], first: Iterable[str] = ()) -> tuple[str, ...]:
    """Identifiers, libraries and names in texts, the most frequent first, after those that are given."""
    found: Counter[str] = Counter()
    for text in texts:
        for groups in (*_LIBRARY.findall(text[:_MAX_TEXT]), *_IDENTIFIER.findall(text[:_MAX_TEXT])):
            name = _bare(next((group for group in groups if group), ""))
            if _is_name(name):
                found[name] += 1
    ranked = [name for name, _ in found.most_common()]
    return tuple(dict.fromkeys([*(name for name in first if name), *ranked]))[:MOST_CONCEPTS]


def files(texts: Iterable[str], first: Iterable[str] = ()) -> tuple[str, ...]:
    """Paths of files in texts, in order, after those that are given."""
    given = list(dict.fromkeys(path for path in first if path))
    found = dict.fromkeys(path for text in texts for path in _PATH.findall(text[:_MAX_TEXT]) if _is_file(path))
    endings = tuple(path.rpartition("/")[2] for path in given)
    return (*given, *(path for path in found if path not in endings and path not in given))[:MOST_FILES]


def _bare(name: str) -> str:
    """A name without arguments, line numbers and marks around it; empty for an address."""
    if "://" in name:
        return ""
    bare = _ARGUMENTS.sub("", name).strip(".,:;()[]{}<>\"'/-=")
    return bare if "/" in bare else bare.removeprefix("@")


def _is_name(name: str) -> bool:
    return len(name) > 2 and any(character.isalpha() for character in name) and not _is_file(name)


def _is_file(path: str) -> bool:
    name, _, extension = path.rpartition(".")
    return bool(name) and extension.lower() in _EXTENSIONS and ("/" in path or "." not in name)
