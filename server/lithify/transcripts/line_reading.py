"""A text of JSON lines read as a transcript, and read anew after an edit with all that the edit left as it was."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from lithify.core.messages import Message, estimate_tokens, tokens_of_bytes
from lithify.transcripts.json_text import BYTE_ORDER_MARK, skip_mark
from lithify.transcripts.line_format import Arrangement, Ground, LineFacts, LineFormat, OneLineEach, size_of_lines
from lithify.transcripts.lines import Lines
from lithify.transcripts.model import Fold, PlacedMessages, Transcript, TranscriptMessage
from lithify.transcripts.text_edits import in_common, in_common_from_end

_BLANK, _AROUND = " \t", " \t\r\n"


@dataclass(slots=True)
class LineReading:
    """What the lines of a text were read as. It never changes; the messages are decoded when they are asked for, since
    kept ones would need more room than the text.

    `shapes` and `line_sizes` have one for each line, a blank one has neither; `sizes` are the counted bytes of each
    message. `altered` are the messages that an edit changed, None where the whole arrangement is another.
    """

    format: LineFormat
    lines: Lines
    shapes: list[Any]
    line_sizes: list[Any]
    ground: Ground
    arrangement: Arrangement
    sizes: list[int]
    altered: frozenset[int] | None = None
    _decoded: tuple[int, Any] = field(default=(-1, None))

    def message(self, index: int) -> Message:
        """One message, decoded."""
        return self.format.message_of(self.arrangement.arranged(index), self.decoded)

    def decoded(self, line: int) -> Any:
        """What a line says; that of the last line is kept, for one line may say many messages."""
        at, value = self._decoded
        if at != line:
            value = self.format.decode(source_of(self.lines, line)[1])
            self._decoded = (line, value)
        return value

    def span(self, line: int) -> tuple[int, int]:
        """The characters [start, end) of a line, the white space around them left out."""
        offset, source = source_of(self.lines, line)
        start = self.lines.starts[line] + offset
        return start, start + len(source)

    def transcript(self) -> Transcript:
        """The transcript, its messages decoded one by one as they are asked for."""
        made, reason = self.arrangement, self.arrangement.read_only_reason
        folds = tuple(
            Fold(self.span(one.first)[0], self.span(one.last)[1], one.title, one.messages) for one in made.folds
        )
        messages = ArrangedMessages(self)
        return Transcript(self.format.name, messages, made.problems, reason is None, reason, folds, made.prefix_only)


class ArrangedMessages(PlacedMessages):
    """The messages of a reading with their places."""

    def __init__(self, reading: LineReading) -> None:
        self.reading = reading

    def __len__(self) -> int:
        return len(self.reading.arrangement.messages)

    def placed(self, index: int) -> TranscriptMessage:
        """One of them."""
        (start, end), *more = map(self.reading.span, self.reading.arrangement.messages[index])
        return TranscriptMessage(self.reading.message(index), start, end, tuple(more))

    def first_lines(self, first: int) -> list[int]:
        """The line at which each message from that one on begins."""
        messages = self.reading.arrangement.messages[first:]
        return messages.lines if isinstance(messages, OneLineEach) else [lines[0] for lines in messages]


def places_of_messages(messages: Sequence[TranscriptMessage], start: int, end: int) -> list[list[tuple[int, int]]]:
    """The places of the messages [start, end), the first one's first; none of them is decoded for it."""
    if isinstance(messages, ArrangedMessages):
        reading = messages.reading
        return [list(map(reading.span, lines)) for lines in reading.arrangement.messages[start:end]]
    return [[(placed.start, placed.end), *placed.more] for placed in messages[start:end]]


def tokens_of(transcript: Transcript) -> int:
    """The tokens of all messages; of lines that were read none is decoded for it."""
    messages = transcript.messages
    if isinstance(messages, ArrangedMessages):
        return tokens_of_bytes(sum(messages.reading.sizes))
    return estimate_tokens(transcript.conversation)


def parse_lines(line_format: LineFormat, text: str) -> Transcript:
    """The transcript of any text."""
    return read_lines(line_format, Lines(text)).transcript()


