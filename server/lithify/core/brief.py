"""What others wrote, as a sentence of ours quotes it: never longer than a sentence bears."""

from __future__ import annotations

MOST_CHARACTERS = 60


def brief(value: object) -> str:
    """The beginning of a value as text; an ellipsis stands for what is left out."""
    text = str(value)
    return text if len(text) <= MOST_CHARACTERS else f"{text[: MOST_CHARACTERS - 1]}…"
