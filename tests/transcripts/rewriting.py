"""One compaction of a text, made and checked: what every format has to keep."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count

from lithify.core.conversation import Range, kept_in_front, with_summary
from lithify.core.kimi import summary_message
from lithify.transcripts.model import Stamp, Transcript, TranscriptFormat

_NUMBERS = count()
STAMP = Stamp("2026-01-02T03:04:05.000Z", lambda: f"00000000-0000-4000-8000-{next(_NUMBERS):012d}")
"""What new records are marked with."""


@dataclass(frozen=True)
class Rewritten:
    """A text before and after: `head` and `tail` are what lies around the replaced messages."""

    text: str
    head: str
    tail: str
    parsed: Transcript


def replaceable(transcript: Transcript, start: int, end: int) -> bool:
    """Whether the range holds a message that makes way."""
    return start + kept_in_front(transcript.conversation, Range(start, end)) < end


def rewrite(chat_format: TranscriptFormat, text: str, start: int, end: int, answer: str = "Summary: ü 😀") -> Rewritten:
    """Replaces a range, and asserts that the new text says the conversation with the summary in it, no more or less."""
    before = chat_format.parse(text)
    summary = summary_message(before.conversation, answer)
    first = start + kept_in_front(before.conversation, Range(start, end))
    head, tail = text[: before.messages[first].start], text[before.messages[end - 1].end :]
    result = chat_format.write(text, before, start, end, summary, STAMP)
    after = chat_format.parse(result)
    assert after.conversation == with_summary(before.conversation, Range(start, end), summary)
    assert sorted(problem.message for problem in after.problems) == sorted(
        problem.message for problem in before.problems
    )
    assert result.startswith(head)
    result.encode("utf-8")
    return Rewritten(result, head, tail, after)
