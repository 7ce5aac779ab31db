"""Compactions of documents as they are kept: what each changed in the text, and the text without it again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import count
from uuid import UUID

from lithify.core.brief import brief
from lithify.core.outcomes import LithifyError

TELLING_LENGTH = 16
"""A line of at least so many characters is not taken for a rule or a heading that stands in every text."""


@dataclass(frozen=True, slots=True)
class TextChange:
    """One place of a text that a compaction changed: at `offset` (in characters of the text after it) stands
    `inserted`, where `removed` stood before."""

    offset: int
    removed: str
    inserted: str


@dataclass(frozen=True, slots=True)
class DocumentCompaction:
    """One compaction of a document. `document` is its path, or its URI where it has none.

    `appended`: its records stand behind all that was there. `kept` is false where nothing was to be kept; then there
    are no changes. While it is not `certain`, a write was begun of which nobody knows whether it came about: the text
    says so. `backup` is where the file as it was lies, if that was kept. `length` counts the characters of the text
    after it.
    """

    compaction_id: str
    document: str
    format: str
    at: str
    length: int
    changes: tuple[TextChange, ...]
    appended: bool
    kept: bool
    backup: str | None = None
    certain: bool = False
    undone: bool = False


def text_before(compaction: DocumentCompaction, text: str) -> str | None:
    """The text with a compaction taken back, whatever else was changed in it since; None where what it inserted does
    not stand there as it was made, or, if it was appended, something follows it."""
    if compaction.appended:
        (added,) = compaction.changes
        return text.removesuffix(added.inserted) if text.endswith(added.inserted) else None
    pieces, end = [], 0
    for change in compaction.changes:
        place = _place(change, compaction.length, text)
        if place is None or place < end:
            return None
        pieces += [text[end:place], change.removed]
        end = place + len(change.inserted)
    return "".join([*pieces, text[end:]])


def places_taken(compaction: DocumentCompaction, text: str) -> list[tuple[int, int]]:
    """Where in a text that it can be taken back from a compaction's inserted texts stand, each [start, end) with the
    character before and behind it: who types there changes what was inserted."""
    if compaction.appended:
        return [(len(text) - len(compaction.changes[0].inserted) - 1, len(text) + 1)]
    places = [(_place(change, compaction.length, text), len(change.inserted)) for change in compaction.changes]
    return [(place - 1, place + length + 1) for place, length in places if place is not None]


def text_in_front(compaction: DocumentCompaction, text: str) -> str | None:
    """The text as it was before an appended compaction, where all of it still stands in front of that."""
    if not compaction.appended or len(compaction.changes) != 1:
        return None
    (added,) = compaction.changes
    return text[: added.offset] if text.startswith(added.inserted, added.offset) else None


def restored_ids(compaction: DocumentCompaction) -> Callable[[], str]:
    """What gives UUIDs (version 4 by their form) to a session that is restored from a compaction: the same ones in the
    same order each time, so that of two who do it at once, or after one that was killed, both make the same one."""
    numbers = count()

    def new() -> str:
        seed = f"{compaction.document}\0{compaction.compaction_id}\0{next(numbers)}"
        return str(UUID(bytes=sha256(seed.encode(errors="surrogatepass")).digest()[:16], version=4))

    return new


def is_last_write(compaction: DocumentCompaction, text: str) -> bool:
    """Whether a text is just what a compaction made of it, so that nobody has written since."""
    return compaction.certain and _is_just_written(compaction, text)


def _is_just_written(compaction: DocumentCompaction, text: str) -> bool:
    places = all(text.startswith(change.inserted, change.offset) for change in compaction.changes)
    return bool(compaction.changes) and len(text) == compaction.length and places


def stands_in(compaction: DocumentCompaction, text: str) -> bool:
    """Whether all that a compaction inserted stands in a text, wherever."""
    return bool(compaction.changes) and all(change.inserted in text for change in compaction.changes)


def to_undo(
    kept: Sequence[DocumentCompaction], compaction_id: str | None, text: str, title: str
) -> tuple[DocumentCompaction, str | None]:
    """Which of a document's compactions, given the newest first, is undone, and the text without it.

    The newest that the text holds by default. The text is None where it cannot be taken back from this text. One that
    is not certain counts only where the text holds it. Raises LithifyError `unknown_compaction`.
    """
    there = standing(kept, text)
    if compaction_id is None:
        found = next((one for one in there if not one.kept or stands_in(one, text)), there[0] if there else None)
    else:
        found = next((one for one in kept if one.compaction_id == compaction_id), None)
    if found is None:
        raise _unknown(_nothing_to_undo(kept, compaction_id, title))
    named = f"That compaction of {title[0].lower()}{title[1:]}"
    if found not in there:
        raise _unknown(f"{named} {'was undone already' if found.certain else 'was never written'}")
    if not found.kept:
        raise _unknown(
            f"{named} kept no originals, because conversation.keepOriginals was off; the editor's own undo, or a "
            "backup of yours, may have them"
        )
    return found, text_before(found, text) if _is_told_apart(found, there, kept, text) else None


def standing(kept: Sequence[DocumentCompaction], text: str) -> list[DocumentCompaction]:
    """Those of a document's compactions, given the newest first, that a text holds, in their order."""
    there = [one for one in kept if not _is_away(one, kept, text)]
    return [
        one
        for place, one in enumerate(there)
        if not _is_gone(one, there[place + 1 :], text) and not _is_attempt(one, there[:place], there[place + 1 :])
    ]


