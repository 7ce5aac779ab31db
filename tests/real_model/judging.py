"""What is wrong with an answer, looked for with other means than the product's own."""

from __future__ import annotations

import re
from collections import Counter

TAGS = ("current_focus", "environment", "completed_tasks", "active_issues", "code_state", "important_context")

_WORD = re.compile(r"\w+")


def missing(answer: str) -> list[str]:
    """The tags of the six sections that do not both open and close."""
    return [tag for tag in TAGS if not {f"<{tag}>", f"</{tag}>"} <= set(re.findall(r"</?\w+>", answer))]


def loops(answer: str) -> bool:
    """Whether five words in a row, whatever numbers stand between them, make up more than half of 60 words and more."""
    words = [word.casefold() for word in _WORD.findall(answer) if not word.isdigit()]
    runs = Counter(zip(*(words[start:] for start in range(5)), strict=False))
    return len(words) >= 60 and bool(runs) and 5 * max(runs.values()) > len(words) / 2


def brackets(prompt: str) -> list[str]:
    """What stands in brackets in a prompt's template to be filled in: more than one word."""
    return [found for found in re.findall(r"\[[^\[\]\n]+\]", prompt) if " " in found]
