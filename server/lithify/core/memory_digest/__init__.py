"""The offline model's brain for the event memory: records and compacted entries, literally and without a model.

It selects and shortens what stands in the events and never states anything of its own. `reading` turns entries into
the actions and facts of `core.digest`; `troubles`, `talk`, `changes` and `ground` draft records from them, and
`drafts` writes these down; `lines` says what a compaction could keep, `condensing` fills its room.
"""

from __future__ import annotations

from collections.abc import Sequence

from lithify.core.entries import Entry
from lithify.core.memory_digest import changes, condensing, ground, talk, troubles
from lithify.core.memory_digest.drafts import Draft, distinct, written
from lithify.core.memory_digest.reading import Reading, read

NOTHING_WORTH_KEEPING = '<skip reason="the offline rules find nothing that lasts"/>'

_FEWEST, _ENTRIES_A_RECORD, _MOST = 8, 40, 24
"""A batch gives at most 8 records, and one more for each further 40 entries, up to 24."""


def extraction_answer(entries: Sequence[Entry]) -> str:
    """The answer a model would give to an extraction of the entries: `<memory_record>` elements in the order of the
    entries, or a skip. Each names the events it is drawn from. Never raises on foreign shapes."""
    reading = read(entries)
    drafts = distinct(sorted(_drafts(reading), key=lambda draft: -draft.worth))[: _most(len(entries))]
    if not drafts:
        return NOTHING_WORTH_KEEPING
    drafts.sort(key=lambda draft: max(draft.positions, default=0))
    return "\n".join(written(draft, entries) for draft in drafts)


def compaction_answer(entries: Sequence[Entry], target_bytes: int) -> str:
    """The answer a model would give to a compaction of the entries: `<compacted_entry>` elements in at most
    `target_bytes` of UTF-8, and at most about half of what the entries take. Never raises on foreign shapes."""
    return condensing.condensed(read(entries), target_bytes)


def _drafts(reading: Reading) -> list[Draft]:
    return [
        *troubles.drafts(reading),
        *talk.drafts(reading),
        *changes.drafts(reading),
        *ground.drafts(reading),
    ]


def _most(count: int) -> int:
    return min(max(_FEWEST, _FEWEST + (count - 100) // _ENTRIES_A_RECORD), _MOST)
