"""What an editor shows of a transcript: titles and sizes of its messages, what a compaction would replace, and which
message lies where. Each answer costs little once the outline is made, which is linear in the transcript."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from lithify.core.anchors import plans_up_to
from lithify.core.bare_messages import bare
from lithify.core.conversation import InvalidRange, Noop, Plan, Range, kept_in_front, plan_compaction, plan_up_to
from lithify.core.messages import Message, counted_bytes, result_text, role_of, text_parts, tokens_of_bytes, tool_calls
from lithify.core.tool_groups import widen
from lithify.transcripts.model import Transcript

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
    """The outline of one transcript."""

    def __init__(self, transcript: Transcript) -> None:
        self.transcript = transcript
        self.conversation = transcript.conversation
        self._bare = list(map(bare, self.conversation))
        self._sums = list(accumulate(map(counted_bytes, self.conversation), initial=0))

    def title(self, index: int) -> str:
        """The role of a message and its first words, on one line."""
        message = self.conversation[index]
        return f"{role_of(message) or 'message'}: {_first_words(message) or 'no text'}"

    def tokens(self, index: int) -> int:
        """The tokens of a message."""
        return self._tokens(index, index + 1)

    def calls(self, index: int) -> list[str]:
        """The names of the tools that a message calls."""
        return [call.name or "unnamed" for call in tool_calls(self.conversation[index])]

    # --- what can be compacted ---

    def up_to(self, index: int, *, exact: bool = False) -> Offer | None:
        """What "up to here" on a message would replace; None where it would change nothing."""
        return self._offer(plan_up_to(self._bare, index, exact=True) if exact else self._plans_up_to[index])

    def between(self, start: int, end: int, *, exact: bool = False) -> Offer | None:
        """What the compaction of the messages [start, end) would replace."""
        return self._offer(plan_compaction(self._bare, start=start, end=end, max_preserved_messages=0, exact=exact))

    def whole(self, max_preserved_messages: int, *, exact: bool = False) -> Offer | None:
        """What the compaction of the conversation would replace."""
        preserved = max_preserved_messages
        return self._offer(
            plan_compaction(self._bare, start=None, end=None, max_preserved_messages=preserved, exact=exact)
        )

    def is_whole(self, part: Range, *, exact: bool = False) -> bool:
        """Whether a range parts no call from its results, or need not heed that."""
        return exact or widen(self._bare, part.start, part.end) == (part.start, part.end)

    @cached_property
    def _plans_up_to(self) -> list[Plan | Noop]:
        return plans_up_to(self._bare)

    def _offer(self, planned: Plan | Noop | InvalidRange) -> Offer | None:
        if not isinstance(planned, Plan) or not self.transcript.writable:
            return None
        start, end = planned.range.start, planned.range.end
        if start > 0 and self.transcript.prefix_only:
            return None
        first = start + kept_in_front(self.conversation, planned.range)
        return Offer(planned.range, end - first, self._tokens(first, end)) if first < end else None

    def _tokens(self, start: int, end: int) -> int:
        return tokens_of_bytes(self._sums[end] - self._sums[start])

    # --- which message lies where ---

    def within(self, start: int, end: int) -> tuple[int, int] | None:
        """The messages [first, last] of which the characters [start, end) hold some; None where there are none."""
        first, behind = bisect_right(self._ends, start), bisect_left(self._starts, end)
        found = [index for _, _, index in self._places[first:behind]]
        return (min(found), max(found)) if found else None

    def near(self, start: int, end: int) -> int | None:
        """The message that the characters [start, end) stand for, such as a line: the last one in them, else the
        nearest one above; None above the first one, and inside what the tool would not send."""
        if (found := self.within(start, end)) is not None:
            return found[1]
        if any(fold.start <= start and end <= fold.end for fold in self.transcript.folds):
            return None
        above = bisect_right(self._ends, start)
        return self._places[above - 1][2] if above else None

    @cached_property
    def _places(self) -> list[tuple[int, int, int]]:
        """All places of messages, in the order of the text: start, end, index of the message."""
        return sorted(self._all_places())

    def _all_places(self) -> Iterator[tuple[int, int, int]]:
        for index, placed in enumerate(self.transcript.messages):
            yield placed.start, placed.end, index
            yield from ((start, end, index) for start, end in placed.more)

    @cached_property
    def _starts(self) -> list[int]:
        return [start for start, _, _ in self._places]

    @cached_property
    def _ends(self) -> list[int]:
        """Ends that never go back, also where a place lies within another."""
        return list(accumulate((end for _, end, _ in self._places), max))


def _first_words(message: Message) -> str:
    """The first words of the texts; else those of a tool's result, else the tools that are called."""
    words = next((said for text in text_parts(message) if (said := _on_one_line(text))), "")
    if not words:
        words = _on_one_line(result_text(message)) or ", ".join(call.name for call in tool_calls(message) if call.name)
    return words if len(words) <= TITLE_LENGTH else f"{words[: TITLE_LENGTH - 1].rstrip()}…"


def _on_one_line(text: str) -> str:
    return " ".join(text[:_LOOKED_AT].split())
