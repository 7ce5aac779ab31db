"""The chat file formats Lithify knows."""

from __future__ import annotations

from lithify.transcripts import claude_code, codex, kimi_context, openai_json, openai_jsonl, specstory
from lithify.transcripts.model import TranscriptFormat

FORMATS: tuple[TranscriptFormat, ...] = (kimi_context, claude_code, codex, specstory, openai_json, openai_jsonl)
"""In the order in which they are tried: a more particular one before one that would take its files too."""


def recognise(text: str, name: str) -> TranscriptFormat | None:
    """The format of a text; the name of its file decides only where the content does not."""
    return next((one for one in FORMATS if one.recognise(text, name)), None)


def by_name(name: str) -> TranscriptFormat | None:
    """The format that is called so."""
    return next((one for one in FORMATS if one.name == name), None)
