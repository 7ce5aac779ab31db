"""The compactions of a session that can be undone, as `lithify sessions show` lists them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lithify.core.agent_sessions import SessionFile, in_agent
from lithify.core.document_compactions import DocumentCompaction, standing, text_before, text_in_front
from lithify.storage.foreign_files import read as read_foreign
from lithify.storage.paths import data_dir
from lithify.storage.reading import Unusable, read_store
from lithify.transcripts.registry import by_name


@dataclass(frozen=True, slots=True)
class Undoable:
    """A compaction that can be undone: its id, its time (ISO 8601, UTC), and how many messages its summary stands for,
    where that can be told."""

    compaction_id: str
    at: str
    messages: int | None


def undoable(file: SessionFile) -> list[Undoable]:
    """Those of a session, the newest first, as the data folder knows them; none where it cannot be read."""
    try:
        folder = data_dir(None, os.environ)
        if in_agent(file.uri):
            kept = _kept(file.uri, folder)
            return [Undoable(one.compaction_id, one.at, None) for one in kept if one.certain and not one.undone]
        kept = _kept(os.path.realpath(file.path), folder)
        if not kept:
            return []
        return undoable_in(kept, read_foreign(Path(file.path)).decode())
    except (Unusable, RuntimeError, OSError, UnicodeDecodeError):
        return []


def undoable_in(kept: Sequence[DocumentCompaction], text: str) -> list[Undoable]:
    """Those of what is kept, the newest first, that a text holds. Each is counted in the text as it stood behind it."""
    found = []
    for one in standing(kept, text):
        if not one.kept:
            continue
        before = text_in_front(one, text) if one.appended else text_before(one, text)
        after = before + one.changes[0].inserted if before is not None and one.appended else text
        found.append(Undoable(one.compaction_id, one.at, None if before is None else _stands_for(one, before, after)))
        text = text if before is None else before
    return found


def _kept(document: str, folder: Path) -> list[DocumentCompaction]:
    return read_store(folder, lambda store: store.document_compactions.of_document(document)) or []


def _stands_for(compaction: DocumentCompaction, before: str, after: str) -> int | None:
    chat_format = by_name(compaction.format)
    if chat_format is None:
        return None
    return len(chat_format.parse(before).conversation) - len(chat_format.parse(after).conversation) + 1
