"""A text read as a transcript: its format, its messages, its outline; after an edit with all that is still true."""

from __future__ import annotations

from dataclasses import dataclass

from lithify.transcripts.json_lines import LOOKED_AT, json_of
from lithify.transcripts.line_format import LineFormat
from lithify.transcripts.line_reading import LineReading, read_lines, source_of
from lithify.transcripts.lines import Lines
from lithify.transcripts.model import LOOKED_AT_CHARACTERS, Transcript, TranscriptFormat
from lithify.transcripts.outline import Outline
from lithify.transcripts.registry import by_name, recognise


@dataclass(frozen=True, slots=True)
class Reading:
    """What a text was read as. `by_line` where its format reads lines one by one; `is_told`: the format was said, and
    not found out."""

    format: TranscriptFormat
    transcript: Transcript
    outline: Outline
    by_line: LineReading | None = None
    is_told: bool = False


def read(text: str, name: str, format_name: str | None = None) -> Reading | None:
    """The reading of a text; None for one that is no transcript. `name` is that of its file; `format_name` is what the
    text is to be read as, whatever it looks like."""
    return read_again(Lines(text), name, None, format_name)


def read_again(lines: Lines, name: str, before: Reading | None, format_name: str | None = None) -> Reading | None:
    """As `read`. `before`: the reading of an earlier text under the same name, of which is taken over what both have in
    common; the result is that of a first reading."""
    known = before.by_line if before is not None else None
    is_told = format_name is not None
    found = _format_of(lines, name, before) if format_name is None else by_name(format_name)
    if found is None:
        return None
    line_format = getattr(found, "LINES", None)
    if not isinstance(line_format, LineFormat):
        transcript = found.parse(lines.text)
        return Reading(found, transcript, Outline(transcript), is_told=is_told)
    by_line = read_lines(line_format, lines, known)
    transcript = by_line.transcript()
    outline = Outline(transcript, before.outline if before is not None and by_line.altered is not None else None)
    return Reading(found, transcript, outline, by_line, is_told)


def _format_of(lines: Lines, name: str, before: Reading | None) -> TranscriptFormat | None:
    if before is None or before.by_line is None or before.is_told:
        return recognise(lines.text, name)
    count = _lines_that_tell(lines)
    if count is None:
        return recognise(lines.text, name)
    telling = lines.all[:count]
    return before.format if before.by_line.lines.all[:count] == telling else recognise("".join(telling), name)


def _lines_that_tell(lines: Lines) -> int | None:
    """How many lines tell the format, whatever stands behind them; None where all of the text may be needed for it.

    Every format looks at the first lines only where the first one is a JSON object of its own.
    """
    said = characters = 0
    for line, whole in enumerate(lines.all):
        source = source_of(lines, line)[1]
        if source and not source.isspace():
            if not said and not isinstance(json_of(source, strict=True)[0], dict):
                return None
            said += 1
        characters += len(whole)
        if said > LOOKED_AT and characters > LOOKED_AT_CHARACTERS:
            return line + 1
    return None
