"""Prose for benchmarks: chains of words learnt from the documentation of Python's own library.

Word frequencies, and which word follows which, are those of technical English; the texts themselves are new, so that
no two records are the same.
"""

from __future__ import annotations

import ast
import itertools
import os
import random
import sysconfig
from collections import defaultdict
from functools import lru_cache
from pathlib import Path

MOST_BYTES = 400_000
"""Longer modules are tables, not prose."""

Followers = dict[str, list[str]]


class Writer:
    """Writes prose; the same seed writes the same."""

    def __init__(self, seed: int) -> None:
        self._choose = random.Random(seed)
        self._followers, self._starts = _chains()

    def sentence(self, words: int) -> str:
        """So many words that follow each other as they do in the documentation."""
        rand, followers = self._choose.random, self._followers
        word = self._starts[int(rand() * len(self._starts))]
        said = [word]
        for _ in range(words - 1):
            after = followers.get(word) or self._starts
            word = after[int(rand() * len(after))]
            said.append(word)
        return " ".join(said)

    def text(self, size_bytes: int) -> str:
        """Sentences of so many bytes, cut at the end; ASCII alone."""
        pieces: list[str] = []
        length = 0
        while length < size_bytes:
            piece = f"{self.sentence(8 + int(self._choose.random() * 14)).capitalize()}. "
            pieces.append(piece)
            length += len(piece)
        return "".join(pieces)[:size_bytes]

    def pick(self, count: int) -> int:
        """A number below `count`; low ones come more often, as popular files and subjects do."""
        return int(count * self._choose.random() ** 3)


@lru_cache(maxsize=1)
def _chains() -> tuple[Followers, list[str]]:
    """Which words follow a word, each as often as it does; and the words that sentences begin with."""
    followers: Followers = defaultdict(list)
    starts: list[str] = []
    for text in _documentation():
        words = [word for word in text.split() if word.isascii() and word[0].isalnum()]
        starts += words[:1]
        for one, next_one in itertools.pairwise(words):
            followers[one].append(next_one)
    return dict(followers), starts


def _documentation() -> list[str]:
    """The docstrings of the standard library, in the order of its files."""
    found = []
    root = Path(sysconfig.get_paths()["stdlib"])
    for folder, names, files in os.walk(root):
        names[:] = sorted(name for name in names if name not in {"test", "tests", "site-packages", "__pycache__"})
        for name in sorted(files):
            path = Path(folder, name)
            if path.suffix == ".py" and path.stat().st_size < MOST_BYTES:
                found += _docstrings(path)
    return found


def _docstrings(path: Path) -> list[str]:
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):  # a sample of broken code
        return []
    places = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = (ast.get_docstring(node) for node in ast.walk(tree) if isinstance(node, places))
    return [text for text in docstrings if text]
