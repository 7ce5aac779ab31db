"""What a compaction makes of a document's text: the new text, where it differs, and whether it says what was meant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from lithify.core.compaction_results import Summarised
from lithify.core.conversation import Range, kept_in_front
from lithify.core.document_compactions import DocumentCompaction, TextChange, text_before
from lithify.core.format_names import OPENCODE
from lithify.core.messages import Message, text_parts
from lithify.core.outcomes import LithifyError
from lithify.core.typed_edits import Span, Typed, moved
from lithify.transcripts.model import Stamp, Transcript
from lithify.transcripts.reading import Reading
from lithify.transcripts.text_edits import smallest_edit


@dataclass(frozen=True, slots=True)
class NewText:
    """A text with a summary in it. `appended`: all of the old text stands in front of what is new."""

    text: str
    changes: tuple[TextChange, ...]
    appended: bool

    def replaced(self) -> tuple[Span, ...]:
        """The spans of the old text that are replaced, one for each change."""
        spans, growth = [], 0
        for change in self.changes:
            start = change.offset - growth
            spans.append((start, start + len(change.removed)))
            growth += len(change.inserted) - len(change.removed)
        return tuple(spans)

    def changes_amid(self, typed: Sequence[Typed]) -> tuple[TextChange, ...]:
        """The changes as they stand where that was typed in the old text meanwhile, in none of what they replace."""
        spans = self.replaced()
        shifts = [(moved(span, typed) or span)[0] - span[0] for span in spans]
        return tuple(replace(one, offset=one.offset + by) for one, by in zip(self.changes, shifts, strict=True))


def new_text(text: str, reading: Reading, done: Summarised, stamp: Stamp) -> NewText:
    """The text with the summary in place, as its format writes it.

    What is put into an agent's session is read again as the agent would: where that is not the summary and the exact
    tail, nothing may be written. Raises LithifyError `unsupported_document` then, and as `TranscriptFormat.write` does.
    """
    planned = done.plan.range
    after = reading.format.write(text, reading.transcript, planned.start, planned.end, done.summary, stamp)
    transcript = reading.format.parse(after)
    appended = after.startswith(text)
    belongs_to_agent = appended or reading.format.name == OPENCODE
    if belongs_to_agent and not is_as_meant(reading.transcript, planned, done.summary, transcript):
        raise LithifyError(
            "unsupported_document",
            f"this {reading.format.name} session cannot be compacted here: read again, it would not hold the "
            "summary and all messages behind it; compact it in its own agent",
        )
    if appended:
        return NewText(after, (TextChange(len(text), "", after[len(text) :]),), appended=True)
    return NewText(after, _changes(text, reading.transcript, planned, after, transcript), appended=False)


def is_as_meant(before: Transcript, replaced: Range, summary: Message, after: Transcript) -> bool:
    """Whether a transcript holds the messages in front of a range, the summary, and the messages behind the range."""
    old, new = before.conversation, after.conversation
    first = replaced.start + kept_in_front(old, replaced)
    if len(new) != len(old) - (replaced.end - first) + 1:
        return False
    return (new[:first], _said(new[first]), new[first + 1 :]) == (old[:first], _said(summary), old[replaced.end :])


def _said(message: Message) -> str:
    """The text of a message, however it is parted."""
    return "".join("".join(text_parts(message)).split())


def _changes(
    text: str, before: Transcript, replaced: Range, after_text: str, after: Transcript
) -> tuple[TextChange, ...]:
    """Where the texts differ: at the summary, as whole messages, and in what stands behind it, if there too.

    Two places, so that what the user changes between them is nobody's business.
    """
    whole = _change(text, after_text, 0)
    tail = len(before.messages) - replaced.end
    if len(after.messages) <= tail:
        return (whole,)
    summary = after.messages[len(after.messages) - tail - 1]
    old_tail = before.messages[replaced.end].start if tail else len(text)
    new_tail = after.messages[-tail].start if tail else len(after_text)
    front = _widened(_change(text[:old_tail], after_text[:new_tail], 0), after_text, summary.start, summary.end)
    behind = _change(text[old_tail:], after_text[new_tail:], new_tail)
    changes = (front, behind) if behind.removed or behind.inserted else (front,)
    tried = DocumentCompaction("", "", "", "", len(after_text), changes, appended=False, kept=True)
    fits = all(change.inserted for change in changes) and text_before(tried, after_text) == text
    return changes if fits else (whole,)


def _change(before: str, after: str, offset: int) -> TextChange:
    edit = smallest_edit(before, after)
    return TextChange(offset + edit.start, before[edit.start : edit.end], edit.replacement)


def _widened(change: TextChange, after: str, start: int, end: int) -> TextChange:
    """A change that holds the characters [start, end) of the text after it too, which are the same in both."""
    first, last = min(change.offset, start), max(change.offset + len(change.inserted), end)
    front, behind = after[first : change.offset], after[change.offset + len(change.inserted) : last]
    return TextChange(first, front + change.removed + behind, after[first:last])