def read_lines(line_format: LineFormat, lines: Lines, before: LineReading | None = None) -> LineReading:
    """The reading of a text. `before`: that of an earlier text, of which everything is taken over that the lines in
    common say."""
    ground = Ground(lines.line(0).startswith(BYTE_ORDER_MARK), lines.has_lone_returns)
    if before is None or before.format is not line_format or before.ground != ground:
        return _read_all(line_format, lines, ground)
    old, new = before.lines.all, lines.all
    first = in_common(old, new)
    if ground.mark and not first:
        return _read_all(line_format, lines, ground)
    same_behind = in_common_from_end(old, new, min(len(old), len(new)) - first)
    replaced, made = range(first, len(old) - same_behind), range(first, len(new) - same_behind)
    shapes, sizes = _columns(_read_between(before, lines, replaced, made))
    shapes = [*before.shapes[:first], *shapes, *before.shapes[replaced.stop :]]
    sizes = [*before.line_sizes[:first], *sizes, *before.line_sizes[replaced.stop :]]
    if len(replaced) != len(made) or shapes[first : made.stop] != before.shapes[first : made.stop]:
        return _arranged(line_format, lines, shapes, sizes, ground)
    return _altered(before, lines, shapes, sizes, made)


def source_of(lines: Lines, line: int) -> tuple[int, str]:
    """A line without the white space around it, and where it begins in the line."""
    whole = lines.line(line)
    mark = skip_mark(whole) if line == 0 else 0
    body = whole[mark:].rstrip("\r\n")
    source = body.lstrip(_BLANK)
    return mark + len(body) - len(source), source.rstrip(_BLANK)


def _read_all(line_format: LineFormat, lines: Lines, ground: Ground) -> LineReading:
    facts_of = line_format.facts_of
    shapes, sizes = _columns([_facts(line_format, lines, 0)])
    for whole in islice(lines.each(), 1, None):
        source = whole.strip(_AROUND)
        shape, size = facts_of(source) if source and not source.isspace() else _BLANK_LINE
        shapes.append(shape)
        sizes.append(size)
    return _arranged(line_format, lines, shapes, sizes, ground)


def _read_between(before: LineReading, lines: Lines, replaced: range, made: range) -> Iterator[tuple[Any, Any]]:
    """The facts of the lines `made`; those that were among the `replaced` ones too are not read again."""
    old, new = before.lines.all, lines.all
    known = {old[line]: line for line in replaced} if len(made) > 1 else {}
    for line in made:
        same = known.get(new[line])
        if same is None:
            yield _facts(before.format, lines, line)
        else:
            yield LineFacts(before.shapes[same], before.line_sizes[same])


_BLANK_LINE = LineFacts(None)


def _facts(line_format: LineFormat, lines: Lines, line: int) -> tuple[Any, Any]:
    source = source_of(lines, line)[1]
    return line_format.facts_of(source) if source and not source.isspace() else _BLANK_LINE


def _columns(facts: Iterable[tuple[Any, Any]]) -> tuple[list[Any], list[Any]]:
    """Shapes and sizes as two lists, which cost less than an object for each line."""
    shapes, sizes = [], []
    for shape, size in facts:
        shapes.append(shape)
        sizes.append(size)
    return shapes, sizes


def _arranged(
    line_format: LineFormat, lines: Lines, shapes: list[Any], line_sizes: list[Any], ground: Ground
) -> LineReading:
    made = line_format.arrange(shapes, ground)
    if isinstance(made.messages, OneLineEach) and line_format.size_of is size_of_lines:
        sizes = [line_sizes[line] for line in made.messages.lines]
    else:
        sizes = [line_format.size_of(made.arranged(one), line_sizes.__getitem__) for one in range(len(made.messages))]
    return LineReading(line_format, lines, shapes, line_sizes, ground, made, sizes)


def _altered(
    before: LineReading, lines: Lines, shapes: list[Any], line_sizes: list[Any], changed: range
) -> LineReading:
    """The same arrangement, with other words in some lines."""
    made, sizes = before.arrangement, list(before.sizes)
    altered = frozenset(index for line in changed for index in made.said_by(line))
    for index in altered:
        sizes[index] = before.format.size_of(made.arranged(index), line_sizes.__getitem__)
    return LineReading(before.format, lines, shapes, line_sizes, before.ground, made, sizes, altered)
