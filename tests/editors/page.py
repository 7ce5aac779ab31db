"""The snippets of docs/EDITORS.md: what a user pastes is what the tests run."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "EDITORS.md"
_SNIPPET = re.compile(r"^<!-- snippet: (?P<name>[\w.-]+) -->\n```(?P<language>\w+)\n(?P<text>.*?)^```$", re.M | re.S)


def snippets() -> dict[str, tuple[str, str]]:
    """Language and text of each snippet, by its name."""
    found = _SNIPPET.finditer(PAGE.read_text(encoding="utf-8"))
    return {match["name"]: (match["language"], match["text"]) for match in found}


def snippet(name: str) -> str:
    """The text of one snippet."""
    return snippets()[name][1]