def _nothing_to_undo(kept: Sequence[DocumentCompaction], compaction_id: str | None, title: str) -> str:
    made = [one for one in kept if one.certain]
    if compaction_id is not None and made:
        return f"{title} has no compaction {brief(compaction_id)}; only the newest ones of each document are kept"
    if made:
        return f"{title} has no compaction that could be undone: what Lithify compacted there was undone already"
    if kept:
        return f"{title} has no compaction that could be undone: one was begun, and does not stand there"
    return (
        f"{title} has no compaction that could be undone: as far as the data folder knows, Lithify never compacted it"
    )


def _is_away(compaction: DocumentCompaction, kept: Sequence[DocumentCompaction], text: str) -> bool:
    """Whether a text does not hold a compaction: it was undone, also by an editor itself, or never written. What was
    undone in an editor need not have been saved: the text is then still just what the compaction made of it."""
    if compaction.undone:
        return not _is_just_written(compaction, text)
    if not compaction.certain:
        return not _came_about(compaction, text)
    if _is_taken_back(compaction, text):
        return True
    older = kept[kept.index(compaction) + 1 :]
    alike = (one for one in older if one.certain and not one.undone and _inserted(one) == _inserted(compaction))
    is_followed = any(not one.appended and _stands_as_before(one, text) for one in alike)
    return is_followed and not _is_just_written(compaction, text)


def _is_taken_back(compaction: DocumentCompaction, text: str) -> bool:
    """Whether somebody else took a compaction back: what it removed stands there again. That may stand there twice, so
    it has to be at its place, or what was inserted is nowhere."""
    if compaction.appended:
        return any(len(text) <= change.offset for change in compaction.changes)
    removed = [change.removed for change in compaction.changes if change.removed]
    if not removed or not all(one in text for one in removed):
        return False
    return _stands_as_before(compaction, text) or not stands_in(compaction, text)


def _inserted(compaction: DocumentCompaction) -> list[str]:
    return [change.inserted for change in compaction.changes]


