"""What an editor shows of a transcript: titles and sizes of its messages, what a compaction would replace, and which
message lies where. Each answer costs little once the outline is made, which is linear in the transcript."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from lithify.core.anchors import Plans
from lithify.core.bare_messages import bare
from lithify.core.conversation import InvalidRange, Noop, Plan, Range
from lithify.core.messages import Message, counted_bytes, result_text, role_of, text_parts, tokens_of_bytes, tool_calls
from lithify.transcripts.columns import Renewed
from lithify.transcripts.line_reading import ArrangedMessages, places_of_messages
from lithify.transcripts.lines import Lines
from lithify.transcripts.model import Transcript
from lithify.transcripts.places import PlacesByLine, places_of

TITLE_LENGTH = 60
_LOOKED_AT = 400
"""Characters of a text that its title is looked for in."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A compaction that would do something: the range, and how many messages and tokens its summary replaces."""

    range: Range
    messages: int
    tokens: int


class Outline:
    """The outline of one transcript. `before`: that of an earlier text, with the same arrangement, or with the messages
    that are `renewed` since."""

    def __init__(self, transcript: Transcript, before: Outline | None = None, renewed: Renewed | None = None) -> None:
        self.transcript = transcript
        self._conversation: list[Message] | None = None
        by_line = transcript.messages.reading if isinstance(transcript.messages, ArrangedMessages) else None
        self._titles: dict[int, str] = {} if before is None else before._titles.copy()
        altered: Iterable[int] = (by_line.altered if by_line else None) or ()
        if by_line is not None:
            self._bare, self._plans = by_line.arrangement.bare, by_line.arrangement.plans
            self._sizes: Sequence[int] = by_line.sizes
        elif before is not None and renewed is not None:
            altered = self._take_over(before, renewed)
        else:
            self._bare = list(map(bare, self.conversation))
            self._plans = Plans(self._bare)
            self._sizes = list(map(counted_bytes, self.conversation))
        self._sums = list(accumulate(self._sizes, initial=0))
        self._places = places_of(transcript.messages)
        for index in altered:
            self._titles.pop(index, None)

    def _take_over(self, before: Outline, renewed: Renewed) -> Iterable[int]:
        """Takes over what is still true; the messages of which it is not."""
        first, behind = renewed.replaced.start, renewed.replaced.stop
        made = renewed.messages.said[first : renewed.made.stop]
        fresh = list(map(bare, made))
        is_arranged_so = fresh == before._bare[first:behind]
        self._bare = [*before._bare[:first], *fresh, *before._bare[behind:]]
        self._plans = before._plans if is_arranged_so else Plans(self._bare)
        self._sizes = [*before._sizes[:first], *map(counted_bytes, made), *before._sizes[behind:]]
        return renewed.made if is_arranged_so else [index for index in self._titles if index >= first]

    @property
    def conversation(self) -> list[Message]:
        """The messages alone, in order; where they are decoded as they are asked for, all of them are, once."""
        if self._conversation is None:
            self._conversation = self.transcript.conversation
        return self._conversation

    def role(self, index: int) -> str:
        """The role of a message."""
        return role_of(self._bare[index])

    def spans(self, first: int = 0) -> list[tuple[int, int]]:
        """The first place of each message from that one on, as characters [start, end)."""
        messages = self.transcript.messages
        return [places[0] for places in places_of_messages(messages, first, len(messages))]

    def first_lines(self, lines: Lines, first: int = 0) -> Sequence[int]:
        """The line of the text at which each message from that one on begins."""
        messages = self.transcript.messages
        if isinstance(messages, ArrangedMessages):
            return messages.first_lines(first)
        return [lines.line_of(start) for start, _ in self.spans(first)]

    def title(self, index: int) -> str:
        """The role of a message and its first words, on one line."""
        if (known := self._titles.get(index)) is not None:
            return known
        message = self._message(index)
        title = f"{role_of(message) or 'message'}: {_first_words(message) or 'no text'}"
        self._titles[index] = title
        return title

    def tokens(self, index: int) -> int:
        """The tokens of a message."""
        return self._tokens(index, index + 1)

    @property
    def all_tokens(self) -> int:
        """The tokens of the whole conversation."""
        return self._tokens(0, len(self._sums) - 1)

    def calls(self, index: int) -> list[str]:
        """The names of the tools that a message calls."""
        return [call.name or "unnamed" for call in tool_calls(self._message(index))]

    # --- what can be compacted ---

    def up_to(self, index: int, *, exact: bool = False) -> Offer | None:
        """What "up to here" on a message would replace; None where it would change nothing."""
        return self._offer(self._plans.up_to(index, exact=exact))

    def between(self, start: int, end: int, *, exact: bool = False) -> Offer | None:
        """What the compaction of the messages [start, end) would replace."""
        return self._offer(self._plans.compaction(start=start, end=end, max_preserved_messages=0, exact=exact))

    def whole(self, max_preserved_messages: int, *, exact: bool = False) -> Offer | None:
        """What the compaction of the conversation would replace."""
        preserved = max_preserved_messages
        return self._offer(self._plans.compaction(start=None, end=None, max_preserved_messages=preserved, exact=exact))

    def is_whole(self, part: Range, *, exact: bool = False) -> bool:
        """Whether a range parts no call from its results, or need not heed that."""
        return exact or self._plans.widened(part) == part

    def _offer(self, planned: Plan | Noop | InvalidRange) -> Offer | None:
        if not isinstance(planned, Plan) or not self.transcript.writable:
            return None
        start, end = planned.range.start, planned.range.end
        if start > 0 and self.transcript.prefix_only:
            return None
        first = start + (1 if start == 0 and self._plans.keeps_first else 0)
        return Offer(planned.range, end - first, self._tokens(first, end)) if first < end else None

    def _tokens(self, start: int, end: int) -> int:
        return tokens_of_bytes(self._sums[end] - self._sums[start])

    # --- which message lies where ---

    def within(self, start: int, end: int) -> tuple[int, int] | None:
        """The messages [first, last] of which the characters [start, end) hold some; None where there are none."""
        found = self._places.messages(self._places.ended(start), self._places.begun(end))
        return (min(found), max(found)) if found else None

    def near(self, start: int, end: int) -> int | None:
        """The message that the characters [start, end) stand for, such as a line: the last one in them, else the
        nearest one above; None above the first one, and inside what the tool would not send."""
        if (found := self.within(start, end)) is not None:
            return found[1]
        if any(fold.start <= start and end <= fold.end for fold in self.transcript.folds):
            return None
        above = self._places.ended(start)
        return self._places.messages(above - 1, above)[0] if above else None

    def near_line(self, lines: Lines, line: int) -> int | None:
        """The message that a line of the text stands for, as `near` says."""
        known = self._places.last_in(line) if isinstance(self._places, PlacesByLine) else None
        return self.near(*lines.bounds(line)) if known is None else known

    def _message(self, index: int) -> Message:
        known = self._conversation
        return self.transcript.messages[index].message if known is None else known[index]


def _first_words(message: Message) -> str:
    """The first words of the texts; else those of a tool's result, else the tools that are called."""
    words = next((said for text in text_parts(message) if (said := _on_one_line(text))), "")
    if not words:
        words = _on_one_line(result_text(message)) or ", ".join(call.name for call in tool_calls(message) if call.name)
    return words if len(words) <= TITLE_LENGTH else f"{words[: TITLE_LENGTH - 1].rstrip()}…"


def _on_one_line(text: str) -> str:
    return " ".join(text[:_LOOKED_AT].split())
