"""Drafts: summaries that a model made and nobody has applied yet. They live in the memory of this process.

A draft is not kept on disk: it belongs to a preview that somebody is reading in this window, and what it costs to make
another is one call of a model. So its text is nowhere but in the conversation it was made of.
"""

from __future__ import annotations

from dataclasses import dataclass

from lithify.core.compaction_results import Summarised
from lithify.core.messages import Message
from lithify.core.outcomes import LithifyError
from lithify.workers.document_writing import DocumentDraft

MOST_DRAFTS = 32
MOST_CHARACTERS = 64 << 20
"""How much is kept, in drafts and in characters of their conversations as JSON; the newest draft always is."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A summary of a range of `before`, the conversation as it was when the draft was made; nothing is changed yet.

    `target` is the id of the session, `characters` the length of `before` as JSON.
    """

    draft_id: str
    target: str
    before: list[Message]
    exact: bool
    summarised: Summarised
    characters: int


class Drafts:
    """The drafts that can still be applied or discarded; the oldest make room for new ones."""

    def __init__(self, most: int = MOST_DRAFTS, most_characters: int = MOST_CHARACTERS) -> None:
        self._most = most
        self._most_characters = most_characters
        self._kept: dict[str, Draft | DocumentDraft] = {}

    def keep(self, draft: Draft | DocumentDraft) -> None:
        """Keeps a new draft, and lets the oldest go where there are too many, or too long ones."""
        self._kept[draft.draft_id] = draft
        while len(self._kept) > 1 and self._too_much():
            del self._kept[next(iter(self._kept))]

    def of_document(self, draft_id: str) -> DocumentDraft | None:
        """The draft of that id, if it is one of a document."""
        draft = self._kept.get(draft_id)
        return draft if isinstance(draft, DocumentDraft) else None

    def found(self, draft_id: str) -> Draft:
        """The draft of that id, which is one of a session. Raises LithifyError `unknown_draft`."""
        draft = self._kept.get(draft_id)
        if not isinstance(draft, Draft):
            raise LithifyError(
                "unknown_draft",
                f"there is no draft {draft_id!r}: it was applied or discarded, it made room for newer ones, or it is "
                "from before the server's start; make a new one with draft: true",
            )
        return draft

    def forget(self, draft_id: str) -> None:
        """Lets a draft go, if it is still there."""
        self._kept.pop(draft_id, None)

    def _too_much(self) -> bool:
        characters = sum(draft.characters for draft in self._kept.values())
        return len(self._kept) > self._most or characters > self._most_characters