def _stands_as_before(compaction: DocumentCompaction, text: str) -> bool:
    """Whether all that a compaction removed stands at its place in the text before it, counted from the front or from
    the end: what was inserted may begin just as that does."""
    grown = 0
    places = []
    for change in compaction.changes:
        places.append((change.offset + grown, change.removed))
        grown += len(change.removed) - len(change.inserted)
    moved = len(text) - (compaction.length + grown)
    return any(removed for _, removed in places) and any(
        all(place + shift >= 0 and text.startswith(removed, place + shift) for place, removed in places)
        for shift in {0, moved}
    )


def _is_gone(compaction: DocumentCompaction, older: Sequence[DocumentCompaction], text: str) -> bool:
    """Whether an appended compaction was cut off, and something else follows what had been appended before it."""
    still_there = any(one.appended and stands_in(one, text) for one in older)
    return compaction.appended and compaction.kept and still_there and not stands_in(compaction, text)


def _is_attempt(
    compaction: DocumentCompaction, newer: Sequence[DocumentCompaction], older: Sequence[DocumentCompaction]
) -> bool:
    """Whether a compaction that is not certain changed the same as another one, which then is the one that stands."""
    others = [*newer, *(one for one in older if one.certain)]
    return not compaction.certain and any(_same_change(compaction, one) for one in others)


def _same_change(one: DocumentCompaction, other: DocumentCompaction) -> bool:
    return [(it.removed, it.inserted) for it in one.changes] == [(it.removed, it.inserted) for it in other.changes]


def _came_about(compaction: DocumentCompaction, text: str) -> bool:
    """Whether a text holds what a compaction inserted, and not what it removed: a summary may say what another says.
    Where nothing was kept nobody can tell, and nobody could undo it."""
    removed = [change.removed for change in compaction.changes if change.removed]
    return stands_in(compaction, text) and not (removed and all(one in text for one in removed))


def _is_told_apart(
    compaction: DocumentCompaction, there: Sequence[DocumentCompaction], kept: Sequence[DocumentCompaction], text: str
) -> bool:
    """Whether what looks like a compaction's summary in a text is its own, given those that stand, the newest first.

    It is not where a later one replaced that summary and says the same. Where others inserted the same, nobody can tell
    if that no longer stands there for each of them, or if a line that was removed stands there still.
    """
    if _is_covered(compaction, there, text):
        return False
    uncovered = [one for one in there if not _is_covered(one, there, text)]
    inserted = [one for other in uncovered for one in _inserted(other)]
    if is_last_write(compaction, text):
        return True
    if any(text.count(one) < inserted.count(one) for one in _inserted(compaction)):
        return False
    is_alone = all(one is compaction or _inserted(one) != _inserted(compaction) for one in kept)
    return is_alone or not any(line in text for line in _lines_that_went(compaction))


def _lines_that_went(compaction: DocumentCompaction) -> set[str]:
    removed = {line for change in compaction.changes for line in change.removed.splitlines()}
    inserted = {line for change in compaction.changes for line in change.inserted.splitlines()}
    return {line for line in removed - inserted if len(line) >= TELLING_LENGTH}


def _is_covered(compaction: DocumentCompaction, standing: Sequence[DocumentCompaction], text: str) -> bool:
    """Whether a later one of those that stand, the newest first, replaced what a compaction had inserted."""
    later = standing[: standing.index(compaction)]
    removed = [change.removed for one in later if stands_in(one, text) for change in one.changes]
    return any(mine in theirs for mine in _inserted(compaction) for theirs in removed)


def _place(change: TextChange, length: int, text: str) -> int | None:
    """Where what was inserted stands: at its old place, counted from the front or from the end, else wherever it stands
    once. None where it cannot be told."""
    old = {change.offset, max(0, len(text) - (length - change.offset))}
    found = [place for place in old if text.startswith(change.inserted, place)]
    if found:
        return found[0] if len(found) == 1 else None
    first = text.find(change.inserted)
    return first if first >= 0 and first == text.rfind(change.inserted) else None


def _unknown(message: str) -> LithifyError:
    return LithifyError("unknown_compaction", message)
