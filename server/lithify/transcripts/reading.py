"""A text read as a transcript: its format, its messages, its outline; after an edit with all that is still true."""

from __future__ import annotations

from dataclasses import dataclass

from lithify.transcripts.columns import MessageColumns, change_between
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
    not found out. `lines` is the text where it is kept for a later reading."""

    format: TranscriptFormat
    transcript: Transcript
    outline: Outline
    by_line: LineReading | None = None
    is_told: bool = False
    lines: Lines | None = None


def read(text: str, name: str, format_name: str | None = None) -> Reading | None:
    """The reading of a text; None for one that is no transcript. `name` is that of its file; `format_name` is what the
    text is to be read as, whatever it looks like."""
    return read_again(Lines(text), name, None, format_name)


def read_again(lines: Lines, name: str, before: Reading | None, format_name: str | None = None) -> Reading | None:
    """As `read`. `before`: the reading of an earlier text under the same name, of which is taken over what both have in
    common; the result is that of a first reading."""
    known = before.by_line if before is not None else None
    is_told = format_name is not None
    if before is not None and (same := _renewed(lines, name, before, format_name)) is not None:
        return same
    found = _format_of(lines, name, before) if format_name is None else by_name(format_name)
    if found is None:
        return None
    line_format = getattr(found, "LINES", None)
    if not isinstance(line_format, LineFormat):
        transcript = found.parse(lines.text)
        return Reading(found, transcript, Outline(transcript), is_told=is_told, lines=lines)
    by_line = read_lines(line_format, lines, known)
    transcript = by_line.transcript()
    outline = Outline(transcript, before.outline if before is not None and by_line.altered is not None else None)
    return Reading(found, transcript, outline, by_line, is_told)


def _renewed(lines: Lines, name: str, before: Reading, format_name: str | None) -> Reading | None:
    """The reading of a text in which only some messages are others; None where more of it has to be read."""
    messages, known, renew = before.transcript.messages, before.lines, getattr(before.format, "renew", None)
    if renew is None or known is None or not isinstance(messages, MessageColumns) or before.transcript.problems:
        return None
    if before.is_told != (format_name is not None) or format_name not in (None, before.format.name):
        return None
    change = change_between(known, lines)
    found = renew(messages, known, lines, change)
    if found is None:
        return None
    told_by = max(LOOKED_AT_CHARACTERS, messages.ends[min(LOOKED_AT, len(messages)) - 1])
    if format_name is None and change.start <= told_by and recognise(lines.text, name) is not before.format:
        return None
    transcript = Transcript(before.format.name, found.messages, ())
    return Reading(before.format, transcript, Outline(transcript, before.outline, found), None, before.is_told, lines)


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
