"""Histories of one document, made up: compactions whose summaries all say the same, typing, the editor's own undo, and
ours. Whatever is undone, no line is doubled, and none that stood there is lost."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from hypothesis import given, settings
from hypothesis import strategies as st

from lithify.core.document_compactions import DocumentCompaction, TextChange, to_undo
from lithify.core.outcomes import LithifyError

SUMMARY = "the summary\n"
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("compact"), st.integers(0, 9), st.integers(1, 4)),
        st.tuples(st.just("type"), st.integers(0, 9), st.just(0)),
        st.tuples(st.just("editor undo"), st.just(0), st.just(0)),
        st.tuples(st.just("undo"), st.just(0), st.just(0)),
    ),
    max_size=14,
)


def line(kind: str, number: int) -> str:
    """A line of its own length, so that no two places look alike by chance."""
    return f"[{kind} {number} {'x' * (29 * number * number % 71)}]\n"


@dataclass
class Chat:
    """The lines of a document, the states before, and what is kept of its compactions, the newest first."""

    lines: list[str] = field(default_factory=lambda: [line("message", number) for number in range(7)])
    before: list[list[str]] = field(default_factory=list)
    kept: list[DocumentCompaction] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(self.lines)

    def put(self, lines: list[str]) -> None:
        self.before.append(self.lines)
        self.lines = lines

    def compact(self, start: int, count: int) -> None:
        removed = self.lines[start : start + count]
        if removed in ([], [SUMMARY]):
            return
        front = "".join(self.lines[:start])
        self.put([*self.lines[:start], SUMMARY, *self.lines[start + count :]])
        change = TextChange(len(front), "".join(removed), SUMMARY)
        made = DocumentCompaction(
            compaction_id=str(len(self.kept)),
            document="/chat",
            format="lines",
            at="",
            length=len(self.text),
            changes=(change,),
            appended=False,
            kept=True,
            certain=True,
        )
        self.kept.insert(0, made)

    def undo(self) -> None:
        try:
            found, text = to_undo(self.kept, None, self.text, "the chat")
        except LithifyError:
            return
        if text is None:
            return
        others = [one for one in text.splitlines(keepends=True) if one != SUMMARY]
        assert len(set(others)) == len(others)
        assert {one for one in self.lines if one != SUMMARY} <= set(others)
        self.put(text.splitlines(keepends=True))
        self.kept = [replace(one, undone=True) if one is found else one for one in self.kept]


@settings(max_examples=300, deadline=None)
@given(STEPS)
def test_no_undo_doubles_or_loses_a_line(steps: list[tuple[str, int, int]]) -> None:
    chat = Chat()
    for number, (step, place, count) in enumerate(steps):
        match step:
            case "compact":
                chat.compact(min(place, len(chat.lines)), count)
            case "type":
                chat.put([*chat.lines[:place], line("typed", number), *chat.lines[place:]])
            case "editor undo":
                chat.lines = chat.before.pop() if chat.before else chat.lines
            case "undo":
                chat.undo()
