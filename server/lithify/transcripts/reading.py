"""A text read as a transcript: its format, its messages, its outline."""

from __future__ import annotations

from dataclasses import dataclass

from lithify.transcripts.model import Transcript, TranscriptFormat
from lithify.transcripts.outline import Outline
from lithify.transcripts.registry import recognise


@dataclass(frozen=True, slots=True)
class Reading:
    """What a text was read as."""

    format: TranscriptFormat
    transcript: Transcript
    outline: Outline


def read(text: str, name: str) -> Reading | None:
    """The reading of a text; None for one that is no transcript. `name` is that of its file."""
    found = recognise(text, name)
    if found is None:
        return None
    transcript = found.parse(text)
    return Reading(found, transcript, Outline(transcript))
