"""The chat file formats Lithify knows: imported when somebody asks for them, since not every command does."""

from __future__ import annotations

from functools import cache

from lithify.transcripts.json_lines import looking_once
from lithify.transcripts.model import TranscriptFormat


@cache
def formats() -> tuple[TranscriptFormat, ...]:
    """In the order in which they are tried: a more particular one before one that would take its files too."""
    from lithify.transcripts import (
        claude_code,
        cline,
        codex,
        copilot_cli,
        gemini,
        kimi_code,
        kimi_context,
        openai_json,
        openai_jsonl,
        opencode,
        specstory,
        vscode_chat,
    )

    return (
        kimi_context,
        claude_code,
        codex,
        gemini,
        kimi_code,
        copilot_cli,
        specstory,
        opencode,
        vscode_chat,
        cline,
        openai_json,
        openai_jsonl,
    )


def recognise(text: str, name: str) -> TranscriptFormat | None:
    """The format of a text; the name of its file decides only where the content does not."""
    with looking_once():
        return next((one for one in formats() if one.recognise(text, name)), None)


def by_name(name: str) -> TranscriptFormat | None:
    """The format that is called so."""
    return next((one for one in formats() if one.name == name), None)
